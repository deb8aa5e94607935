import { createHmac, createSecretKey } from "node:crypto";

const BITS = 64;

/**
 * A number from 0 to below `limit`, each equally likely: the first bits of HMAC-SHA256(seed, `message:cursor`), as many
 * as `limit` needs. Too large a number is rejected, and the next cursor decides.
 */
export function numberBelow(seed: Uint8Array, message: string, limit: number): number {
  const key = createSecretKey(seed);
  const bits = 32 - Math.clz32(limit - 1);
  for (let cursor = 0; ; cursor += 1) {
    const digest = createHmac("sha256", key).update(`${message}:${cursor}`).digest();
    const drawn = Number(digest.readBigUInt64BE() >> BigInt(BITS - bits));
    if (drawn < limit) return drawn;
  }
}
