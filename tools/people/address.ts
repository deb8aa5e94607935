import { createHash, createHmac, createSecretKey, type KeyObject } from "node:crypto";
import { domainToASCII } from "node:url";
import { type CountryCode, isSupportedCountry, parsePhoneNumberFromString } from "libphonenumber-js/min";
import { formOfValues } from "#db/query/forms.ts";
import type { Form } from "#db/query/readable-table.ts";
import { type Fragment, sql } from "#db/sql.ts";
import type { SendingChannel } from "#runtime/channels/provider/channel.ts";

/** How filters compare emails: as they are stored. */
export const EMAIL_FORM: Form = {
  fit: (text) => normalizeEmail(text),
  wants: "an email address; a part of one goes with ilike, such as %@example.com",
};

/** How filters compare phones. A raw "+" reaches us as a space, since a query string reads "+" as one. */
export const PHONE_FORM: Form = {
  fit: (text, home) => normalizePhone(text.replace(/^ (?=\d)/, "+"), home),
  same: writtenForms,
  wants: "a possible phone number, such as +12025550123; a part of one goes with like, such as %2B1202*",
};

/** How filters compare a column that holds either. */
export const ADDRESS_FORM: Form = {
  fit: (text, home) => (text.includes("@") ? EMAIL_FORM : PHONE_FORM).fit(text, home),
  same: writtenForms,
  wants: "an email address or a possible phone number; a part of one goes with ilike",
};

/** How filters compare a column that holds an address of any channel: a player's id or a sender's name stays as it is. */
export const RECIPIENT_FORM: Form = {
  fit: (text, home) => ADDRESS_FORM.fit(text, home) ?? text,
  same: writtenForms,
  wants: "an address",
};

