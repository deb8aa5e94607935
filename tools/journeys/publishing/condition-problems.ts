import { toFault } from "#runtime/faults.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import type { Node } from "#tools/journeys/definition/definition.ts";
import type { Problem } from "#tools/journeys/definition/structure.ts";
import { kindOf } from "#tools/journeys/nodes/all.ts";
import type { Condition, Group } from "#tools/segments/rules/compile.ts";
import { audienceBy, type Referred, referredBy } from "#tools/segments/rules/references.ts";

/** The channels of a journey's messages, by their nodes. */
type Messages = NonNullable<Referred["messages"]>;

/** The problems of all conditions of a node. Those of dates and of segments that people enter by are found elsewhere. */
export async function nodeConditionProblems(
  tenant: Tenant,
  node: Node,
  messages: Messages,
): Promise<Problem[]> {
  if (node.type === "trigger" || node.type === "delay") return [];
  const sets = kindOf(node.type).conditions?.(node.config) ?? [];
  const problems: Problem[] = [];
  for (const [index, rules] of sets.entries()) {
    // The node's own check names a branch without conditions.
    if (isEmpty(rules)) continue;
    const at = node.type === "branch" ? `branches[${index}].` : "";
    const found = await ruleProblems(tenant, { rules, at, messages });
    problems.push(...found.map((one) => ({ node: node.id, ...one })));
  }
  return problems;
}

export function isEmpty({ conditions = [], groups = [] }: Partial<Group>): boolean {
  return conditions.length + groups.length === 0;
}

type RuleProblem = Omit<Problem, "node">;

/** Every condition that does not compile, by its place behind the path `at`; else the flaw of the rules as a whole. */
export async function ruleProblems(
  tenant: Tenant,
  { rules, at, messages }: { rules: Partial<Group>; at: string; messages: Messages },
): Promise<RuleProblem[]> {
  const whole = await flawOf(tenant, rules, messages);
  if (!whole) return [];
  const problems: RuleProblem[] = [];
  for (const { condition, path } of leavesOf(rules, at)) {
    const flaw = await flawOf(tenant, { conditions: [condition] }, messages);
    // A condition that is compiled alone is the first one.
    const placed = (text: string) => text.replaceAll("conditions[0]", path);
    if (flaw) problems.push({ field: placed(flaw.field ?? path), message: placed(flaw.message) });
  }
  return problems.length > 0 ? problems : [{ field: `${at}conditions`, message: `${at}${whole.message}` }];
}

/** Null for rules that compile. */
async function flawOf(
  { sql, property }: Tenant,
  rules: Partial<Group>,
  messages: Messages,
): Promise<{ field: string | undefined; message: string } | null> {
  try {
    audienceBy(property.id, rules, { ...(await referredBy(sql, property.id, rules)), messages });
    return null;
  } catch (error) {
    const { status, message, details } = toFault(error);
    if (status >= 500) throw error;
    return { field: details?.[0]?.field, message };
  }
}

function leavesOf(
  { conditions = [], groups = [] }: Partial<Group>,
  at: string,
): { condition: Condition; path: string }[] {
  return [
    ...conditions.map((condition, index) => ({ condition, path: `${at}conditions[${index}]` })),
    ...groups.flatMap((group, index) => leavesOf(group, `${at}groups[${index}].`)),
  ];
}
