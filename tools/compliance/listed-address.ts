import type { Property } from "#runtime/directory.ts";
import { invalid } from "#runtime/faults.ts";
import { addressHash, normalizeEmail, normalizePhone } from "#tools/players/address.ts";

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
