import type { Database } from "#db/client.ts";
import type { Config } from "./config.ts";
import type { Directory } from "./directory.ts";
import { Fault } from "./faults.ts";
import type { Actor } from "./operation.ts";
import { isSealed, seal, unseal } from "./sealing.ts";
import {
  issueToken,
  newSigningKey,
  type PublicKey,
  remoteVerifier,
  type SigningKey,
  signDetached,
  verifyToken,
} from "./tokens.ts";

/** Seconds that a sign-in lasts. */
export const SESSION_SECONDS = 12 * 3600;
const RELOAD_AFTER = 5_000;
const RELOAD_EVERY = 60_000;
/** Seconds that a retired key's tokens are taken: their life, and the time until every process signs with another. */
const VERIFIES_FOR = SESSION_SECONDS + 3600;

export interface TokenVerifier {
  /** The user behind a JWT, ours or the identity provider's. */
  verify(token: string): Promise<Actor>;
}

/** Our own signing keys, kept in the database and shared by all processes, and the identity provider's. */
export async function openSessions(db: Database, directory: Directory, config: Config) {
  let keys: KnownKey[] = [];
  let verifying: KnownKey[] = [];
  let loadedAt = 0;
  let loading: Promise<void> | null = null;
  const reload = (): Promise<void> => {
    loading ??= usableKeys(db, config)
      .then((loaded) => {
        keys = loaded;
        verifying = loaded.filter(({ verifies }) => verifies);
        loadedAt = performance.now();
      })
      .finally(() => {
        loading = null;
      });
    return loading;
  };
  await reload();
  // Nobody waits: some who ask hold a transaction open.
  const refresh = () => {
    if (performance.now() - loadedAt > RELOAD_EVERY) void reload().catch(() => {});
  };
  const signing = (): SigningKey => {
    refresh();
    return keys.find(signs)!;
  };
  const own = { issuer: config.baseUrl, audience: config.baseUrl };
  const external = config.identityProvider ? remoteVerifier(config.identityProvider) : null;

  const verifyOwn = async (token: string) => {
    refresh();
    const kid = readKid(token);
    if (!keys.some((key) => key.kid === kid) && performance.now() - loadedAt > RELOAD_AFTER) await reload();
    return verifyToken(token, { ...own, keys: verifying });
  };

  return {
    verify: async (token: string): Promise<Actor> => {
      const isExternal = external !== null && readIssuer(token) === config.identityProvider?.issuer;
      const claims = isExternal ? await external(token) : await verifyOwn(token);
      const id = isExternal ? await userByEmail(db, claims.email, claims.email_verified) : claims.sub;
      const user = id ? await directory.user(id) : null;
      if (!user || claims.iat < user.sessions_from) throw new Fault("invalid_credential");
      const { email, is_platform_admin: isPlatformAdmin, memberships } = user;
      return { type: "user", id: user.id, email, isPlatformAdmin, memberships };
    },
    // By the database's clock, which is also the one that ends sessions.
    issue: (userId: string, from = 0) => {
      const issuedAt = Math.max(Math.floor(directory.now() / 1000), from);
      return issueToken(signing(), { ...own, subject: userId, issuedAt, expiresIn: SESSION_SECONDS });
    },
    /** The detached JWS (RFC 7515, appendix F) of these bytes, by the key that signs now. */
    signDetached: (bytes: Uint8Array) => signDetached(signing(), bytes),
    /** All that ever signed: a receipt is verified years later. A key that must not be believed is removed. */
    jwks: async () => {
      if (performance.now() - loadedAt > RELOAD_EVERY) await reload().catch(() => {});
      return { keys: keys.map((key) => key.publicJwk) };
    },
  };
}

export type Sessions = Awaited<ReturnType<typeof openSessions>>;

/** One that is retired, or was sealed with another APP_SECRET, signs no more, and verifies what it has signed. */
type KnownKey = PublicKey & { privateJwk: SigningKey["privateJwk"] | null; verifies: boolean };

function signs(key: KnownKey): key is KnownKey & SigningKey {
  return key.privateJwk !== null;
}

const placeOf = (kid: string) => `signing_keys.private_jwk ${kid}`;

/** All keys, and among them one that signs. */
async function usableKeys(db: Database, config: Config): Promise<KnownKey[]> {
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
    return JSON.parse(unseal(config, placeOf(kid), stored)) as object;
  } catch {
    return null;
  }
}

async function firstKey(db: Database, config: Config, known: KnownKey[]): Promise<KnownKey[]> {
  const key = await newSigningKey();
  const sealed = JSON.stringify(seal(config, placeOf(key.kid), JSON.stringify(key.privateJwk)));
  const closed = known.map(({ kid }) => kid);
  await db.asSystem(async (sql) => {
    await sql`lock table signing_keys in share row exclusive mode`;
    await sql`
      insert into signing_keys (kid, private_jwk, public_jwk)
      select ${key.kid}, ${sealed}::text::jsonb, ${key.publicJwk as never}
      where not exists (
        select from signing_keys where coalesce(retired_at > now(), true) and kid <> all(${closed}::text[]))`;
  });
  return loadKeys(db, config);
}

/** Only by an address that the provider has seen proved: what somebody merely writes there may be anybody's. */
async function userByEmail(db: Database, email: unknown, verified: unknown): Promise<string | null> {
  if (typeof email !== "string" || verified !== true) return null;
  const rows = await db.asSystem(
    (sql) => sql<{ id: string }[]>`
    select id from users where email = ${email.toLowerCase()} and is_active`,
  );
  return rows[0]?.id ?? null;
}

function readKid(token: string): unknown {
  return readPart(token, 0).kid;
}

function readIssuer(token: string): unknown {
  return readPart(token, 1).iss;
}

/** A part of a token that is not verified yet: it only chooses the verifier. */
function readPart(token: string, index: number): Record<string, unknown> {
  try {
    const part: unknown = JSON.parse(
      Buffer.from(token.split(".")[index] ?? "", "base64url").toString("utf8"),
    );
    return typeof part === "object" && part !== null ? (part as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
