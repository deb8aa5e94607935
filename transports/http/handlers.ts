import type { HttpBindings } from "@hono/node-server";
import type { Hono, Context as HonoContext } from "hono";
import { type Fault, invalid, loggedFault, toFault } from "#runtime/faults.ts";
import { checkAccess } from "#runtime/funnel/access.ts";
import { refusedUnread } from "#runtime/funnel/invoke.ts";
import type { Service } from "#runtime/funnel/service.ts";
import type { Call } from "#runtime/operation/context.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import { type Deprecation, deprecationHeaders } from "#runtime/versions.ts";
import { type AdmissionControl, admit, callOf, idempotencyKey } from "./admission.ts";
import { answerFault, type Frame } from "./answer.ts";

type Env = { Bindings: HttpBindings };
export type Http = Hono<Env>;
export type HttpContext = HonoContext<Env>;

/** A request that `admit` has let pass. */
export interface AdmittedRequest {
  c: HttpContext;
  frame: Frame;
  call: Call;
  query: URLSearchParams;
}

/** A handler that runs `work` on admitted requests and answers its faults. `deprecations` are those of its operation. */
export function admitted(
  control: AdmissionControl,
  work: (request: AdmittedRequest) => Promise<Response>,
  deprecations: readonly Deprecation[] = [],
) {
  const notices = deprecationHeaders(deprecations, [], () => false);
  return async (c: HttpContext): Promise<Response> => {
    const { incoming } = c.env;
    const admission = await admit(control, incoming);
    const { frame } = admission;
    if (notices) frame.notices = notices;
    if (admission.fault) return answerFault(frame, admission.fault);
    try {
      const call = callOf(control, incoming, admission, "rest");
      const query = queryOf(incoming.url ?? "/");
      if (deprecations.length > 0) {
        call.onFields = (given) => {
          const fields = [...given, ...query.keys()];
          frame.notices = deprecationHeaders(deprecations, fields, (field) => isSelected(query, field));
        };
      }
      const response = await work({ c, frame, call, query });
      if (incoming.method !== "HEAD") return response;
      // hono answers HEAD by the route of GET and never reads the body: an export behind it would never end.
      await response.body?.cancel();
      // A middleware copies the answer, and a cancelled body cannot be copied.
      return new Response(null, response);
    } catch (error) {
      const { requestId } = frame;
      return answerFault(frame, loggedFault(control.log, error, { path: c.req.path, requestId }));
    }
  };
}

/** Whether the query selects the column, or no columns at all. */
function isSelected(query: URLSearchParams, column: string): boolean {
  const names = query.get("select")?.split(",");
  return !names || names.some((name) => name.trim() === column || name.trim() === "*");
}

/** The handler of an operation. A missing right is refused before anything else is read. */
export function route(
  control: AdmissionControl,
  service: Service,
  operation: Operation,
  work: (request: AdmittedRequest) => Promise<Response>,
) {
  return admitted(
    control,
    async (request) => {
      checkAccess(operation, request.call);
      try {
        return await work(request);
      } catch (error) {
        throw await refusalOf(service, operation, request, toFault(error));
      }
    },
    operation.deprecations,
  );
}

/** The fault of a request that did not run. One whose key was used before is a reused key first of all. */
async function refusalOf(
  service: Service,
  operation: Operation,
  { c, call }: AdmittedRequest,
  fault: Fault,
): Promise<Fault> {
  if (c.req.method === "GET" || (fault.status !== 400 && fault.status !== 415)) return fault;
  const key = idempotencyKey(c.env.incoming);
  // The body could not be read, so no recorded request has this fingerprint.
  const idempotency = key === undefined ? undefined : { key, fingerprint: Buffer.alloc(0) };
  return refusedUnread(service, operation, { ...call, idempotency }, fault);
}

/**
 * An address's query. Refuses percent-encoding that is not UTF-8: a lenient reader would see another address. Refuses
 * a key without "=": the rest of a filter would be taken for an empty value, and a removal would match other rows.
 */
export function queryOf(url: string): URLSearchParams {
  if (!isEncoded(url)) {
    throw invalid("address", "is not valid percent-encoded UTF-8; a % itself is written %25");
  }
  const mark = url.indexOf("?");
  const text = mark < 0 ? "" : url.slice(mark + 1);
  const bare = text.split("&").find((pair) => pair !== "" && !pair.includes("="));
  if (bare !== undefined) {
    const [key = ""] = new URLSearchParams(bare).keys();
    throw invalid(key, 'has no "="; a filter is written tier.eq=Gold, an option limit=10');
  }
  return new URLSearchParams(text);
}

function isEncoded(url: string): boolean {
  if (!/[%\x80-\xff]/.test(url)) return true;
  try {
    decodeURIComponent(url);
    return !/[\x80-\xff]/.test(url);
  } catch {
    return false;
  }
}
