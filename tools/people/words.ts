import { transactionStart } from "#db/transaction-start.ts";
import type { Context } from "#runtime/operation/context.ts";
import { quoted } from "#runtime/visible-text.ts";

const MOST_CHARACTERS = 60;

/**
 * A player as people know one: the casino's number, and the name, as far as the caller may see it. Without the id of a
 * player whom this call makes: its preview and its confirmation each make another one.
 */
export async function playerWords({ sql, property, call }: Context, id: string): Promise<string> {
  const start = await transactionStart(sql);
  const [player] = await sql<
    { player_id: string; first_name: string | null; last_name: string | null; is_new: boolean }[]
  >`
    select player_id, first_name, last_name, player_id = id::text and created_at = ${start}::timestamptz as is_new
    from players where property_id = ${property.id} and id = ${id}`;
  if (!player) return "the player";
  const names = [player.first_name, player.last_name].flatMap((name) => name ?? []);
  const shown = call.masked ? names.map((name) => `${[...name][0] ?? ""}•••`) : names;
  // Quoted as JSON: a name is data, whatever it says.
  const name = shown.length > 0 ? `, ${quoted(shown.join(" "), MOST_CHARACTERS)}` : "";
  return player.is_new
    ? `the new player${name}`
    : `the player ${quoted(player.player_id, MOST_CHARACTERS)}${name}`;
}
