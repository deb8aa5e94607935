import { z } from "zod";
import { tool } from "#runtime/operation/operation.ts";
import { CONTROLS } from "./controls.ts";
import type { ControlRow } from "./rows.ts";

const Row = z.object({
  table: z.string(),
  id: z.uuid().nullable().describe("null: a setting, a count, or built in"),
  words: z.string(),
  source: z.string().nullable().describe("The law or the person behind the row, as the row names it"),
});

export default tool({
  name: "list_compliance_controls",
  title: "List the compliance controls",
  description:
    "For each law: the rule, this property's rows for it, the files that enforce it, and the tests. For a compliance officer, an auditor or a regulator; check the laws with counsel.",
  scope: "read",
  effect: "read",
  property: "propertyId",
  input: { propertyId: z.uuid() },
  output: z.object({
    controls: z.array(
      z.object({
        name: z.string(),
        law: z.string(),
        rule: z.string(),
        rows: z.array(Row),
        enforced: z.array(z.string()).describe("Files of this service"),
        tested: z.array(z.string()).describe("Files of its tests"),
      }),
    ),
  }),
  faults: [],
  async handler(context) {
    const controls = [];
    for (const { name, law, rule, enforced, tested, rows: sources } of CONTROLS) {
      const rows: ControlRow[] = [];
      for (const source of sources) rows.push(...(await source(context)));
      controls.push({ name, law, rule, rows, enforced: [...enforced], tested: [...tested] });
    }
    return { controls };
  },
});
