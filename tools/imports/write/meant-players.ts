import type { Context } from "#runtime/operation/context.ts";
import { MATCH_KEYS } from "#tools/imports/job/import-job.ts";
import type { Staged } from "#tools/imports/read/rows.ts";
import { addressHash } from "#tools/people/address.ts";
import { lookingUp, matches } from "./verdicts.ts";

export interface RowOfPlayer {
  row: number;
  /** The player's id. */
  id: string;
}

/** A row with the player whom it meant before others were written. */
export type Meant = Pick<RowOfPlayer, "row"> & { id: string | null };

/** The players whom rows mean now that are not written. `is_first`: by the key by which the row is matched. */
export async function meantPlayers(
  context: Context,
  flawed: readonly Staged[],
): Promise<(RowOfPlayer & { is_first: boolean })[]> {
  if (flawed.length === 0) return [];
  const { pepper } = context.property;
  // A player_id belongs to one person, in every match mode.
  const wanted: object[] = flawed.flatMap(({ row, matchOn, values: { player_id, email, phone } }) =>
    [...new Set([matchOn, ...(player_id ? (["player_id"] as const) : [])])].map((match_on) => ({
      ...{ row, match_on, is_first: match_on === matchOn, player_id, email },
      phone_hash: phone ? `\\x${addressHash(pepper, phone).toString("hex")}` : null,
    })),
  );
  const matching = context.sql<(RowOfPlayer & { is_first: boolean })[]>`
    select r.row, p.id, r.is_first
    from jsonb_to_recordset(${wanted}::jsonb)
      as r(row int, match_on text, is_first boolean, player_id text, email text, phone_hash bytea)
    cross join lateral (${matches(context, MATCH_KEYS, true)}) p`;
  return lookingUp(context, matching);
}
