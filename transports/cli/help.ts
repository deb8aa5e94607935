import { z } from "zod";
import type { Catalog } from "#runtime/operation/catalog.ts";
import { type FieldKind, kindOf } from "#runtime/operation/field-kind.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import { flagOf } from "./arguments.ts";

const GENERAL = [
  ["--property <id|name>", "the property to work in"],
  ["--<flag> @<file>", "the file's content as the value, such as --csv @players.csv"],
  ["--json", "the result alone on stdout as JSON, for programs"],
  [
    "--with-page",
    'a list as JSON {"items", "page"}: page has next_cursor, has_more and, with --count, total',
  ],
  ["--url <address>", "call a running service instead of the database; with --key or API_KEY"],
  ["--key <pk_…>", "the API key for --url"],
  ["--service-url, --api-key", "the same two, for operations that have a --url or --key of their own"],
  ["--idempotency-key <key>", "one key per logical operation: a repeat changes nothing"],
] as const;

/** The list of all operations, by domain. */
export function overview(catalog: Catalog): string {
  const lines = ["npm run tool -- <operation> [flags]", ""];
  for (const { name, title } of catalog.domains) {
    const own = [...catalog.operations.values()].filter((one) => catalog.domainOf.get(one.name) === name);
    if (own.length === 0) continue;
    lines.push(title, ...aligned(own.map((one) => [one.name.replaceAll("_", "-"), one.title])), "");
  }
  lines.push(
    "Flags of all",
    ...aligned(GENERAL),
    "",
    "npm run tool -- <operation> --help shows an operation's own flags.",
  );
  return lines.join("\n");
}

/** The help of one operation, from its schema. */
export function operationHelp(operation: Operation): string {
  const flags = Object.entries(operation.input.shape).map(([field, schema]) =>
    flagHelp(operation, field, schema as z.ZodType),
  );
  if (operation.crud?.verb === "list")
    flags.push(["--filter <column.operator=value>", "may be repeated, such as tier.eq=Gold"]);
  return [
    `npm run tool -- ${operation.name.replaceAll("_", "-")} [flags]`,
    "",
    operation.description,
    "",
    ...(flags.length > 0 ? ["Flags", ...aligned(flags), ""] : []),
    "Flags of all",
    ...aligned(GENERAL),
  ].join("\n");
}

const VALUES: Partial<Record<FieldKind, string>> = { boolean: "", choice: " [text]", list: " <a,b>" };

function flagHelp(operation: Operation, field: string, schema: z.ZodType): readonly [string, string] {
  const kind = kindOf(schema);
  const value = VALUES[kind] ?? ` <${kind}>`;
  const required = field !== operation.property && !schema.safeParse(undefined).success;
  const json = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  const choices = choicesOf(json);
  const notes = [
    json.description,
    choices.length > 0 && `${kind === "list" ? "of" : "one of"} ${choices.join(", ")}`,
    json.default !== undefined && `default ${JSON.stringify(json.default)}`,
    field === operation.property && "from --property",
    required && "required",
  ].filter(Boolean);
  return [`--${flagOf(field)}${value}`, notes.join("; ")];
}

/** The choices of a value, or of an item of a list. */
function choicesOf({
  enum: own = [],
  const: only,
  anyOf = [],
  items,
}: z.core.JSONSchema.BaseSchema): string[] {
  const inner = [...anyOf, ...[items ?? []].flat()].filter((one) => typeof one === "object");
  const values = [...own, ...(typeof only === "string" ? [only] : [])].filter((value) => value !== null);
  return [...values.map(String), ...inner.flatMap(choicesOf)];
}

function aligned(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.min(36, Math.max(...rows.map(([left]) => left.length)));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`.trimEnd());
}
