import { stringify } from "csv-stringify/sync";
import { accepts } from "hono/accepts";
import { safeCell } from "#db/csv.ts";
import { parseSelect } from "#db/filters.ts";
import { quote } from "#db/filters-values.ts";
import type { Page } from "#db/reader.ts";
import { shapeOf } from "#runtime/columns.ts";
import { Fault, invalid } from "#runtime/faults.ts";
import { checkKey } from "#runtime/input.ts";
import { invoke, type Outcome, type Service } from "#runtime/invoke.ts";
import type { Operation, Row } from "#runtime/operation.ts";
import { answer } from "./answer.ts";
import type { HttpContext, Passed } from "./guarded.ts";
import { noteFields } from "./rest-fields.ts";

const JSON_TYPE = "application/json";
const OBJECT = "application/vnd.pgrst.object+json";
const CSV = "text/csv";
const SUPPORTED = [JSON_TYPE, OBJECT, CSV];
/** The preferences that are obeyed, and those that say what is done anyway. */
const OBEYED =
  /^(return=(representation|minimal)|count=(exact|planned|estimated)|resolution=(merge|ignore)-duplicates|max-affected=\d{1,9}|handling=(strict|lenient)|missing=default|tx=commit)$/;
/** Query keys that are no filters. */
export const OPTIONS = new Set(["select", "order", "limit", "offset", "cursor"]);

/** What a PostgREST client asks for in its headers. */
export interface Preferences {
  count: string | undefined;
  representation: boolean;
  minimal: boolean;
  /** One object instead of an array. */
  single: boolean;
  csv: boolean;
  /** Rows that are there already are changed, or left as they are, instead of refused. */
  duplicates: "merge" | "ignore" | undefined;
  /** A change of more rows than that is refused. */
  mostAffected: number;
}

/** Throws `invalid` where a write would be kept that was to be undone, or strictness is asked for and cannot be. */
export function preferences(c: HttpContext): Preferences {
  const prefer = c.req.header("prefer") ?? "";
  const words = prefer.split(",").map((word) => word.trim());
  if (words.includes("tx=rollback")) throw invalid("Prefer", "tx=rollback is not offered: writes are kept");
  const unknown = words.find((word) => word !== "" && !OBEYED.test(word));
  if (unknown !== undefined && words.includes("handling=strict")) {
    throw invalid("Prefer", `${quote(unknown)} is not offered, and handling=strict asks to be told`);
  }
  const most = /\bmax-affected=(\d{1,9})\b/.exec(prefer)?.[1];
  const type = acceptedType(c);
  return {
    count: /\bcount=(exact|planned|estimated)\b/.exec(prefer)?.[1],
    representation: /\breturn=representation\b/.test(prefer),
    minimal: /\breturn=minimal\b/.test(prefer),
    single: type === OBJECT,
    csv: type === CSV,
    duplicates: /\bresolution=(merge|ignore)-duplicates\b/.exec(prefer)?.[1] as Preferences["duplicates"],
    mostAffected: most === undefined ? Number.POSITIVE_INFINITY : Number(most),
  };
}

/** Of the types that are offered the one that the caller likes most. */
function acceptedType(c: HttpContext): string {
  return accepts(c, { header: "Accept", supports: SUPPORTED, default: JSON_TYPE });
}

export function acceptsCsv(c: HttpContext): boolean {
  return acceptedType(c) === CSV;
}

/** GET on a collection. */
export async function list(service: Service, operation: Operation, request: Passed): Promise<Response> {
  const { c, call, query, frame } = request;
  const wants = preferences(c);
  const pairs = [...query];
  const options = pairs.filter(([key]) => OPTIONS.has(key));
  const twice = options.find(([key], index) => options.findIndex(([other]) => other === key) < index);
  if (twice) throw invalid(twice[0], "is given twice");
  const input: Record<string, unknown> = Object.fromEntries(options);
  const conditions = pairs.filter(([key]) => !OPTIONS.has(key));
  if (conditions.length > 0) input.filters = grouped(conditions);
  if (wants.count) input.count = wants.count;
  noteFields(request, operation, input, selection(operation, query));
  const outcome = await invoke(service, operation, call, input);
  const { page } = outcome;
  const headers = {
    ...(wants.count && page && { "Content-Range": rangeOf(page, query) }),
    ...pageHeaders(c.req.path, query, page),
  };
  if (wants.csv) {
    const shape = shapeOf(operation.crud!.table);
    const columns = parseSelect(shape, query.get("select") ?? "*") ?? Object.keys(shape.columns);
    const text = toCsv(outcome.body, [...new Set(columns)]);
    return answer(frame, 200, text, { contentType: `${CSV}; charset=utf-8`, headers });
  }
  const shapedOutcome = wants.single ? { ...outcome, body: single(outcome.body) } : outcome;
  return answer(frame, 200, shapedOutcome.body, { headers });
}

