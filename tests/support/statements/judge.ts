import { loadModule, parseSync } from "libpg-query";
import { ALLOWED } from "./allowed.ts";
import { type Breach, breachesOf, RULES } from "./rules.ts";
import type { SchemaFacts } from "./schema-facts.ts";
import { writtenByTests } from "./written-by-tests.ts";

export interface Judged {
  /** How many statements there were, the tests' own among them. */
  read: number;
  broken: { text: string; breaches: Breach[] }[];
}

/** PostgreSQL's own look-ups for foreign keys. */
const FOREIGN_KEY = /\bONLY "/;
/** A test breaks a rule on purpose, to see that the database's walls hold. */
const ON_PURPOSE = "/* on purpose */";

/** Judges statements in the form of pg_stat_statements, but for the tests' own. */
export async function judge(texts: readonly string[], facts: SchemaFacts): Promise<Judged> {
  await loadModule();
  const sent = texts.filter((text) => !FOREIGN_KEY.test(text) && !text.includes(ON_PURPOSE));
  const suspects = sent.flatMap((text) => {
    const breaches = breachesOf(parsed(text), facts).filter((breach) => !isAllowed(breach, text));
    return breaches.length > 0 ? [{ text, breaches }] : [];
  });
  const isOfTests = suspects.length > 0 ? writtenByTests() : () => false;
  return { read: sent.length, broken: suspects.filter(({ text }) => !isOfTests(text)) };
}

export function report({ read, broken }: Judged): string {
  const each = broken.map(({ text, breaches }) => {
    const lines = breaches.map(({ rule, by }) => `  ${rule} (${by}): ${RULES[rule]}`);
    return [...new Set(lines), text.trim()].join("\n");
  });
  return `${broken.length} of ${read} statements cannot run on a distributed PostgreSQL:\n\n${each.join("\n\n")}`;
}

/** A function's statement may be an expression. */
function parsed(text: string): unknown {
  try {
    return parseSync(text);
  } catch (error) {
    try {
      return parseSync(`select ${text}`);
    } catch {
      throw new Error(`PostgreSQL's own parser does not read this statement: ${text}`, {
        cause: error,
      });
    }
  }
}

function isAllowed({ rule }: Breach, text: string): boolean {
  const words = text.replace(/\s+/g, " ");
  return ALLOWED.some((allowed) => allowed.rule === rule && words.includes(allowed.words));
}
