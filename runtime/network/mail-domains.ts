import { Resolver } from "node:dns/promises";
import { errorCode } from "#db/connection/error-code.ts";
import { semaphore } from "#db/semaphore.ts";

/** The DNS' answer about a domain's mail. `address_only`: no MX but an address, which RFC 5321 takes for one. */
export type MailDomain = "mx" | "address_only" | "null_mx" | "no_mx" | "domain_not_found" | "dns_timeout";

export interface MailDomains {
  /** Never throws; `dns_timeout` when the DNS gives no conclusive answer. */
  look(domain: string): Promise<MailDomain>;
}

/** Milliseconds. */
const TIMEOUT = 3_000;
const TRIES = 2;
const MOST_AT_ONCE = 32;
const MOST_CACHED = 20_000;
/** Milliseconds that an answer is cached; a missing answer is retried sooner. */
const CACHED_FOR = { answer: 3_600_000, silence: 60_000 };

/** It always has name servers. A resolver that does not say so is cut off from the internet, or knows other names alone. */
const KNOWN_NAME = "com";

interface Cached {
  answer: Promise<MailDomain>;
  until: number;
}

/** Asks the given resolvers, or the machine's, for the mail servers of domains. Each domain once an hour. */
export function openMailDomains(servers: readonly string[]): MailDomains {
  const resolver = new Resolver({ timeout: TIMEOUT, tries: TRIES });
  if (servers.length > 0) resolver.setServers(servers);
  const cache = new Map<string, Cached>();
  const limited = semaphore(MOST_AT_ONCE);
  const isReaching = sharedFromNowOn(() => hasServers(resolver));
  return {
    look: (domain) => {
      const known = cache.get(domain);
      if (known && known.until > performance.now()) return known.answer;
      if (cache.size >= MOST_CACHED) cache.clear();
      const answer = limited(() => query(resolver, domain, isReaching));
      const entry: Cached = { answer, until: performance.now() + CACHED_FOR.answer };
      cache.set(domain, entry);
      void answer.then((result) => {
        if (result === "dns_timeout") entry.until = performance.now() + CACHED_FOR.silence;
      });
      return answer;
    },
  };
}

/** The DNS' answer. A denial counts only when the resolver proves, after it, that it reaches the internet's names. */
async function query(
  resolver: Resolver,
  domain: string,
  isReaching: () => Promise<boolean>,
): Promise<MailDomain> {
  const answer = await answerOf(resolver, domain);
  const isDenial = answer === "domain_not_found" || answer === "no_mx";
  return isDenial && !(await isReaching()) ? "dns_timeout" : answer;
}

async function answerOf(resolver: Resolver, domain: string): Promise<MailDomain> {
  try {
    const records = await resolver.resolveMx(domain);
    // A single MX of no name: RFC 7505, the domain takes no mail.
    const named = records.filter(({ exchange }) => exchange !== "" && exchange !== ".");
    if (records.length > 0) return named.length > 0 ? "mx" : "null_mx";
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOTFOUND") return "domain_not_found";
    if (code !== "ENODATA") return "dns_timeout";
  }
  const found = await Promise.all([
    resolver.resolve4(domain).then(hasSome, isSilent),
    resolver.resolve6(domain).then(hasSome, isSilent),
  ]);
  if (found.includes("some")) return "address_only";
  return found.includes("silence") ? "dns_timeout" : "no_mx";
}

function hasServers(resolver: Resolver): Promise<boolean> {
  return resolver.resolveNs(KNOWN_NAME).then(
    (servers) => servers.length > 0,
    () => false,
  );
}

/** One answer for all who ask before the question begins; those who ask while it runs wait for the next. */
function sharedFromNowOn<T>(question: () => Promise<T>): () => Promise<T> {
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<T> | undefined;
  return () => {
    next ??= running.then(() => {
      next = undefined;
      const answer = question();
      running = answer;
      return answer;
    });
    return next;
  };
}

function hasSome(addresses: string[]): "some" | "none" {
  return addresses.length > 0 ? "some" : "none";
}

function isSilent(error: unknown): "none" | "silence" {
  return ["ENODATA", "ENOTFOUND"].includes(errorCode(error)) ? "none" : "silence";
}
