import { Fault, toFault } from "#runtime/faults.ts";
import { isUnfinished } from "#runtime/limits/turns.ts";
import { type ParsedField, parseField, ranOutOfTime } from "./liquid.ts";

/** A text with Liquid that a message is made of; null or blank: the message has none. */
export interface Part {
  field: string;
  source: string | null | undefined;
  engine: "html" | "text";
}

/**
 * Tries the parts of a message. Throws `invalid`, naming all faults at once: the parts that do not parse, in the others
 * each variable that is missing, and those of the `checks`. `variablesFor`: of a made-up player, by the names in the parts.
 */
export function tryParts(
  parts: readonly Part[],
  variablesFor: (names: readonly string[]) => Record<string, unknown>,
  ...checks: (() => void)[]
): void {
  const trying = gathering();
  const parsed = parts.flatMap(({ field, source, engine }) =>
    source?.trim() ? (trying.attempt(() => parseField(field, source, engine)) ?? []) : [],
  );
  const variables = variablesFor([...new Set(parsed.flatMap((part) => part.variables))]);
  for (const part of parsed) tryPart(trying, part, structuredClone(variables));
  for (const check of checks) trying.attempt(check);
  trying.throwAll();
}

/** A text with more names that are wrong is another text. */
const MOST_MISSING = 20;

/** Renders a part for nobody, and again with a value for each variable that is missing. */
function tryPart(trying: Gathering, part: ParsedField, variables: Record<string, unknown>): void {
  for (let missing = 0; missing < MOST_MISSING; missing += 1) {
    const before = trying.faults.length;
    trying.attempt(() => part.render(variables));
    const fault = trying.faults[before];
    const name = /^undefined variable: ([\w.-]+)/.exec(fault?.details?.[0]?.message ?? "")?.[1];
    if (name !== undefined && standIn(variables, name.split("."))) continue;
    // Behind a variable that is missing, another error may come of the value that stands in for it.
    if (missing > 0) trying.faults.length = before;
    return;
  }
}

/** Gives a value to a missing variable. False where a text stands in its way, or it cannot have one: `__proto__`. */
function standIn(variables: Record<string, unknown>, path: string[]): boolean {
  const name = path.pop()!;
  let place: unknown = variables;
  for (const key of path) place = (place as Record<string, unknown> | undefined)?.[key];
  if (typeof place !== "object" || place === null || Object.hasOwn(place, name)) return false;
  (place as Record<string, unknown>)[name] = "sample";
  return Object.hasOwn(place, name);
}

/** Parts of one work, whose faults are thrown together. */
interface Gathering {
  /** Those so far. */
  faults: Fault[];
  /** The part's result; undefined where it has failed with `invalid`. */
  attempt<T>(part: () => T): T | undefined;
  /** Throws the faults of all parts so far as one. */
  throwAll(): void;
}

export function gathering(): Gathering {
  const faults: Fault[] = [];
  return {
    faults,
    attempt(part) {
      try {
        return part();
      } catch (error) {
        const fault = toFault(error);
        // A part that ran out of time says nothing of the template, and the others would run out of it too.
        if (fault.code !== "invalid" || ranOutOfTime(fault) || isUnfinished(error)) throw error;
        faults.push(fault);
        return undefined;
      }
    },
    throwAll() {
      const [first, ...others] = faults;
      if (!first) return;
      if (others.length === 0) throw first;
      throw new Fault("invalid", {
        message: faults.map(({ message }) => message).join("; "),
        details: faults.flatMap(({ details }) => details ?? []),
        cause: first.cause,
      });
    },
  };
}
