import { didYouMean } from "#db/nearest.ts";
import { invalid } from "#runtime/faults.ts";
import type { AdmittedRequest } from "#transports/http/handlers.ts";

const NO_OPTIONS: ReadonlySet<string> = new Set();

/** Throws `invalid` for a parameter that the route does not read: ignoring a misspelt `dry_run` would send. */
export function refuseOptions(query: URLSearchParams, known: ReadonlySet<string> = NO_OPTIONS): void {
  for (const key of query.keys()) {
    if (!known.has(key)) {
      const beside = known.size > 0 ? `; known: ${[...known].join(", ")}` : "; send arguments in the body";
      throw invalid(key, `unknown option in the address${didYouMean(key, known)}${beside}`);
    }
    if (query.getAll(key).length > 1) throw invalid(key, "is given twice");
  }
}

/** The `dry_run` and the other parameters of an address. Throws `invalid` where the body has a `dry_run` too. */
export function dryRunOf({ query }: AdmittedRequest, body: unknown) {
  const given = query.getAll("dry_run");
  if (given.length === 0) return { dry: undefined, rest: query };
  const twice = [body].flat().some((one) => typeof one === "object" && one !== null && "dry_run" in one);
  if (given.length > 1 || twice || !/^(true|false)$/.test(given[0]!)) {
    throw invalid("dry_run", "must be true or false, given once");
  }
  const rest = new URLSearchParams(query);
  rest.delete("dry_run");
  return { dry: given[0] === "true", rest };
}
