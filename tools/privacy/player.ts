import type { Context } from "#runtime/context.ts";
import { Fault } from "#runtime/faults.ts";
import type { KnownPlayer } from "./person.ts";

/** The player's record, also when it is deleted: what is hidden is still stored. Throws `not_found`. */
export async function findPlayer(
  { sql, property }: Context,
  id: string,
  { lock = false }: { lock?: boolean } = {},
): Promise<KnownPlayer> {
  const [player] = await sql<KnownPlayer[]>`
    select id, player_id, status, legal_hold, email, phone, first_name, last_name, birth_date
    from players where property_id = ${property.id} and id = ${id} ${lock ? sql`for update` : sql``}`;
  if (!player) throw new Fault("not_found", { message: `No player with the id ${id} in this property.` });
  return player;
}
