import type { Database } from "#db/database.ts";
import type { Config } from "#runtime/config.ts";
import { Fault } from "#runtime/faults.ts";
import type { Actor, Session, User } from "#runtime/operation/context.ts";
import type { Directory, UserRecord } from "./directory.ts";
import { type KnownKey, SESSION_SECONDS, signs, usableKeys } from "./signing-keys.ts";
import { issueToken, remoteVerifier, type SigningKey, signDetached, verifyToken } from "./tokens.ts";

/** Milliseconds within which tokens with unknown keys cause only one reload. */
const RELOAD_AFTER = 100;
const RELOAD_EVERY = 60_000;

export interface TokenVerifier {
  /** The user of a JWT, ours or the identity provider's. */
  verify(token: string): Promise<Actor>;
}

/** Sign-ins by our own signing keys and by the identity provider's. */
export async function openSessions(db: Database, directory: Directory, config: Config) {
  const keys = await openKeys(db, directory, config);
  // The database's clock, which is also the one that ends sessions.
  const { now } = directory;
  const own = { issuer: config.baseUrl, audience: config.baseUrl };
  const external = config.identityProvider ? remoteVerifier({ ...config.identityProvider, now }) : null;
  const verifyOwn = async (token: string) =>
    verifyToken(token, { ...own, now, keys: await keys.verifying(readKid(token)) });

  return {
    verify: async (token: string): Promise<Actor> => {
      const isExternal = external !== null && readIssuer(token) === config.identityProvider?.issuer;
      const claims = isExternal ? await external(token) : await verifyOwn(token);
      const id = isExternal ? await userByEmail(db, claims.email, claims.email_verified) : claims.sub;
      const session = isExternal ? undefined : claims.jti;
      const signIn = { session, signedInAt: claims.iat, signedInUntil: claims.exp };
      const user = id ? await signedInUser(directory, id, signIn) : null;
      if (!user) throw new Fault("invalid_credential");
      return user;
    },
    issue: (userId: string, from = 0) => {
      const issuedAt = Math.max(Math.floor(now() / 1000), from);
      const extra = { jti: crypto.randomUUID() };
      return issueToken(keys.signing(), {
        ...own,
        subject: userId,
        issuedAt,
        expiresIn: SESSION_SECONDS,
        extra,
      });
    },
    /** The session of a token of ours; null for any other text, and after its time. Throws `unavailable`. */
    sessionOf: async (token: string): Promise<Session | null> => {
      const known = keys.known(readKid(token));
      const claims = await verifyToken(token, { ...own, now, keys: known }).catch(() => null);
      return claims?.jti ? { id: claims.jti, userId: claims.sub, expiresAt: claims.exp } : null;
    },
    /** The detached JWS (RFC 7515, appendix F) of these bytes, by the current signing key. */
    signDetached: (bytes: Uint8Array) => signDetached(keys.signing(), bytes),
    /** All keys that ever signed: a receipt is verified years later. A key that must not be trusted is removed. */
    jwks: async () => ({ keys: (await keys.all()).map((key) => key.publicJwk) }),
  };
}

/** A sign-in as its token says it. Times are Unix seconds. */
export interface SignIn {
  session: string | undefined;
  signedInAt: number;
  signedInUntil: number;
}

/** The user of a sign-in as they are now; null once their account is off or the sign-in has ended. */
export async function signedInUser(directory: Directory, id: string, signIn: SignIn): Promise<User | null> {
  const user = await directory.user(id);
  if (!user || !isSignedIn(user, signIn, directory.now())) return null;
  const { email, is_platform_admin: isPlatformAdmin, memberships } = user;
  const { session, signedInAt, signedInUntil } = signIn;
  const about = { email, isPlatformAdmin, memberships, signedInAt, signedInUntil };
  return { type: "user", id: user.id, ...about, ...(session && { session }) };
}

/** Whether a sign-in still holds: in its time, no new password since, and nobody has signed it out. */
function isSignedIn(user: UserRecord, { session, signedInAt, signedInUntil }: SignIn, now: number): boolean {
  if (signedInAt < user.sessions_from || signedInUntil * 1000 <= now) return false;
  return session === undefined || !user.ended_sessions.includes(session);
}

export type Sessions = Awaited<ReturnType<typeof openSessions>>;

/** Our own signing keys, stored in the database for all processes. */
async function openKeys(db: Database, directory: Directory, config: Config) {
  let keys: KnownKey[] = [];
  let verifying: KnownKey[] = [];
  let loadedAt = 0;
  let changed = false;
  let loading: Promise<void> | null = null;
  const load = async (): Promise<void> => {
    do {
      changed = false;
      keys = await usableKeys(db, config);
    } while (changed);
    verifying = keys.filter(({ verifies }) => verifies);
    loadedAt = performance.now();
  };
  const reload = (): Promise<void> => {
    loading ??= load().finally(() => {
      loading = null;
    });
    return loading;
  };
  await reload();
  // No caller waits: some callers hold a transaction open.
  const refresh = () => {
    if (performance.now() - loadedAt > RELOAD_EVERY) void reload().catch(() => {});
  };
  directory.onChange(() => {
    changed = true;
    void reload().catch(() => {});
  });
  const signing = (): SigningKey => {
    refresh();
    return keys.find(signs)!;
  };
  return {
    signing,
    /** The keys that verify; `kid` may be of a key that this process has not read yet. */
    verifying: async (kid: unknown): Promise<KnownKey[]> => {
      refresh();
      const mayBeNew = loading !== null || performance.now() - loadedAt > RELOAD_AFTER;
      if (mayBeNew && !keys.some((key) => key.kid === kid)) await reload();
      return verifying;
    },
    /** The same for a caller that holds a transaction open, and so waits for no other connection. */
    known: (kid: unknown): KnownKey[] => {
      refresh();
      if (typeof kid !== "string" || keys.some((key) => key.kid === kid)) return verifying;
      if (loading === null && performance.now() - loadedAt <= RELOAD_AFTER) return verifying;
      void reload().catch(() => {});
      throw new Fault("unavailable", { retryAfter: 1 });
    },
    /** All keys that ever signed. */
    all: async (): Promise<KnownKey[]> => {
      if (loading !== null || performance.now() - loadedAt > RELOAD_EVERY) await reload().catch(() => {});
      return keys;
    },
  };
}

/** Only by an address that the provider has verified: an unverified one may belong to another person. */
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
