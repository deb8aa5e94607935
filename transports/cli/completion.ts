import { z } from "zod";
import type { Catalog } from "#runtime/operation/catalog.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import { FORMATS, flagOf, GENERAL } from "./arguments.ts";
import { choicesOf } from "./help.ts";
import { commandOf } from "./program.ts";

const NAME = "player-marketing";
const FUNCTION = "_player_marketing";

/** The script by which a shell completes commands, flags and choices. Null for another shell. */
export function completion(shell: string | undefined, catalog: Catalog): string | null {
  if (shell === "bash") return bash(catalog);
  if (shell === "zsh") return zsh(catalog);
  return null;
}

function bash(catalog: Catalog): string {
  const commands = commandsOf(catalog);
  return `# Completion of ${NAME} for bash: source <(${NAME} completion bash)
${FUNCTION}() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} words=
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="${[...commands.map(({ name }) => name), "completion", "help"].join(" ")}"
  else
    case "\${COMP_WORDS[1]} $before" in
${choiceCases(commands)}
      *)
        case \${COMP_WORDS[1]} in
${commands.map(({ name, flags }) => `          ${name}) words="${flags.join(" ")}" ;;`).join("\n")}
          completion) words="bash zsh" ;;
        esac
        words="$words ${generalFlags().join(" ")}"
        ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F ${FUNCTION} ${NAME}`;
}

function zsh(catalog: Catalog): string {
  const commands = commandsOf(catalog);
  const described = commands.map(({ name, title }) => `    '${name}:${title.replaceAll("'", "’")}'`);
  return `#compdef ${NAME}
# Completion of ${NAME} for zsh: source <(${NAME} completion zsh)
${FUNCTION}() {
  local -a commands words_of
  commands=(
${described.join("\n")}
    'completion:The script for a shell'
    'help:The help of a command'
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case "$words[2] $words[CURRENT-1]" in
${choiceCases(commands).replaceAll(/words="([^"]*)"/g, "compadd -- $1; return")}
  esac
  case $words[2] in
${commands.map(({ name, flags }) => `    ${name}) words_of=(${flags.join(" ")}) ;;`).join("\n")}
    completion) words_of=(bash zsh) ;;
  esac
  compadd -- $words_of ${generalFlags().join(" ")}
  _files
}
compdef ${FUNCTION} ${NAME}`;
}

interface Completed {
  name: string;
  title: string;
  flags: string[];
  /** By flag, the values that it takes. */
  choices: [string, string[]][];
}

function commandsOf(catalog: Catalog): Completed[] {
  return [...catalog.operations.values()].map((operation) => ({
    name: commandOf(operation.name),
    title: operation.title,
    flags: Object.keys(operation.input.shape).map((field) => `--${flagOf(field)}`),
    choices: choicesBy(operation),
  }));
}

function choicesBy({ input }: Operation): [string, string[]][] {
  return Object.entries(input.shape).flatMap(([field, schema]): [string, string[]][] => {
    const json = z.toJSONSchema(schema as z.ZodType, { io: "input", unrepresentable: "any" });
    const words = choicesOf(json).filter((choice) => /^[\w-]+$/.test(choice));
    return words.length > 0 ? [[`--${flagOf(field)}`, words]] : [];
  });
}

function choiceCases(commands: Completed[]): string {
  const own = commands.flatMap(({ name, choices }) =>
    choices.map(([flag, words]) => `      "${name} ${flag}") words="${words.join(" ")}" ;;`),
  );
  const formats = FORMATS.join(" ");
  return [...own, `      *" --output" | *" -o") words="${formats}" ;;`].join("\n");
}

function generalFlags(): string[] {
  return [...GENERAL, "filter", "help", "no-wait"].map((flag) => `--${flag}`);
}
