import MiniSearch from "minisearch";
import type { Verb } from "#runtime/operation/table.ts";
import { type OfferedTool, TOOL_NAME } from "./tools.ts";

/** Ranks tools by the words of a request. */
export interface Index {
  search(query: string, limit: number): OfferedTool[];
}

// K limits how much repetitions of a word count. It is above the usual 1.2, so that a word in the name stays worth more
// than one in the description.
const BM25 = { k: 6, b: 0.5, d: 0.5 };
const WEIGHTS = { name: 5, title: 3, description: 1.2, toolset: 1, fields: 0.5, fieldDescriptions: 0.2 };

/** Synonyms: people's words for the words of the tools. */
const SYNONYMS: readonly (readonly string[])[] = [
  ["delete", "remove", "erase", "destroy", "drop", "forget"],
  ["create", "add", "new", "register", "insert", "make", "define", "set", "report"],
  ["update", "change", "edit", "modify", "set", "rename"],
  ["rotate", "change", "renew", "replace"],
  ["list", "find", "search", "all", "browse", "which"],
  ["get", "show", "read", "view", "fetch", "look", "detail"],
  ["player", "guest", "customer", "patron", "person", "people"],
  ["segment", "audience", "group", "cohort"],
  ["campaign", "blast", "newsletter", "mailing", "broadcast"],
  ["send", "launch", "deliver"],
  ["schedule", "later", "plan", "tomorrow"],
  ["unschedule", "cancel", "postpone"],
  ["cancel", "abort", "stop", "halt"],
  ["pause", "hold", "halt", "stop"],
  ["resume", "continue", "unpause"],
  ["duplicate", "copy", "clone"],
  ["preflight", "check", "ready", "test"],
  ["stat", "report", "result", "performance", "open", "click", "metric"],
  ["preview", "count", "match", "many"],
  ["sms", "text", "phone"],
  ["consent", "optin", "permission", "agree"],
  ["revoke", "unsubscribe", "optout", "withdraw", "stop"],
  ["suppression", "block", "blacklist", "bounce"],
  ["dnc", "call"],
  ["compliance", "allowed", "eligible", "may"],
  ["export", "download", "csv", "extract"],
  ["import", "upload", "load"],
  ["error", "fail", "problem", "wrong", "why"],
  ["webhook", "callback", "notify", "event"],
  ["redeliver", "replay", "resend", "retry", "again"],
  ["template", "design", "layout"],
  ["mailbox", "inbox", "outgoing"],
  ["audit", "history", "log", "did"],
  ["record", "history"],
  ["frequency", "limit", "cap", "often", "week"],
  ["get", "status", "done", "progress"],
  ["send", "got", "received"],
  ["validate", "verify", "check"],
  ["privacy", "gdpr", "ccpa"],
  ["journey", "automation", "automate", "sequence", "drip", "flow", "week"],
  ["winback", "journey", "lapsed", "inactive"],
  ["game", "wheel", "lottery", "sweepstakes"],
  ["simulate", "try", "rehearse"],
  ["verify", "fair", "honest"],
  ["play", "draw", "spin"],
];
const SYNONYM_WEIGHT = 0.6;
/** Most requests name the players, and few are about their records. */
const PLAYER_WEIGHT = 0.5;

// Of a record's five tools, the most frequently needed ones, to decide between equal scores.
const USUAL: Partial<Record<Verb, number>> = { list: 1.2, create: 1.1, delete: 0.8 };

const STOP = new Set(
  "a an and anybody are be before by can do does for from has have how i in is it me my of on or our the their this to want we what who with without you your".split(
    " ",
  ),
);

/** An index over the names, descriptions and arguments of the tools. */
export function indexOf(tools: readonly OfferedTool[]): Index {
  const byName = new Map(tools.map((tool) => [tool.operation.name, tool]));
  const mini = new MiniSearch<OfferedTool>({
    idField: "id",
    fields: Object.keys(WEIGHTS),
    extractField: (tool, field) =>
      field === "id" ? tool.operation.name : FIELDS[field as keyof typeof WEIGHTS](tool),
    tokenize: wordsOf,
    processTerm: (word) => word,
    searchOptions: { boost: WEIGHTS, bm25: BM25 },
  });
  mini.addAll(tools);
  return {
    search: (query, limit) => {
      const weights = weightedWords(query);
      return mini
        .search(query, { tokenize: () => [...weights.keys()], boostTerm: (word) => weights.get(word) ?? 0 })
        .map(({ id, score }) => ({ tool: byName.get(id)!, score }))
        .map(({ tool, score }) => ({ tool, score: score * likelihoodOf(tool, weights) }))
        .sort((a, b) => b.score - a.score || (a.tool.operation.name < b.tool.operation.name ? -1 : 1))
        .slice(0, limit)
        .map(({ tool }) => tool);
    },
  };
}

const FIELDS: Record<keyof typeof WEIGHTS, (tool: OfferedTool) => string> = {
  name: ({ operation }) => operation.name,
  title: ({ operation }) => operation.title,
  // Other tools in a description say nothing about this tool.
  description: ({ operation }) => operation.description.replace(TOOL_NAME, ""),
  toolset: ({ toolset }) => toolset,
  fields: ({ text }) => Object.keys(text.inputSchema.properties).join(" "),
  fieldDescriptions: ({ text }) =>
    Object.values(text.inputSchema.properties)
      .map(({ description }) => description ?? "")
      .join(" "),
};

/** A request with all words of a tool's name is about that tool, rather than one with a longer name. */
function likelihoodOf({ operation }: OfferedTool, weights: ReadonlyMap<string, number>): number {
  const name = wordsOf(operation.name);
  const named = name.filter((word) => weights.has(word)).length / name.length;
  return (USUAL[operation.crud?.verb ?? "get"] ?? 1) * (0.6 + 0.4 * named);
}

function weightedWords(query: string): Map<string, number> {
  const weights = new Map<string, number>();
  const raise = (word: string, weight: number) => weights.set(word, Math.max(weights.get(word) ?? 0, weight));
  for (const word of wordsOf(query)) {
    raise(word, word === "player" ? PLAYER_WEIGHT : 1);
    for (const other of SYNONYMS_BY_STEM.get(word) ?? []) raise(other, SYNONYM_WEIGHT);
  }
  return weights;
}

/** Lower-cased words, camelCase and snake_case taken apart, endings taken off. */
function wordsOf(text: string): string[] {
  return text
    .replace(/\bopt(?:ed|s)?[- ](in|out)\b/gi, "opt$1")
    .replace(/\bwin(?:ning|s)?[- ]?back\b|\bre-?(?:engage|activate)/gi, "winback")
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word.length > 1 && !STOP.has(word))
    .map(stem);
}

/** A stem long enough to join one word's forms; it need not be a word. */
function stem(word: string): string {
  const bare = word
    .replace(/ies$/, "y")
    .replace(/(ss|us|is)$|s$/, "$1")
    .replace(/(.{3,})(?:ing|ed|ions?)$/, "$1")
    .replace(/(.)\1$/, "$1");
  return bare.length > 3 ? bare.replace(/e$/, "") : bare;
}

const SYNONYMS_BY_STEM = new Map<string, string[]>();
for (const group of SYNONYMS.map((words) => words.map(stem))) {
  for (const word of group) {
    const others = SYNONYMS_BY_STEM.get(word) ?? [];
    SYNONYMS_BY_STEM.set(word, [...others, ...group.filter((other) => other !== word)]);
  }
}
