import { readFileSync, writeFileSync } from "node:fs";
import { CATALOG } from "#tools/catalog.ts";
import { configurationPart, firstDifference, mcpJson, operationsPart, readmeWith } from "./documents.ts";
import { say } from "./welcome.ts";

const ROOT = new URL("..", import.meta.url);

process.exitCode = main(process.argv.slice(2));

/** Writes the generated documents; with --check only says what has drifted. Exit codes: 0 done, 1 drifted. */
function main(words: string[]): number {
  const check = words.includes("--check");
  const readme = read("README.md");
  const documents: [string, string, string][] = [
    [
      "README.md",
      readme,
      readmeWith(readme, { operations: operationsPart(CATALOG), configuration: configurationPart() }),
    ],
    ["mcp.json", read("mcp.json"), mcpJson()],
  ];
  const drifted = documents.flatMap(([file, before, after]) => firstDifference(file, before, after) ?? []);
  if (check) {
    for (const difference of drifted) say(difference);
    return drifted.length > 0 ? 1 : 0;
  }
  for (const [file, before, after] of documents) {
    if (before !== after) writeFileSync(new URL(file, ROOT), after);
  }
  return 0;
}

function read(file: string): string {
  try {
    return readFileSync(new URL(file, ROOT), "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw error;
  }
}
