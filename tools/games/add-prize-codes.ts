import { randomUUIDv7 } from "node:crypto";
import { z } from "zod";
import { Fault } from "#runtime/faults.ts";
import { tool } from "#runtime/operation/operation.ts";
import { RECORDS } from "#runtime/operation/record-words.ts";
import { codeHash, plainCode, sealCode } from "./claims/codes.ts";

const MOST_CODES = 10_000;
/** Characters, apart from blanks and dashes. */
const LEAST = 4;

const Code = z
  .string()
  .trim()
  .min(LEAST)
  .max(100)
  .refine(
    (code) => plainCode(code).length >= LEAST,
    `must have at least ${LEAST} characters beside blanks and dashes`,
  );

export default tool({
  name: "add_prize_codes",
  title: "Add codes to a pool",
  description: "Puts codes into a pool. They are stored sealed, and only the claim that takes one shows it.",
  scope: "write",
  effect: "create",
  property: "propertyId",
  input: {
    poolId: z.uuid().describe("From list_code_pools").register(RECORDS, { noun: "code_pool" }),
    propertyId: z.uuid(),
    codes: z.array(Code).min(1).max(MOST_CODES).describe("As players show them"),
  },
  output: z.object({
    success: z.literal(true),
    added: z.int(),
    known: z.int().describe("The property has them already"),
    left: z.int().describe("Codes of the pool that no claim has taken"),
  }),
  faults: ["invalid", "not_found"],
  async handler(context, { poolId, codes }) {
    const { sql, property } = context;
    const pool = await sql`
      select from code_pools where property_id = ${property.id} and id = ${poolId} for key share`;
    if (pool.length === 0)
      throw new Fault("not_found", { message: `poolId: no pool ${poolId} in this property.` });
    const rows = codes.map((code) => {
      const id = randomUUIDv7();
      const hash = codeHash(context, code).toString("hex");
      return { id, hash, sealed: sealCode(context, "prize_codes", id, code) };
    });
    const added = await sql`
      insert into prize_codes (property_id, id, pool_id, code_hash, code_sealed)
      select ${property.id}, id, ${poolId}, decode(hash, 'hex'), sealed
      from jsonb_to_recordset(${rows}::jsonb) c(id uuid, hash text, sealed text)
      order by hash
      on conflict (property_id, code_hash) do nothing
      returning 1`;
    context.audit({ entity: "code_pools", entityId: poolId, diff: { codes: added.length } });
    const [free] = await sql<[{ left: number }]>`
      select count(*)::int as left from prize_codes
      where property_id = ${property.id} and pool_id = ${poolId} and play_id is null`;
    return {
      success: true as const,
      added: added.length,
      known: codes.length - added.length,
      left: free.left,
    };
  },
});
