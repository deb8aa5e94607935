import { Hono, type Next } from "hono";
import { cors } from "hono/cors";
import { didYouMean } from "#db/nearest.ts";
import { Fault, loggedFault } from "#runtime/faults.ts";
import type { Service } from "#runtime/funnel/service.ts";
import type { Catalog } from "#runtime/operation/catalog.ts";
import { routesOf } from "#runtime/operation/rest-paths.ts";
import { mountConsole } from "#transports/console/console.ts";
import { mountLanguage } from "#transports/console/language.ts";
import type { Live } from "#transports/console/live/watch.ts";
import { type AdmissionControl, admit } from "#transports/http/admission.ts";
import { answerFault, headersOf } from "#transports/http/answer.ts";
import { admitted, type Http, type HttpContext } from "#transports/http/handlers.ts";
import { type Health, mountHealth } from "#transports/http/health.ts";
import type { McpFace } from "#transports/mcp/endpoint.ts";
import { PATH } from "#transports/mcp/identity.ts";
import type { Badges } from "#transports/pages/inbox/badges.ts";
import type { OpenCounter } from "#transports/pages/message/opens.ts";
import { missingPage, mountPages } from "#transports/pages/pages.ts";
import { mountFileLinks } from "#transports/rest/file-links.ts";
import { mountJobRows } from "#transports/rest/job-rows.ts";
import { mountRest } from "#transports/rest/routes.ts";
import { mountImports } from "#transports/rest/upload.ts";
import { mountCallbacks } from "./callbacks.ts";
import { mountDiscovery } from "./discovery.ts";

/** The HTTP application: every route of every face over one service. */
export function createApp(
  service: Service,
  catalog: Catalog,
  control: AdmissionControl,
  {
    opens,
    badges,
    live,
    mcp,
    health,
  }: {
    opens: OpenCounter;
    badges: Badges;
    live: Live;
    mcp: McpFace;
    health: Health;
  },
): Http {
  // A path with a slash behind it is the same path.
  const app: Http = new Hono({ strict: false });
  if (service.config.corsOrigins.length > 0)
    app.use("/api/*", crossOrigin(control, service.config.corsOrigins));
  mountHealth(app, health, service.config.metricsPort === null ? "for this machine" : "none");
  mountImports(app, control, service, catalog);
  mountFileLinks(app, control, service, catalog);
  mountJobRows(app, control, service, catalog);
  mountRest(app, control, service, catalog);
  mountCallbacks(app, control, service);
  // RFC 9728: the metadata that a refusal names must be about the requested address.
  const mcpControl = { ...control, metadataUrl: control.metadataUrl + PATH };
  app.all(
    PATH,
    admitted(mcpControl, async ({ c, call, frame }) => {
      if (call.actor.type === "anonymous") throw new Fault("missing_credential");
      return mcp.handle(c.req.raw, { call, frame });
    }),
  );
  mountDiscovery(app, control, service, catalog);
  const mounting = { app, control, service, catalog };
  mountLanguage(mounting);
  mountPages(mounting, { opens, badges });
  mountConsole(mounting, live);
  app.notFound(admitted(control, async ({ c }) => missingPage(c) ?? refuseUnknown(app, catalog, c.req.path)));
  app.onError(async (error, c) => {
    const { frame } = await admit(control, c.env.incoming);
    const { requestId } = frame;
    return answerFault(frame, loggedFault(service.log, error, { path: c.req.path, requestId }));
  });
  return app;
}

/** Lets pages of these origins call the API with a credential that they have. */
function crossOrigin(control: AdmissionControl, origins: string[]) {
  const shared = cors({
    origin: origins,
    allowMethods: METHODS,
    allowHeaders: [
      ...["Authorization", "X-Api-Key", "X-Property-Id", "Idempotency-Key", "API-Version", "Content-Type"],
      ...["Prefer", "If-Match", "Accept", "X-Request-Id", "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"],
      ...["Mcp-Session-Id", "If-None-Match"],
    ],
    exposeHeaders: [
      ...["API-Version", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-Request-Id"],
      ...[
        "Content-Range",
        "X-Next-Cursor",
        "X-Warnings",
        "Link",
        "ETag",
        "Location",
        "Idempotency-Replayed",
        "Retry-After",
        "Mcp-Session-Id",
        "WWW-Authenticate",
        "Deprecation",
        "Sunset",
        "Content-Disposition",
      ],
    ],
    maxAge: 600,
  });
  return async (c: HttpContext, next: Next) => {
    const preflight = await shared(c, next);
    if (!preflight) return;
    const { frame } = await admit(control, c.env.incoming);
    for (const [name, value] of Object.entries(headersOf(frame))) preflight.headers.set(name, value);
    return preflight;
  };
}

const METHODS = ["GET", "POST", "PATCH", "DELETE"];

/** Throws `not_found` for an unknown path, `method_not_allowed` for a known one. */
function refuseUnknown(app: Http, catalog: Catalog, path: string): never {
  const allowed = METHODS.filter((method) =>
    app.router.match(method, path)[0].some(([[, route]]) => route.method === method),
  );
  if (allowed.length === 0) {
    const near =
      operationWords(catalog, path) || didYouMean(path, new Set(app.routes.map((route) => route.path)));
    throw new Fault("not_found", {
      message: `Nothing answers at ${path}${near || "."} See /api/openapi.json.`,
    });
  }
  throw new Fault("method_not_allowed", {
    message: `Use ${allowed.join(" or ")} here.`,
    allow: allowed,
  });
}

/** The address of the operation that the path's end names, such as `create-import-job`; empty where it names none. */
function operationWords({ operations }: Catalog, path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1).replaceAll("-", "_");
  const operation = operations.get(name);
  if (!operation) return "";
  const [address, method] = routesOf(operation)[0]!;
  return `; ${name} is ${method.toUpperCase()} ${address}.`;
}
