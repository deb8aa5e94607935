import MiniSearch from "minisearch";
import { askedText } from "./asked-words.ts";
import { likelihoodOf, rarityAmong, requestOf, standsBack } from "./likelihood.ts";
import { wordsOf } from "./query-words.ts";
import { type OfferedTool, TOOL_NAME } from "./tools.ts";

/** Tools by the words of a request, the best first. */
export type Ranking = (query: string) => OfferedTool[];

// K limits how much repetitions of a word count. It is above the usual 1.2, so that a word in the name stays worth more
// than one in the description.
const BM25 = { k: 6, b: 0.5, d: 0.5 };
const WEIGHTS = {
  name: 3,
  asked: 3,
  title: 3,
  description: 1.2,
  toolset: 1,
  fields: 0.3,
  fieldDescriptions: 0.1,
};

/** Ranks the tools by an index over their names, descriptions and arguments. */
export function rankingOf(tools: readonly OfferedTool[]): Ranking {
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
  const rarity = rarityAmong(tools.map(({ operation }) => operation));
  return (query) => {
    const request = requestOf(query);
    const { weights } = request;
    return mini
      .search(query, { tokenize: () => [...weights.keys()], boostTerm: (word) => weights.get(word) ?? 0 })
      .map(({ id, score }) => ({ tool: byName.get(id)!, score }))
      .map(({ tool, score }) => ({ tool, score: score * likelihoodOf(tool.operation, request, rarity) }))
      .sort(
        (a, b) =>
          Number(standsBack(a.tool.operation, request)) - Number(standsBack(b.tool.operation, request)) ||
          b.score - a.score ||
          (a.tool.operation.name < b.tool.operation.name ? -1 : 1),
      )
      .map(({ tool }) => tool);
  };
}

const FIELDS: Record<keyof typeof WEIGHTS, (tool: OfferedTool) => string> = {
  name: ({ operation }) => operation.name,
  asked: ({ operation }) => (operation.crud?.verb === "get" ? "" : askedText(operation)),
  title: ({ operation }) => operation.title,
  // Other tools in a description say nothing about this tool.
  description: ({ operation }) => operation.description.replace(TOOL_NAME, ""),
  toolset: ({ toolset }) => toolset,
  fields: ({ inputSchema }) => Object.keys(inputSchema.properties).join(" "),
  fieldDescriptions: ({ inputSchema }) =>
    Object.values(inputSchema.properties)
      .map(({ description }) => description ?? "")
      .join(" "),
};
