import type { Tenant } from "#runtime/operation/context.ts";
import type { Definition, NodeOf } from "#tools/journeys/definition/definition.ts";
import type { Problem } from "#tools/journeys/definition/structure.ts";

/**
 * Channels on which automated marketing to a number of the United States needs consent in writing: 47 CFR 64.1200(a)(2)
 * and (f)(9). Counsel decides whether a property's messages fall under it, so this warns and bars nobody.
 */
const IN_WRITING: readonly string[] = ["sms", "voice"];
/** Players of whom a warning tells. Reading all would take longer than an answer may. */
const MOST_PLAYERS = 20_000;

/** Marketing messages to players whose consent is not in writing, once a channel. */
export async function consentWarnings(tenant: Tenant, { nodes }: Definition): Promise<Problem[]> {
  const warnings: Problem[] = [];
  for (const channel of IN_WRITING) {
    const message = nodes.find(
      (node): node is NodeOf<"message"> =>
        node.type === "message" && node.config.channel === channel && !node.config.is_transactional,
    );
    const people = message ? await withoutWriting(tenant, channel) : 0;
    if (message && people > 0) warnings.push(warningOf(message.id, channel, people));
  }
  return warnings;
}

function warningOf(node: string, channel: string, people: number): Problem {
  const count = people === 1 ? "1 player has" : `${people.toLocaleString("en-US")} players have`;
  return {
    node,
    field: "config",
    message: `${count} agreed to ${channel} at a level below express_written. Automated marketing to a number of the United States needs consent in writing (47 CFR 64.1200(a)(2)). Ask these players for it and record it by consent_record with consentLevel express_written, or keep them out by a segment.`,
  };
}

/** Players of the United States whose consent in force is not in writing. */
async function withoutWriting({ sql, property }: Tenant, channel: string): Promise<number> {
  const [found] = await sql<[{ people: number }]>`
    with agreed as materialized (
      select p.consent_levels ->> ${channel}::text as level from players p
      where p.property_id = ${property.id}::uuid and p.deleted_at is null and p.status = 'active'
        and p.consents @> ${{ [channel]: true }}::jsonb and starts_with(p.region, 'US')
      limit ${MOST_PLAYERS}::int
    )
    select count(*)::int as people from agreed where level is distinct from 'express_written'`;
  return found.people;
}
