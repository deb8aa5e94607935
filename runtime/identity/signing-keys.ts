import type { Database, Sql } from "#db/database.ts";
import type { Config } from "#runtime/config.ts";
import { isSealed, seal, unseal } from "#runtime/secrets/sealing.ts";
import { newSigningKey, type PublicKey, type SigningKey } from "./tokens.ts";

/** Seconds that a sign-in lasts. */
export const SESSION_SECONDS = 12 * 3600;
/**
 * Seconds for which a retired key's tokens are accepted: their life, and the time until every process signs with
 * another.
 */
const VERIFIES_FOR = SESSION_SECONDS + 3600;

/** A key that is retired, or was sealed with another APP_SECRET, signs no more, and verifies its tokens. */
export type KnownKey = PublicKey & { privateJwk: SigningKey["privateJwk"] | null; verifies: boolean };

export function signs(key: KnownKey): key is KnownKey & SigningKey {
  return key.privateJwk !== null;
}

const locationOf = (kid: string) => `signing_keys.private_jwk ${kid}`;

/** All keys; at least one of them signs. */
export async function usableKeys(db: Database, config: Config): Promise<KnownKey[]> {
  const keys = await loadKeys(db, config);
  return keys.some(signs) ? keys : firstKey(db, config, keys);
}

interface StoredKey {
  kid: string;
  private_jwk: object | string;
  public_jwk: object;
  retired: boolean;
  verifies: boolean;
}

async function loadKeys(db: Database, config: Config): Promise<KnownKey[]> {
  const rows = await db.asSystem(
    (sql) => sql<StoredKey[]>`
    select kid, private_jwk, public_jwk, coalesce(retired_at <= now(), false) as retired,
      coalesce(retired_at > now() - make_interval(secs => ${VERIFIES_FOR}), true) as verifies
    from signing_keys order by created_at desc`,
  );
  return rows.map(({ kid, private_jwk, public_jwk, retired, verifies }) => ({
    kid,
    privateJwk: retired ? null : openJwk(config, kid, private_jwk),
    publicJwk: public_jwk,
    verifies,
  }));
}

function openJwk(config: Config, kid: string, stored: object | string): object | null {
  if (typeof stored !== "string" || !isSealed(stored)) return stored as object;
  try {
    return JSON.parse(unseal(config, locationOf(kid), stored)) as object;
  } catch {
    return null;
  }
}

async function firstKey(db: Database, config: Config, known: KnownKey[]): Promise<KnownKey[]> {
  const closed = known.map(({ kid }) => kid);
  await db.asSystem(async (sql) => {
    await onlyOneAtATime(sql);
    const open = await sql`
      select from signing_keys where coalesce(retired_at > now(), true) and kid <> all(${closed}::text[])`;
    if (open.length === 0) await addKey(sql, config);
  });
  return loadKeys(db, config);
}

/** Makes a key that signs from now on; the former keys only verify their tokens. Answers their kids. */
export async function rotateKeys(sql: Sql, config: Config): Promise<{ kid: string; retired: string[] }> {
  await onlyOneAtATime(sql);
  const retired = await sql<{ kid: string }[]>`
    update signing_keys set retired_at = now() where coalesce(retired_at > now(), true) returning kid`;
  return { kid: await addKey(sql, config), retired: retired.map(({ kid }) => kid) };
}

async function onlyOneAtATime(sql: Sql): Promise<void> {
  await sql`lock table signing_keys in share row exclusive mode`;
}

async function addKey(sql: Sql, config: Config): Promise<string> {
  const { kid, privateJwk, publicJwk } = await newSigningKey();
  const sealed = JSON.stringify(seal(config, locationOf(kid), JSON.stringify(privateJwk)));
  await sql`
    insert into signing_keys (kid, private_jwk, public_jwk)
    values (${kid}, ${sealed}::text::jsonb, ${publicJwk})`;
  return kid;
}
