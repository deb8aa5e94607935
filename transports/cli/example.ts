import { needsProperty } from "#runtime/funnel/access.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import { exampleOf } from "#transports/examples/examples.ts";
import { flagOf } from "./arguments.ts";
import { commandOf } from "./program.ts";

/** Stands for a file's text, which no line holds. */
const FILE = "@players.csv";

/** A whole command as words: the operation's example, in the demo property. A test reads every one. */
export function exampleWords(operation: Operation): string[] {
  const { [operation.property ?? ""]: _, ...input } = exampleOf(operation);
  return [
    commandOf(operation.name),
    ...(needsProperty(operation) ? ["--property", "demo"] : []),
    ...Object.entries(input).flatMap(([field, value]) =>
      field === operation.upload?.[0] ? [`--${flagOf(field)}`, FILE] : wordsOf(field, value),
    ),
    ...(operation.file ? ["--out", `${commandOf(operation.name)}.csv`] : []),
  ];
}

/** The command as it is typed, in lines of the width. */
export function exampleLines(operation: Operation, program: string, width: number): string[] {
  const [name = "", ...words] = exampleWords(operation);
  const lines = [`${program} ${name}`];
  const pieces = words.map((word) => (/^--/.test(word) ? word : inShell(word)));
  for (let index = 0; index < pieces.length; ) {
    const hasValue = pieces[index + 1] !== undefined && !pieces[index + 1]!.startsWith("--");
    const piece = pieces.slice(index, index + (hasValue ? 2 : 1)).join(" ");
    index += hasValue ? 2 : 1;
    const last = lines.at(-1)!;
    // The indent before, and the backslash behind.
    if (last.length + piece.length + 5 <= width) lines[lines.length - 1] = `${last} ${piece}`;
    else lines.push(`  ${piece}`);
  }
  return lines.map((line, index) => (index < lines.length - 1 ? `${line} \\` : line));
}

function wordsOf(field: string, value: unknown): string[] {
  if (field === "filters") {
    return Object.entries(value as object).flatMap(([key, one]) => ["--filter", `${key}=${one}`]);
  }
  const flag = `--${flagOf(field)}`;
  if (value === true) return [flag];
  if (value === false) return [`--no-${flagOf(field)}`];
  const isWords = Array.isArray(value) && value.every((one) => typeof one === "string" && !one.includes(","));
  if (isWords) return [flag, value.join(",")];
  return [flag, typeof value === "object" ? JSON.stringify(value) : String(value)];
}

function inShell(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
