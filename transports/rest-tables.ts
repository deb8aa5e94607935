import type { Page } from "#db/reader.ts";
import { invalid } from "#runtime/faults.ts";
import { checkKey } from "#runtime/input.ts";
import { invoke, type Service } from "#runtime/invoke.ts";
import type { Operation } from "#runtime/operation.ts";
import { answer } from "./answer.ts";
import type { Passed } from "./guarded.ts";
import { noteFields } from "./rest-fields.ts";
import { preferences } from "./rest-preferences.ts";
import { selection, shaped } from "./rest-shapes.ts";

/** Query keys that are no filters. */
export const OPTIONS = new Set(["select", "order", "limit", "offset", "cursor"]);

/** GET on a collection. */
export async function list(service: Service, operation: Operation, request: Passed): Promise<Response> {
  const { c, call, query, frame } = request;
  const wants = preferences(c);
  const pairs = [...query];
  const options = pairs.filter(([key]) => OPTIONS.has(key));
  const twice = options.find(([key], index) => options.findIndex(([other]) => other === key) < index);
  if (twice) throw invalid(twice[0], "is given twice");
  const input: Record<string, unknown> = Object.fromEntries(options);
  const conditions = pairs.filter(([key]) => !OPTIONS.has(key));
  if (conditions.length > 0) input.filters = grouped(conditions);
  if (wants.count) input.count = wants.count;
  const select = selection(operation, query);
  noteFields(request, operation, input, select);
  const outcome = await invoke(service, operation, call, input);
  const { page } = outcome;
  const headers = {
    ...(wants.count && rangeHeader(page, query)),
    ...pageHeaders(c.req.path, query, page),
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

/** Which rows of how many. Behind a cursor nobody knows how many came before. */
export function rangeHeader(page: Page | undefined, query: URLSearchParams): Record<string, string> {
  if (!page) return {};
  const offset = Number(query.get("offset") ?? 0);
  const known = page.rows > 0 && !query.get("cursor");
  const place = known ? `${offset}-${offset + page.rows - 1}` : "*";
  return { "Content-Range": `${place}/${page.total ?? "*"}` };
}

/** Where a list goes on. */
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

/** What a page is told of that has no address of its own: where it goes on, and of how many rows it is, if counted. */
export function placeHeaders(page: Page | undefined): Record<string, string> {
  return {
    ...cursorHeader(page),
    ...(page?.total !== undefined && { "Content-Range": `*/${page.total}` }),
  };
}

function cursorHeader(page: Page | undefined): Record<string, string> {
  return page?.nextCursor ? { "X-Next-Cursor": page.nextCursor } : {};
}

/** Query pairs as the filters of a list operation: each key with all of its values. */
export function grouped(pairs: [string, string][]): Record<string, string[]> {
  for (const [key] of pairs) checkKey(key);
  const groups = Map.groupBy(pairs, ([key]) => key);
  return Object.fromEntries([...groups].map(([key, list]) => [key, list.map(([, value]) => value)]));
}
