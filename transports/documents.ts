import { NIL_UUID } from "#db/types.ts";
import { settings } from "#runtime/config.ts";
import type { Catalog } from "#runtime/operation/catalog.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import { routesOf } from "#runtime/operation/rest-paths.ts";
import { Definition } from "#tools/journeys/definition/definition.ts";
import { pictureOf } from "#tools/journeys/drawing/picture.ts";
import { svgOf } from "#tools/journeys/drawing/svg.ts";
import { draftOf } from "#tools/journeys/recipes/recipes.ts";
import { DEFAULT_THEME } from "#tools/themes/theme.ts";
import { guides } from "./docs/guides.ts";
import { mcpClientConfig } from "./mcp/discovery.ts";

/** The generated parts of documents: the file, the part's name and its text. */
export function generatedParts(catalog: Catalog): { file: string; name: string; text: string }[] {
  return [
    { file: "README.md", name: "guides", text: guidesPart() },
    { file: `${GUIDES}/operations.md`, name: "operations", text: operationsPart(catalog) },
    { file: `${GUIDES}/running-it.md`, name: "configuration", text: configurationPart() },
  ];
}

const GUIDES = "transports/docs/guides";

function guidesPart(): string {
  const rows = guides().map(({ name, title, summary }) => [`[${title}](${GUIDES}/${name}.md)`, summary]);
  return markdownTable(["guide", "what it is for"], rows);
}

/** Every operation, by domain. */
function operationsPart(catalog: Catalog): string {
  const parts = catalog.domains.flatMap(({ name, title }) => {
    const own = [...catalog.operations.values()].filter((each) => catalog.domainOf.get(each.name) === name);
    if (own.length === 0) return [];
    const header = ["operation", "REST", "scope", "effect", "what it does"];
    return [`## ${title}\n\n${markdownTable(header, own.map(operationRow))}`];
  });
  return parts.join("\n\n");
}

/** Every environment variable, with its default. */
function configurationPart(): string {
  const rows = settings().map(({ name, default: value, choices, description }) => [
    `\`${name}\``,
    value === null ? "" : `\`${value}\``,
    choices.length > 0 ? `${description} One of ${choices.join(", ")}.` : description,
  ]);
  return markdownTable(["variable", "default", "what it does"], rows);
}

/** `mcp.json`, the settings of an MCP client. Clients replace `${…}` by environment variables. */
export function mcpJson(): string {
  const address = "$" + "{BASE_URL:-http://127.0.0.1:8787}";
  return `${JSON.stringify(mcpClientConfig(address, "$" + "{API_KEY}"), null, 2)}\n`;
}

/** The picture of a usual journey, as `draw_journey` draws it. */
export function journeyPicture(): string {
  const { draft_definition } = draftOf({
    recipe: "win_back",
    segment_id: NIL_UUID,
    visit: "visit",
    holdout_percent: 10,
  });
  return `${svgOf(pictureOf("Win-back", Definition.parse(draft_definition), null), DEFAULT_THEME)}\n`;
}

/** A document with a new generated part between `<!-- name -->` and `<!-- /name -->`. Throws without these marks. */
export function withPart(
  document: string,
  { file, name, text }: { file: string; name: string; text: string },
) {
  const [open, close] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const start = document.indexOf(open);
  const end = document.indexOf(close);
  if (start < 0 || end < start) throw new Error(`${file} needs ${open} and, below it, ${close}`);
  return `${document.slice(0, start + open.length)}\n\n${text}\n\n${document.slice(end)}`;
}

/** The first line in which two texts differ, for people. Null if they are equal. */
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
  const places = routesOf(operation).map(([path, method]) => `\`${method.toUpperCase()} ${path}\``);
  return [
    `\`${operation.name}\``,
    places.join(", "),
    scopeOf(operation),
    operation.effect,
    firstSentence(operation.description),
  ];
}

const CALLERS: Partial<Record<Operation["access"], string>> = {
  manager: "a manager",
  admin: "an admin",
  operator: "the operator",
  user: "a signed-in user",
};

function scopeOf({ access, scope }: Operation): string {
  if (access === "public") return "none";
  return CALLERS[access] ? `${scope}, ${CALLERS[access]}` : scope;
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
