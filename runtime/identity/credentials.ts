import { hash, randomInt } from "node:crypto";
import { crc32 } from "node:zlib";
import type { Database } from "#db/database.ts";
import { Fault } from "#runtime/faults.ts";
import type { Actor } from "#runtime/operation/context.ts";
import type { Directory } from "./directory.ts";
import { signedInUser, type TokenVerifier } from "./sessions.ts";

/** The request headers that carry a credential. */
export interface CredentialHeaders {
  apiKey?: string | undefined;
  authorization?: string | undefined;
}

export const ANONYMOUS: Actor = { type: "anonymous", id: null };

/**
 * The actor of this request; anonymous without a credential. Throws the specification's 401 tokens. `beforeLookUp`
 * runs, and may throw, before the database looks up a key that is new to this process.
 */
export async function authenticate(
  directory: Directory,
  verifier: TokenVerifier,
  headers: CredentialHeaders,
  beforeLookUp: () => void,
): Promise<Actor> {
  const credential = readCredential(headers);
  if (credential === null) return ANONYMOUS;
  if (credential.startsWith("pk_")) return apiKeyActor(directory, credential, beforeLookUp);
  return verifier.verify(credential);
}

/** Two different credentials are ambiguous: neither counts. X-Api-Key carries only API keys. */
function readCredential({ apiKey, authorization }: CredentialHeaders): string | null {
  if (apiKey === undefined && authorization === undefined) return null;
  if (apiKey?.includes(",")) throw new Fault("invalid_credential");
  if (authorization === undefined) {
    if (!apiKey!.trim().startsWith("pk_")) throw new Fault("invalid_credential");
    return apiKey!.trim();
  }
  const match = /^Bearer +(\S+) *$/i.exec(authorization);
  if (!match) throw new Fault("invalid_credential");
  const bearer = match[1]!;
  if (apiKey !== undefined && apiKey.trim() !== bearer) throw new Fault("invalid_credential");
  return bearer;
}

async function apiKeyActor(directory: Directory, secret: string, beforeLookUp: () => void): Promise<Actor> {
  const read = readApiKey(secret);
  if (!read) throw new Fault("invalid_credential");
  if (!directory.hasSeenKey(read.hash)) beforeLookUp();
  const key = await directory.key(read.hash);
  if (!key?.is_active) throw new Fault("invalid_credential");
  if (key.expires_at !== null && key.expires_at <= directory.now()) throw new Fault("credential_expired");
  directory.markUsed(key.id);
  return {
    type: "api_key",
    id: key.id,
    propertyId: key.property_id,
    scopes: key.scopes,
    rateLimit: key.rate_limit,
    piiMasked: key.pii_masked,
    agentConfirmation: key.agent_confirmation,
    createdBy: key.created_by,
  };
}

/** The actor of an earlier call as they are now; null once the key is revoked, or the person's sign-in has ended. */
export async function presentActor(
  { db, directory }: { db: Database; directory: Directory },
  actor: Actor,
): Promise<Actor | null> {
  if (actor.type === "api_key") return (await isUsable(db, actor.id)) ? actor : null;
  if (actor.type !== "user") return actor;
  const { id, session, signedInAt, signedInUntil } = actor;
  if (signedInAt === undefined || signedInUntil === undefined) return null;
  return signedInUser(directory, id, { session, signedInAt, signedInUntil });
}

async function isUsable(db: Database, keyId: string): Promise<boolean> {
  const found = await db.asSystem(
    (sql) => sql`
      select from api_keys
      where id = ${keyId} and is_active and revoked_at is null and (expires_at is null or expires_at > now())`,
  );
  return found.length > 0;
}

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
  // Each request takes one. By way of a text it costs 0.6 µs; Node's own buffer has memory of its own, and costs 1.05.
  return Buffer.from(hash("sha256", secret, "hex"), "hex");
}
