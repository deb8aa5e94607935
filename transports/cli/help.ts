import { z } from "zod";
import type { Catalog } from "#runtime/operation/catalog.ts";
import { type FieldKind, kindOf } from "#runtime/operation/field-kind.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import { flagOf } from "./arguments.ts";
import { exampleLines } from "./example.ts";
import { commandOf, inCommands } from "./program.ts";
import { wrapped } from "./result/table.ts";
import { canWait } from "./wait.ts";

/** The subject of a help text. */
export interface About {
  catalog: Catalog;
  program: string;
  /** Characters in a line. */
  width: number;
}

const GENERAL = [
  ["--property <id|name>", "the property to work in"],
  ["--<flag> @<file>", "the file's content as the value, such as --csv @players.csv"],
  ["-o, --output <table|json|csv>", "the result's format; --json is the same as -o json"],
  ["--out <file>", "writes the result to a file; - is stdout"],
  ["--with-page", 'a list as JSON {"items", "page"}, with next_cursor, has_more and, with --count, total'],
  ["--url <address>", "calls a running service instead of the database; with --key or API_KEY"],
  ["--key <pk_…>", "the API key for --url"],
  ["--service-url, --api-key", "the same two, for commands that have a --url or --key of their own"],
  ["--idempotency-key <key>", "one key per logical operation: a repeat changes nothing"],
] as const;

const WAIT = [
  "--wait, --no-wait",
  "waits until the work is done, with a bar in a terminal; waiting is the default there",
] as const;

/** The list of all commands, by domain. */
export function overview({ catalog, program, width }: About): string {
  const lines = [`${program} <command> [flags]`, ""];
  for (const { name, title } of catalog.domains) {
    const own = [...catalog.operations.values()].filter((one) => catalog.domainOf.get(one.name) === name);
    if (own.length === 0) continue;
    lines.push(
      title,
      ...aligned(
        own.map((one) => [commandOf(one.name), one.title]),
        width,
      ),
      "",
    );
  }
  lines.push(
    "Flags of all commands",
    ...aligned([...GENERAL, WAIT], width),
    "",
    "Other commands",
    ...aligned(
      [
        ["<command> --help", "a command's own flags, with an example"],
        ["completion <bash|zsh>", `completes commands and flags: source <(player-marketing completion bash)`],
        ["--version", "the versions of the program, the API and Node"],
      ],
      width,
    ),
  );
  return lines.join("\n");
}

/** The help of one command, from its schema. */
export function operationHelp(operation: Operation, { catalog, program, width }: About): string {
  const isListing = operation.crud?.verb === "list";
  // They have flags of the command line's own.
  const hidden = [operation.property, ...(isListing ? ["filters"] : [])];
  const flags = Object.entries(operation.input.shape)
    .filter(([field]) => !hidden.includes(field))
    .map(([field, schema]) => flagHelp(field, schema as z.ZodType))
    .sort((a, b) => Number(b.isRequired) - Number(a.isRequired))
    .map(({ flag, text }) => [flag, inCommands(text, catalog)] as const);
  if (isListing) flags.push(filterHelp(operation));
  const general = [...(canWait(operation.name) ? [WAIT] : []), ...GENERAL];
  return [
    `${program} ${commandOf(operation.name)} [flags]`,
    "",
    wrapped(inCommands(operation.description, catalog), width),
    "",
    "Example",
    ...exampleLines(operation, program, width).map((line) => `  ${line}`),
    "",
    ...(flags.length > 0 ? ["Flags", ...aligned(flags, width), ""] : []),
    "Flags of all commands",
    ...aligned(general, width),
  ].join("\n");
}

function filterHelp({ crud }: Operation): readonly [string, string] {
  const columns = Object.keys(crud!.table.columns).join(", ");
  const text = `may be repeated, such as created_at.gte=2026-01-01; columns: id, ${columns}, created_at, updated_at`;
  return ["--filter <column.operator=value>", text];
}

const FORMATS: Readonly<Record<string, string>> = {
  uuid: "id",
  "date-time": "time",
  date: "date",
  uri: "url",
};
const MOST_CHOICES = 34;

/** The placeholder behind a flag, and whether it names all choices. */
function placeholder(kind: FieldKind, choices: string[], format: string | undefined): [string, boolean] {
  const all = choices.join(kind === "list" ? "," : "|");
  const isShort =
    choices.length > 0 && all.length <= MOST_CHOICES && choices.every((one) => /^[\w-]+$/.test(one));
  if (kind === "boolean") return ["", true];
  if (kind === "choice") return [` [${isShort ? all : "text"}]`, isShort];
  if (isShort) return [` <${all}>`, true];
  return [kind === "list" ? " <a,b>" : ` <${(kind === "text" && FORMATS[format ?? ""]) || kind}>`, false];
}

/** A default that says no more than the absence of the flag. */
const PLAIN = ["null", "false", "[]", "{}"];

function flagHelp(field: string, schema: z.ZodType) {
  const kind = kindOf(schema);
  const isRequired = !schema.safeParse(undefined).success;
  const json = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  const choices = choicesOf(json);
  const [value, isComplete] = placeholder(kind, choices, formatOf(json));
  const standard = JSON.stringify(json.default);
  const notes = [
    isRequired && "required",
    json.description?.replace(/\.$/, ""),
    !isComplete &&
      choices.length > 0 &&
      `${kind === "list" ? "of" : "one of"} ${choices.map(quoted).join(" ")}`,
    standard !== undefined && !PLAIN.includes(standard) && `default ${standard.replaceAll('"', "")}`,
  ].filter(Boolean);
  return { flag: `--${flagOf(field)}${value}`, text: notes.join("; "), isRequired };
}

function formatOf({ format, anyOf = [] }: z.core.JSONSchema.BaseSchema): string | undefined {
  return format ?? anyOf.flatMap((one) => (typeof one === "object" ? (one.format ?? []) : []))[0];
}

/** A choice that is a sign, or none, stands between quotation marks. */
function quoted(choice: string): string {
  return /^[\w-]+$/.test(choice) ? choice : JSON.stringify(choice);
}

/** The choices of a value, or of an item of a list. */
export function choicesOf({
  enum: own = [],
  const: only,
  anyOf = [],
  items,
}: z.core.JSONSchema.BaseSchema): string[] {
  const inner = [...anyOf, ...[items ?? []].flat()].filter((one) => typeof one === "object");
  const values = [...own, ...(typeof only === "string" ? [only] : [])].filter((value) => value !== null);
  return [...values.map(String), ...inner.flatMap(choicesOf)];
}

const INDENT = 2;
const MOST_LEFT = 30;

/** Names with their texts beside them, in lines of the width; a long name has a line of its own. */
function aligned(rows: readonly (readonly [string, string])[], width: number): string[] {
  const left = Math.min(MOST_LEFT, Math.max(...rows.map(([name]) => name.length)));
  const margin = " ".repeat(INDENT + left + 2);
  return rows.flatMap(([name, text]) => {
    const lines = wrapped(text, Math.max(20, width - margin.length)).split("\n");
    const head = " ".repeat(INDENT) + name;
    const [first = "", ...rest] = lines;
    const begin = name.length > left ? [head, margin + first] : [`${head.padEnd(margin.length)}${first}`];
    return [...begin, ...rest.map((line) => margin + line)].map((line) => line.trimEnd());
  });
}
