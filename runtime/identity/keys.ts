import { hash, randomInt } from "node:crypto";
import { crc32 } from "node:zlib";

export interface ApiKey {
  /** `pk_`, 30 random base62 characters, and 6 of their CRC-32. Shown once, never stored. */
  secret: string;
  /** The first 12 characters, by which lists tell keys apart. */
  prefix: string;
  /** SHA-256 of the secret: the only form that is stored. */
  hash: Buffer;
}

/** A new API key. */
export function newApiKey(): ApiKey {
  let body = "pk_";
  for (let i = 0; i < RANDOM; i += 1) body += BASE62[randomInt(62)];
  const secret = body + checksum(body);
  return { secret, prefix: secret.slice(0, PREFIX), hash: digest(secret) };
}

/** The stored form of a key; null when the key is malformed or mistyped, which costs no look-up. */
export function readApiKey(text: string): Pick<ApiKey, "hash" | "prefix"> | null {
  if (!SHAPE.test(text) || text.slice(-CHECKSUM) !== checksum(text.slice(0, -CHECKSUM))) return null;
  return { hash: digest(text), prefix: text.slice(0, PREFIX) };
}

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const RANDOM = 30;
const CHECKSUM = 6;
const PREFIX = 12;
const SHAPE = /^pk_[0-9A-Za-z]{36}$/;

// Neither a secret nor a guard: it tells a typing error, or another system's pk_ key, from an unknown key.
function checksum(text: string): string {
  let rest = crc32(text);
  let digits = "";
  for (let i = 0; i < CHECKSUM; i += 1) {
    digits = BASE62[rest % 62] + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

function digest(secret: string): Buffer {
  return hash("sha256", secret, "buffer");
}
