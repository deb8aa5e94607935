import { z } from "zod";
import { invalid } from "#runtime/faults.ts";
import { writable } from "#runtime/operation/columns.ts";
import type { NextOf } from "#runtime/operation/table.ts";
import { COUNTRY_FORM, isCountry, STATE_FORM, stateOf } from "./places.ts";

/** The columns of a rule's or a law's place. */
export const placeColumns = {
  country: writable(
    z
      .string()
      .regex(/^[A-Z]{2}$/, "must be an ISO 3166 code, such as US")
      .nullish()
      .describe("ISO 3166. Default: everywhere"),
    { form: COUNTRY_FORM },
  ),
  state: writable(
    z
      .string()
      .regex(/^[A-Z0-9]{1,3}$/, "must be a state's code, such as FL")
      .nullish()
      .describe("Such as FL; only with country"),
    { form: STATE_FORM },
  ),
};

type Place = NextOf<typeof placeColumns>;

/**
 * A state needs its country, and both must exist: a rule for another place would hold for nobody. A rule that has such a
 * place already can still be changed in its other columns, as to switch it off.
 */
export function checkPlace(
  { country, state }: Place,
  input: { [K in keyof Place]?: Place[K] | undefined },
): void {
  if (state && !country) throw invalid("country", "must be given with a state");
  if (!country || (input.country === undefined && input.state === undefined)) return;
  if (!isCountry(country)) throw invalid("country", "must be an ISO 3166 code, such as US");
  if (state && stateOf(state, country) !== state) {
    throw invalid("state", `${country} has no state ${state}: write its code, such as FL`);
  }
}
