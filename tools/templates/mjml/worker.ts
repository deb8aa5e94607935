import { createRequire } from "node:module";
import { parentPort } from "node:worker_threads";
import type { LaidOut, LayOut } from "./thread.ts";

interface Node {
  tagName: string;
  content?: string;
  children?: Node[];
}

type Mjml = (
  source: string,
  options: object,
) => Promise<{ html: string; json: Node; errors: LaidOut["errors"] }>;

const require = createRequire(import.meta.url);
// The package has no types.
const mjml: Mjml = require("mjml");

// No file is read, and mail clients fetch only the fonts of the source.
const OPTIONS = { ignoreIncludes: true, useMjmlConfigOptions: false, filePath: "", fonts: {} };
// Components that divide their width between their columns.
const SHARING = ["mj-section", "mj-group"];

parentPort?.on("message", async ({ source }: LayOut) => {
  parentPort?.postMessage(await layOut(source));
});
parentPort?.postMessage("ready");

async function layOut(source: string): Promise<LaidOut> {
  try {
    const { html, json, errors } = await mjml(source, OPTIONS);
    const problems = errors.map(({ line, message, tagName }) => ({ line, message, tagName }));
    return { html, errors: problems, amongColumns: rawAmongColumns(json) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { html: "", errors: [{ message }], amongColumns: "" };
  }
}

function rawAmongColumns(node: Node): string {
  const own = SHARING.includes(node.tagName)
    ? (node.children ?? []).filter(({ tagName }) => tagName === "mj-raw").map(({ content }) => content ?? "")
    : [];
  return [...own, ...(node.children ?? []).map(rawAmongColumns)].join(" ");
}
