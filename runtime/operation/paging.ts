import { z } from "zod";
import type { Page } from "#db/query/reader.ts";
import type { Operation } from "./operation.ts";

/** Whether an operation returns a list of records. */
export function isList(operation: Operation): boolean {
  return operation.output instanceof z.ZodArray;
}

/** Lists are paged by cursor. With an offset only the total shows whether more rows follow, so it is counted. */
export function withPaging(operation: Operation, input: Record<string, unknown>): Record<string, unknown> {
  if (operation.crud?.verb !== "list") return input;
  const { offset, ...rest } = input;
  const begins = offset === undefined || offset === 0 || offset === "0";
  return begins ? { ...rest, cursor: input.cursor ?? "" } : { ...input, count: true };
}

/** The position in a list, for faces without headers. */
export interface PagePosition {
  next_cursor: string | null;
  has_more: boolean;
  total?: number;
}

/** The position behind a page of `rows` rows, of which `offset` were skipped before. */
export function positionAfter(
  page: Pick<Page, "total" | "nextCursor"> | undefined,
  rows: number,
  offset: number,
): PagePosition {
  const { nextCursor: next = null, total } = page ?? {};
  const isMore = next !== null || (offset > 0 && total !== undefined && offset + rows < total);
  return { next_cursor: next, has_more: isMore, ...(total !== undefined && { total }) };
}
