import { promisify } from "node:util";
import { type AsyncZippable, zip } from "fflate";
import type { Page } from "#db/query/reader.ts";
import { csvRows } from "#db/stream/csv.ts";
import type { Outcome } from "#runtime/funnel/service.ts";
import { readableOf } from "#runtime/operation/columns.ts";
import type { Row, Table } from "#runtime/operation/table.ts";
import { answer } from "#transports/http/answer.ts";
import { attachment, bodyOf } from "#transports/http/file-body.ts";
import type { AdmittedRequest } from "#transports/http/handlers.ts";
import { expectOne, type Preferences, TYPES } from "./options.ts";

// Large files are packed in threads of their own.
const zipped = promisify(
  (files: AsyncZippable, done: (error: Error | null, bytes: Uint8Array<ArrayBuffer>) => void) =>
    zip(files, (error, bytes) => done(error, bytes)),
);

/** Answers a file, at the receiver's speed. */
export function answerFile({ frame }: AdmittedRequest, { file }: Outcome): Response {
  if (!file) throw new Error("the outcome is no file");
  return answer(frame, 200, bodyOf(file.stream), {
    contentType: file.contentType,
    headers: { "Content-Disposition": attachment(file) },
  });
}

/** Answers a result as a ZIP file: `name` and the day are its name, and each part of the result is a JSON file. */
export async function answerZip(request: AdmittedRequest, outcome: Outcome, name: string): Promise<Response> {
  if (outcome.status !== 200) return answerOutcome(request, outcome, {});
  const parts = Object.entries(JSON.parse(outcome.body) as Record<string, unknown>);
  const isList = ([, part]: [string, unknown]) => typeof part === "object" && part !== null;
  const about = Object.fromEntries(parts.filter((part) => !isList(part)));
  const files = Object.fromEntries(
    [["about", about] as const, ...parts.filter(isList)].map(([part, content]) => [
      `${part}.json`,
      Buffer.from(JSON.stringify(content, null, 2)),
    ]),
  );
  const bytes = await zipped(files);
  return answer(request.frame, 200, new Blob([bytes]).stream(), {
    contentType: "application/zip",
    headers: {
      "Content-Disposition": `attachment; filename="${name}.zip"`,
      ...(outcome.replayed && { "Idempotency-Replayed": "true" }),
    },
  });
}

/** Answers an outcome, in the requested form if there is one. */
export function answerOutcome(
  { frame }: AdmittedRequest,
  outcome: Outcome | Shaped,
  headers: Record<string, string>,
): Response {
  return answer(frame, outcome.status, outcome.body, {
    ...("contentType" in outcome && { contentType: outcome.contentType }),
    headers: { ...headers, ...(outcome.replayed && { "Idempotency-Replayed": "true" }) },
  });
}

/** The form of the answer of a table's route. */
interface Shaping {
  wants: Preferences;
  table: Table;
  /** The outcome is an array of records. */
  many: boolean;
  /** The requested columns; null for all. */
  select: string[] | null;
  /** Records were written, and are not read. A list that is read has its columns chosen already. */
  write: boolean;
}

export interface Shaped extends Omit<Outcome, "body"> {
  /** Null for an answer without a body. */
  body: string | null;
  contentType: string;
}

/** An outcome in the form that the headers request; without them, the specification's. */
export function shaped(outcome: Outcome, { wants, table, many, select, write }: Shaping): Shaped {
  const json = { ...outcome, contentType: TYPES.json };
  if (outcome.status >= 400) return json;
  if (write && wants.minimal) {
    if (outcome.dry) return { ...json, body: '{"dry_run":true}' };
    // Created and accepted stay: the Location tells of the record.
    return { ...json, body: null, status: outcome.status === 200 ? 204 : outcome.status };
  }
  const body = select !== null && (write || !many) ? projected(outcome.body, select) : outcome.body;
  if (wants.csv) {
    const names = select && outcome.dry ? [...select, "dry_run"] : select;
    return { ...json, body: csv(body, table, names), contentType: `${TYPES.csv}; charset=utf-8` };
  }
  if (wants.single) return { ...json, body: many ? single(body) : body, contentType: TYPES.object };
  return { ...json, body: write && wants.representation && !many ? `[${body}]` : body };
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

/** The Content-Range: the rows of the page, and their total. After a cursor the position is unknown. */
export function rangeHeader(page: Page | undefined, query: URLSearchParams): Record<string, string> {
  if (!page) return {};
  const offset = Number(query.get("offset") ?? 0);
  const known = page.rows > 0 && !query.get("cursor");
  const range = known ? `${offset}-${offset + page.rows - 1}` : "*";
  return { "Content-Range": `${range}/${page.total ?? "*"}` };
}

/** The address of the next page. */
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

/** The meta data of a page without a Link: its next cursor, and the number of rows if counted. */
export function pageInfoHeaders(page: Page | undefined): Record<string, string> {
  return {
    ...cursorHeader(page),
    ...(page?.total !== undefined && { "Content-Range": `*/${page.total}` }),
  };
}

function cursorHeader(page: Page | undefined): Record<string, string> {
  return page?.nextCursor ? { "X-Next-Cursor": page.nextCursor } : {};
}

/** The bound of the header, for proxies that take no longer one. */
const MOST_WARNINGS = 4_000;

/** The reasons why a list is empty. As JSON with escapes, because a header is ASCII. */
export function warningsHeader(page: Page | undefined): Record<string, string> {
  const warnings = (page?.warnings ?? []).map(cut);
  const fitting = warnings.filter((_, index) => ascii(warnings.slice(0, index + 1)).length <= MOST_WARNINGS);
  return fitting.length > 0 ? { "X-Warnings": ascii(fitting) } : {};
}

/** A sentence that alone is longer than the header may be is cut: without it, an empty list would say nothing. */
function cut(sentence: string): string {
  if (ascii([sentence]).length <= MOST_WARNINGS) return sentence;
  let left = MOST_WARNINGS - ascii(["…"]).length;
  let shown = "";
  for (const character of sentence) {
    left -= ascii([character]).length - ascii([""]).length;
    if (left < 0) break;
    shown += character;
  }
  return `${shown}…`;
}

function ascii(sentences: readonly string[]): string {
  const escaped = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(sentences).replaceAll(/[^\x20-\x7e]/g, escaped);
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
