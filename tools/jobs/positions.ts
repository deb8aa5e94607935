import { z } from "zod";
import { invalid } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";

const MOST_POSITION = 2 ** 31 - 1;

/** The paging of a job's rows: after the position of the last row, or by an offset. */
export const paging = {
  limit: z.coerce.number().int().min(1).max(1000).default(50).describe("Rows to return. Default 50."),
  offset: z.coerce.number().int().min(0).max(10_000_000).default(0).describe("Rows to skip."),
  cursor: z
    .string()
    .optional()
    .describe("Empty for the first page, then the last answer's next_cursor (over REST: X-Next-Cursor)."),
  count: z
    .boolean()
    .default(false)
    .describe("Also count all rows, of every page (over REST: Content-Range)."),
};

/** The position in a cursor, as that many whole numbers; null for the first page. Throws `invalid`. */
export function positionIn(cursor: string | undefined, offset: number, parts: number): number[] | null {
  if (cursor === undefined || cursor === "") return null;
  if (offset > 0) throw invalid("cursor", "cannot be combined with offset; give one of them");
  const position = cursor.split(".").map((part) => (/^\d{1,10}$/.test(part) ? Number(part) : Number.NaN));
  if (position.length !== parts || !position.every((part) => part <= MOST_POSITION)) {
    throw invalid("cursor", "is not a cursor of this list; start again with an empty one");
  }
  return position;
}

/** Makes the page of `limit` rows from one row more. The cursor is the position of the page's last row. */
export function pageOf<Row>(
  { goOn }: Pick<Context, "goOn">,
  rows: readonly Row[],
  limit: number,
  position: (row: Row) => readonly number[],
): Row[] {
  const page = rows.slice(0, limit);
  if (rows.length > limit) goOn?.(position(page.at(-1)!).join("."));
  return page;
}
