import type { HttpBindings } from "@hono/node-server";
import type { Hono, Context as HonoContext } from "hono";
import { checkScope } from "#runtime/access.ts";
import { type Catalog, deprecationsOf } from "#runtime/catalog.ts";
import type { Call } from "#runtime/context.ts";
import { toToldFault } from "#runtime/failures.ts";
import { type Fault, toFault } from "#runtime/faults.ts";
import { refusedUnread, type Service } from "#runtime/invoke.ts";
import type { Operation } from "#runtime/operation.ts";
import { type Deprecation, deprecationHeaders, touchedBy } from "#runtime/versions.ts";
import { answerFault, type Frame } from "./answer.ts";
import { queryOf } from "./body.ts";
import { callOf, type Gate, idempotencyKey, pass } from "./gate.ts";

type Env = { Bindings: HttpBindings };
export type Http = Hono<Env>;
export type HttpContext = HonoContext<Env>;

/** One request that has passed the gate. */
export interface Passed {
  c: HttpContext;
  frame: Frame;
  call: Call;
  query: URLSearchParams;
  deprecations: readonly Deprecation[];
}

/** Runs `work` behind the gate, and answers its faults. `deprecations` are those of its operation. */
export function guarded(
  gate: Gate,
  work: (request: Passed) => Promise<Response>,
  deprecations: readonly Deprecation[] = [],
) {
  const notices = deprecationHeaders(touchedBy(deprecations, [], () => false));
  return async (c: HttpContext): Promise<Response> => {
    const { incoming } = c.env;
    const passage = await pass(gate, incoming);
    if (notices) passage.frame.notices = notices;
    if (passage.fault) return answerFault(passage.frame, passage.fault);
    try {
      const call = callOf(gate, incoming, passage, "rest");
      const query = queryOf(incoming.url ?? "/");
      const response = await work({ c, frame: passage.frame, call, query, deprecations });
      // hono answers HEAD by the route of GET, and lets the body go by unread: what flows into it would never end.
      if (incoming.method === "HEAD") await response.body?.cancel();
      return response;
    } catch (error) {
      const { requestId } = passage.frame;
      return answerFault(passage.frame, toToldFault(gate.log, error, { path: c.req.path, requestId }));
    }
  };
}

/** A route of an operation: who may not run it anywhere is told so before anything else is read. */
export function route(
  gate: Gate,
  service: Service,
  catalog: Catalog,
  operation: Operation,
  work: (request: Passed) => Promise<Response>,
) {
  return guarded(
    gate,
    async (request) => {
      checkScope(operation, request.call.actor);
      try {
        return await work(request);
      } catch (error) {
        throw await refusalOf(service, operation, request, toFault(error));
      }
    },
    deprecationsOf(catalog, operation),
  );
}

/** What was refused before it was run may be another request with a key that was answered, which is said first. */
async function refusalOf(
  service: Service,
  operation: Operation,
  { c, call }: Passed,
  fault: Fault,
): Promise<Fault> {
  if (c.req.method === "GET" || (fault.status !== 400 && fault.status !== 415)) return fault;
  const key = idempotencyKey(c.env.incoming);
  // Nothing that was answered has the fingerprint of what cannot be read.
  const idempotency = key === undefined ? undefined : { key, fingerprint: Buffer.alloc(0) };
  return refusedUnread(service, operation, { ...call, idempotency }, fault);
}
