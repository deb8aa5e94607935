import { isIP } from "node:net";
import type { Config } from "#runtime/config.ts";
import { Fault } from "#runtime/faults.ts";

/** The names that this machine and the configured addresses go by. */
export function ownHosts({
  baseUrl,
  siteUrl,
}: Pick<Config, "baseUrl" | "siteUrl">): ReadonlySet<string | null> {
  return new Set(["localhost", "127.0.0.1", "[::1]", hostOf(baseUrl), hostOf(siteUrl)]);
}

/**
 * Refuses a page of another site, and a name that somebody else's DNS points here. A plain address needs no DNS,
 * so it cannot be such a name.
 */
export function hostFault(request: Request, own: ReadonlySet<string | null>): Fault | null {
  const host = hostOf(`http://${request.headers.get("host") ?? ""}`);
  if (host === null || !(own.has(host) || isAddress(host))) {
    return new Fault("forbidden", {
      message: "This host name is not the service's. Set BASE_URL to the one in use.",
    });
  }
  const given = request.headers.get("origin");
  if (given === null) return null;
  const origin = /^https?:/.test(given) ? hostOf(given) : null;
  if (origin !== null && (own.has(origin) || origin === host)) return null;
  return new Fault("forbidden", { message: "Requests from this origin are not allowed." });
}

function hostOf(url: string): string | null {
  return URL.parse(url)?.hostname || null;
}

function isAddress(host: string): boolean {
  return isIP(host.replace(/^\[|\]$/g, "")) !== 0;
}
