import { stateOf } from "#tools/people/places.ts";
import type { Target } from "./layout.ts";

export function isState(target: Target | null): boolean {
  return target?.kind === "field" && target.name === "state";
}

/**
 * Stores the state by its code. Answers the flaw of a text that is no state of its country: quiet hours go by the
 * state, and such a text would leave them to the phone's area code.
 */
export function placeFlaw(values: Record<string, string | null>, home: string): string | null {
  const { state, country } = values;
  if (!state) return null;
  const place = country ?? home;
  const known = stateOf(state, place);
  if (known !== null) {
    values.state = known;
    return null;
  }
  const other = country ? "" : "; where it is of another country, the file needs a column for the country";
  return `This is no state of ${place}; give its code or name, such as FL${other}.`;
}
