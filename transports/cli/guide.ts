import { nearest } from "#db/nearest.ts";
import type { Catalog } from "#runtime/operation/catalog.ts";
import { completion } from "./completion.ts";
import { operationHelp, overview } from "./help.ts";
import { commandOf, programOf, versionText } from "./program.ts";
import type { CommandProcess } from "./screen.ts";

/** The answer of a command that runs no operation: help, the version, a completion, or that there is none. */
export function guideFor(
  args: readonly string[],
  { catalog, host }: { catalog: Catalog; host: CommandProcess },
): { text: string; code: number } | null {
  const [word, second] = args;
  const about = { catalog, program: programOf(host.env), width: Math.min(host.stdout.columns ?? 100, 100) };
  const said = (text: string) => ({ text, code: 0 });
  if (word === undefined || /^(-h|--help)$/.test(word)) return said(overview(about));
  if (/^(-v|--version)$/.test(word)) return said(versionText());
  if (word === "help")
    return second ? guideFor([second, "--help"], { catalog, host }) : said(overview(about));
  if (word === "completion") return completed(second, about);
  const operation = catalog.operations.get(word.replaceAll("-", "_"));
  if (!operation) return { text: unknownCommand(word, about), code: 2 };
  const isHelp = args.slice(1).some((one) => one === "--help" || one === "-h");
  return isHelp ? said(operationHelp(operation, about)) : null;
}

function completed(shell: string | undefined, { catalog, program }: { catalog: Catalog; program: string }) {
  const text = completion(shell, catalog);
  if (text !== null) return { text, code: 0 };
  return { text: `Write ${program} completion bash, or completion zsh.`, code: 2 };
}

function unknownCommand(word: string, { catalog, program }: { catalog: Catalog; program: string }): string {
  const names = [...catalog.operations.keys()].map(commandOf);
  const asked = commandOf(word);
  const near = nearest(asked, names);
  const stem = asked.replace(/s$/, "");
  const meant = near.length > 0 ? near : names.filter((name) => name.includes(stem)).slice(0, 8);
  const hint = meant.length > 0 ? ` Did you mean ${meant.join(", ")}?` : "";
  return `There is no command ${word}.${hint} ${program} --help lists them.`;
}
