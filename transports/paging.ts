import { z } from "zod";
import type { Page } from "#db/reader.ts";
import type { Operation } from "#runtime/operation.ts";

/** Whether an operation answers many records. */
export function isList(operation: Operation): boolean {
  return operation.output instanceof z.ZodArray;
}

/** Pages are gone through by cursor. Where somebody pages by offset, only the total tells whether there is more. */
export function settlePlace(operation: Operation, input: Record<string, unknown>): Record<string, unknown> {
  if (operation.crud?.verb !== "list") return input;
  const { offset, ...rest } = input;
  const begins = offset === undefined || offset === 0 || offset === "0";
  return begins ? { ...rest, cursor: input.cursor ?? "" } : { ...input, count: true };
}

/** Where a list stands, in the words of every face that has no headers. */
export interface Place {
  next_cursor: string | null;
  has_more: boolean;
  total?: number;
}

/** The place behind a page of so many rows. `offset` are those that were passed over. */
export function placeAfter(
  page: Pick<Page, "total" | "nextCursor"> | undefined,
  rows: number,
  offset: number,
): Place {
  const { nextCursor: next = null, total } = page ?? {};
  const isMore = next !== null || (offset > 0 && total !== undefined && offset + rows < total);
  return { next_cursor: next, has_more: isMore, ...(total !== undefined && { total }) };
}
