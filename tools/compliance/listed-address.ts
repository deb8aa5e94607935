import { invalid } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import type { Property } from "#runtime/operation/property.ts";
import { addressHash, normalizeEmail, normalizePhone } from "#tools/people/address.ts";

export interface ListedAddress {
  address: string;
  hash: Buffer;
}

/** An address as lists keep it: by the channel an email or a phone, or by its looks. Throws `invalid`. */
export function addressOf(
  property: Property,
  channel: string,
  text: string,
  field = "address",
): ListedAddress {
  const isEmail = channel === "email" || (channel !== "sms" && channel !== "voice" && text.includes("@"));
  const address = isEmail ? normalizeEmail(text) : normalizePhone(text, property.default_country);
  if (address === null)
    throw invalid(field, `is not ${isEmail ? "an email address" : "a possible phone number"}`);
  return { address, hash: addressHash(property.pepper, address) };
}

/** The address as it may be kept beside its hash: of a person whose data was erased, not at all. */
export async function keptAddress(
  { sql, property }: Pick<Context, "sql" | "property">,
  { address, hash }: ListedAddress,
): Promise<string | null> {
  const erased = await sql`
    select from suppressions
    where property_id = ${property.id} and address_hash = ${hash} and reason = 'erased' and lifted_at is null limit 1`;
  return erased.length > 0 ? null : address;
}
