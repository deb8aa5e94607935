import { byteaLiteral } from "#db/types.ts";
import { invalid } from "#runtime/faults.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import type { Property } from "#runtime/operation/property.ts";
import { addressHash, noPhone, normalizeEmail, normalizePhone } from "#tools/people/address.ts";

export interface ListedAddress {
  address: string;
  hash: Buffer;
}

/** An address in the form of the lists: an email or a phone by the channel, or by its form. Throws `invalid`. */
export function addressOf(
  property: Property,
  channel: string,
  text: string,
  field = "address",
): ListedAddress {
  const isEmail = channel === "email" || (channel !== "sms" && channel !== "voice" && text.includes("@"));
  const home = property.default_country;
  const address = isEmail ? normalizeEmail(text) : normalizePhone(text, home);
  if (address === null) throw invalid(field, isEmail ? "is not an email address" : noPhone(home));
  return { address, hash: addressHash(property.pepper, address) };
}

/** The text of the address to store beside its hash; null when its person's data was erased. */
export async function keptAddress(tenant: Tenant, listed: ListedAddress): Promise<string | null> {
  const [kept] = await keptAddresses(tenant, [listed]);
  return kept!;
}

/** The same for many, in their order. */
export async function keptAddresses(
  { sql, property }: Tenant,
  listed: readonly ListedAddress[],
): Promise<(string | null)[]> {
  const hashes = listed.map(({ hash }) => hash.toString("hex"));
  const erased = await sql<{ hash: string }[]>`
    select encode(address_hash, 'hex') as hash from suppressions
    where property_id = ${property.id} and address_hash = any(${byteaLiteral(hashes)}::bytea[])
      and reason = 'erased' and lifted_at is null`;
  const gone = new Set(erased.map(({ hash }) => hash));
  return listed.map(({ address }, index) => (gone.has(hashes[index]!) ? null : address));
}
