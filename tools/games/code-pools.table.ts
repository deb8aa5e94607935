import { z } from "zod";
import { Fault } from "#runtime/faults.ts";
import { writable } from "#runtime/operation/columns.ts";
import { table } from "#runtime/operation/table.ts";

export default table({
  name: "code_pools",
  noun: "code_pool",
  key: ["name"],
  called: "name",
  description:
    "A pool of prize codes that another system made. add_prize_codes fills it, and each claim takes one. No operation lists the codes.",
  columns: {
    name: writable(z.string().trim().min(1).max(150).describe("For the staff; players do not see it"), {
      concise: true,
    }),
  },
  async beforeWrite({ sql, property }, { verb, input, current }) {
    if (verb !== "delete") return input;
    const used = await sql`
      select from game_prizes where property_id = ${property.id} and code_pool_id = ${current.id}
      union all select from prize_codes where property_id = ${property.id} and pool_id = ${current.id} limit 1`;
    if (used.length === 0) return {};
    throw new Fault("conflict", { message: "The pool has codes, or a prize takes its codes from it." });
  },
});
