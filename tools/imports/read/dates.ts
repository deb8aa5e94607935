import type { ImportParams } from "#tools/imports/job/import-job.ts";

export type DateOrder = ImportParams["date_format"];

const WRITTEN = /^(\d{1,4})([-/.])(\d{1,2})\2(\d{1,4})(?=$|[T ,])/;

/** A date that the 3rd of April and the 4th of March can both mean. */
export const UNCLEAR = Symbol("unclear");

/**
 * Text that begins with a date, with that date as ISO 8601; the rest stays. Null for no date. Dots stand between day,
 * month and year in this order wherever they are used. Years have four digits.
 */
export function withIsoDay(text: string, order: DateOrder): string | null | typeof UNCLEAR {
  const match = WRITTEN.exec(text);
  if (!match) return null;
  const [all, first = "", mark = "", second = "", third = ""] = match;
  const rest = text.slice(all.length).replace(/^, ?/, " ");
  const iso = (year: string, month: string, day: string) =>
    `${year}-${month.padStart(2, "0")}-${day.padStart(2, "0")}${rest}`;
  if (first.length === 4) return third.length <= 2 ? iso(first, second, third) : null;
  if (third.length !== 4 || first.length > 2 || order === "ymd") return null;
  if (order === "dmy" || (order === "auto" && mark === ".")) return iso(third, second, first);
  if (order === "mdy") return iso(third, first, second);
  if (Number(first) > 12 || first === second) return iso(third, second, first);
  return Number(second) > 12 ? iso(third, first, second) : UNCLEAR;
}
