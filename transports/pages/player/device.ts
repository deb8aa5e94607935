import { randomBytes } from "node:crypto";
import { getCookie } from "hono/cookie";
import { serialize } from "hono/utils/cookie";
import type { Config } from "#runtime/config.ts";
import { writeAsService } from "#runtime/funnel/system-work.ts";
import { DEVICE_DAYS, deviceHash, deviceNeeds, noteDevice } from "#tools/shares/devices.ts";
import { isMachine } from "#tools/tracking/engagement.ts";
import type { HttpContext } from "#transports/http/handlers.ts";
import type { Mounting, Visit } from "./visit.ts";

const NAME = "device";
const RANDOM_NAME = /^[\w-]{22}$/;

/** The browser of a request by the random name in its cookie. A browser without one gets a new name. */
export interface Device {
  name: string;
  /** The Set-Cookie header that keeps the name. */
  cookie: string;
}

/** Null for a program, and where the property's tracking is off: then nothing names a browser. */
export function deviceOf(
  c: HttpContext,
  { baseUrl }: Pick<Config, "baseUrl">,
  { tracking }: Visit["property"],
): Device | null {
  if (tracking !== "on" || isMachine(c.req.method, c.req.header("user-agent"))) return null;
  const isSecure = baseUrl.startsWith("https:");
  const given = (isSecure ? getCookie(c, NAME, "host") : getCookie(c, NAME)) ?? "";
  const name = RANDOM_NAME.test(given) ? given : randomBytes(16).toString("base64url");
  // Lax: a link in a mail or on a network brings the cookie with it.
  const options = { path: "/", httpOnly: true, sameSite: "Lax", maxAge: DEVICE_DAYS * 86_400 } as const;
  const cookie = isSecure
    ? serialize(`__Host-${NAME}`, name, { ...options, secure: true })
    : serialize(NAME, name, options);
  return { name, cookie };
}

/**
 * Notes the browser in which a player opens a page of theirs, where players share links. Answers the Set-Cookie header
 * of the page; null for a page without one.
 */
export async function noteVisit(
  { service }: Mounting,
  { property, player }: Visit,
  c: HttpContext,
): Promise<string | null> {
  const device = deviceOf(c, service.config, property);
  if (!device) return null;
  const hash = deviceHash(property, device.name);
  const { cookie, note } = await service.db.asProperty(
    property.id,
    (sql) => deviceNeeds({ sql, property }, player.id, hash),
    { readOnly: true },
  );
  if (note) await writeAsService(service, property, (context) => noteDevice(context, player.id, hash));
  return cookie ? device.cookie : null;
}
