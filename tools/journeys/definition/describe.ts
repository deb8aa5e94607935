import { z } from "zod";
import { KINDS, kindOf, type NodeType } from "#tools/journeys/nodes/all.ts";
import { Condition, describeJourneyFields, Group } from "#tools/segments/rules/compile.ts";
import { Definition, JourneyGoal, Reentry } from "./definition.ts";

/** The types of nodes with their configs, and a worked example, for agents that write a definition. */
export function describeJourneys() {
  const types = (Object.keys(KINDS) as NodeType[]).map((type) => {
    const { meaning, config } = kindOf(type);
    return { type, meaning, config: schemaOf(config) };
  });
  return {
    rules: [
      "A journey has at least one trigger; every node is reached from one.",
      "An unlabelled edge serves every way out of its node that lacks its own edge. A way out with no edge ends the journey.",
      "A loop needs a delay of a minute or more.",
      "validate_journey names every problem at once, with the node and the remedy.",
    ],
    types,
    fields: describeJourneyFields(),
    goal: schemaOf(JourneyGoal),
    reentry: schemaOf(Reentry),
    example: EXAMPLE,
  };
}

function schemaOf(schema: z.ZodType): object {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    io: "input",
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }) => {
      const known = RULES.get(zodSchema);
      if (known) {
        for (const key of Object.keys(jsonSchema)) delete jsonSchema[key];
        Object.assign(jsonSchema, { type: "object", description: known });
      }
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
      // The format says it in one word.
      if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
    },
  });
  return json;
}

/** Rules that another page describes. */
const RULES = new Map<z.core.$ZodType, string>([
  [Condition, "{field, operator, value}: schema://segments has the fields and operators, fields here more"],
  [Group, "{logic, conditions, groups}: a nested group, as in schema://segments"],
]);

/** Lapsed Gold players: one invitation in the morning, one more after ten days, nothing to those who came. */
const EXAMPLE = Definition.parse({
  nodes: [
    {
      id: "lapsed",
      type: "trigger",
      config: { on: "segment_enter", segment_id: "01890000-0000-7000-8000-000000000000" },
    },
    { id: "morning", type: "delay", config: { by: "until_local_time", time: "10:00" } },
    {
      id: "invitation",
      type: "message",
      config: { channel: "email", subject: "We miss you", body_html: "<p>Dinner is on us this month.</p>" },
    },
    {
      id: "back",
      type: "wait_until",
      config: { event: { name: "visit" }, timeout: { amount: 10, unit: "days" } },
    },
    {
      id: "by_tier",
      type: "branch",
      config: {
        branches: [{ label: "gold", conditions: [{ field: "tier", operator: "eq", value: "Gold" }] }],
      },
    },
    {
      id: "last_call",
      type: "message",
      config: { channel: "email", subject: "Your invitation ends", body_html: "<p>It ends on Sunday.</p>" },
    },
    { id: "won", type: "goal", config: {} },
    { id: "lost", type: "exit", config: { reason: "not_seen" } },
  ],
  edges: [
    { from: "lapsed", to: "morning" },
    { from: "morning", to: "invitation" },
    { from: "invitation", to: "back" },
    { from: "back", to: "won", label: "yes" },
    { from: "back", to: "by_tier", label: "timed_out" },
    { from: "by_tier", to: "last_call", label: "gold" },
    { from: "by_tier", to: "lost", label: "otherwise" },
    { from: "last_call", to: "lost" },
  ],
});
