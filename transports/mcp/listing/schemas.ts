import { z } from "zod";
import { briefOf } from "#runtime/brief.ts";
import { recordsWithin } from "#runtime/operation/columns.ts";
import { mayAsk, type Operation, recordsAnswer } from "#runtime/operation/operation.ts";
import { isList } from "#runtime/operation/paging.ts";
import { DETAILS, hasColumns } from "./columns.ts";

/** A JSON Schema of dialect 2020-12, the default of MCP without `$schema`. */
export type JsonSchema = Record<string, unknown>;

export interface ObjectSchema extends JsonSchema {
  type: "object";
  properties: Record<string, JsonSchema>;
  required?: string[];
}

/** The form of a list's answer: `columns` takes half the tokens of objects. */
export const FORMATS = ["columns", "items", "csv"] as const;

const IDEMPOTENCY: JsonSchema = {
  type: "string",
  minLength: 1,
  maxLength: 255,
  description: "Your own unique value: a retry with it writes nothing again (24 hours).",
};

const FORMAT: JsonSchema = {
  enum: [...FORMATS],
  default: "columns",
  description: "columns: names once, then rows of values. items: one object a row. csv: text.",
};

const FIELDS: JsonSchema = {
  type: "array",
  items: { type: "string" },
  description: 'Columns to answer, such as ["id","status"].',
};
const DETAIL: JsonSchema = {
  enum: [...DETAILS],
  default: "concise",
  description: "Without fields: the columns that matter, or all.",
};

const CONFIRM: JsonSchema = { type: "string", description: "From the preview that the first call answers." };
const CONFIRMING = {
  confirmation_required: { type: "boolean", description: "Nothing was done: this is what would be." },
  message: { type: "string", description: "Text for the person who decides." },
  confirm_token: {
    type: "string",
    description: "Confirms the preview: the same call with it does it, once.",
  },
  confirm_by: { type: "string", format: "date-time", description: "When the token expires." },
} satisfies Record<string, JsonSchema>;

const AUDIT_ID: JsonSchema = { type: "string", description: "The audit row of this write." };
const REPLAYED: JsonSchema = {
  type: "boolean",
  description: "The key was used before: this is the first answer.",
};

const LINK = {
  url: { type: "string", description: "The whole as a ZIP file, for minutes and without a key." },
  expires_at: { type: "string", format: "date-time" },
} satisfies Record<string, JsonSchema>;

const SHORTENED: JsonSchema = {
  type: "object",
  description: "Only where the result was too long: what of it was left out, and how to see all.",
};

/** The arguments of a tool: the operation's input without the property, which the credential gives. */
export function inputSchemaOf(operation: Operation): ObjectSchema {
  const { properties = {}, required = [], ...rest } = converted(operation.input, named);
  const shown = Object.fromEntries(
    Object.entries(properties).filter(([name]) => name !== operation.property && !HIDDEN(operation, name)),
  );
  if (isList(operation)) shown.format ??= FORMAT;
  if (hasColumns(operation)) Object.assign(shown, { fields: FIELDS, detail: DETAIL });
  if (recordsAnswer(operation)) shown.idempotency_key ??= IDEMPOTENCY;
  if (mayAsk(operation)) shown.confirm_token = CONFIRM;
  const needed = required.filter((name) => name in shown);
  return { ...rest, type: "object", properties: shown, ...(needed.length > 0 && { required: needed }) };
}

// Agents page by cursor and choose columns by `fields`; these options work for callers that send them.
const UNSHOWN = ["offset", "select"];
const HIDDEN = (operation: Operation, name: string) =>
  operation.crud?.verb === "list" && UNSHOWN.includes(name);

