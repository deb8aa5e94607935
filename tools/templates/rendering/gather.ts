import { Fault, toFault } from "#runtime/faults.ts";
import { ranOutOfTime } from "./liquid.ts";

/** Parts of one work, whose faults are thrown together. */
interface Gathering {
  /** The part's result; undefined where it has failed with `invalid`. */
  attempt<T>(part: () => T): T | undefined;
  /** Throws the faults of all parts so far as one. */
  throwAll(): void;
}

export function gathering(): Gathering {
  const faults: Fault[] = [];
  return {
    attempt(part) {
      try {
        return part();
      } catch (error) {
        const fault = toFault(error);
        // A part that ran out of time says nothing of the template, and the others would run out of it too.
        if (fault.code !== "invalid" || ranOutOfTime(fault)) throw error;
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
