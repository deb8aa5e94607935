import { isIP, type LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";
import { openNames, type Resolve } from "./dns-lookup.ts";

export interface OutgoingOptions {
  /** Also reaches loopback and private addresses: for development and tests only. */
  allowPrivate: boolean;
  allowHttp: boolean;
}

/** The end of a refusal at configuration: an operator's setting allows such receivers, also to the command line. */
export const PRIVATE_ALLOWED = "WEBHOOK_ALLOW_PRIVATE=on lets it be, for development.";

/** The receiver has an address that the service does not call. */
export class AddressRefused extends Error {
  constructor(message: string) {
    super(message);
    this.name = "AddressRefused";
  }
}

const resolveAll = openNames();
const MAX_URL = 2048;

/** The reason why a URL may not be a receiver, found without a network call; null when it may be one. */
export function refuseUrl(url: string, options: OutgoingOptions): string | null {
  const receiver = readReceiver(url, options);
  return receiver instanceof URL ? null : receiver;
}

/** The address of a receiver, or the reason why it may not be one. */
export function readReceiver(text: string, options: OutgoingOptions): URL | string {
  if (text.length > MAX_URL) return `The URL is longer than ${MAX_URL} characters.`;
  const url = URL.parse(text);
  if (!url) return "This is not a complete URL.";
  if (url.protocol !== "https:" && !(options.allowHttp && url.protocol === "http:")) {
    return `The URL must start with ${options.allowHttp ? "http:// or https://" : "https://"}.`;
  }
  if (url.username || url.password) return "The URL must not carry a user name or a password.";
  if (options.allowPrivate) return url;
  return refuseHost(url.hostname) ?? url;
}

/** The reason why a host is not on the public internet, found without a network call; null when it may be. */
export function refuseHost(hostname: string): string | null {
  // The parser reads 0x7f.1, 2130706433 and full-width digits as the IPv4 address they mean.
  const read = URL.parse(`http://${isIP(hostname) === 6 ? `[${hostname}]` : hostname}/`)?.hostname;
  const host = (read ?? "").replace(/^\[|\]$|\.+$/g, "");
  const open = isIP(host) ? isPublic(host) : isPublicName(host);
  return open ? null : `The host ${hostname} is not on the public internet.`;
}

/** A lookup that answers only public addresses. */
export function publicLookup(resolve?: Resolve): LookupFunction {
  return guardedLookup({ allowPrivate: false }, resolve);
}

// A literal address never gets here: net.connect takes it as it is, and readReceiver has checked it.
export function guardedLookup(
  options: Pick<OutgoingOptions, "allowPrivate">,
  resolve: Resolve = resolveAll,
): LookupFunction {
  return (hostname, { all }, callback) => {
    resolve(hostname)
      .then((addresses) => {
        const open = options.allowPrivate ? addresses : addresses.filter((found) => isPublic(found.address));
        // The message names no address: it would reveal to a customer the answers of our own name servers.
        if (!open[0]) throw new AddressRefused(`The host ${hostname} has no address on the public internet.`);
        return [open, open[0]] as const;
      })
      .then(
        ([open, first]) => (all ? callback(null, open) : callback(null, first.address, first.family)),
        (error: Error) => callback(error, []),
      );
  };
}

// Only 2000::/3 is assigned to the internet; `range` calls every unnamed range unicast.
const OPEN_IPV6 = ipaddr.IPv6.parseCIDR("2000::/3");
// Azure's metadata service, at an address that looks public.
const METADATA = "168.63.129.16";

/** Whether the address is assigned to the internet: none of IANA's special registries names it. */
function isPublic(address: string): boolean {
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== "unicast") return false;
  return parsed instanceof ipaddr.IPv6 ? parsed.match(OPEN_IPV6) : parsed.toString() !== METADATA;
}

const CLOSED_NAMES = /(^|\.)(localhost|localdomain|local|internal|intranet|home\.arpa|onion)$/;

function isPublicName(host: string): boolean {
  return host.includes(".") && !CLOSED_NAMES.test(host);
}
