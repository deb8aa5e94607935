import type { Catalog } from "#runtime/catalog.ts";
import { settings } from "#runtime/config.ts";
import type { Operation } from "#runtime/operation.ts";
import { mcpClientConfig } from "./mcp-discovery.ts";
import { placesOf } from "./rest-places.ts";

/** The generated part of the README between `<!-- name -->` and `<!-- /name -->`. */
export type Part = "operations" | "configuration";

/** Every operation, by domain, with its name on each face. */
export function operationsPart(catalog: Catalog): string {
  const parts = catalog.domains.flatMap(({ name, title }) => {
    const own = [...catalog.operations.values()].filter((one) => catalog.domainOf.get(one.name) === name);
    if (own.length === 0) return [];
    const header = ["operation", "MCP tool", "REST", "CLI", "scope", "effect", "what it does"];
    return [`### ${title}\n\n${markdownTable(header, own.map(operationRow))}`];
  });
  return parts.join("\n\n");
}

/** Every environment variable, with its default. */
export function configurationPart(): string {
  const rows = settings().map(({ name, default: value, choices, description }) => [
    `\`${name}\``,
    value === null ? "" : `\`${value}\``,
    choices.length > 0 ? `${description} One of ${choices.join(", ")}.` : description,
  ]);
  return markdownTable(["variable", "default", "what it does"], rows);
}

/** `mcp.json`: what an MCP client reads; clients put environment variables in the place of `${…}`. */
export function mcpJson(): string {
  const address = "$" + "{BASE_URL:-http://127.0.0.1:8787}";
  return `${JSON.stringify(mcpClientConfig(address, "$" + "{API_KEY}"), null, 2)}\n`;
}

/** The README with its generated parts made anew. Throws where one has no place. */
export function readmeWith(readme: string, parts: Record<Part, string>): string {
  return Object.entries(parts).reduce((text, [name, part]) => {
    const [open, close] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
    const start = text.indexOf(open);
    const end = text.indexOf(close);
    if (start < 0 || end < start) throw new Error(`README.md needs ${open} and, below it, ${close}`);
    return `${text.slice(0, start + open.length)}\n\n${part}\n\n${text.slice(end)}`;
  }, readme);
}

/** Where two texts part, for people: the first line that differs. Null when they are the same. */
export function firstDifference(file: string, committed: string, generated: string): string | null {
  if (committed === generated) return null;
  const [before, after] = [committed.split("\n"), generated.split("\n")];
  const at = after.findIndex((line, index) => line !== before[index]);
  const line = at < 0 ? after.length : at;
  return [
    `${file}:${line + 1} is not what the code says; run: npm run docs`,
    `- ${before[line] ?? "(the end)"}`,
    `+ ${after[line] ?? "(the end)"}`,
  ].join("\n");
}

function operationRow(operation: Operation): string[] {
  const places = placesOf(operation).map(([path, method]) => `\`${method.toUpperCase()} ${path}\``);
  const isTool = operation.access !== "public";
  return [
    operation.title,
    isTool ? `\`${operation.name}\`` : "",
    places.join(", "),
    `\`${operation.name.replaceAll("_", "-")}\``,
    scopeOf(operation),
    operation.effect,
    firstSentence(operation.description),
  ];
}

const WHO: Partial<Record<Operation["access"], string>> = {
  manager: "a manager",
  operator: "the operator",
  user: "a signed-in user",
};

function scopeOf({ access, scope }: Operation): string {
  if (access === "public") return "none";
  return WHO[access] ? `${scope}, ${WHO[access]}` : scope;
}

function firstSentence(text: string): string {
  return /^.*?\.(?=\s|$)/s.exec(text)?.[0] ?? text;
}

function markdownTable(header: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.map(escapeCell).join(" | ")} |`;
  return [line(header), `|${header.map(() => " --- ").join("|")}|`, ...rows.map(line)].join("\n");
}

function escapeCell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("\n", " ");
}
