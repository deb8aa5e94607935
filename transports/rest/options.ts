import { accepts } from "hono/accepts";
import { didYouMean } from "#db/nearest.ts";
import { parseSelect } from "#db/query/parse.ts";
import { quote } from "#db/query/values.ts";
import { counted } from "#runtime/counted.ts";
import { Fault, invalid } from "#runtime/faults.ts";
import { readableOf } from "#runtime/operation/columns.ts";
import type { Call } from "#runtime/operation/context.ts";
import { asObject, foldCasing } from "#runtime/operation/input.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import { idempotencyKey } from "#transports/http/admission.ts";
import { fingerprint } from "#transports/http/body.ts";
import type { AdmittedRequest, HttpContext } from "#transports/http/handlers.ts";

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

/** Throws `invalid` for a field of the body that `columns` leaves out: PostgREST would not write it. */
export function checkColumns(operation: Operation, query: URLSearchParams, body: unknown): void {
  const columns = query.get("columns");
  if (columns === null) return;
  const written = columns.split(",").map((name) => [name.trim().replace(/^"(.*)"$/, "$1"), null] as const);
  const named = Object.keys(foldCasing(operation, Object.fromEntries(written)));
  const fields = [body].flat().flatMap((one) => Object.keys(foldCasing(operation, asObject(one))));
  const left = fields.find((field) => !named.includes(field));
  if (left !== undefined) throw invalid("columns", `leaves out ${left}, which the body has`);
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

/** The call with its Idempotency-Key, if the request writes. */
export function keyed({ c, query }: AdmittedRequest, bytes: Buffer, call: Call): Call {
  const key = idempotencyKey(c.env.incoming);
  if (key === undefined || c.req.method === "GET") return call;
  return { ...call, idempotency: { key, fingerprint: fingerprint(c.req.method, c.req.path, query, bytes) } };
}

/** The preferences that a table's route can satisfy. */
export const TYPES = {
  json: "application/json",
  object: "application/vnd.pgrst.object+json",
  csv: "text/csv",
} as const;
/** The preferences that change the answer, and those that describe the default anyway. */
const SUPPORTED =
  /^(return=(representation|minimal)|count=(exact|planned|estimated)|resolution=(merge|ignore)-duplicates|max-affected=\d{1,9}|handling=(strict|lenient)|missing=default|tx=commit)$/;

/** The requests of a PostgREST client's headers. */
export interface Preferences {
  count: string | undefined;
  representation: boolean;
  minimal: boolean;
  /** Answer one object instead of an array. */
  single: boolean;
  csv: boolean;
  /** Change existing rows, or leave them, instead of refusing them. */
  duplicates: "merge" | "ignore" | undefined;
  /** Refuse a change of more rows. */
  mostAffected: number;
}

/** Throws `invalid` for tx=rollback, because writes are kept, and for an unknown preference with handling=strict. */
export function preferences(c: HttpContext): Preferences {
  const prefer = c.req.header("prefer") ?? "";
  const words = prefer.split(",").map((word) => word.trim());
  if (words.includes("tx=rollback"))
    throw invalid("Prefer", "tx=rollback is not supported; use dry_run=true to try a change");
  if (words.includes("return=headers-only")) {
    throw invalid("Prefer", "return=headers-only is not offered; there are representation and minimal");
  }
  const unknown = words.find((word) => word !== "" && !SUPPORTED.test(word));
  if (unknown !== undefined && words.includes("handling=strict")) {
    throw invalid(
      "Prefer",
      `${quote(unknown)} is not supported, and handling=strict refuses unknown preferences`,
    );
  }
  const most = /\bmax-affected=(\d{1,9})\b/.exec(prefer)?.[1];
  const type = acceptedType(c);
  return {
    count: /\bcount=(exact|planned|estimated)\b/.exec(prefer)?.[1],
    representation: /\breturn=representation\b/.test(prefer),
    minimal: /\breturn=minimal\b/.test(prefer),
    single: type === TYPES.object,
    csv: type === TYPES.csv,
    duplicates: /\bresolution=(merge|ignore)-duplicates\b/.exec(prefer)?.[1] as Preferences["duplicates"],
    mostAffected: most === undefined ? Number.POSITIVE_INFINITY : Number(most),
  };
}

/** The offered type that the caller prefers most. */
function acceptedType(c: HttpContext): string {
  const header = c.req.header("accept");
  // Browsers and simple clients take anything, or ask for a page; JSON is what there is.
  if (
    header === undefined ||
    /\*\/\*|application\/\*|application\/([\w.+-]+\+)?json|text\/html/i.test(header)
  ) {
    return accepts(c, { header: "Accept", supports: Object.values(TYPES), default: TYPES.json });
  }
  const type = accepts(c, { header: "Accept", supports: Object.values(TYPES), default: "" });
  if (type !== "") return type;
  throw new Fault("not_acceptable", { message: `Accept: there are ${Object.values(TYPES).join(", ")}.` });
}

/** Throws `invalid` when a change would touch more rows than max-affected. */
export function expectMost({ mostAffected }: Preferences, rows: number): void {
  if (rows <= mostAffected) return;
  throw invalid("Prefer", `max-affected is ${mostAffected}, but the change affects ${counted(rows, "row")}`);
}

/** Throws `not_acceptable` when the caller requested one object and the number of rows differs. */
export function expectOne(rows: number): void {
  if (rows !== 1)
    throw new Fault("not_acceptable", { message: `The result has ${counted(rows, "row")}, not one.` });
}

/** The `select` parameter in the address of a table. */
export function selection(operation: Operation, query: URLSearchParams): string[] | null {
  const text = query.get("select");
  return text === null || !operation.crud ? null : parseSelect(readableOf(operation.crud.table), text);
}
