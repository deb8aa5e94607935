import { Fault } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import { reportingAmount } from "#tools/games/law/law.ts";
import { codeHash, newCode, openCode, sealCode } from "./codes.ts";
import type { Play } from "./play.ts";

/** Whether this claim brings the player's calendar year to the reporting amount. The player is locked. */
export async function needsTaxForm(context: Context, { id, player_id, value }: Play): Promise<boolean> {
  const { sql, property } = context;
  const most = value > 0 ? await reportingAmount(context, property.default_country) : null;
  if (most === null) return false;
  const [year] = await sql<[{ total: number }]>`
    select coalesce(sum(value), 0) as total from game_plays
    where property_id = ${property.id} and player_id = ${player_id} and outcome = 'win' and id <> ${id}
      and status in ('claimed', 'needs_tax_form', 'redeemed')
      and coalesce(claimed_at, redeemed_at) >= date_trunc('year', now() at time zone ${property.timezone})
        at time zone ${property.timezone}`;
  return year.total + value >= most;
}

/** The values that give a play its code: of its prize's pool, or a new one. */
export async function withCode(context: Context, play: Play): Promise<{ code: string; values: object }> {
  const code = await codeFor(context, play);
  const values = {
    code_hash: codeHash(context, code),
    code_sealed: sealCode(context, "game_plays", play.id, code),
  };
  return { code, values };
}

async function codeFor(context: Context, { id, prize_id }: Play): Promise<string> {
  const { sql, property } = context;
  const [prize] = await sql<{ pool: string | null }[]>`
    select code_pool_id as pool from game_prizes where property_id = ${property.id} and id = ${prize_id}`;
  if (!prize?.pool) return newCode();
  const [free] = await sql<{ id: string; sealed: string }[]>`
    select id, code_sealed as sealed from prize_codes
    where property_id = ${property.id} and pool_id = ${prize.pool} and play_id is null
    order by id limit 1 for no key update skip locked`;
  if (!free) {
    throw new Fault("conflict", {
      message: "The prize's pool has no code left. add_prize_codes fills it; then claim again.",
    });
  }
  await sql`
    update prize_codes set play_id = ${id}, updated_at = now()
    where property_id = ${property.id} and id = ${free.id} returning 1`;
  return openCode(context, "prize_codes", free.id, free.sealed);
}

/** The code of a claimed play. */
export function codeOf(context: Context, { id, code_sealed }: Play): string {
  return openCode(context, "game_plays", id, code_sealed!);
}
