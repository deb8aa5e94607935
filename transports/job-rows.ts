import type { Catalog } from "#runtime/catalog.ts";
import { invalid } from "#runtime/faults.ts";
import { invoke, type Service } from "#runtime/invoke.ts";
import type { Operation } from "#runtime/operation.ts";
import { answer } from "./answer.ts";
import type { Gate } from "./gate.ts";
import { guarded, type Http, type Passed } from "./guarded.ts";
import { answerFile } from "./rest-answers.ts";
import { refuseOptions } from "./rest-options.ts";
import { pathBeneath } from "./rest-places.ts";
import { preferences } from "./rest-preferences.ts";
import { shaped } from "./rest-shapes.ts";
import { pageHeaders, rangeHeader } from "./rest-tables.ts";

/** What a job has found, beside the job, as JSON or CSV. */
export function mountJobRows(app: Http, gate: Gate, service: Service, catalog: Catalog): void {
  for (const list of catalog.operations.values()) {
    const { beneath } = list;
    if (!beneath) continue;
    app.get(
      pathBeneath(beneath, ":id"),
      guarded(gate, (request) => listRows(service, list, beneath.csv, request)),
    );
  }
}

async function listRows(
  service: Service,
  list: Operation,
  csv: Operation,
  request: Passed,
): Promise<Response> {
  const { c, call, query, frame } = request;
  const wants = preferences(c);
  refuseOptions(query, new Set(["format", ...Object.keys(list.input.omit({ id: true, count: true }).shape)]));
  const { format, ...page } = Object.fromEntries(query);
  if (format !== undefined && format !== "json" && format !== "csv")
    throw invalid("format", "must be json or csv");
  const input = { ...page, id: c.req.param("id") };
  const asCsv = format === "csv" || (format === undefined && wants.csv);
  if (asCsv) return answerFile(request, await invoke(service, csv, call, input));
  const count = wants.count !== undefined;
  const outcome = await invoke(service, list, call, { ...input, count });
  const { table } = list.beneath!;
  const shaping = { wants: { ...wants, csv: false }, table, many: true, select: null, write: false };
  const { status, body, contentType } = shaped(outcome, shaping);
  const headers = {
    ...(count && rangeHeader(outcome.page, query)),
    ...pageHeaders(c.req.path, query, outcome.page),
  };
  return answer(frame, status, body, { contentType, headers });
}