/** Which rows of how many. Behind a cursor nobody knows how many came before. */
function rangeOf({ rows, total }: Page, query: URLSearchParams): string {
  const offset = Number(query.get("offset") ?? 0);
  const known = rows > 0 && !query.get("cursor");
  return `${known ? `${offset}-${offset + rows - 1}` : "*"}/${total ?? "*"}`;
}

/** Where a list goes on. */
export function pageHeaders(
  path: string,
  query: URLSearchParams,
  page: Page | undefined,
): Record<string, string> {
  if (!page?.nextCursor) return {};
  const next = new URLSearchParams(query);
  next.delete("offset");
  next.set("cursor", page.nextCursor);
  return { ...cursorHeader(page), Link: `<${path}?${next}>; rel="next"` };
}

export function cursorHeader(page: Page | undefined): Record<string, string> {
  return page?.nextCursor ? { "X-Next-Cursor": page.nextCursor } : {};
}

/** Query pairs as the filters of a list operation: each key with all of its values. */
export function grouped(pairs: [string, string][]): Record<string, string[]> {
  for (const [key] of pairs) checkKey(key);
  const groups = Map.groupBy(pairs, ([key]) => key);
  return Object.fromEntries([...groups].map(([key, list]) => [key, list.map(([, value]) => value)]));
}

/** How a write on a table is answered. */
export interface Shaping {
  wants: Preferences;
  many: boolean;
  create: boolean;
  /** The columns asked for; null for all. */
  select: string[] | null;
}

/** What `select` asks for in a write's address. */
export function selection(operation: Operation, query: URLSearchParams): string[] | null {
  const text = query.get("select");
  return text === null || !operation.crud ? null : parseSelect(shapeOf(operation.crud.table), text);
}

/** How many rows were written, for who asks to have them counted. */
export function countHeader({ count }: Preferences, { status, body }: Outcome): Record<string, string> {
  if (!count || status >= 400) return {};
  return { "Content-Range": `*/${[JSON.parse(body) as unknown].flat().length}` };
}

/** A write's outcome in the shape that the headers ask for; without them, the specification's. */
export function shaped(outcome: Outcome, { wants, many, create, select }: Shaping): Outcome {
  if (outcome.status >= 400) return outcome;
  if (wants.minimal) {
    return { ...outcome, status: create ? 201 : 200, body: outcome.dry ? '{"dry_run":true}' : "{}" };
  }
  const body = select === null ? outcome.body : projected(outcome.body, select);
  if (wants.single) return { ...outcome, body: many ? single(body) : body };
  if (wants.representation && !many) return { ...outcome, body: `[${body}]` };
  return { ...outcome, body };
}

/** An upsert's outcome without the rows that were left as they are. One record that was left is no row at all. */
export function newOnes(outcome: Outcome): Outcome {
  if (outcome.status >= 400) return outcome;
  const rows = JSON.parse(outcome.body) as Partial<Row> | (Row | null)[];
  if (!Array.isArray(rows)) return rows.id === undefined ? { ...outcome, body: "[]" } : outcome;
  return { ...outcome, body: JSON.stringify(rows.filter((row) => row !== null)) };
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

/** Throws `invalid` where a change would touch more rows than the caller has said. */
export function expectMost({ mostAffected }: Preferences, rows: number): void {
  if (rows <= mostAffected) return;
  throw invalid("Prefer", `max-affected is ${mostAffected}, and the filters match ${rows} rows`);
}

/** Throws `not_acceptable` where one object was asked for and there is another number. */
export function expectOne(rows: number): void {
  if (rows !== 1) throw new Fault("not_acceptable", { message: `The result has ${rows} rows, not one.` });
}

/** JSON rows as CSV; a cell that a spreadsheet would run gets a leading apostrophe. */
function toCsv(body: string, columns: string[]): string {
  const rows = JSON.parse(body) as Record<string, unknown>[];
  return stringify(rows, {
    header: true,
    columns,
    cast: { string: safeCell, boolean: String, object: (v) => JSON.stringify(v) },
  });
}
