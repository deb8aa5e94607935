import { globSync } from "node:fs";
import { basename } from "node:path";

/** The files `<name>.<kind>.ts` of a folder and its rooms, by their names in order. */
export function programsIn(folder: string, kind: "bench" | "fault"): Map<string, string> {
  const ending = `.${kind}.ts`;
  const files = globSync(`${folder}/**/*${ending}`);
  return new Map(files.map((file) => [basename(file, ending), file] as const).sort());
}
