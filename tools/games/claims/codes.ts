import { createHmac, randomInt } from "node:crypto";
import type { Context } from "#runtime/operation/context.ts";
import { locationOf, seal, unseal } from "#runtime/secrets/sealing.ts";

// Without the letters and digits that people take for one another.
const LETTERS = "23456789ABCDEFGHJKMNPQRSTVWXYZ";
const LENGTH = 12;

type Sealing = Pick<Context, "config" | "property">;

/** A new code of 58 bits, in three groups. */
export function newCode(): string {
  const letters = Array.from({ length: LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join("");
  return letters.match(/.{4}/g)!.join("-");
}

/** A code without the blanks, dashes and small letters by which people write it in their own ways. */
export function plainCode(code: string): string {
  return code.normalize("NFKC").toUpperCase().replace(/[\s-]/g, "");
}

/** The stored hash of a code, however people write it: a database alone gives no code away. */
export function codeHash({ property }: Pick<Context, "property">, code: string): Buffer {
  return createHmac("sha256", property.pepper)
    .update(`prize code ${plainCode(code)}`)
    .digest();
}

const located = ({ property }: Sealing, table: "game_plays" | "prize_codes", id: string) =>
  locationOf(table, "code_sealed", property.id, id);

/** A code as its row stores it. */
export function sealCode(
  context: Sealing,
  table: "game_plays" | "prize_codes",
  id: string,
  code: string,
): string {
  return seal(context.config, located(context, table, id), code);
}

/** The code of a row. */
export function openCode(
  context: Sealing,
  table: "game_plays" | "prize_codes",
  id: string,
  sealed: string,
): string {
  return unseal(context.config, located(context, table, id), sealed);
}
