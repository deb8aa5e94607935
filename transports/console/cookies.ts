import { getCookie } from "hono/cookie";
import { serialize } from "hono/utils/cookie";
import type { Service } from "#runtime/funnel/service.ts";
import type { HttpContext } from "#transports/http/handlers.ts";

/** The cookies of the console: the token of `login`, and the property and the language that the person has chosen. */
export type CookieName = "console_session" | "console_property" | "console_language";

/** How long a choice is kept. */
export const YEAR_SECONDS = 31_536_000;

/** The value of a cookie of the console; undefined without one. */
export function cookieIn(c: HttpContext, { config }: Service, name: CookieName): string | undefined {
  return isSecure(config.baseUrl) ? getCookie(c, name, "host") : getCookie(c, name);
}

/** A Set-Cookie header. No script reads the cookie, and no other site's request carries it. `seconds` 0 ends it. */
export function setCookie({ config }: Service, name: CookieName, value: string, seconds: number): string {
  const options = { path: "/", httpOnly: true, sameSite: "Strict", maxAge: seconds } as const;
  if (!isSecure(config.baseUrl)) return serialize(name, value, options);
  return serialize(`__Host-${name}`, value, { ...options, path: "/", secure: true });
}

/** Browsers take a secure cookie, and the prefix `__Host-`, over https alone. */
function isSecure(baseUrl: string): boolean {
  return baseUrl.startsWith("https:");
}
