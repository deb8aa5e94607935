import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from "node:crypto";
import type { AppSecret } from "#runtime/config.ts";

const MARK = "sealed:1:";
const IV_BYTES = 12;
const TAG_BYTES = 16;

/**
 * A secret as it is stored: AES-256-GCM under a key of its own, derived from APP_SECRET. `location` names its table,
 * column and record, and is authenticated with it: in another row the secret does not open.
 */
export function seal(config: AppSecret, location: string, secret: string): string {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv("aes-256-gcm", keyOf(config), iv).setAAD(Buffer.from(location));
  const sealed = Buffer.concat([iv, cipher.update(secret, "utf8"), cipher.final(), cipher.getAuthTag()]);
  return MARK + sealed.toString("base64url");
}

/** The secret again. A value from before there were seals is answered as it is. Throws when it does not open. */
export function unseal(config: AppSecret, location: string, stored: string): string {
  if (!isSealed(stored)) return stored;
  const written = stored.slice(MARK.length);
  const bytes = Buffer.from(written, "base64url");
  try {
    if (bytes.length < IV_BYTES + TAG_BYTES) throw new Error("too short");
    // Decoding passes over a character too many.
    if (bytes.toString("base64url") !== written) throw new Error("not as it was written");
    const decipher = createDecipheriv("aes-256-gcm", keyOf(config), bytes.subarray(0, IV_BYTES));
    decipher.setAAD(Buffer.from(location)).setAuthTag(bytes.subarray(-TAG_BYTES));
    const text = decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES));
    return Buffer.concat([text, decipher.final()]).toString("utf8");
  } catch (cause) {
    throw new Error(
      `${location} does not open: it was changed, or sealed with another APP_SECRET. Start with that one`,
      { cause },
    );
  }
}

export function isSealed(stored: string): boolean {
  return stored.startsWith(MARK);
}

/** The location of a column's secret. */
export function locationOf(table: string, column: string, propertyId: string, id: string): string {
  return `${table}.${column} ${propertyId} ${id}`;
}

let latest: { appSecret: string; key: KeyObject } | null = null;

/** Derived once a process: it costs as much as all the rest of a seal. */
function keyOf({ appSecret }: AppSecret): KeyObject {
  if (latest?.appSecret !== appSecret) {
    const derived = Buffer.from(hkdfSync("sha256", appSecret, "", "sealing", 32));
    latest = { appSecret, key: createSecretKey(derived) };
  }
  return latest.key;
}
