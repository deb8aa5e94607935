import { readFileSync, writeFileSync } from "node:fs";
import { CATALOG } from "#tools/catalog.ts";
import { firstDifference, generatedParts, journeyPicture, mcpJson, withPart } from "./documents.ts";
import { say } from "./start/report.ts";

const PICTURE = "transports/docs/pictures/win-back.svg";
const ROOT = new URL("..", import.meta.url);

process.exitCode = main(process.argv.slice(2));

/** Writes the generated documents. With --check it only prints the differences. Exit codes: 0 done, 1 different. */
function main(args: string[]): number {
  const check = args.includes("--check");
  const documents: [string, string, string][] = generatedParts(CATALOG).map((part) => {
    const before = read(part.file);
    return [part.file, before, withPart(before, part)];
  });
  documents.push(["mcp.json", read("mcp.json"), mcpJson()]);
  documents.push([PICTURE, read(PICTURE), journeyPicture()]);
  const differences = documents.flatMap(
    ([file, before, after]) => firstDifference(file, before, after) ?? [],
  );
  if (check) {
    for (const difference of differences) say(difference);
    return differences.length > 0 ? 1 : 0;
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
