import { z } from "zod";
import { adHoc, sql } from "#db/sql.ts";
import { Fault, invalid, noSuch } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import { Condition } from "#tools/segments/rules/compile.ts";
import { audienceMatching } from "#tools/segments/rules/references.ts";
import { followsRules } from "#tools/segments/segment-members.table.ts";
import { unknownValues } from "#tools/segments/unknown-values.ts";

const MOST_PLAYERS = 10_000;
const MOST_NAMED = 5;
/** Of a call about so many players. */
export const DEADLINE_MS = 30_000;

/** The input of a call about a static segment's list, and players in three ways. */
export const listInput = {
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
};

/** The name of the static segment, which stays until the transaction ends. Throws `not_found` and `conflict`. */
export async function staticSegment({ sql: transaction, property }: Context, id: string): Promise<string> {
  const [segment] = await transaction<{ name: string; type: string }[]>`
    select name, type from segments
    where property_id = ${property.id} and id = ${id} and deleted_at is null for key share`;
  if (!segment) throw noSuch("segment", id);
  if (segment.type !== "static") throw followsRules();
  return segment.name;
}

interface Chosen {
  playerIds?: string[] | undefined;
  playerNumbers?: string[] | undefined;
  conditions?: z.output<typeof Condition>[] | undefined;
  logic: "and" | "or";
}

/** The ids of the chosen players. Throws `not_found`, which names the first unknown ones. */
export async function chosenPlayers(
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
  const message = `this property has no player ${named.join(", ")}${more}. The list stays as it is`;
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
