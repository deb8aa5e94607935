import { fingerprintSync } from "libpg-query";
import { FLOORS, sourcesIn, textOf } from "../checkout/source-files.ts";

const BEGINS = /`\s*(?=(?:with|select|insert|update|delete)\b)/g;

/**
 * Tells statements that tests send themselves, to seed rows and to look at them: the parser's fingerprint of one, in
 * which values do not count, is that of a template in the tests' sources, and of none in the service's.
 */
export function writtenByTests(): (statement: string) => boolean {
  const tests = fingerprintsIn(["tests"]);
  for (const own of fingerprintsIn(FLOORS)) tests.delete(own);
  return (statement) => tests.has(fingerprintSync(statement));
}

function fingerprintsIn(folders: readonly string[]): Set<string> {
  const templates = folders.flatMap(sourcesIn).flatMap((path) => templatesIn(textOf(path)));
  return new Set(templates.flatMap(fingerprintOf));
}

/** None of a template that is only part of a statement. */
function fingerprintOf(template: string): string[] {
  try {
    return [fingerprintSync(template)];
  } catch {
    return [];
  }
}

/** The SQL templates of a source file, with a parameter in the place of each value. */
export function templatesIn(source: string): string[] {
  return [...source.matchAll(BEGINS)].map(({ index }) => {
    let text = "";
    let at = index + 1;
    while (at < source.length && source[at] !== "`") {
      if (source.startsWith("${", at)) {
        at = endOfValue(source, at + 2);
        text += "$1";
      } else {
        text += source[at];
        at += source[at] === "\\" ? 2 : 1;
      }
    }
    return text;
  });
}

/** Behind the brace that ends a template's value, which may hold braces and templates itself. */
function endOfValue(source: string, start: number): number {
  let at = start;
  while (at < source.length && source[at] !== "}") {
    if (source[at] === "{") at = endOfValue(source, at + 1);
    else if (source[at] === "`") at = endOfTemplate(source, at + 1);
    else at++;
  }
  return at + 1;
}

function endOfTemplate(source: string, start: number): number {
  let at = start;
  while (at < source.length && source[at] !== "`") {
    if (source.startsWith("${", at)) at = endOfValue(source, at + 2);
    else at += source[at] === "\\" ? 2 : 1;
  }
  return at + 1;
}
