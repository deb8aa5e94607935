import { isIP } from "node:net";
import type { Config } from "#runtime/config.ts";
import { Fault } from "#runtime/faults.ts";

/** The host names of this machine and of the configured addresses. */
export function ownHosts({
  baseUrl,
  siteUrl,
}: Pick<Config, "baseUrl" | "siteUrl">): ReadonlySet<string | null> {
  return new Set(["localhost", "127.0.0.1", "[::1]", hostOf(baseUrl), hostOf(siteUrl)]);
}

/**
 * Refuses pages of other sites that CORS_ORIGINS does not name, and host names that a stranger's DNS points here (DNS
 * rebinding). An IP address needs no DNS, so it is safe.
 */
export function hostFault(
  request: Request,
  own: ReadonlySet<string | null>,
  { corsOrigins }: Pick<Config, "corsOrigins">,
): Fault | null {
  const host = hostOf(`http://${request.headers.get("host") ?? ""}`);
  if (host === null || !(own.has(host) || isAddress(host))) {
    return new Fault("forbidden", {
      message: "This host name is not the service's. Set BASE_URL to the one in use.",
    });
  }
  const given = request.headers.get("origin");
  if (given === null || corsOrigins.includes(given)) return null;
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
