import { z } from "zod";
import { readableOf } from "#runtime/operation/columns.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import type { Table } from "#runtime/operation/table.ts";
import { CURRENT_VERSION } from "#runtime/versions.ts";
import { exampleId } from "#transports/examples/record-ids.ts";
import type { Json } from "./schemas.ts";

export const ID_PARAMETER = {
  name: "id",
  in: "path",
  required: true,
  description: "The record's id.",
  schema: { type: "string", format: "uuid" },
};

/** The id in the path of a record, with an example. */
export function idParameter(table: Table): Json {
  return { ...ID_PARAMETER, example: exampleId(table.name) };
}

/** `example` is what a form offers: a removal is tried first. */
export function dryRunParameter(example?: true): Json {
  return {
    ...query("dry_run", "Returns what would happen, and changes nothing. Default: false.", {
      type: "boolean",
    }),
    ...(example && { example }),
  };
}

export function listParameters(table: Table): Json[] {
  const columns = Object.keys(readableOf(table).columns);
  return [
    selectParameter(columns),
    query("order", "Such as created_at.desc,id.asc.", { type: "string" }),
    query("limit", "Rows to return.", { type: "integer", minimum: 0, maximum: 1000, default: 50 }),
    query("offset", "Rows to skip.", { type: "integer", minimum: 0, default: 0 }),
    query(
      "cursor",
      "Empty for the first page, then the X-Next-Cursor of the last response, or its Link with rel=next.",
      { type: "string" },
    ),
    // A form sends its example as it stands.
    filtersParameter({}),
  ];
}

/** The query of a create. PostgREST clients send `columns` beside an array. */
export function writeParameters(table: Table, isUpsert: boolean): Json[] {
  const text = { type: "string" };
  const key = ["id", table.key.toSorted().join(",")].filter(Boolean).join(", or ");
  return [
    selectParameter(Object.keys(readableOf(table).columns)),
    query("columns", "Ignored, because every record names its own columns. PostgREST clients send it.", text),
    ...(isUpsert
      ? [query("on_conflict", `With Prefer: resolution=…: the columns that identify a record: ${key}.`, text)]
      : []),
  ];
}

/** The query of a change of all matching records. */
export function filterParameters(table: Table): Json[] {
  const columns = Object.keys(readableOf(table).columns);
  return [selectParameter(columns), filtersParameter({ "id.eq": exampleId(table.name) })];
}

export function selectParameter(columns: string[]): Json {
  const text = `Columns to return, separated by commas. The answer has these alone, and not all that its schema requires. Of: ${columns.join(", ")}.`;
  return query("select", text, { type: "string" });
}

function filtersParameter(example: Json): Json {
  return {
    ...query(
      "filters",
      'Filters as column.operator=value or column=operator.value, such as created_at.gte=2026-01-01T00:00:00Z. In a form an object: {"created_at.gte": "2026-01-01T00:00:00Z"}.',
      { type: "object", additionalProperties: { type: "string" } },
    ),
    style: "form",
    explode: true,
    example,
  };
}

/** The query of a job's rows: the operation's own options, and the format. */
export function rowParameters(operation: Operation): Json[] {
  const { properties = {} } = z.toJSONSchema(operation.input, { io: "input", unrepresentable: "any" });
  // As for every list, Prefer asks for the count.
  const options = Object.entries(properties).filter(([name]) => name !== "id" && name !== "count");
  return [
    ...options.map(([name, schema]) => {
      const { description = "", ...rest } = schema as { description?: string };
      return query(name, description, rest);
    }),
    query("format", "The Accept header can choose it, too.", {
      type: "string",
      enum: ["json", "csv"],
      default: "json",
    }),
  ];
}

/** The form of an answer that is also offered as a ZIP file. */
export function zipParameter(): Json {
  return query("format", "zip answers a ZIP file with one JSON file for each part.", {
    type: "string",
    enum: ["json", "zip"],
    default: "json",
  });
}

function query(name: string, description: string, schema: Json): Json {
  return { name, in: "query", description, schema };
}

/** The header parameters that operations share. */
export function parameters(): Json {
  const header = (name: string, description: string, schema: Json): Json => ({
    name,
    in: "header",
    description,
    schema,
  });
  return {
    PropertyId: header("X-Property-Id", "The property to work in, for users with several.", {
      type: "string",
      format: "uuid",
    }),
    ApiVersion: header("API-Version", "Pins a version.", { type: "string", default: CURRENT_VERSION }),
    IdempotencyKey: header("Idempotency-Key", "One key per logical operation; replayed within 24 hours.", {
      type: "string",
      minLength: 1,
      maxLength: 255,
    }),
    PreferReading: header("Prefer", "count=exact, planned or estimated adds Content-Range with the total.", {
      type: "string",
      examples: ["count=exact"],
    }),
    PreferWriting: header(
      "Prefer",
      "return=representation answers an array of the records, return=minimal none, with status 204 in place of 200; count=… adds Content-Range; max-affected=n with handling=strict refuses to change more; resolution=merge-duplicates or ignore-duplicates creates or changes. tx=rollback is refused.",
      { type: "string", examples: ["return=representation"] },
    ),
    IfNoneMatch: header(
      "If-None-Match",
      "The ETag of a known state; 304 without a body if the record has it.",
      {
        type: "string",
      },
    ),
    IfMatch: header("If-Match", "The ETag that the record must still have; 412 if it has another.", {
      type: "string",
    }),
  };
}
