import { parse } from "csv-parse/sync";
import { readCell } from "#db/stream/csv.ts";
import type { CustomFields } from "#tools/custom-fields/values.ts";
import type { ImportParams } from "#tools/imports/job/import-job.ts";
import { CSV_FORM, type Survey } from "./csv.ts";
import { FIELDS, number } from "./fields.ts";
import type { Layout, Target } from "./layout.ts";
import { type DecimalSign, decimalSignOf } from "./numbers.ts";

/** The decimal sign of a file: the given one, or what the cells of its number columns show. A version or a note shows none. */
export function decimalOf(
  { head, delimiter }: Pick<Survey, "head" | "delimiter">,
  { decimal, has_header }: Pick<ImportParams, "decimal" | "has_header">,
  { targets }: Pick<Layout, "targets">,
  customs: CustomFields,
): DecimalSign {
  if (decimal !== "auto") return decimal;
  const isNumber = targets.map((target) => target !== null && takesNumbers(target, customs));
  const rows = firstRows(head, delimiter).slice(has_header ? 1 : 0);
  const cells = rows.flatMap((row) => row.filter((_cell, index) => isNumber[index]));
  return decimalSignOf(
    cells.map((cell) => readCell(cell).trim()),
    delimiter,
  );
}

function takesNumbers(target: Target, customs: CustomFields): boolean {
  if (target.kind === "field") return FIELDS[target.name] === number;
  return target.kind === "custom" && customs.get(target.key)?.type === "number";
}

/** The whole rows of a file's first text. It may be cut off within a quoted cell. */
function firstRows(head: string, delimiter: string): string[][] {
  const rows: string[][] = [];
  try {
    parse(head.slice(0, head.lastIndexOf("\n") + 1 || head.length), {
      ...CSV_FORM,
      delimiter,
      on_record: (row: string[]) => {
        rows.push(row);
        return null;
      },
    });
  } catch {
    // The rows before the fault are read. The import itself names it.
  }
  return rows;
}
