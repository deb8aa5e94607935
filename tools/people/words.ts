import { transactionStart } from "#db/transaction-start.ts";
import type { Context } from "#runtime/operation/context.ts";
import type { Property } from "#runtime/operation/property.ts";
import { quoted } from "#runtime/visible-text.ts";

const MOST_CHARACTERS = 60;
/** The most players that a question names. */
const MOST_NAMED = 5;

/**
 * A player as people know one: the casino's number, and the name, as far as the caller may see it. Without the id of a
 * player whom this call makes: its preview and its confirmation each make another one.
 */
export async function playerWords(context: Context, id: string): Promise<string> {
  const [words] = (await playersWords(context, [id])).values();
  return words ?? "the player";
}

/** The same of many players, by their ids. */
export async function playersWords(
  context: Context,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const { sql, property } = context;
  if (ids.length === 0) return new Map();
  const start = await transactionStart(sql);
  const players = await sql<({ id: string } & Named)[]>`
    select id, player_id, first_name, last_name, player_id = id::text and created_at = ${start}::timestamptz as is_new
    from players where property_id = ${property.id} and id = any(${[...ids]}::uuid[])`;
  return new Map(players.map((player) => [player.id, wordsOf(context, player)]));
}

/** The first of these players, as people know them, and the number of the others. */
export async function namedPlayers(context: Context, ids: readonly string[]): Promise<string> {
  const words = await playersWords(context, ids.slice(0, MOST_NAMED));
  const named = ids.slice(0, MOST_NAMED).map((id) => words.get(id) ?? "the player");
  const more = ids.length - named.length;
  return `${named.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

/** The ground on which messages go to players who have agreed. */
export const BY_CONSENT = "on the consent that they have given";

/** The ground on which mail goes to players whose address a call changes. */
export function mailGround({ email_consent_mode }: Pick<Property, "email_consent_mode">): string {
  return email_consent_mode === "opt_out" ? "which needs no consent here" : BY_CONSENT;
}

interface Named {
  player_id: string;
  first_name: string | null;
  last_name: string | null;
  is_new: boolean;
}

function wordsOf({ call }: Context, player: Named): string {
  const names = [player.first_name, player.last_name].flatMap((name) => name ?? []);
  const shown = call.masked ? names.map((name) => `${[...name][0] ?? ""}•••`) : names;
  // Quoted as JSON: a name is data, also where it reads like an instruction.
  const name = shown.length > 0 ? `, ${quoted(shown.join(" "), MOST_CHARACTERS)}` : "";
  return player.is_new
    ? `the new player${name}`
    : `the player ${quoted(player.player_id, MOST_CHARACTERS)}${name}`;
}
