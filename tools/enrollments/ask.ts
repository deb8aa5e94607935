import { isDeepStrictEqual } from "node:util";
import { type Call, type Context, UNBOUNDED } from "#runtime/operation/context.ts";
import { namedPlayers } from "#tools/people/words.ts";

/** The most journeys that a question names. */
const MOST_NAMED = 5;

interface Moved {
  /** The words before "enter": what the agent reports. */
  cause: string;
  journeys: readonly string[];
  players: readonly string[];
  /** How many of the players move. */
  moved: number;
}

/**
 * Asks before an agent's report moves players in published journeys, which may write to them. Other callers are the
 * casino's own systems, whose events the journey was published for.
 */
export function askBeforeMoving(context: Context, { cause, journeys, players, moved }: Moved): void {
  if (moved === 0 || !isAsked(context.call)) return;
  context.ask?.({
    sentences: async () => {
      return [
        `${cause}. By it ${await namedPlayers(context, players)} ${players.length === 1 ? "enters or goes" : "enter or go"} on in ${journeys.length === 1 ? "the journey" : "the journeys"} ${listed(
          journeys.map((name) => JSON.stringify(name)),
          journeys.length,
        )}, which may write to ${players.length === 1 ? "them" : "them all"}.`,
      ];
    },
    reach: { players: () => moved, cost: () => null },
  });
}

/** Whether a person decides on the call: an agent makes it, or a person has approved it. */
export function isAsked({ transport, review }: Call): boolean {
  return transport === "mcp" || review === "approved";
}

type Values = Readonly<Record<string, unknown>>;

/** Asks about dates that an agent gives a player, where players enter published journeys by them each year. */
export async function askAboutDates(
  context: Context,
  { before, after }: { before: Values | null; after: Values & { id: string } },
): Promise<void> {
  if (!isAsked(context.call)) return;
  const { sql, property } = context;
  const known = fieldsOf(before ?? {});
  const given = Object.entries(fieldsOf(after))
    .filter(([name, value]) => (value ?? null) !== null && !isDeepStrictEqual(value, known[name]))
    .map(([name]) => name);
  const dates = await sql<{ field: string; journeys: string[] }[]>`
    select t.name as field, array_agg(distinct j.name) as journeys from journey_triggers t
      join journeys j on j.property_id = ${property.id} and j.id = t.journey_id
    where t.property_id = ${property.id} and t.kind = 'date_field' and t.name = any(${given}::text[])
      and j.status = 'active' and j.deleted_at is null
    group by t.name order by t.name`;
  for (const { field, journeys } of dates) {
    const cause = `This sets ${field}, a date by which players enter a journey each year`;
    askBeforeMoving(context, { cause, journeys, players: [after.id], moved: 1 });
  }
}

/** A player's values by the names that rules have for them. */
function fieldsOf({ custom, ...own }: Values): Values {
  const customs = Object.entries((custom ?? {}) as Values);
  return { ...own, ...Object.fromEntries(customs.map(([key, value]) => [`custom.${key}`, value])) };
}

/** Asks before an agent's file adds players. Their values and dates may enroll them in published journeys. */
export async function askBeforeImport({ sql, property, call, ask }: Context): Promise<void> {
  if (!isAsked(call)) return;
  const journeys = await sql<{ name: string }[]>`
    select distinct j.name from journey_triggers t
      join journeys j on j.property_id = ${property.id} and j.id = t.journey_id
    where t.property_id = ${property.id} and t.kind in ('segment_enter', 'segment_exit', 'date_field')
      and j.status = 'active' and j.deleted_at is null
    order by j.name`;
  if (journeys.length === 0) return;
  const names = journeys.map(({ name }) => JSON.stringify(name));
  const sentence = `Players of the file whose values fit the rules, or whose date comes, enter ${journeys.length === 1 ? "the journey" : "the journeys"} ${listed(names, names.length)}, which may write to them.`;
  ask?.({ sentences: () => [sentence], reach: UNBOUNDED });
}

function listed(names: readonly string[], count: number): string {
  const shown = names.slice(0, MOST_NAMED);
  return count > shown.length ? `${shown.join(", ")} and ${count - shown.length} more` : shown.join(", ");
}
