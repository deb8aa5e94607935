import { readFileSync } from "node:fs";
import type { Catalog } from "#runtime/operation/catalog.ts";
import { CURRENT_VERSION } from "#runtime/versions.ts";

/** The CLI as the caller has started it, for texts that show a command. */
export function programOf(env: NodeJS.ProcessEnv): string {
  return env.npm_lifecycle_event === "tool" ? "npm run -s tool --" : "player-marketing";
}

/** The command of an operation. */
export function commandOf(name: string): string {
  return name.replaceAll("_", "-");
}

/** A text of the catalog with its operations named as commands. */
export function inCommands(text: string, catalog: Catalog): string {
  return text.replaceAll(/\b[a-z]+(?:_[a-z]+)+\b/g, (word) =>
    catalog.operations.has(word) ? commandOf(word) : word,
  );
}

export function versionText(): string {
  const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  return `player-marketing ${version}, API ${CURRENT_VERSION}, Node ${process.version}`;
}
