import type { CallToolResult, InputRequiredResult } from "@modelcontextprotocol/server";
import { csvRows } from "#db/stream/csv.ts";
import { isUuid } from "#db/text.ts";
import { counted } from "#runtime/counted.ts";
import type { Outcome } from "#runtime/funnel/service.ts";
import { type Operation, recordsAnswer } from "#runtime/operation/operation.ts";
import { isList, positionAfter } from "#runtime/operation/paging.ts";
import { oneLine, visible, visibleJson } from "#runtime/visible-text.ts";
import type { FORMATS } from "#transports/mcp/listing/schemas.ts";

import { briefWrite } from "./brief-records.ts";
import { sentenceOf } from "./sentences.ts";

/** A tool's result, or the client's question for its human. */
export type ToolResult = CallToolResult | InputRequiredResult;

export type Format = (typeof FORMATS)[number];

const SHOWN_IDS = 10;

/** The value of JSON text, without its invisible characters, raw or escaped. */
export function readVisible(json: string): unknown {
  const clean = (_: string, value: unknown) => (typeof value === "string" ? visible(value) : value);
  return JSON.parse(visibleJson(json), json.includes("\\u") ? clean : undefined);
}

/** The additions of a write to its result. */
function written(operation: Operation, outcome: Outcome): Record<string, unknown> {
  if (!recordsAnswer(operation)) return {};
  return {
    ...(outcome.auditId && { audit_id: outcome.auditId }),
    ...(outcome.replayed && { replayed: true }),
  };
}

/** An operation's result: the data as structured content, and a sentence that makes sense without it. */
export function resultOf(operation: Operation, outcome: Outcome, options: ResultOptions): CallToolResult {
  const value = readVisible(outcome.body);
  const added = written(operation, outcome);
  if (isList(operation) && Array.isArray(value)) return listResult(operation, value, outcome, added, options);
  // Not among the warnings: an operation may have its own.
  const notes = outcome.warnings && { notes: outcome.warnings };
  const structured = { ...(isRecord(value) ? value : { text: value }), ...notes, ...added };
  return {
    structuredContent: briefWrite(operation, structured, options.input),
    content: [
      {
        type: "text",
        text: [
          sentenceOf(operation, structured),
          ...facts(structured),
          ...(outcome.warnings ?? []).map(oneLine),
        ].join("\n"),
      },
    ],
  };
}

export interface ResultOptions {
  /** The arguments, which an answer need not repeat. */
  input: Record<string, unknown>;
  format: Format;
  /** Skipped rows, for callers that page by offset. */
  offset: number;
  warnings: string[];
}

function listResult(
  operation: Operation,
  rows: unknown[],
  { page }: Outcome,
  added: object,
  { format, offset, warnings }: ResultOptions,
): CallToolResult {
  const place = positionAfter(page, rows.length, offset);
  const { next_cursor: next, has_more: more, total } = place;
  const structured = { ...formatted(rows, format), page: place, warnings, ...added };
  const shown = counted(rows.length, "row");
  const onward = next === null ? `offset = ${offset + rows.length}` : "cursor = page.next_cursor";
  const lines = [
    `${operation.title}: ${shown}${total === undefined ? "" : ` of ${total}`}.${more ? ` There are more: call again with ${onward}.` : ""}`,
    ...idLine(rows),
    ...warnings.map(oneLine),
  ];
  return { structuredContent: structured, content: [{ type: "text", text: lines.join("\n") }] };
}

/** `columns` takes half the tokens of objects: the names once, then the values. `csv` is text for a file. */
function formatted(rows: unknown[], format: Format): object {
  if (format === "items" || !rows.every(isRecord)) return { format: "items", items: rows };
  const columns = [...new Set(rows.flatMap((record) => Object.keys(record)))];
  if (format === "csv") return { format, csv: csvRows(columns, rows, () => undefined) };
  return { format, columns, rows: rows.map((record) => columns.map((column) => record[column] ?? null)) };
}

/** An agent that reads only the text needs ids to go on. A player's own text is never a uuid. */
function idLine(rows: unknown[]): string[] {
  const ids = rows.flatMap((row) => (isRecord(row) && isUuid(row.id) ? [row.id] : []));
  if (ids.length === 0) return [];
  const rest = ids.length - SHOWN_IDS;
  return [`Ids: ${ids.slice(0, SHOWN_IDS).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`];
}

function facts(structured: Record<string, unknown>): string[] {
  const named = Object.entries(structured).filter(
    ([name, value]) => isUuid(value) && (name === "id" || name === "audit_id"),
  );
  const replayed = structured.replayed === true ? [REPLAYED] : [];
  return [...named.map(([name, value]) => `${name}: ${value}`).slice(0, 2), ...replayed].slice(0, 2);
}

const REPLAYED = "This is the first answer of the same idempotency_key.";

/** A refusal's result, marked as the recorded one of its key. */
export function replayedRefusal(result: CallToolResult): CallToolResult {
  return {
    ...result,
    structuredContent: { ...(result.structuredContent as object), replayed: true },
    content: [...result.content, { type: "text", text: REPLAYED }],
  };
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
