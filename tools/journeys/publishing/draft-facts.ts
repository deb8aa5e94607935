import { canonicalHash } from "#runtime/funnel/audit.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import { rulesFacts } from "#tools/approvals/approval.ts";
import type { Journey } from "#tools/journeys/journey/journey.ts";
import type { Audience } from "#tools/segments/rules/compile.ts";
import { messageValues } from "./messages.ts";
import { journeyReferences } from "./references.ts";

interface DraftFacts {
  facts: Record<string, string>;
  segments: readonly Audience[];
}

/** The hashes of all that publishing a draft fixes: its nodes, the texts of its templates, and its segments' rules. */
export async function draftFacts(context: Tenant, journey: Journey): Promise<DraftFacts> {
  const { id, draft_definition: definition, goal, exit_conditions, reentry, ends_at, quiet_hours } = journey;
  const facts: [string, object][] = [
    ["the journey's draft", { id, definition, goal, exit_conditions, reentry, ends_at, quiet_hours }],
  ];
  for (const node of definition.nodes) {
    if (node.type !== "message") continue;
    facts.push([`the message ${node.id}`, await messageValues(context, journey, node)]);
  }
  const { segments } = await journeyReferences(context, { definition, goal, exit_conditions });
  const hashed = facts.map(([name, value]) => [name, canonicalHash(value).toString("hex")]);
  return { facts: { ...Object.fromEntries(hashed), ...rulesFacts(segments) }, segments };
}
