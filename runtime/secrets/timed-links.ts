import type { AppSecret } from "#runtime/config.ts";
import { seal, unseal } from "./sealing.ts";

/** Seconds. */
export const LINK_SECONDS = 900;

const MARK = "sealed:1:";

/** A token for a link without sign-in. Nobody else can read or make it; it is valid for one purpose, and for minutes. */
export function timedToken(
  config: AppSecret,
  purpose: string,
  now: number,
  payload: object,
): { token: string; expires_at: string } {
  const until = now + LINK_SECONDS * 1000;
  const token = seal(config, `link ${purpose}`, JSON.stringify({ until, payload })).slice(MARK.length);
  return { token, expires_at: new Date(until).toISOString() };
}

/** The payload of a token of this purpose that has not expired; null for any other token. `now` in milliseconds. */
export function readTimedToken<T>(config: AppSecret, purpose: string, now: number, token: string): T | null {
  try {
    const { until, payload } = JSON.parse(unseal(config, `link ${purpose}`, MARK + token));
    return until > now ? payload : null;
  } catch {
    return null;
  }
}
