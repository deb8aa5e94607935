import type { IncomingMessage, ServerResponse } from "node:http";
import type { Log } from "#runtime/log.ts";
import { type Activity, activityOf, withActivity } from "#runtime/telemetry/activity.ts";
import { httpRequests } from "#runtime/telemetry/metrics.ts";
import type { Http } from "./handlers.ts";

/**
 * Runs `serve` as an activity of the request's trace, then writes the request's one line and figure. The line has the
 * route and not the address, in which there may be tokens and filters.
 */
export function observed(
  app: Http,
  log: Log,
  serve: (request: IncomingMessage, response: ServerResponse) => void,
) {
  return (request: IncomingMessage, response: ServerResponse): void => {
    const ended = httpRequests.startTimer();
    const activity = activityOf(single(request.headers.traceparent));
    response.once("close", () => {
      const method = METHODS.has(request.method ?? "") ? request.method! : "OTHER";
      const route = routeOf(app, method, request.url ?? "/");
      // Nginx's number for a caller that did not wait for the answer.
      const status = response.headersSent ? response.statusCode : 499;
      const seconds = ended({ method, route, status });
      if (!QUIET.has(route)) writeLine(log, { method, route, status, seconds }, activity);
    });
    withActivity(activity, () => serve(request, response));
  };
}

const METHODS = new Set(["GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS"]);
/** Probes, every few seconds. */
const QUIET = new Set(["/healthz", "/readyz", "/metrics"]);

interface Ended {
  method: string;
  route: string;
  status: number;
  seconds: number;
}

function writeLine(log: Log, { method, route, status, seconds }: Ended, activity: Activity): void {
  const { traceId, requestId, operation, propertyId, actor, reason } = activity;
  const level = reason !== undefined || status >= 500 ? "warn" : "info";
  if (!log.isLevelEnabled(level)) return;
  const about = {
    method,
    route,
    status,
    ms: Math.round(seconds * 1000),
    requestId,
    trace: traceId,
    operation,
    property: propertyId,
    actor,
    reason,
  };
  log[level](about, "request");
}

/** The pattern that answers; "none" for an address at which nothing answers. */
function routeOf(app: Http, method: string, url: string): string {
  const [path = "/"] = url.split("?", 1);
  const [routes] = app.router.match(method === "HEAD" ? "GET" : method, path);
  return routes.at(-1)?.[0][1].path ?? "none";
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
