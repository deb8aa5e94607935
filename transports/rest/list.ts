import type { Page } from "#db/query/reader.ts";
import { invalid } from "#runtime/faults.ts";
import { invoke } from "#runtime/funnel/invoke.ts";
import type { Service } from "#runtime/funnel/service.ts";
import { checkKey } from "#runtime/operation/input.ts";
import { listByQuery } from "#runtime/operation/lists.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import { answer } from "#transports/http/answer.ts";
import type { AdmittedRequest } from "#transports/http/handlers.ts";
import { preferences, selection, shaped } from "./response-format.ts";

/** GET on a collection. */
export async function list(
  service: Service,
  operation: Operation,
  request: AdmittedRequest,
): Promise<Response> {
  const { c, call, query, frame } = request;
  const wants = preferences(c);
  const select = selection(operation, query);
  for (const key of query.keys()) checkKey(key);
  if (c.req.header("range") !== undefined) throw invalid("Range", "is not read; use limit and offset");
  const outcome = await invoke(service, listByQuery(operation), call, {
    query: [...query],
    count: wants.count,
  });
  const { page } = outcome;
  const headers = {
    ...(wants.count && rangeHeader(page, query)),
    ...pageHeaders(c.req.path, query, page),
    ...warningsHeader(page),
  };
  const { body, contentType } = shaped(outcome, {
    wants,
    table: operation.crud!.table,
    many: true,
    select,
    write: false,
  });
  return answer(frame, 200, body, { contentType, headers });
}

/** The Content-Range: the rows of the page, and their total. After a cursor the position is unknown. */
export function rangeHeader(page: Page | undefined, query: URLSearchParams): Record<string, string> {
  if (!page) return {};
  const offset = Number(query.get("offset") ?? 0);
  const known = page.rows > 0 && !query.get("cursor");
  const range = known ? `${offset}-${offset + page.rows - 1}` : "*";
  return { "Content-Range": `${range}/${page.total ?? "*"}` };
}

/** The address of the next page. */
export function pageHeaders(
  path: string,
  query: URLSearchParams,
  page: Page | undefined,
): Record<string, string> {
  if (!page?.nextCursor) return {};
  const next = new URLSearchParams(query);
  next.delete("offset");
  next.set("cursor", page.nextCursor);
  return { ...cursorHeader(page), Link: `<${path}?${next}>; rel="next"` };
}

/** The meta data of a page without a Link: its next cursor, and the number of rows if counted. */
export function pageInfoHeaders(page: Page | undefined): Record<string, string> {
  return {
    ...cursorHeader(page),
    ...(page?.total !== undefined && { "Content-Range": `*/${page.total}` }),
  };
}

function cursorHeader(page: Page | undefined): Record<string, string> {
  return page?.nextCursor ? { "X-Next-Cursor": page.nextCursor } : {};
}

/** The bound of the header, for proxies that take no longer one. */
const MOST_WARNINGS = 4_000;

/** The reasons why a list is empty. As JSON with escapes, because a header is ASCII. */
function warningsHeader(page: Page | undefined): Record<string, string> {
  const warnings = page?.warnings ?? [];
  const fitting = warnings.filter((_, index) => ascii(warnings.slice(0, index + 1)).length <= MOST_WARNINGS);
  return fitting.length > 0 ? { "X-Warnings": ascii(fitting) } : {};
}

function ascii(sentences: readonly string[]): string {
  const escaped = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(sentences).replaceAll(/[^\x20-\x7e]/g, escaped);
}
