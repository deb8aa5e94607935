import { CATALOG } from "#tools/catalog.ts";
import { createApp } from "#transports/app/app.ts";
import type { Live } from "#transports/console/live/watch.ts";
import type { AdmissionControl } from "#transports/http/admission.ts";
import type { Health } from "#transports/http/health.ts";
import type { McpFace } from "#transports/mcp/endpoint.ts";
import type { Badges } from "#transports/pages/inbox/badges.ts";
import type { OpenCounter } from "#transports/pages/message/opens.ts";
import type { TestService } from "../../support/service.ts";

/** An address of the console, with the names of its records, such as /console/campaigns/:id. */
export interface Route {
  method: "GET" | "POST";
  path: string;
}

/** All addresses of the console, from the router itself: a page that comes tomorrow is under the same tests. */
export function consoleRoutes({ internals }: TestService): Route[] {
  const app = createApp(internals, CATALOG, {} as AdmissionControl, {
    opens: {} as OpenCounter,
    badges: {} as Badges,
    live: {} as Live,
    mcp: {} as McpFace,
    health: {} as Health,
  });
  return app.routes.flatMap(({ method, path }) =>
    (method === "GET" || method === "POST") && path.startsWith("/console") ? [{ method, path }] : [],
  );
}

/** The tables whose records stand in an address, by the part of the path before the record and by its name. */
const TABLES: Readonly<Record<string, string>> = {
  "approvals/:id": "proposals",
  "campaigns/:id": "campaigns",
  "caps/:id": "frequency_rules",
  "consents/:consent": "consent_records",
  "enrollments/:enrollment": "journey_enrollments",
  "files/:upload": "uploads",
  "hours/:id": "quiet_hours_rules",
  "imports/:id": "import_jobs",
  "invitations/:id": "invitations",
  "journeys/:id": "journeys",
  "keys/:id": "api_keys",
  "messages/:id": "campaign_sends",
  "people/:id": "users",
  "players/:id": "players",
  "segments/:id": "segments",
  "templates/:id": "templates",
};

/** The path with the ids of these records. Throws for an address of an unknown kind of record. */
export function filledIn(path: string, idOf: (table: string) => string): string {
  return path.replaceAll(/(\w+)\/(:\w+)/g, (part, before: string) => {
    if (part === "nodes/:node") return "nodes/start";
    const table = TABLES[part];
    if (!table) throw new Error(`say in routes.ts which table's records stand at ${part} of ${path}`);
    return `${before}/${idOf(table)}`;
  });
}
