import { addressHash } from "./address.ts";

export interface Identity {
  first_name: string;
  last_name: string;
  /** YYYY-MM-DD */
  birth_date: string;
}

/** A name and a date of birth as one hash, independent of the name's case, accents, spaces and hyphens. */
export function identityHash(
  pepper: Buffer,
  identity: Partial<Record<keyof Identity, unknown>>,
): Buffer | null {
  const { first_name, last_name, birth_date } = identity;
  if (!first_name || !last_name || !birth_date) return null;
  const parts = [letters(String(first_name)), letters(String(last_name)), String(birth_date)];
  return addressHash(pepper, `identity|${parts.join("|")}`);
}

function letters(name: string): string {
  return name
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, "");
}
