import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { AppSecret } from "#runtime/config.ts";
import type { HttpContext } from "#transports/http/handlers.ts";

/** The person whom a page is for, and the session that shows it. */
export interface Reader {
  session: string;
  userId: string;
}

/**
 * The forms' token against forgery: it follows from the session's token, which no other site knows. It also names the
 * person, by a mark that only the service can make. A form of a property names that too, because another tab of the
 * browser can choose another one.
 */
export function formToken(config: AppSecret, { session, userId }: Reader, propertyId?: string): string {
  const parts = [secretOf(session), markOf(config, userId), propertyId];
  return parts.filter((part) => part !== undefined).join(".");
}

const secretOf = (session: string) =>
  createHash("sha256").update(`console form ${session}`).digest("base64url");

const markOf = ({ appSecret }: AppSecret, userId: string) =>
  createHmac("sha256", appSecret).update(`console form ${userId}`).digest("base64url");

const partOf = (form: URLSearchParams, index: number) => form.get("token")?.split(".")[index];

/** The property of the page whose form this is. */
export function propertyOfForm(form: URLSearchParams): string | undefined {
  return partOf(form, 2);
}

/** Whether the form carries the session's token. */
export function hasFormToken(form: URLSearchParams, session: string): boolean {
  return isSame(partOf(form, 0), secretOf(session));
}

/** Whether a page for this person had the form, in any session. */
export function wasShownTo(form: URLSearchParams, config: AppSecret, userId: string): boolean {
  return isSame(partOf(form, 1), markOf(config, userId));
}

function isSame(given: string | undefined, right: string): boolean {
  const [one, other] = [Buffer.from(given ?? ""), Buffer.from(right)];
  return one.length === other.length && timingSafeEqual(one, other);
}

/** Whether a page of ours sent the form, by the headers that no script can set. Every browser sends them. */
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
