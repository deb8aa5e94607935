import { didYouMean } from "#db/nearest.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import type { Problem } from "#tools/journeys/definition/structure.ts";
import type { Referring } from "./references.ts";

/** Names of reported events that a warning lists. */
const MOST_NAMES = 20;

type Named = Pick<Problem, "node" | "field"> & { name: string };

/** Warnings about events of a journey that have never been reported: a wrong name raises no error. */
export async function eventWarnings(
  { sql, property }: Tenant,
  { definition, goal }: Pick<Referring, "definition" | "goal">,
): Promise<Problem[]> {
  const named = eventsOf({ definition, goal });
  if (named.length === 0) return [];
  const names = [...new Set(named.map(({ name }) => name))];
  const unknown = await sql<{ name: string }[]>`
    select w.name from unnest(${names}::text[]) w(name)
    where not exists (
      select from player_events v where v.property_id = ${property.id} and v.name = w.name)`;
  if (unknown.length === 0) return [];
  const missing = new Set(unknown.map(({ name }) => name));
  const reported = await reportedNames({ sql, property });
  return named
    .filter(({ name }) => missing.has(name))
    .map(({ name, node, field }) => ({ node, field, message: wordsOf(name, reported) }));
}

function eventsOf({ definition, goal }: Pick<Referring, "definition" | "goal">): Named[] {
  const inNodes = definition.nodes.flatMap((node): Named[] => {
    if (node.type === "wait_until" && node.config.event) {
      return [{ node: node.id, field: "event.name", name: node.config.event.name }];
    }
    if (node.type !== "trigger" || node.config.on !== "event") return [];
    return [{ node: node.id, field: "event", name: node.config.event }];
  });
  return goal?.event
    ? [...inNodes, { node: null, field: "goal.event.name", name: goal.event.name }]
    : inNodes;
}

function wordsOf(name: string, reported: string[]): string {
  const others =
    reported.length === 0
      ? " Nor was any other: the casino's systems report events by create_player_event."
      : ` Reported are ${reported.join(", ")}.`;
  return `Nobody has reported the event ${JSON.stringify(name)} so far${didYouMean(name, reported)}.${others}`.replace(
    "?.",
    "?",
  );
}

/** Reads one row a name: an index of all events is too long to read. */
async function reportedNames({ sql, property }: Tenant): Promise<string[]> {
  const names: string[] = [];
  for (let after = ""; names.length < MOST_NAMES; after = names.at(-1)!) {
    const [next] = await sql<{ name: string }[]>`
      select v.name from player_events v where v.property_id = ${property.id} and v.name > ${after}
      order by v.name limit 1`;
    if (!next) break;
    names.push(next.name);
  }
  return names;
}
