import { createHmac, type KeyObject, timingSafeEqual } from "node:crypto";

/**
 * A token for a link without sign-in: `<payload>.<mac>`, both base64url. Anyone can read it, and only the service can
 * make it. It is valid for one purpose, and does not expire.
 */
export function signLink(
  secret: Uint8Array | KeyObject,
  purpose: string,
  payload: Record<string, unknown>,
): string {
  // The payload is in a list, as in the links of messages that were sent long ago.
  const encoded = Buffer.from(JSON.stringify([payload])).toString("base64url");
  return `${encoded}.${macOf(secret, purpose, encoded)}`;
}

/** The payload of a token that `signLink` made for this purpose; null for any other token. */
export function readLink(
  secret: Uint8Array | KeyObject,
  purpose: string,
  token: string,
): Record<string, unknown> | null {
  const [encoded, given, ...rest] = token.split(".", 3);
  if (!encoded || !given || rest.length > 0) return null;
  if (!sameText(given, macOf(secret, purpose, encoded))) return null;
  const [payload]: [Record<string, unknown>] = JSON.parse(Buffer.from(encoded, "base64url").toString());
  return payload;
}

/** A uuid in 22 characters: some mail clients break long links. */
export function packId(id: string): string {
  return Buffer.from(id.replaceAll("-", ""), "hex").toString("base64url");
}

/** The uuid that `packId` packed. */
export function unpackId(text: string): string {
  const hex = Buffer.from(text, "base64url").toString("hex");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

// Half of SHA-256 is still 128 bits, and a text message is paid by length.
const MAC_BYTES = 16;

// The encoded payload holds no dot, so purpose and payload cannot be split at another point.
function macOf(secret: Uint8Array | KeyObject, purpose: string, encoded: string): string {
  const mac = createHmac("sha256", secret).update(`${purpose}.${encoded}`).digest();
  return mac.subarray(0, MAC_BYTES).toString("base64url");
}

// Compared as text, because several last characters decode to the same bytes.
function sameText(given: string, expected: string): boolean {
  const a = Buffer.from(given);
  const b = Buffer.from(expected);
  return a.length === b.length && timingSafeEqual(a, b);
}
