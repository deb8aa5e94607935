import { z } from "zod";
import { adHoc, type Fragment, sql } from "#db/sql.ts";
import { transactionStart } from "#db/transaction-start.ts";
import { counted } from "#runtime/counted.ts";
import { Fault, invalid } from "#runtime/faults.ts";
import { canonicalHash } from "#runtime/funnel/audit.ts";
import type { Context } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { countsPeople, hashOfPlayers, segmentFacts } from "#tools/approvals/approval.ts";
import { type Entries, enroll } from "#tools/enrollments/enroll.ts";
import { namedPlayers } from "#tools/people/words.ts";
import { audienceOf } from "#tools/segments/rules/references.ts";
import { entryOf, type WayIn } from "../journey/way-in.ts";

const MOST_PLAYERS = 10_000;
const DEADLINE_MS = 30_000;

export default tool({
  name: "enroll_players",
  title: "Enroll players in a journey",
  description:
    "Lets players enter an active journey, by their ids or by a segment. Players who are inside, or whom the re-entry rule keeps out, are left out and counted.",
  scope: "write",
  effect: "contact",
  property: "propertyId",
  deadline: DEADLINE_MS,
  input: {
    journeyId: z.uuid().describe("From list_journeys"),
    propertyId: z.uuid(),
    playerIds: z.array(z.uuid()).min(1).max(MOST_PLAYERS).optional().describe("From list_players"),
    segmentId: z.uuid().optional().describe("From list_segments. Takes all its present players"),
    entryKey: z
      .string()
      .trim()
      .max(200)
      .default("")
      .describe("Tells apart what may run at once for one player, such as a booking"),
    context: z
      .record(z.string(), z.unknown())
      .default({})
      .refine((value) => JSON.stringify(value).length <= 8192, "must be at most 8 KB")
      .describe("Kept with each enrollment"),
  },
  output: z.object({
    success: z.literal(true),
    entered: z.int(),
    ignored_inside: z.int().describe("They are inside already"),
    ignored_reentry: z.int().describe("The journey's re-entry rule keeps them out"),
    barred: z.int().describe("Deleted, erased, banned, deceased or self-excluded"),
  }),
  faults: ["invalid", "not_found", "conflict"],
  async handler(context, { journeyId, playerIds, segmentId, entryKey, context: about }) {
    if ((playerIds === undefined) === (segmentId === undefined)) {
      throw invalid("playerIds", "or segmentId: give one of them");
    }
    const wayIn = await entryOf(context, journeyId);
    const options = { entryKey, about, at: await transactionStart(context.sql) };
    const entries = playerIds
      ? await enrollIds(context, wayIn, { ...options, playerIds })
      : await enrollSegment(context, wayIn, { ...options, segmentId: segmentId! });
    const people = countsPeople(context.call) ? await enteredAt(context, wayIn, options) : null;
    context.ask?.({
      state: canonicalHash({ ...wayIn, ...entries, people }).toString("hex"),
      sentences: async () => [
        `${counted(entries.entered, "player enters", "players enter")} the journey ${JSON.stringify(wayIn.name)} now.`,
        `${counted(entries.ignored_inside + entries.ignored_reentry + entries.barred, "is", "are")} left out: ${counted(entries.ignored_inside, "is", "are")} inside, ${entries.ignored_reentry} may not enter again, ${counted(entries.barred, "is", "are")} barred.`,
        ...(playerIds ? [`The call names ${await namedPlayers(context, playerIds)}.`] : []),
      ],
      facts: async () => ({
        "the journey's version": `${wayIn.journeyId} ${wayIn.version}`,
        ...(segmentId && (await segmentFacts(context, segmentId))),
      }),
      audience: entries.entered,
      reach: { players: () => entries.entered, cost: () => null },
    });
    context.audit({ entity: "journeys", entityId: journeyId });
    return { success: true as const, ...entries };
  },
});

/** The hash of the players whom this transaction has let in: others would be as many. */
async function enteredAt(
  { sql: transaction, property }: Context,
  { journeyId }: WayIn,
  { entryKey, at }: Options,
): Promise<string> {
  const [row] = await transaction<[{ hash: string }]>`
    select ${hashOfPlayers} as hash from journey_enrollments
    where property_id = ${property.id} and journey_id = ${journeyId} and entry_key = ${entryKey}
      and entered_at = ${at}::timestamptz`;
  return row.hash;
}

interface Options {
  entryKey: string;
  about: object;
  /** The time of the entry. */
  at: string;
}

async function enrollIds(
  context: Context,
  wayIn: WayIn,
  { playerIds, ...options }: Options & { playerIds: string[] },
): Promise<Entries> {
  const ids = [...new Set(playerIds)];
  const found = await context.sql<{ id: string }[]>`
    select w.id from unnest(${ids}::uuid[]) w(id)
      join players p on p.property_id = ${context.property.id} and p.id = w.id and p.deleted_at is null`;
  if (found.length < ids.length) {
    const known = new Set(found.map(({ id }) => id));
    const missing = ids.filter((id) => !known.has(id));
    const more = missing.length > 1 ? ` (and ${missing.length - 1} more)` : "";
    throw new Fault("not_found", { message: `No player ${missing[0]} in this property${more}.` });
  }
  return enroll(context, entrants(wayIn, sql`select unnest(${ids}::uuid[]) as id`, options), options.at);
}

async function enrollSegment(
  context: Context,
  wayIn: WayIn,
  { segmentId, ...options }: Options & { segmentId: string },
): Promise<Entries> {
  const audience = await audienceOf(context.sql, context.property.id, segmentId);
  const people = sql`select p.id from players p where p.property_id = ${context.property.id}::uuid and ${audience}`;
  return enroll(context, adHoc(entrants(wayIn, people, options)), options.at);
}

function entrants(
  { journeyId, version, node, reentry }: WayIn,
  people: Fragment,
  { entryKey, about }: Options,
) {
  return sql`
    select ${journeyId}::uuid as journey_id, ${version}::int as version, ${node}::text as node,
      ${reentry}::jsonb as reentry, people.id as player_id, ${entryKey}::text as entry_key, ${about}::jsonb as context
    from (${people}) people`;
}
