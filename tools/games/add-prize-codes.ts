import { randomUUIDv7 } from "node:crypto";
import { z } from "zod";
import { counted } from "#runtime/counted.ts";
import { Fault } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { RECORDS } from "#runtime/operation/record-words.ts";
import { quoted } from "#runtime/visible-text.ts";
import { codeHash, plainCode, sealCode } from "./claims/codes.ts";

const MOST_CODES = 10_000;
/** A person who decides reads no more codes. */
const MOST_SHOWN = 5;
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
  asks: true,
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
    const [pool] = await sql<{ name: string }[]>`
      select name from code_pools where property_id = ${property.id} and id = ${poolId} for key share`;
    if (!pool) throw new Fault("not_found", { message: `poolId: no pool ${poolId} in this property.` });
    await askAboutWinners(context, { poolId, name: pool.name, codes });
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

/** A code is a text for winners: what a running game gives them is asked about. */
async function askAboutWinners(
  { sql, property, ask }: Context,
  { poolId, name, codes }: { poolId: string; name: string; codes: readonly string[] },
): Promise<void> {
  const games = await sql<{ name: string }[]>`
    select g.name from games g
    where g.property_id = ${property.id} and g.deleted_at is null and g.status not in ('draft', 'archived')
      and exists (
        select from game_prizes p
        where p.property_id = ${property.id} and p.game_id = g.id and p.code_pool_id = ${poolId})
    order by g.name`;
  if (games.length === 0) return;
  const shown = codes.slice(0, MOST_SHOWN).map((code) => quoted(code));
  const more = codes.length > shown.length ? ` and ${codes.length - shown.length} more` : "";
  const named = games.map((game) => quoted(game.name)).join(", ");
  ask?.({
    sentences: () => [
      `Winners of ${named} get codes of the pool ${quoted(name)}. This adds ${counted(codes.length, "code")}: ${shown.join(", ")}${more}.`,
    ],
  });
}
