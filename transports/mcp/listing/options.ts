import { Fault, invalid } from "#runtime/faults.ts";
import type { Catalog } from "#runtime/operation/catalog.ts";
import type { Actor } from "#runtime/operation/context.ts";
import { queryOf } from "#transports/http/handlers.ts";

/** The options with which a connection narrows or widens its tools. */
export interface Options {
  /** Null for the default list, "all", or domains of the catalog. */
  toolsets: "all" | readonly string[] | null;
  readOnly: boolean;
  exclude: readonly string[];
  /** Personal data in all answers is masked. */
  masked: boolean;
}

const QUERY = ["toolsets", "read_only", "exclude", "pii"] as const;

/**
 * The options in the address and the headers, within the limits of the key. Throws `invalid` for an unknown or misspelt
 * option, and `forbidden` for one that the key does not allow.
 */
export function readOptions(request: Request, catalog: Catalog, actor: Actor): Options {
  const query = queryOf(request.url);
  for (const key of query.keys()) {
    if (!QUERY.some((name) => name === key)) throw invalid(key, `unknown option; known: ${QUERY.join(", ")}`);
  }
  const given = (name: string, header: string) => [
    ...query.getAll(name).map((text): [string, string] => [name, text]),
    ...[request.headers.get(header)].flatMap((text): [string, string][] =>
      text === null ? [] : [[header, text]],
    ),
  ];
  const toolsets = given("toolsets", "X-MCP-Toolsets").flatMap(([name, text]) => names(name, text));
  const exclude = given("exclude", "X-MCP-Exclude-Tools").flatMap(([name, text]) => names(name, text));
  const known = catalog.toolsets.map((domain) => domain.name);
  for (const name of toolsets) {
    if (name !== "all" && !known.includes(name)) {
      throw invalid("toolsets", `unknown toolset "${shown(name)}"; known: all, ${known.join(", ")}`);
    }
  }
  for (const name of exclude) {
    if (!catalog.operations.has(name)) throw invalid("exclude", `unknown tool "${shown(name)}"`);
  }
  return {
    toolsets: toolsets.length === 0 ? null : toolsets.includes("all") ? "all" : [...new Set(toolsets)].sort(),
    readOnly: given("read_only", "X-MCP-Readonly").some(([name, text]) => toggle(name, text)),
    exclude: [...new Set(exclude)].sort(),
    masked: isMasked(given("pii", "X-MCP-PII"), actor),
  };
}

function isMasked(given: [string, string][], actor: Actor): boolean {
  const wanted = given.map(([name, text]) => masks(name, text));
  if (actor.type !== "api_key" || !actor.piiMasked) return wanted.includes(true);
  if (!wanted.includes(false)) return true;
  throw new Fault("forbidden", {
    message: "This key gets only masked addresses and names (pii_masked). Leave pii=full out.",
  });
}

function names(option: string, text: string): string[] {
  const list = text.split(",").map((name) => name.trim().toLowerCase());
  if (list.includes("")) throw invalid(option, "must be a list of names, separated by commas");
  return list;
}

function toggle(option: string, text: string): boolean {
  const value = text.trim().toLowerCase();
  if (value !== "true" && value !== "false") throw invalid(option, "must be true or false");
  return value === "true";
}

function masks(option: string, text: string): boolean {
  const value = text.trim().toLowerCase();
  if (value !== "masked" && value !== "full") throw invalid(option, "must be masked or full");
  return value === "masked";
}

function shown(text: string): string {
  return text.slice(0, 60);
}
