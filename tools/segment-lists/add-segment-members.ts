import { z } from "zod";
import { adHoc, sql } from "#db/sql.ts";
import { Fault, invalid, noSuch } from "#runtime/faults.ts";
import { emitMany } from "#runtime/funnel/outbox.ts";
import type { Context } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { watchAudiences } from "#tools/campaigns/approval/watch-audiences.ts";
import { askAboutMoves } from "#tools/journeys/publishing/entry-segments.ts";
import refreshSegment from "#tools/segments/refresh-segment.job.ts";
import { Condition } from "#tools/segments/rules/compile.ts";
import { audienceMatching } from "#tools/segments/rules/references.ts";
import { unknownValues } from "#tools/segments/unknown-values.ts";

const MOST_PLAYERS = 10_000;
const MOST_NAMED = 5;
const DEADLINE_MS = 30_000;

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
  input: {
    segmentId: z.uuid().describe("A static segment, from list_segments"),
    propertyId: z.uuid(),
    playerIds: z.array(z.uuid()).min(1).max(MOST_PLAYERS).optional().describe("From list_players"),
    playerNumbers: z
      .array(z.string().trim().min(1).max(200))
      .min(1)
      .max(MOST_PLAYERS)
      .optional()
      .describe("player_id of players: the operator's own numbers"),
    conditions: z.array(Condition).min(1).max(200).optional().describe("As in segment_preview"),
    logic: z.enum(["and", "or"]).default("and").describe("How the conditions join"),
  },
  output: z.object({
    success: z.literal(true),
    added: z.int(),
    already_members: z.int(),
  }),
  faults: ["invalid", "not_found", "conflict"],
  async handler(context, { segmentId, ...who }) {
    await checkSegment(context, segmentId);
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

async function checkSegment({ sql: transaction, property }: Context, id: string): Promise<void> {
  const [segment] = await transaction<{ type: string }[]>`
    select type from segments
    where property_id = ${property.id} and id = ${id} and deleted_at is null for key share`;
  if (!segment) throw noSuch("segment", id);
  if (segment.type !== "static") {
    throw new Fault("conflict", {
      message:
        "The rules of a dynamic segment decide its members. Change the rules, or use a static segment.",
    });
  }
}

interface Chosen {
  playerIds?: string[] | undefined;
  playerNumbers?: string[] | undefined;
  conditions?: z.output<typeof Condition>[] | undefined;
  logic: "and" | "or";
}

/** The ids of the chosen players. Throws `not_found`, which names the first unknown ones. */
async function chosenPlayers(
  context: Context,
  { playerIds, playerNumbers, conditions, logic }: Chosen,
): Promise<string[]> {
  if ([playerIds, playerNumbers, conditions].filter((one) => one !== undefined).length !== 1) {
    throw invalid("playerIds", "or playerNumbers, or conditions: give exactly one of them");
  }
  if (conditions) return matchingPlayers(context, conditions, logic);
  const wanted = [...new Set(playerIds?.map((id) => id.toLowerCase()) ?? playerNumbers!)];
  const column = playerIds ? sql`p.id::text` : sql`p.player_id`;
  const chosen = playerIds ? sql`p.id = any(${wanted}::uuid[])` : sql`p.player_id = any(${wanted}::text[])`;
  const found = await context.sql<{ id: string; called: string }[]>`
    select p.id, ${column} as called from players p
    where p.property_id = ${context.property.id} and ${chosen} and p.deleted_at is null`;
  const known = new Set(found.map(({ called }) => called));
  const missing = wanted.filter((one) => !known.has(one));
  if (missing.length > 0) throw unknown(playerIds ? "playerIds" : "playerNumbers", missing);
  return found.map(({ id }) => id);
}

function unknown(field: string, missing: readonly string[]): Fault {
  const more = missing.length > MOST_NAMED ? ` and ${missing.length - MOST_NAMED} more` : "";
  const named = missing.slice(0, MOST_NAMED).map((one) => JSON.stringify(one));
  const message = `this property has no player ${named.join(", ")}${more}. Nobody was added`;
  return new Fault("not_found", { message: `${field}: ${message}`, details: [{ field, message }] });
}

async function matchingPlayers(
  context: Context,
  conditions: z.output<typeof Condition>[],
  logic: "and" | "or",
): Promise<string[]> {
  const { property } = context;
  for (const why of await unknownValues(context, { conditions })) context.warn?.(why);
  const audience = await audienceMatching(context.sql, property.id, { logic, conditions });
  const found = await context.sql<{ id: string }[]>`${adHoc(sql`
    select p.id from players p where p.property_id = ${property.id}::uuid and ${audience}
    order by p.id limit ${MOST_PLAYERS + 1}::int`)}`;
  if (found.length > MOST_PLAYERS) {
    throw invalid(
      "conditions",
      `match more than ${MOST_PLAYERS} players; a dynamic segment takes such rules`,
    );
  }
  return found.map(({ id }) => id);
}

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
