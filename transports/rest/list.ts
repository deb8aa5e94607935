import { invalid } from "#runtime/faults.ts";
import { invoke } from "#runtime/funnel/invoke.ts";
import type { Service } from "#runtime/funnel/service.ts";
import { checkKey } from "#runtime/operation/input.ts";
import { listByQuery } from "#runtime/operation/lists.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import { answer } from "#transports/http/answer.ts";
import type { AdmittedRequest } from "#transports/http/handlers.ts";
import { pageHeaders, rangeHeader, shaped, warningsHeader } from "./answers.ts";
import { preferences, selection } from "./options.ts";

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
