import { Hono } from "hono";
import { Fault, loggedFault } from "#runtime/faults.ts";
import type { Service } from "#runtime/funnel/service.ts";
import type { Catalog } from "#runtime/operation/catalog.ts";
import { answerFault } from "#transports/http/answer.ts";
import { admit, type Gate } from "#transports/http/gate.ts";
import { guarded, type Http } from "#transports/http/guarded.ts";
import type { McpFace } from "#transports/mcp/endpoint.ts";
import { PATH } from "#transports/mcp/identity.ts";
import type { OpenCounter } from "#transports/pages/opens.ts";
import { mountPages } from "#transports/pages/pages.ts";
import { mountJobRows } from "#transports/rest/job-rows.ts";
import { mountRest } from "#transports/rest/routes.ts";
import { mountImports } from "#transports/rest/upload.ts";
import { mountCallbacks } from "./callbacks.ts";
import { mountDiscovery } from "./discovery.ts";

/** The HTTP application: every route of every face over one service. */
export function createApp(
  service: Service,
  catalog: Catalog,
  gate: Gate,
  { opens, mcp }: { opens: OpenCounter; mcp: McpFace },
): Http {
  const app: Http = new Hono();
  mountImports(app, gate, service, catalog);
  mountJobRows(app, gate, service, catalog);
  mountRest(app, gate, service, catalog);
  mountCallbacks(app, gate, service);
  // RFC 9728: the metadata that a refusal names must be about the requested address.
  const mcpGate = { ...gate, metadataUrl: gate.metadataUrl + PATH };
  app.all(
    PATH,
    guarded(mcpGate, async ({ c, call, frame }) => {
      if (call.actor.type === "anonymous") throw new Fault("missing_credential");
      return mcp.handle(c.req.raw, { call, frame });
    }),
  );
  mountDiscovery(app, gate, service, catalog);
  mountPages({ app, gate, service, catalog }, opens);
  app.notFound(guarded(gate, async ({ c }) => refuseUnknown(app, c.req.path)));
  app.onError(async (error, c) => {
    const { frame } = await admit(gate, c.env.incoming);
    const { requestId } = frame;
    return answerFault(frame, loggedFault(service.log, error, { path: c.req.path, requestId }));
  });
  return app;
}

const METHODS = ["GET", "POST", "PATCH", "DELETE"];

/** Throws `not_found` for an unknown path, `method_not_allowed` for a known one. */
function refuseUnknown(app: Http, path: string): never {
  const allowed = METHODS.filter((method) =>
    app.router.match(method, path)[0].some(([[, route]]) => route.method === method),
  );
  if (allowed.length === 0) {
    throw new Fault("not_found", { message: `Nothing answers at ${path}. See /api/openapi.json.` });
  }
  throw new Fault("method_not_allowed", {
    message: `Use ${allowed.join(" or ")} here.`,
    allow: allowed,
  });
}
