import { z } from "zod";
import { join, sql } from "#db/sql.ts";
import { audienceBy } from "#tools/segments/rules/references.ts";
import type { NodeKind } from "./node.ts";
import { Rules } from "./wait-until.ts";

/** The label of an edge. */
export const Label = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,39}$/, "must be up to 40 lower-case letters, digits and _, a letter first");
const OTHERWISE = "otherwise";

export const BranchConfig = z.strictObject({
  branches: z
    .array(z.strictObject({ label: Label, ...Rules }))
    .min(1)
    .max(20)
    .describe("In order: the first one whose conditions hold"),
});
export type BranchConfig = z.output<typeof BranchConfig>;

export const branch: NodeKind<BranchConfig> = {
  type: "branch",
  meaning:
    "Sends players along the first branch whose conditions hold, and the others along the edge otherwise.",
  config: BranchConfig,
  labels: ({ branches }) => [...branches.map(({ label }) => label), OTHERWISE],
  conditions: ({ branches }) => branches,
  problems: ({ branches }) =>
    branches.flatMap(({ label, conditions, groups }, index) => [
      ...(label === OTHERWISE || branches.findIndex((one) => one.label === label) < index
        ? [{ field: `branches[${index}].label`, message: `is taken: ${label}` }]
        : []),
      ...(conditions.length + (groups?.length ?? 0) === 0
        ? [{ field: `branches[${index}].conditions`, message: "need at least one condition" }]
        : []),
    ]),
  next({ config }, { property, referred, at }) {
    const cases = config.branches.map(
      (one) => sql`when ${audienceBy(property.id, one, referred, at)} then ${one.label}`,
    );
    return sql`case ${join(cases, " ")} else ${OTHERWISE} end`;
  },
};
