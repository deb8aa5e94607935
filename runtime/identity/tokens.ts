import {
  type CompactJWSHeaderParameters,
  CompactSign,
  createRemoteJWKSet,
  errors,
  exportJWK,
  generateKeyPair,
  type JWK,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  jwtVerify,
  SignJWT,
} from "jose";
import { Fault } from "#runtime/faults.ts";

/** A key pair that signs our own tokens. Keep the objects: jose remembers a key by the JWK's identity. */
export interface SigningKey {
  kid: string;
  privateJwk: JWK;
  publicJwk: JWK;
}

export type PublicKey = Pick<SigningKey, "kid" | "publicJwk">;

export interface TokenClaims {
  issuer: string;
  audience: string;
  subject: string;
  /** Unix seconds. */
  issuedAt: number;
  /** Seconds from `issuedAt`. */
  expiresIn: number;
  /** Further claims, which replace no registered one. */
  extra?: Record<string, unknown>;
}

export interface Expected {
  issuer: string;
  audience: string;
  /** Milliseconds since 1970, by the clock that ends tokens. */
  now(): number;
}

/** The claims of a verified token. */
export type VerifiedToken = JWTPayload & { iss: string; sub: string; exp: number; iat: number };

/** A new ES256 pair with an id of its own; the public half is ready for a JWKS. */
export async function newSigningKey(): Promise<SigningKey> {
  const { publicKey, privateKey } = await generateKeyPair(ALGORITHM, { extractable: true });
  const kid = crypto.randomUUID();
  const marks = { kid, alg: ALGORITHM, use: "sig" };
  return {
    kid,
    privateJwk: { ...(await exportJWK(privateKey)), ...marks },
    publicJwk: { ...(await exportJWK(publicKey)), ...marks },
  };
}

/** A signed token with `iss aud sub iat exp`. */
export function issueToken(key: Omit<SigningKey, "publicJwk">, claims: TokenClaims): Promise<string> {
  return new SignJWT(claims.extra)
    .setProtectedHeader({ alg: ALGORITHM, typ: "JWT", kid: key.kid })
    .setIssuer(claims.issuer)
    .setAudience(claims.audience)
    .setSubject(claims.subject)
    .setIssuedAt(claims.issuedAt)
    .setExpirationTime(claims.issuedAt + claims.expiresIn)
    .sign(key.privateJwk);
}

/** A JWS whose payload travels beside it: `<header>..<signature>`. */
export async function signDetached(key: Omit<SigningKey, "publicJwk">, bytes: Uint8Array): Promise<string> {
  const whole = await new CompactSign(bytes)
    .setProtectedHeader({ alg: ALGORITHM, kid: key.kid })
    .sign(key.privateJwk);
  const [header, , signature] = whole.split(".");
  return `${header}..${signature}`;
}

/** The claims of a token of ours. Throws `credential_expired` when only its time is over, else `invalid_credential`. */
export function verifyToken(
  token: string,
  options: Expected & { keys: readonly PublicKey[] },
): Promise<VerifiedToken> {
  const { keys, issuer, audience, now } = options;
  return verify(
    token,
    ({ kid }) => {
      const key = keys.find((candidate) => candidate.kid === kid);
      if (!key) throw new Fault("invalid_credential");
      return key.publicJwk;
    },
    { issuer, audience, algorithms: [ALGORITHM], typ: "JWT", currentDate: new Date(now()) },
  );
}

/**
 * Verifies an outside identity provider's tokens by its JWKS. Throws as `verifyToken` does, and `unavailable` without
 * the JWKS.
 */
export function remoteVerifier(
  options: Expected & { jwksUrl: string },
): (token: string) => Promise<VerifiedToken> {
  const { issuer, audience, jwksUrl, now } = options;
  const keySet = createRemoteJWKSet(new URL(jwksUrl));
  const getKey: JWTVerifyGetKey = async (header, token) => {
    try {
      return await keySet(header, token);
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey) throw error;
      if (error instanceof errors.JWKSMultipleMatchingKeys) throw error;
      throw new Fault("unavailable", { cause: error, retryAfter: 1 });
    }
  };
  return (token) => {
    const currentDate = new Date(now());
    return verify(token, getKey, { issuer, audience, algorithms: REMOTE_ALGORITHMS, currentDate });
  };
}

const ALGORITHM = "ES256";
// Asymmetric only: with HS256 allowed, the public key would serve as the secret.
const REMOTE_ALGORITHMS = ["ES256", "RS256", "PS256", "EdDSA"];
// jose's base64 ignores white space, which would give one token many texts.
const COMPACT = /^[\w-]+\.[\w-]+\.[\w-]+$/;

async function verify(
  token: string,
  getKey: JWTVerifyGetKey,
  options: JWTVerifyOptions,
): Promise<VerifiedToken> {
  if (!COMPACT.test(token)) throw new Fault("invalid_credential");
  try {
    const { payload } = await jwtVerify(token, guarded(getKey), {
      ...options,
      clockTolerance: 5,
      requiredClaims: ["iss", "aud", "sub", "exp", "iat"],
    });
    if (!isComplete(payload)) throw new Fault("invalid_credential");
    return payload;
  } catch (error) {
    if (error instanceof Fault) throw error;
    // jose looks at exp last, after the signature and every other claim.
    if (error instanceof errors.JWTExpired) throw new Fault("credential_expired", { cause: error });
    if (error instanceof errors.JOSEError) throw new Fault("invalid_credential", { cause: error });
    throw error;
  }
}

// jose ignores a key that the token itself carries; a token with one is made to deceive, so it is refused.
function guarded(getKey: JWTVerifyGetKey): JWTVerifyGetKey {
  return (header, token) => {
    if (bringsKey(header)) throw new Fault("invalid_credential");
    return getKey(header, token);
  };
}

function bringsKey(header: CompactJWSHeaderParameters): boolean {
  return "jwk" in header || "jku" in header || "x5u" in header || "x5c" in header;
}

function isComplete(payload: JWTPayload): payload is VerifiedToken {
  return typeof payload.sub === "string" && payload.sub !== "" && typeof payload.iat === "number";
}
