import { conciseColumns, recordsWithin } from "#runtime/operation/columns.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import type { Table } from "#runtime/operation/table.ts";

type Structured = Record<string, unknown>;

/** Characters of a text that is answered although its caller has just sent it. */
const MOST_ECHOED = 200;
/** For the next change under a condition. */
const ALWAYS = new Set(["version", "status_reason"]);

/**
 * A write's answer with the parts of its record that the agent chose or needs next: the main columns, and the fields
 * that the call named. A job's answer stays whole, and so does a preview, which a person decides on.
 */
export function briefWrite(operation: Operation, answer: Structured, input: Structured): Structured {
  if (operation.effect === "read" || operation.status === 202 || answer.dry_run === true) return answer;
  const { crud, output } = operation;
  if (crud) return crud.verb === "delete" ? answer : briefRecord(crud.table, answer, input);
  const records = recordsWithin(output).flatMap(([field, table]) => {
    const record = answer[field];
    return typeof record === "object" && record !== null
      ? [[field, briefRecord(table, record as Structured, input)]]
      : [];
  });
  return records.length === 0 ? answer : { ...answer, ...Object.fromEntries(records) };
}

function briefRecord(table: Pick<Table, "columns">, record: Structured, input: Structured): Structured {
  const main = new Set(conciseColumns(table) ?? Object.keys(record));
  const isKept = ([name, value]: [string, unknown]) => {
    if (Object.hasOwn(input, name)) return !isEcho(value, input[name]);
    return main.has(name) || ALWAYS.has(name) || !isColumn(table, name);
  };
  return Object.fromEntries(Object.entries(record).filter(isKept));
}

/** Besides its columns a record has secrets that are shown once, and the additions of its answer. */
function isColumn({ columns }: Pick<Table, "columns">, name: string): boolean {
  return Object.hasOwn(columns, name) || name === "property_id" || name === "updated_at";
}

function isEcho(value: unknown, sent: unknown): boolean {
  const text = JSON.stringify(value) ?? "";
  return text.length > MOST_ECHOED && text === JSON.stringify(sent);
}
