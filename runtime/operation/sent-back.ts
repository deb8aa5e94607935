import { isDeepStrictEqual } from "node:util";
import { Fault } from "#runtime/faults.ts";
import { ECHOED } from "./input.ts";
import { words } from "./rows.ts";
import type { Row, Table, Values } from "./table.ts";

/**
 * The part of an update that changes the record. A record may come back whole: equal values of columns that are
 * closed to the caller are left out. Throws `invalid` or `conflict` for other values of them.
 */
export function checkedChange(table: Table, given: Values, current: Row): Values {
  checkEchoed(table, given, current);
  const input = changing(table, given, current);
  checkStates(table, input, current);
  return input;
}

/** Refuses another value than the record's own in a column that callers do not write. */
function checkEchoed(table: Table, given: object, current: Row): void {
  const echoed = (given as { [ECHOED]?: Record<string, unknown> })[ECHOED] ?? {};
  const names = Object.keys(echoed).filter((name) => !isDeepStrictEqual(echoed[name], current[name]));
  if (names.length === 0) return;
  if (names.includes("updated_at")) {
    throw new Fault("conflict", {
      message: "updated_at: the record was changed since. Read it again, then decide.",
    });
  }
  const details = names.map((field) => {
    const isSet = table.columns[field]?.write === "create";
    return {
      field,
      message: isSet ? "is set at creation and stays" : "is written by the service; leave it out",
    };
  });
  const message = details.map((one) => `${one.field}: ${one.message}`).join("; ");
  throw new Fault("invalid", { message, details });
}

/** The values without those that a column with `while` has already: they change nothing in any state. */
function changing({ columns }: Table, given: Values, current: Row): Values {
  const isChange = ([name, value]: [string, unknown]) =>
    !columns[name]?.while || !isDeepStrictEqual(value, current[name]);
  return Object.fromEntries(Object.entries(given).filter(isChange));
}

/** Refuses a column that may not be written in the record's state. */
function checkStates({ columns, noun }: Table, input: object, { status }: Row): void {
  for (const name of Object.keys(input)) {
    const states = columns[name]?.while;
    if (!states || states.includes(String(status))) continue;
    throw new Fault("conflict", {
      message: `The ${words(noun)} is ${status}; ${name} can be changed while it is ${states.join(" or ")}.`,
    });
  }
}
