import { scopesIn } from "#runtime/funnel/access.ts";
import type { Service } from "#runtime/funnel/service.ts";
import type { Catalog } from "#runtime/operation/catalog.ts";
import type { Access, Call, Scope, User } from "#runtime/operation/context.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import { acts } from "#runtime/roles.ts";
import { FIRST_TOOLS, terse } from "./first-tools.ts";
import type { Options } from "./options.ts";
import { type Ranking, rankingOf } from "./search.ts";
import { CALL_TOOL, type OfferedTool, offeredTool, SEARCH_TOOLS, type ToolText } from "./tools.ts";

/** The parts that answer MCP requests, made once. */
export interface Machine {
  service: Service;
  catalog: Catalog;
  surfaces: Surfaces;
}

/** The tools and resources that one kind of credential, with one set of options, may use. */
export interface Surface {
  reach: ReadonlyMap<string, OfferedTool>;
  /** Whether search_tools and call_tool replace the tools outside the list. */
  searchable: boolean;
  listed: readonly ToolText[];
  /** `listed` as JSON, so that a list costs no serialization. */
  listedJson: string;
  /** Personal data is masked. */
  masked: boolean;
  /** The first tools in reach for a request, and the withheld ones among the best of all. */
  search(query: string, limit: number): { found: OfferedTool[]; withheld: OfferedTool[] };
  /** The part of the connection that leaves a tool out, in words; null where none does. */
  leftOutBy(operation: Operation): string | null;
}

export interface Surfaces {
  of(call: Call, options: Options): Surface;
  /** Whether this caller's credential allows the operation, regardless of the options. */
  allows(call: Call, operation: Operation): boolean;
}

const MOST_LISTED = 25;
// 8,000 tokens of o200k, of which one holds 4.1 characters of these lists.
const MOST_CHARACTERS = 32_000;
const MOST_SURFACES = 256;
/** A tool out of reach is named where it is among this many of the best. */
const NAMED_WITHHELD = 3;

/** The surfaces of a catalog. Each tool is described once, and each surface is built once. */
export function surfaces(catalog: Catalog): Surfaces {
  let tools: OfferedTool[] | undefined;
  let ranking: Ranking | undefined;
  const made = new Map<string, Surface>();
  return {
    of: (call, options) => {
      const grant = grantOf(call);
      const key = JSON.stringify([grant, options]);
      let surface = made.get(key);
      if (!surface) {
        tools ??= describedTools(catalog);
        const all = tools;
        const leftOut = (operation: Operation) => withheldBy(options, operation, catalog.domainOf);
        surface = surfaceOf(
          all.filter(({ operation }) => within(grant, operation) && leftOut(operation) === null),
          { options, leftOutBy: leftOut },
          (query) => {
            // The index is built at the first search.
            ranking ??= rankingOf(all);
            return ranking(query);
          },
        );
        if (made.size >= MOST_SURFACES) made.clear();
        made.set(key, surface);
      }
      return surface;
    },
    allows: (call, operation) => within(grantOf(call), operation),
  };
}

function describedTools(catalog: Catalog): OfferedTool[] {
  return [...catalog.operations.values()]
    .filter(({ access }) => access !== "public")
    .map((operation) => offeredTool(operation, catalog.domainOf.get(operation.name) ?? ""));
}

function surfaceOf(
  tools: OfferedTool[],
  { options, leftOutBy }: Pick<Surface, "leftOutBy"> & { options: Options },
  ranked: Ranking,
): Surface {
  const searchable = options.toolsets === null && tools.length > MOST_LISTED;
  const reach = new Map(tools.map((tool) => [tool.operation.name, tool]));
  const isReached = ({ operation }: OfferedTool) => reach.has(operation.name);
  const shown = searchable ? tools.filter(({ operation }) => FIRST_TOOLS.has(operation.name)) : tools;
  const readOnly = tools.every(({ operation }) => operation.effect === "read");
  const meta = searchable ? [SEARCH_TOOLS, CALL_TOOL(readOnly)] : [];
  const full = [...shown.map(({ text }) => text), ...meta];
  const json = JSON.stringify(full);
  const slim = searchable && json.length > MOST_CHARACTERS;
  const listed = slim ? full.map(terse) : full;
  return {
    reach,
    searchable,
    masked: options.masked,
    leftOutBy,
    listed,
    listedJson: slim ? JSON.stringify(listed) : json,
    search: (query, limit) => {
      const best = ranked(query);
      return {
        found: best.filter(isReached).slice(0, limit),
        withheld: best.slice(0, NAMED_WITHHELD).filter((tool) => !isReached(tool)),
      };
    },
  };
}

function withheldBy(
  { toolsets, readOnly, exclude, masked }: Options,
  { name, effect, file, zipped }: Operation,
  domainOf: Catalog["domainOf"],
): string | null {
  // Masking could not recognize names in a file, nor in all that there is about a person.
  if (masked && (file || zipped)) return "the masking of personal data";
  if (Array.isArray(toolsets) && !toolsets.includes(domainOf.get(name) ?? "")) return "the option toolsets";
  if (readOnly && effect !== "read") return "the option read_only";
  return exclude.includes(name) ? "the option exclude" : null;
}

interface Grant {
  access: Access[];
  scopes: readonly Scope[];
}

function within({ access, scopes }: Grant, operation: Operation): boolean {
  return access.includes(operation.access) && scopes.includes(operation.scope);
}

function grantOf({ actor, propertyId }: Call): Grant {
  if (actor.type === "system")
    return { access: ["property", "manager", "admin", "operator", "user"], scopes: ["read", "write"] };
  if (actor.type === "anonymous") return { access: [], scopes: [] };
  if (actor.type === "api_key") return { access: ["property"], scopes: [...actor.scopes].sort() };
  return userGrant(actor, propertyId);
}

function userGrant(actor: User, propertyId: string | undefined): Grant {
  const { isPlatformAdmin, memberships } = actor;
  const here = memberships.filter((one) => propertyId === undefined || one.property_id === propertyId);
  const manages = isPlatformAdmin || here.some(({ role }) => acts(role));
  const isAdmin = isPlatformAdmin || here.some(({ role }) => role === "admin");
  const scopes = new Set(here.flatMap((one) => scopesIn(actor, one.property_id)));
  return {
    access: [
      "property",
      "user",
      ...(manages ? (["manager"] as const) : []),
      ...(isAdmin ? (["admin"] as const) : []),
      ...(isPlatformAdmin ? (["operator"] as const) : []),
    ],
    scopes: isPlatformAdmin ? ["read", "write"] : [...scopes].sort(),
  };
}
