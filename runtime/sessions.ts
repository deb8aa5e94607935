import type { Database } from "#db/client.ts";
import type { Config } from "./config.ts";
import type { Directory } from "./directory.ts";
import { Fault } from "./faults.ts";
import type { Actor } from "./operation.ts";
import { issueToken, newSigningKey, remoteVerifier, type SigningKey, verifyToken } from "./tokens.ts";

/** Seconds that a sign-in lasts. */
export const SESSION_SECONDS = 12 * 3600;
const RELOAD_AFTER = 5_000;

export interface TokenVerifier {
  /** The user behind a JWT, ours or the identity provider's. */
  verify(token: string): Promise<Actor>;
}

/** Our own signing keys, kept in the database and shared by all processes, and the identity provider's. */
export async function openSessions(db: Database, directory: Directory, config: Config) {
  let keys = await loadKeys(db);
  if (keys.length === 0) keys = await firstKey(db);
  let loadedAt = performance.now();
  const own = { issuer: config.baseUrl, audience: config.baseUrl };
  const external = config.identityProvider ? remoteVerifier(config.identityProvider) : null;

  const verifyOwn = async (token: string) => {
    const kid = readKid(token);
    if (!keys.some((key) => key.kid === kid) && performance.now() - loadedAt > RELOAD_AFTER) {
      keys = await loadKeys(db);
      loadedAt = performance.now();
    }
    return verifyToken(token, { ...own, keys });
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
      return issueToken(keys[0]!, { ...own, subject: userId, issuedAt, expiresIn: SESSION_SECONDS });
    },
    jwks: () => ({ keys: keys.map((key) => key.publicJwk) }),
  };
}

export type Sessions = Awaited<ReturnType<typeof openSessions>>;

async function loadKeys(db: Database): Promise<SigningKey[]> {
  const rows = await db.asSystem(
    (sql) => sql<{ kid: string; private_jwk: object; public_jwk: object }[]>`
    select kid, private_jwk, public_jwk from signing_keys where retired_at is null order by created_at desc`,
  );
  return rows.map((row) => ({ kid: row.kid, privateJwk: row.private_jwk, publicJwk: row.public_jwk }));
}

async function firstKey(db: Database): Promise<SigningKey[]> {
  const key = await newSigningKey();
  await db.asSystem(async (sql) => {
    await sql`lock table signing_keys in share row exclusive mode`;
    await sql`
      insert into signing_keys (kid, private_jwk, public_jwk)
      select ${key.kid}, ${key.privateJwk as never}, ${key.publicJwk as never}
      where not exists (select from signing_keys)`;
  });
  return loadKeys(db);
}

async function userByEmail(db: Database, email: unknown, verified: unknown): Promise<string | null> {
  if (typeof email !== "string" || verified === false) return null;
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
