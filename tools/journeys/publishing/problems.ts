import { Fault } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import { type Problem, type Problems, structureProblems } from "#tools/journeys/definition/structure.ts";
import type { Journey } from "#tools/journeys/journey/journey.ts";
import { filterProblems } from "#tools/journeys/nodes/event-filter.ts";
import { consentWarnings } from "./consent-warnings.ts";
import { eventWarnings } from "./event-warnings.ts";
import { hourWarnings } from "./hour-warnings.ts";
import { messageProblems } from "./messages.ts";
import { referenceProblems } from "./references.ts";

type Draft = Pick<
  Journey,
  "id" | "name" | "priority" | "quiet_hours" | "draft_definition" | "goal" | "exit_conditions" | "ends_at"
> &
  Partial<Pick<Journey, "reentry">>;

/** Every problem of a journey's draft at once. */
export async function draftProblems(context: Context, draft: Draft): Promise<Problems> {
  const { draft_definition: definition, goal, exit_conditions } = draft;
  const { errors, warnings } = structureProblems(definition);
  const messages: Problem[] = [];
  for (const node of definition.nodes) {
    if (node.type === "message") messages.push(...(await messageProblems(context, draft, node)));
  }
  return {
    errors: [
      ...errors,
      ...limitProblems(context, draft),
      ...(await referenceProblems(context, { definition, goal, exit_conditions })),
      ...messages,
    ],
    warnings: [
      ...warnings,
      ...yearWarnings(draft),
      ...(await eventWarnings(context, { definition, goal })),
      ...(await hourWarnings(context, draft)),
      ...(await consentWarnings(context, definition)),
    ],
  };
}

/** A yearly date that each player passes once. */
function yearWarnings({ draft_definition: { nodes }, reentry }: Draft): Problem[] {
  if (reentry?.mode !== "never") return [];
  const message =
    "The date returns each year, but nobody enters twice: each player gets this only the first year. Set reentry to after_exit if it is to return.";
  return nodes.flatMap(({ id, type, config }) =>
    type === "trigger" && config.on === "date_field" ? [{ node: id, field: "reentry", message }] : [],
  );
}

function limitProblems({ now }: Context, { goal, ends_at }: Draft): Problem[] {
  const rules = goal ? goal.conditions.length + (goal.groups?.length ?? 0) : 0;
  const isUnclear = goal !== null && (goal.event !== undefined) === rules > 0;
  const filter = filterProblems(goal?.event?.properties ?? [], "goal.event.properties");
  return [
    ...filter.map(({ field, message }) => ({ node: null, field, message: `${field} ${message}.` })),
    ...(isUnclear
      ? [{ node: null, field: "goal", message: "Give the goal either an event or conditions." }]
      : []),
    ...(ends_at !== null && Date.parse(ends_at) <= now()
      ? [{ node: null, field: "ends_at", message: "The end has passed. Give a later time, or null." }]
      : []),
  ];
}

/** One fault of all errors. */
export function unpublishable(errors: Problem[]): Fault {
  const message = errors
    .map(({ node, message }) => (node === null ? message : `${node}: ${message}`))
    .join(" ");
  const details = errors.map(({ node, field, message }) => ({
    field: node === null ? field : `${node}.${field}`,
    message,
  }));
  return new Fault("invalid", { message, details });
}