const BLOCK_BYTES = 64;
const MOST_EMAIL = 254;
// A comma, a quote or a bracket in an address could name a second recipient.
const LOCAL = /^[^\s\p{C}<>()[\]\\,;:"@]{1,64}$/u;
const DOMAIN_TEXT = /^[\p{L}\p{N}\p{M}.-]+$/u;
const DOMAIN = /^(?=.{4,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])$/;

/** The one form in which an email address is stored, compared and hashed; null when it is not an address. */
export function normalizeEmail(text: string): string | null {
  const plain = text.trim().normalize("NFC").toLowerCase().normalize("NFC");
  const at = plain.lastIndexOf("@");
  const local = plain.slice(0, Math.max(at, 0));
  const domainText = plain.slice(at + 1);
  if (!LOCAL.test(local) || /^\.|\.\.|\.$/.test(local) || !DOMAIN_TEXT.test(domainText)) return null;
  const domain = domainToASCII(domainText);
  if (!DOMAIN.test(domain) || local.length + domain.length + 1 > MOST_EMAIL) return null;
  return `${local}@${domain}`;
}

/**
 * A phone number as E.164; null when no number of its country has this length. As dialed, it must also begin as the
 * country's numbers do: 06 12 34 56 78 is of France, and +10612345678 would bar nobody. An extension is dropped.
 */
export function normalizePhone(text: string, defaultCountry: string): string | null {
  const country = countryOf(defaultCountry);
  const american = americanPhone(text, country);
  if (american !== null) return american;
  const mexican = formerMexicanMobile(text);
  if (mexican !== null) return mexican;
  const number = parsePhoneNumberFromString(text, { defaultCountry: country, extract: false });
  const isOwn = number && (/^\s*[+＋]/u.test(text) ? number.isPossible() : number.isValid());
  return isOwn ? number.number : null;
}

/**
 * The phone number that a network reports, as E.164. The person has it, so its length alone counts: a STOP of a number
 * that is newer than the library's list must bar it. A gateway may leave out the plus, or write
 * 00 in its place, also of a number from abroad.
 */
export function reportedPhone(text: string, defaultCountry: string): string | null {
  const known = normalizePhone(text, defaultCountry);
  if (known !== null) return known;
  const options = { defaultCountry: countryOf(defaultCountry), extract: false };
  const dialed = parsePhoneNumberFromString(text, options);
  return dialed?.isPossible() ? dialed.number : normalizePhone(`+${text.replace(/^00/, "")}`, defaultCountry);
}

function countryOf(country: string): CountryCode {
  return isSupportedCountry(country) ? country : "US";
}

const NANP = /^(?:\+?1[ .-]?)?(?:\(([2-9]\d\d)\)|([2-9]\d\d))[ .-]?([2-9]\d\d)[ .-]?(\d{4})$/;

/** A North American number of any area code, without the library's 10 µs. The library's list lacks new area codes. */
function americanPhone(text: string, country: string): string | null {
  if (country !== "US" && country !== "CA" && !text.startsWith("+1")) return null;
  const match = NANP.exec(text);
  return match && `+1${match[1] ?? match[2]}${match[3]}${match[4]}`;
}

const MEXICAN_MOBILE = /^\+521(\d{10})$/;

/**
 * A Mexican mobile number as it was written until 2019, with a 1 behind the country code. The library refuses that form,
 * and a STOP from it would bar nobody.
 */
function formerMexicanMobile(text: string): string | null {
  if (!text.startsWith("+52")) return null;
  const match = MEXICAN_MOBILE.exec(text.replace(/[\s().-]/g, ""));
  return match && `+52${match[1]}`;
}

const ARGENTINE_MOBILE = /^\+549(\d{10})$/;

/**
 * The form in which an address is compared: its hash is over it. Argentina writes one mobile number with a 9 behind its
 * country code and without it. The stored form keeps the 9, because vendors of texts need it. The SQL function
 * `address_hash` does the same.
 */
export function comparedForm(address: string): string {
  return address.startsWith("+549") ? address.replace(ARGENTINE_MOBILE, "+54$1") : address;
}

/** Whether two values of a record's email or phone are compared as one. */
export function isSameAddress(one: unknown, other: unknown): boolean {
  const compared = (address: unknown) => (typeof address === "string" ? comparedForm(address) : address);
  return compared(one) === compared(other);
}

/** The forms in which texts may have an address: the given one, and the other one that is compared as the same. */
export function writtenForms(address: string): string[] {
  const compared = comparedForm(address);
  return /^\+54\d{10}$/.test(compared) ? [compared, compared.replace("+54", "+549")] : [address];
}

// Deriving the key again for each address cost more than the hash.
const keys = new WeakMap<Buffer, KeyObject>();

/** The refusal of a phone that `normalizePhone` does not take, behind the name of its field. */
export function noPhone(home: string): string {
  return `is not a possible phone number; give it as +12025550123, or as dialed in ${home}`;
}

/** HMAC-SHA256 of the compared form of a normalized address: lists compare an address without storing it. */
export function addressHash(pepper: Buffer, address: string): Buffer {
  const key = keys.get(pepper) ?? createSecretKey(pepper);
  keys.set(pepper, key);
  return createHmac("sha256", key).update(comparedForm(address), "utf8").digest();
}

/** The two padded keys for SQL's `address_hash(inner_pad, outer_pad, address)`. */
export function pads(pepper: Buffer): { inner: Buffer; outer: Buffer } {
  const key = Buffer.alloc(BLOCK_BYTES);
  (pepper.length > BLOCK_BYTES ? createHash("sha256").update(pepper).digest() : pepper).copy(key);
  return { inner: key.map((byte) => byte ^ 0x36) as Buffer, outer: key.map((byte) => byte ^ 0x5c) as Buffer };
}

/** An address that people can recognize, but not read: `j***@e***.com`, `+1•••••4567`. */
export function maskAddress(address: string): string {
  const at = address.lastIndexOf("@");
  if (at < 0) return maskPhone(address);
  const domain = address.slice(at + 1);
  const ending = domain.slice(domain.lastIndexOf("."));
  return `${firstLetter(address)}***@${firstLetter(domain)}***${ending}`;
}

function maskPhone(phone: string): string {
  const code = parsePhoneNumberFromString(phone)?.countryCallingCode ?? "";
  return `+${code}•••••${phone.slice(-4)}`;
}

function firstLetter(text: string): string {
  return [...text][0] ?? "";
}

interface AddressColumns {
  /** Over `players p`. */
  address: Fragment;
  /** Over `players p`. */
  hash: Fragment;
  /** Over a column `address`: the masked address. */
  masked: Fragment;
}

/** A message to the player themselves, however they are reached. */
const BY_PLAYER = { address: sql`p.id::text`, hash: sql`sha256(uuid_send(p.id))`, masked: sql`null` };

/** A message or a call to the player's number. */
const BY_PHONE = {
  address: sql`p.phone`,
  hash: sql`p.phone_hash`,
  masked: sql`left(address, 2) || '•••••' || right(address, 4)`,
};

/** A player's address on each channel, in SQL. Its keys are the channels of messages. */
export const ADDRESS_COLUMNS: Record<SendingChannel, AddressColumns> = {
  email: {
    address: sql`p.email`,
    hash: sql`p.email_hash`,
    // The same form as `maskAddress`. It runs for every recipient, so it has no regular expression.
    masked: sql`left(address, 1) || '***@' || left(split_part(address, '@', 2), 1) || '***'
      || right(address, position('.' in reverse(address)))`,
  },
  sms: BY_PHONE,
  voice: BY_PHONE,
  push: BY_PLAYER,
  inbox: BY_PLAYER,
};

const CHANNEL_FORM = formOfValues(Object.keys(ADDRESS_COLUMNS));

/** How filters compare the channel of a message. Campaigns call the inbox loyaltyvip too. */
export const SENT_BY_FORM: Form = {
  ...CHANNEL_FORM,
  fit: (text, home) => CHANNEL_FORM.fit(text.trim().toLowerCase() === "loyaltyvip" ? "inbox" : text, home),
};
