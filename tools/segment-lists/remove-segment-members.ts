import { z } from "zod";
import { sql } from "#db/sql.ts";
import { counted } from "#runtime/counted.ts";
import { emitMany } from "#runtime/funnel/outbox.ts";
import type { Context } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { quoted } from "#runtime/visible-text.ts";
import { watchAudiences } from "#tools/campaigns/approval/watch-audiences.ts";
import { askAboutMoves } from "#tools/journeys/publishing/entry-segments.ts";
import refreshSegment from "#tools/segments/refresh-segment.job.ts";
import { chosenPlayers, DEADLINE_MS, listInput, staticSegment } from "./chosen-players.ts";

export default tool({
  name: "remove_segment_members",
  title: "Take many players off a static segment's list",
  description:
    "Takes up to 10,000 players off a static segment's list at once: by their ids, by the operator's own player numbers, or all who match conditions now. Players who are not on it are counted. One unknown player refuses the whole call.",
  scope: "write",
  effect: "destroy",
  bulk: true,
  property: "propertyId",
  deadline: DEADLINE_MS,
  input: listInput,
  output: z.object({
    success: z.literal(true),
    removed: z.int(),
    not_members: z.int(),
  }),
  faults: ["invalid", "not_found", "conflict"],
  async handler(context, { segmentId, ...who }) {
    const name = await staticSegment(context, segmentId);
    const players = await chosenPlayers(context, who);
    const entries = await entriesOf(context, segmentId, players);
    const removed = entries.map(({ player_id }) => player_id);
    const sentence = `This takes ${counted(removed.length, "player")} off the list ${quoted(name)}.`;
    context.ask?.({ sentences: () => [sentence] });
    const behind = await watchAudiences(context, [...players, ...entries.map(({ id }) => id)]);
    await removeEntries(context, segmentId, entries);
    await behind(players);
    await askAboutMoves(context, removed);
    context.audit({ entity: "segments", entityId: segmentId, diff: { removed: removed.length } });
    return {
      success: true as const,
      removed: removed.length,
      not_members: players.length - removed.length,
    };
  },
});

interface Entry {
  id: string;
  player_id: string;
}

async function entriesOf(
  { sql: transaction, property }: Context,
  segmentId: string,
  players: readonly string[],
): Promise<Entry[]> {
  const entries = await transaction<Entry[]>`
    select id, player_id from segment_members
    where property_id = ${property.id} and segment_id = ${segmentId} and player_id = any(${players}::uuid[])
    order by id for update`;
  return [...entries];
}

async function removeEntries(
  { sql: transaction, property, enqueue }: Context,
  segmentId: string,
  entries: readonly Entry[],
): Promise<void> {
  if (entries.length === 0) return;
  const ids = entries.map(({ id }) => id);
  await emitMany(
    transaction,
    property.id,
    "player.segment_exited",
    sql`select to_jsonb(m) as object from segment_members m
      where m.property_id = ${property.id} and m.id = any(${ids}::uuid[])`,
  );
  await transaction`
    delete from segment_members where property_id = ${property.id} and id = any(${ids}::uuid[])`;
  enqueue(refreshSegment, { segmentId }, { dedupe: segmentId });
}
