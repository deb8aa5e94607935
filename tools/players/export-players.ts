import { z } from "zod";
import { file } from "#runtime/operation/operation.ts";
import { customFields } from "#tools/custom-fields/values.ts";
import { Condition } from "#tools/segments/rules/compile.ts";
import { audienceMatching } from "#tools/segments/rules/references.ts";
import { unknownValues } from "#tools/segments/unknown-values.ts";
import { playersCsv } from "./csv.ts";

const MOST = 50_000;

export default file({
  name: "export_players",
  title: "Export players as CSV",
  description: "Writes all players, or matching ones, into a CSV file.",
  contentType: "text/csv; charset=utf-8",
  core: true,
  property: "property_id",
  input: {
    property_id: z.uuid(),
    segment_id: z.uuid().optional().describe("From list_segments"),
    conditions: z.array(Condition).optional().describe('[{"field":"adt","operator":"gte","value":100}]'),
    logic: z.enum(["and", "or"]).default("and").describe("Of conditions"),
    limit: z.int().min(1).max(MOST).default(MOST).describe("Rows"),
    fields: z.array(z.string()).optional().describe("Columns"),
    order: z.string().optional().describe("Such as adt.desc"),
  },
  faults: ["invalid", "not_found"],
  async handler(context, { segment_id, conditions = [], logic, limit, ...layout }) {
    const { sql, property, call, audit, now, warn } = context;
    // Without groups the conditions are at the top, so that an error names the caller's own path.
    const rules = segment_id
      ? {
          conditions: [{ field: `segment.${segment_id}`, operator: "in_segment" as const }],
          groups: conditions.length > 0 ? [{ logic, conditions }] : [],
        }
      : { logic, conditions, groups: [] };
    if (warn) for (const why of await unknownValues(context, { conditions })) warn(why);
    const all = rules.conditions.length + rules.groups.length === 0;
    const audience = all ? sql`p.deleted_at is null` : await audienceMatching(sql, property.id, rules);
    // The conditions may contain an address, which the log must not keep.
    const diff = { segment_id: segment_id ?? null, conditions: conditions.length, logic, limit };
    audit({ entity: "players", entityId: segment_id ?? null, diff });
    const customs = await customFields({ sql, property });
    const day = new Date(now()).toISOString().slice(0, 10);
    // Only agents see the start alone; others count what they get.
    const [counted] =
      call.transport === "mcp"
        ? await sql<{ rows: number }[]>`
            select least(count(*), ${limit})::int as rows from players p
            where p.property_id = ${property.id} and ${audience}`
        : [];
    const source = playersCsv(property.id, audience, limit, customs, layout);
    return { filename: `players-${day}.csv`, source, rows: counted?.rows };
  },
});
