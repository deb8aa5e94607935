import { canonicalHash } from "#runtime/funnel/audit.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import type { Audience } from "#tools/segments/rules/compile.ts";

/** The hashes of segments' rules, as a proposal keeps them. */
export function rulesFacts(segments: readonly Audience[]): Record<string, string> {
  const facts = segments.map(({ id: _, name, ...rules }) => [
    `the rules of the segment ${JSON.stringify(name)}`,
    canonicalHash(rules).toString("hex"),
  ]);
  return Object.fromEntries(facts);
}

/** The hashes of the players of lists. A list can get other players meanwhile, and as many. */
export async function listFacts(
  { sql, property }: Tenant,
  segments: readonly Audience[],
): Promise<Record<string, string>> {
  const facts: Record<string, string> = {};
  for (const { id, name, type } of segments) {
    if (type !== "static") continue;
    const [row] = await sql<{ hash: string }[]>`
      select encode(sha256(convert_to(coalesce(string_agg(player_id::text, ',' order by player_id), ''), 'UTF8')), 'hex')
        as hash
      from segment_members where property_id = ${property.id} and segment_id = ${id}`;
    facts[`the players of the list ${JSON.stringify(name)}`] = row!.hash;
  }
  return facts;
}
