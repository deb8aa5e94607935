import { createHash, timingSafeEqual } from "node:crypto";
import type { HttpContext } from "#transports/http/handlers.ts";

/**
 * The forms' token against forgery: it follows from the session's token, which no other site knows. A form of a property
 * also names it there, because another tab of the browser can choose another one.
 */
export function formToken(session: string, propertyId?: string): string {
  const secret = createHash("sha256").update(`console form ${session}`).digest("base64url");
  return propertyId === undefined ? secret : `${secret}.${propertyId}`;
}

/** The property of the page whose form this is. */
export function propertyOfForm(form: URLSearchParams): string | undefined {
  return form.get("token")?.split(".")[1];
}

/** Whether the form carries the session's token. */
export function hasFormToken(form: URLSearchParams, session: string): boolean {
  const given = Buffer.from(form.get("token")?.split(".")[0] ?? "");
  const right = Buffer.from(formToken(session));
  return given.length === right.length && timingSafeEqual(given, right);
}

/** Whether a page of ours sent the form, by the headers that no script can set. A client without them is no browser. */
export function isFromHere(c: HttpContext): boolean {
  const site = c.req.header("sec-fetch-site");
  if (site !== undefined) return site === "same-origin";
  const origin = c.req.header("origin");
  return origin === undefined || (URL.canParse(origin) && new URL(origin).host === c.req.header("host"));
}

/** A path of the console, to go to after signing in. Another address becomes the first page. */
export function consolePath(given: string | null | undefined): string {
  const path = ownPath(given);
  return path.startsWith("/console/sign-") || !path.startsWith("/console") ? "/console" : path;
}

/** A path of the console, of its sign-in or of a password's reset. Another address becomes the first page. */
export function ownPath(given: string | null | undefined): string {
  const base = "http://console.invalid";
  if (!given || !URL.canParse(given, base)) return "/console";
  const { origin, pathname, search } = new URL(given, base);
  return origin === base && OWN.test(pathname) ? pathname + search : "/console";
}

const OWN = /^\/(console|password-reset)(\/|$)/;

/** The path and the query of the request. */
export function hereOf(c: HttpContext): string {
  const { pathname, search } = new URL(c.req.url);
  return pathname + search;
}
