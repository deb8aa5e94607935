import { z } from "zod";
import type { Fragment } from "#db/sql.ts";
import { invalid } from "#runtime/faults.ts";
import type { Context, Tenant } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { Condition, Group } from "./rules/compile.ts";
import { audienceMatching, audienceOf } from "./rules/references.ts";
import { unknownValues } from "./unknown-values.ts";

const Sample = z.object({
  id: z.uuid(),
  player_id: z.string(),
  first_name: z.string().nullable(),
  last_name: z.string().nullable(),
  email: z.string().nullable(),
  tier: z.string().nullable(),
  adt: z.number().nullable(),
  status: z.string(),
});

export default tool({
  name: "segment_preview",
  title: "Preview a segment",
  description:
    "Counts the players that a saved segment, or rules not saved yet, match now, and shows ten of them. Changes nothing. It ignores consent and suppressions: preflight_campaign checks those.",
  scope: "read",
  effect: "read",
  property: "propertyId",
  input: {
    propertyId: z.uuid(),
    segmentId: z.uuid().optional().describe("A saved segment, from list_segments; or give conditions"),
    conditions: z
      .array(Condition)
      .optional()
      .describe('Such as [{"field":"adt","operator":"gte","value":100}]'),
    logic: z.enum(["and", "or"]).default("and").describe("How the conditions join"),
    groups: z.array(Group).optional().describe("Nested rule groups"),
  },
  output: z.object({
    count: z.int(),
    sample: z.array(Sample).describe("Ten at the most, newest first"),
    warnings: z.array(z.string()).describe("Values of the rules that no player has"),
    sql_ms: z.number().describe("The database's time in milliseconds"),
  }),
  faults: ["invalid", "not_found"],
  async handler(context, { segmentId, conditions, groups, logic }) {
    const { sql, property } = context;
    if ((segmentId === undefined) === (conditions === undefined && groups === undefined)) {
      throw invalid("segmentId", "give either segmentId, or conditions with logic and groups");
    }
    const audience = segmentId
      ? await audienceOf(sql, property.id, segmentId)
      : await audienceMatching(sql, property.id, { logic, conditions: conditions ?? [], groups });
    const found = await preview(sql, property.id, audience);
    const rules = segmentId ? await rulesOf(context, segmentId) : { conditions: conditions ?? [], groups };
    return { ...found, warnings: await unknownValues(context, rules) };
  },
});

async function rulesOf({ sql, property }: Tenant, id: string): Promise<Partial<Group>> {
  const [row] = await sql<Partial<Group>[]>`
    select conditions, groups from segments where property_id = ${property.id} and id = ${id}`;
  return row ?? {};
}

async function preview(sql: Context["sql"], property: string, audience: Fragment) {
  const startedAt = performance.now();
  const [[counted], sample] = await Promise.all([
    sql<
      { count: number }[]
    >`select count(*) from players p where p.property_id = ${property} and ${audience}`,
    sql<z.output<typeof Sample>[]>`
      select p.id, p.player_id, p.first_name, p.last_name, p.email, p.tier, p.adt, p.status from players p
      where p.property_id = ${property} and ${audience} order by p.created_at desc, p.id desc limit 10`,
  ]);
  const sql_ms = Math.round((performance.now() - startedAt) * 10) / 10;
  return { count: counted!.count, sample: [...sample], sql_ms };
}
