import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import type { Database } from "#db/database.ts";
import { migrationsHere } from "#db/migrate.ts";
import type { Config } from "#runtime/config.ts";
import type { Worker } from "#runtime/jobs/worker.ts";
import type { Log } from "#runtime/log.ts";
import { registry } from "#runtime/telemetry/metrics.ts";
import { readQueueFigures } from "#runtime/telemetry/queue-figures.ts";
import type { Http } from "./handlers.ts";
import type { Listening } from "./server.ts";

/** One answer serves all probes of this time: no rate limit counts them. */
const FRESH_MS = 1_000;
const PATIENCE_MS = 2_000;
const LOOPBACK = /^(?:127\.|::1$|::ffff:127\.)/;

export interface Health {
  ready(): Promise<Readiness>;
  /** The metrics in the text form of Prometheus. */
  metrics(): Promise<string>;
}

interface Readiness {
  status: "ready" | "not_ready";
  checks: { database: Check; migrations: Check; worker: Check | "none" };
  sending: "open" | "held" | "off" | "unknown";
}
type Check = "ok" | "failing";

interface Watched {
  db: Database;
  config: Pick<Config, "sending">;
  worker: Worker | null;
  log: Log;
}

/** The answers to probes and to Prometheus about this process. */
export function openHealth({ db, config, worker, log }: Watched): Health {
  const ready = async (): Promise<Readiness> => {
    const state = await databaseState(db).catch((error: unknown) => {
      log.debug({ err: error }, "not ready: the database does not answer");
      return null;
    });
    const checks = {
      database: verdict(state !== null),
      migrations: verdict(state?.isUpToDate === true),
      worker: worker ? verdict(worker.isAlive()) : ("none" as const),
    };
    const status = Object.values(checks).includes("failing") ? "not_ready" : "ready";
    const open = config.sending ? "open" : "off";
    return { status, checks, sending: state === null ? "unknown" : state.isOpen ? open : "held" };
  };
  const metrics = async () => {
    await readQueueFigures(db).catch((error: unknown) => {
      log.debug({ err: error }, "the queue's figures are missing: the database does not answer");
    });
    return registry.metrics();
  };
  return { ready: shared(ready), metrics: shared(metrics) };
}

/** Mounts the probes. Without a port of their own the figures are for programs of this machine alone. */
export function mountHealth(
  app: Http,
  health: Health,
  figures: "none" | "for this machine" | "for everybody",
): void {
  app.get("/healthz", () => Response.json({ status: "alive" }, { headers: NO_STORE }));
  app.get("/readyz", async () => {
    const readiness = await health.ready();
    const status = readiness.status === "ready" ? 200 : 503;
    return Response.json(readiness, { status, headers: NO_STORE });
  });
  if (figures === "none") return;
  app.get("/metrics", async ({ env: { incoming } }) => {
    if (figures === "for this machine" && !isOfThisMachine(incoming)) return refuseFigures();
    const headers = { ...NO_STORE, "content-type": registry.contentType };
    return new Response(await health.metrics(), { headers });
  });
}

/** And not of somebody behind a proxy on it. */
function isOfThisMachine({ socket, headers }: IncomingMessage): boolean {
  return LOOPBACK.test(socket.remoteAddress ?? "") && headers["x-forwarded-for"] === undefined;
}

/** Serves the probes and figures alone: for workers, which listen nowhere else, and to keep them from the public. */
export async function listenHealth(health: Health, host: string, port: number): Promise<Listening> {
  const app: Http = new Hono();
  mountHealth(app, health, "for everybody");
  const listener = getRequestListener(app.fetch as never);
  const server = createServer((request, response) => void listener(request, response));
  server.listen(port, host);
  await once(server, "listening");
  return {
    server,
    port: (server.address() as AddressInfo).port,
    close: async () => {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function refuseFigures(): Response {
  const error = "The figures are for programs on this machine. METRICS_PORT gives them a port.";
  return Response.json({ error, code: "not_found" }, { status: 404 });
}

const NO_STORE = { "cache-control": "no-store" };

function verdict(isWell: boolean): Check {
  return isWell ? "ok" : "failing";
}

async function databaseState(db: Database): Promise<{ isUpToDate: boolean; isOpen: boolean }> {
  const here = await migrationsHere();
  const [row] = await db.asSystem(
    (sql) => sql<{ migrations: { name: string; checksum: string }[]; is_open: boolean }[]>`
      select coalesce(json_agg(json_build_object('name', name, 'checksum', checksum)), '[]') as migrations,
        sending_is_open() as is_open
      from migrations`,
    { deadline: PATIENCE_MS },
  );
  const { migrations, is_open } = row!;
  const isUpToDate =
    migrations.length === here.size && migrations.every(({ name, checksum }) => here.get(name) === checksum);
  return { isUpToDate, isOpen: is_open };
}

/** The answer that is under way, or was given a moment ago. */
function shared<T>(ask: () => Promise<T>): () => Promise<T> {
  let answer: Promise<T> | null = null;
  let askedAt = Number.NEGATIVE_INFINITY;
  return () => {
    if (answer === null || performance.now() - askedAt > FRESH_MS) {
      askedAt = performance.now();
      answer = ask();
    }
    return answer;
  };
}
