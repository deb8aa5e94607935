import { accepts } from "hono/accepts";
import { parseSelect } from "#db/query/parse.ts";
import { quote } from "#db/query/values.ts";
import { csvRows } from "#db/stream/csv.ts";
import { Fault, invalid } from "#runtime/faults.ts";
import type { Outcome } from "#runtime/funnel/service.ts";
import { readableOf } from "#runtime/operation/columns.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import type { Row, Table } from "#runtime/operation/table.ts";
import type { HttpContext } from "#transports/http/handlers.ts";

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
  throw invalid("Prefer", `max-affected is ${mostAffected}, but the change affects ${rows} rows`);
}

/** Throws `not_acceptable` when the caller requested one object and the number of rows differs. */
export function expectOne(rows: number): void {
  if (rows !== 1) throw new Fault("not_acceptable", { message: `The result has ${rows} rows, not one.` });
}

/** The form of the answer of a table's route. */
export interface Shaping {
  wants: Preferences;
  table: Table;
  /** The outcome is an array of records. */
  many: boolean;
  /** The requested columns; null for all. */
  select: string[] | null;
  /** Records were written, and are not read. A list that is read has its columns chosen already. */
  write: boolean;
}

export interface Shaped extends Outcome {
  contentType: string;
}

/** An outcome in the form that the headers request; without them, the specification's. */
export function shaped(outcome: Outcome, { wants, table, many, select, write }: Shaping): Shaped {
  const json = { ...outcome, contentType: TYPES.json };
  if (outcome.status >= 400) return json;
  if (write && wants.minimal) {
    const said = outcome.dry ? '{"dry_run":true}' : "{}";
    return { ...json, body: said };
  }
  const body = select !== null && (write || !many) ? projected(outcome.body, select) : outcome.body;
  if (wants.csv) {
    const names = select && outcome.dry ? [...select, "dry_run"] : select;
    return { ...json, body: csv(body, table, names), contentType: `${TYPES.csv}; charset=utf-8` };
  }
  if (wants.single) return { ...json, body: many ? single(body) : body, contentType: TYPES.object };
  return { ...json, body: write && wants.representation && !many ? `[${body}]` : body };
}

/** The `select` parameter in the address of a table. */
export function selection(operation: Operation, query: URLSearchParams): string[] | null {
  const text = query.get("select");
  return text === null || !operation.crud ? null : parseSelect(readableOf(operation.crud.table), text);
}

/** The number of written rows, for callers that ask for the count. */
export function countHeader({ count }: Preferences, { status, body }: Outcome): Record<string, string> {
  if (!count || status >= 400) return {};
  return { "Content-Range": `*/${[JSON.parse(body) as unknown].flat().length}` };
}

/** An upsert's outcome without the unchanged rows. A single unchanged record answers no row. */
export function newOnes(outcome: Outcome): Outcome {
  if (outcome.status >= 400) return outcome;
  const rows = JSON.parse(outcome.body) as Partial<Row> | (Row | null)[];
  if (!Array.isArray(rows)) return rows.id === undefined ? { ...outcome, body: "[]" } : outcome;
  return { ...outcome, body: JSON.stringify(rows.filter((row) => row !== null)) };
}

/** A removal may answer the rows. For other callers this is the short form of that answer. */
export function successes(outcome: Outcome): Outcome {
  if (outcome.status >= 400) return outcome;
  const shown = ({ dry_run }: { dry_run?: true }) => ({ success: true, ...(dry_run && { dry_run }) });
  const rows = [JSON.parse(outcome.body) as { dry_run?: true }].flat();
  return { ...outcome, body: JSON.stringify(rows.map(shown)) };
}

function projected(body: string, select: string[]): string {
  const one = ({ dry_run, ...row }: Record<string, unknown>) => ({
    ...Object.fromEntries(select.map((name) => [name, row[name]])),
    ...(dry_run === true && { dry_run }),
  });
  const value = JSON.parse(body) as Record<string, unknown> | Record<string, unknown>[];
  return JSON.stringify(Array.isArray(value) ? value.map(one) : one(value));
}

function single(body: string): string {
  const rows = JSON.parse(body) as unknown[];
  expectOne(rows.length);
  return JSON.stringify(rows[0]);
}

/** One record or several as CSV, in the requested order, else the table's. */
function csv(body: string, table: Table, select: string[] | null): string {
  const { columns } = readableOf(table);
  const rows = [JSON.parse(body) as Record<string, unknown>].flat();
  const names = select ?? Object.keys(rows[0] ?? columns);
  return csvRows([...new Set(names)], rows, (name) => columns[name]?.type);
}
