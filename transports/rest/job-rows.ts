import type { z } from "zod";
import { invalid } from "#runtime/faults.ts";
import { invoke } from "#runtime/funnel/invoke.ts";
import type { Service } from "#runtime/funnel/service.ts";
import type { Catalog } from "#runtime/operation/catalog.ts";
import { kindOf } from "#runtime/operation/field-kind.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import { pathBeneath } from "#runtime/operation/rest-paths.ts";
import type { AdmissionControl } from "#transports/http/admission.ts";
import { answer } from "#transports/http/answer.ts";
import { type AdmittedRequest, admitted, type Http } from "#transports/http/handlers.ts";
import { answerFile, pageHeaders, rangeHeader, shaped } from "./answers.ts";
import { preferences, refuseOptions } from "./options.ts";

/** Mounts the rows that a job has found, as JSON or CSV. */
export function mountJobRows(app: Http, control: AdmissionControl, service: Service, catalog: Catalog): void {
  for (const list of catalog.operations.values()) {
    const { beneath } = list;
    if (!beneath) continue;
    app.get(
      pathBeneath(beneath, ":id"),
      admitted(control, (request) => listRows(service, list, beneath.csv, request)),
    );
  }
}

async function listRows(
  service: Service,
  list: Operation,
  csv: Operation,
  request: AdmittedRequest,
): Promise<Response> {
  const { c, call, query, frame } = request;
  const wants = preferences(c);
  refuseOptions(query, new Set(["format", ...Object.keys(list.input.omit({ id: true, count: true }).shape)]));
  const { format, ...page } = Object.fromEntries(query);
  const read = (name: string, value: string) => {
    const isSwitch = kindOf(list.input.shape[name] as z.ZodType) === "boolean";
    return isSwitch && (value === "true" || value === "false") ? value === "true" : value;
  };
  if (format !== undefined && format !== "json" && format !== "csv")
    throw invalid("format", "must be json or csv");
  const given = Object.entries(page).map(([name, value]) => [name, read(name, value)]);
  const input = { ...Object.fromEntries(given), id: c.req.param("id") };
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
