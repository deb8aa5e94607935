import { promises as dns, type LookupAddress } from "node:dns";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";

/** Every address of a name, as `dns.lookup(name, { all: true })` gives them. */
export type Resolve = (hostname: string) => Promise<LookupAddress[]>;

/** Milliseconds for a name server's first answer; each retry allows more. */
const TIMEOUT = 2_000;
const TRIES = 2;
const HOSTS = process.platform === "win32" ? "C:\\Windows\\System32\\drivers\\etc\\hosts" : "/etc/hosts";

/**
 * Resolves names without the threads of `dns.lookup`. The process has two of them, and two silent name servers would
 * block every other connection. Concurrent calls for one name share a query. The hosts file comes first; the machine
 * itself resolves names without a dot.
 */
export function openNames({ servers = [] as readonly string[], hosts = HOSTS } = {}): Resolve {
  const resolver = new dns.Resolver({ timeout: TIMEOUT, tries: TRIES });
  if (servers.length > 0) resolver.setServers(servers);
  const pending = new Map<string, Promise<LookupAddress[]>>();
  const query = async (name: string) => {
    const own = await hostsOf(hosts, name);
    if (own.length > 0) return own;
    return name.includes(".") ? queried(resolver, name) : dns.lookup(name, { all: true });
  };
  return (hostname) => {
    const name = hostname.toLowerCase().replace(/\.$/, "");
    const known = pending.get(name);
    if (known !== undefined) return known;
    const answer = query(name).finally(() => pending.delete(name));
    pending.set(name, answer);
    return answer;
  };
}

/** IPv4 comes first, because a host may have no way to IPv6. Throws the DNS' error when neither kind exists. */
async function queried(resolver: dns.Resolver, name: string): Promise<LookupAddress[]> {
  const [four, six] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  const addresses = [four, six].flatMap((found) => (found.status === "fulfilled" ? found.value : []));
  if (addresses.length === 0 && four.status === "rejected") throw four.reason;
  return addresses.map(withFamily);
}

/** The addresses of a name in the hosts file. A missing file has none. */
async function hostsOf(file: string, name: string): Promise<LookupAddress[]> {
  const text = await readFile(file, "utf8").catch(() => "");
  return text.split("\n").flatMap((line) => {
    const [address = "", ...names] = line.replace(/#.*/, "").trim().toLowerCase().split(/\s+/);
    return isIP(address) !== 0 && names.includes(name) ? [withFamily(address)] : [];
  });
}

function withFamily(address: string): LookupAddress {
  return { address, family: isIP(address) };
}
