import { z } from "zod";
import { sql } from "#db/sql.ts";
import { emitMany } from "#runtime/funnel/outbox.ts";
import type { Context } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { watchAudiences } from "#tools/campaigns/approval/watch-audiences.ts";
import { askAboutMoves } from "#tools/journeys/publishing/entry-segments.ts";
import refreshSegment from "#tools/segments/refresh-segment.job.ts";
import { chosenPlayers, DEADLINE_MS, listInput, staticSegment } from "./chosen-players.ts";

export default tool({
  name: "add_segment_members",
  title: "Put many players on a static segment's list",
  description:
    "Puts up to 10,000 players on a static segment's list at once: by their ids, by the operator's own player numbers, or all who match conditions now. Players who are on it already are counted and stay. One unknown player refuses the whole call.",
  scope: "write",
  effect: "change",
  bulk: true,
  asks: true,
  property: "propertyId",
  deadline: DEADLINE_MS,
  input: listInput,
  output: z.object({
    success: z.literal(true),
    added: z.int(),
    already_members: z.int(),
  }),
  faults: ["invalid", "not_found", "conflict"],
  async handler(context, { segmentId, ...who }) {
    await staticSegment(context, segmentId);
    const players = await chosenPlayers(context, who);
    const behind = await watchAudiences(context, players);
    const entries = await addEntries(context, segmentId, players);
    const added = entries.map(({ player_id }) => player_id);
    // Beside the same players as before: those on the list already have not left it.
    await behind([...players, ...entries.map(({ id }) => id)]);
    await askAboutMoves(context, added);
    context.audit({ entity: "segments", entityId: segmentId, diff: { added: added.length } });
    return {
      success: true as const,
      added: added.length,
      already_members: players.length - added.length,
    };
  },
});

interface Entry {
  id: string;
  player_id: string;
}

/** Answers the new entries. */
async function addEntries(
  { sql: transaction, property, enqueue }: Context,
  segmentId: string,
  players: readonly string[],
): Promise<Entry[]> {
  const entries = await transaction<Entry[]>`
    insert into segment_members (property_id, segment_id, player_id, source)
    select ${property.id}::uuid, ${segmentId}::uuid, w.id, 'manual' from unnest(${players.toSorted()}::uuid[]) w(id)
    on conflict (property_id, segment_id, player_id) do nothing
    returning id, player_id`;
  if (entries.length === 0) return [];
  enqueue(refreshSegment, { segmentId }, { dedupe: segmentId });
  await emitMany(
    transaction,
    property.id,
    "player.segment_entered",
    sql`select to_jsonb(m) as object from segment_members m
      where m.property_id = ${property.id} and m.id = any(${entries.map(({ id }) => id)}::uuid[])`,
  );
  return [...entries];
}