/** The output of a tool. The root requires nothing: clients of the 2025 SDK check errors against this schema too. */
export function outputSchemaOf(operation: Operation): ObjectSchema {
  if (isList(operation)) return listSchema(operation);
  const { properties = {}, type, $defs } = nullable(converted(operation.output));
  if (operation.effect !== "read") {
    for (const [field] of recordsWithin(operation.output)) properties[field] = loose(properties[field]!);
  }
  return {
    ...($defs !== undefined && { $defs }),
    type: "object",
    properties: {
      ...(type === "object" ? properties : { text: { type: "string" } }),
      ...(recordsAnswer(operation) && { audit_id: AUDIT_ID, replayed: REPLAYED }),
      shortened: SHORTENED,
      ...(operation.zipped && LINK),
      ...(mayAsk(operation) && CONFIRMING),
    },
  };
}

function listSchema(operation: Operation): ObjectSchema {
  const { items = {}, $defs } = converted(operation.output) as {
    items?: Partial<ObjectSchema>;
    $defs?: unknown;
  };
  return {
    ...($defs !== undefined && { $defs }),
    type: "object",
    properties: {
      format: { enum: [...FORMATS] },
      columns: { type: "array", items: { type: "string" } },
      rows: { type: "array", items: { type: "array" } },
      items: { type: "array", items: loose(nullable(items)) },
      csv: { type: "string" },
      page: {
        type: "object",
        properties: {
          next_cursor: { type: ["string", "null"] },
          has_more: { type: "boolean" },
          total: { type: "integer" },
        },
      },
      warnings: { type: "array", items: { type: "string" } },
      shortened: SHORTENED,
      ...(operation.effect !== "read" && { audit_id: AUDIT_ID, replayed: REPLAYED }),
    },
  };
}

/** `select` leaves columns out, and so does the brief answer of a write. */
function loose({ required: _, ...schema }: JsonSchema): JsonSchema {
  return schema;
}

/** A record's own name stands for its id, so that clients that check formats let it through. */
function named(schema: JsonSchema): void {
  if (schema.type === "string" && schema.format === "uuid") {
    delete schema.format;
    delete schema.pattern;
  }
}

function converted(schema: z.ZodType, adapt: (schema: JsonSchema) => void = () => {}): Partial<ObjectSchema> {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    target: "draft-2020-12",
    io: "input",
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }) => {
      const brief = briefOf(zodSchema);
      if (brief) replace(jsonSchema as JsonSchema, brief);
      adapt(jsonSchema as JsonSchema);
      trim(jsonSchema as JsonSchema);
    },
  });
  return json as Partial<ObjectSchema>;
}

function replace(schema: JsonSchema, brief: JsonSchema): void {
  for (const key of Object.keys(schema)) delete schema[key];
  Object.assign(schema, structuredClone(brief));
}

/** Keywords that cost an agent tokens and tell it nothing. */
function trim(schema: JsonSchema): void {
  if (schema.format !== undefined) delete schema.pattern;
  // The tool itself refuses an empty text, with a sentence.
  if (schema.minLength === 1) delete schema.minLength;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  delete schema.propertyNames;
  if (schema.additionalProperties === false || isEmpty(schema.additionalProperties)) {
    delete schema.additionalProperties;
  }
  const choices = schema.anyOf as JsonSchema[] | undefined;
  // REST parses numbers from text; an agent can send numbers.
  if (choices?.length === 2 && choices[0]?.type === "integer" && choices[1]?.type === "string") {
    delete schema.anyOf;
    Object.assign(schema, choices[0]);
  }
  const [only, nothing] = choices ?? [];
  if (choices?.length === 2 && nothing?.type === "null" && typeof only?.type === "string" && !only.enum) {
    delete schema.anyOf;
    Object.assign(schema, only, { type: [only.type, "null"] });
  }
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

/** A column that the caller may omit is null in the record. */
function nullable(schema: Partial<ObjectSchema>): Partial<ObjectSchema> {
  if (!schema.properties) return schema;
  const required = new Set(schema.required);
  const properties = Object.entries(schema.properties).map(([name, property]) => [
    name,
    required.has(name) || isEmpty(property) ? property : { anyOf: [property, { type: "null" }] },
  ]);
  return { ...schema, properties: Object.fromEntries(properties) };
}
