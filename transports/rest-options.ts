import { invalid } from "#runtime/faults.ts";
import { canBeTried, type Operation } from "#runtime/operation.ts";
import type { Passed } from "./guarded.ts";

const NO_OPTIONS: ReadonlySet<string> = new Set();

/** Throws `invalid` where the address says more than the route reads there: a `dry_run` that is passed over sends. */
export function refuseOptions(query: URLSearchParams, known: ReadonlySet<string> = NO_OPTIONS): void {
  for (const key of query.keys()) {
    if (!known.has(key)) {
      const beside =
        known.size > 0 ? `; known: ${[...known].join(", ")}` : "; arguments belong into the body";
      throw invalid(key, `unknown option in the address${beside}`);
    }
    if (query.getAll(key).length > 1) throw invalid(key, "is given twice");
  }
}

/** A removal has no body to speak of: its `dry_run` may stand in the address. */
export function tryingOf(operation: Operation, { c, query }: Passed, body: Record<string, unknown>) {
  const given = c.req.method === "DELETE" && canBeTried(operation) ? query.getAll("dry_run") : [];
  if (given.length === 0) return { dry: {}, rest: query };
  if (given.length > 1 || Object.hasOwn(body, "dry_run") || !/^(true|false)$/.test(given[0]!)) {
    throw invalid("dry_run", "is true or false, once");
  }
  const rest = new URLSearchParams(query);
  rest.delete("dry_run");
  return { dry: { dry_run: given[0] === "true" }, rest };
}
