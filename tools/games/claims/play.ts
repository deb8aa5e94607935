import { type Fragment, sql } from "#db/sql.ts";
import { Fault, one } from "#runtime/faults.ts";
import { storedNames, viewOf } from "#runtime/operation/columns.ts";
import type { Context } from "#runtime/operation/context.ts";
import type { StoredOf } from "#runtime/operation/table.ts";
import { columns } from "#tools/games/play/columns.ts";
import { mayPlay } from "#tools/games/tickets/grant.ts";

/** A play as it is stored. */
export type Play = StoredOf<typeof columns>;

/** A play as operations answer it. */
export const PlayView = viewOf({ columns });

/** The play behind its player, both locked to the end of the transaction, in the order of plays. Throws `not_found`. */
export async function lockPlay(context: Context, id: string): Promise<Play> {
  const { sql: transaction, property } = context;
  const { player_id } = await findPlay(context, id);
  await transaction`
    select from players where property_id = ${property.id} and id = ${player_id} for no key update`;
  return readPlay(context, id, sql`for no key update`);
}

/** The same without the lock. */
export function findPlay(context: Context, id: string): Promise<Play> {
  return readPlay(context, id, sql``);
}

async function readPlay({ sql: transaction, property }: Context, id: string, lock: Fragment): Promise<Play> {
  const rows = await transaction<{ row: Play }[]>`
    select row_to_json(y) as row from (
      select ${storedNames(columns)} from game_plays
      where property_id = ${property.id} and id = ${id} ${lock}) y`;
  return one(rows, "game play", id).row;
}

/** Locks the winner. Throws `not_eligible` for a player whom an exclusion or a status bars: no claim, no prize. */
export async function checkWinner(
  { sql: transaction, property }: Context,
  play: Pick<Play, "player_id">,
): Promise<void> {
  const [winner] = await transaction<{ may: boolean }[]>`
    select ${mayPlay(property.id)} as may from players p
    where p.property_id = ${property.id} and p.id = ${play.player_id} for no key update of p`;
  if (winner?.may) return;
  throw new Fault("not_eligible", {
    message: "The player may have no prize: banned, self-excluded, deceased or erased.",
  });
}

/** The fields of a play in events: no code. */
export function playEvent({ id, game_id, player_id, prize_id, status, value }: Play) {
  return { id, game_id, player_id, prize_id, status, value };
}

/** Throws `conflict` where the play is in another status, or its time is over. */
export function checkStands(play: Play, from: readonly Play["status"][], now: number, verb: string): void {
  if (play.outcome === "lose") throw refused("The play has won nothing.");
  if (play.status === "redeemed") {
    const where = play.redeemed_where ? ` at ${play.redeemed_where}` : "";
    throw refused(`The prize was redeemed on ${play.redeemed_at}${where}.`);
  }
  const isOver = play.expires_at !== null && Date.parse(play.expires_at) <= now;
  if (isOver || play.status === "expired") throw refused(`The prize expired at ${play.expires_at}.`);
  if (!from.includes(play.status))
    throw refused(`The play is ${play.status}; nobody can ${verb} its prize now.`);
}

function refused(message: string): Fault {
  return new Fault("conflict", { message });
}
