import { randomUUID } from "node:crypto";
import { DeadlineExceeded, withDeadline } from "#db/connection/open.ts";
import type { Database } from "#db/database.ts";
import { openChannels } from "#runtime/channels/index.ts";
import type { Config } from "#runtime/config.ts";
import { invoke } from "#runtime/funnel/invoke.ts";
import type { Service } from "#runtime/funnel/service.ts";
import { startScheduler } from "#runtime/jobs/scheduler.ts";
import { startWorker } from "#runtime/jobs/worker.ts";
import { rateLimiter } from "#runtime/limits/rate-limit.ts";
import type { Log } from "#runtime/log.ts";
import { openMailDomains } from "#runtime/network/mail-domains.ts";
import { outgoing } from "#runtime/network/outgoing.ts";
import type { Catalog } from "#runtime/operation/catalog.ts";
import { watchProcess } from "#runtime/telemetry/metrics.ts";
import { createApp } from "#transports/app/app.ts";
import { openLive } from "#transports/console/live/watch.ts";
import type { AdmissionControl } from "#transports/http/admission.ts";
import { listenHealth, openHealth } from "#transports/http/health.ts";
import type { ConnectionLimits } from "#transports/http/server.ts";
import { type Listening, listen } from "#transports/http/server.ts";
import { mcpFace } from "#transports/mcp/endpoint.ts";
import { openBadges } from "#transports/pages/inbox/badges.ts";
import { openCounter } from "#transports/pages/message/opens.ts";
import type { CallPace } from "#transports/voice/pace.ts";
import { isCallAddress, serveCalls } from "#transports/voice/relay.ts";
import { type OpenedService, openService } from "./service.ts";

export interface Running {
  service: Service;
  db: Database;
  hold: OpenedService["hold"];
  /** Resolves when no job is ready or running. */
  idle(): Promise<void>;
  listening: Listening | null;
  /** Of METRICS_PORT. */
  healthListening: Listening | null;
  /** Finishes running requests and jobs, gives the other jobs back to the queue, and closes. */
  stop(): Promise<void>;
}

/** Starts everything but the database server. No other function puts the parts together. */
export async function compose(options: {
  config: Config;
  databaseUrl: string;
  catalog: Catalog;
  log: Log;
  /** Another MCP face than the service's own. */
  face?: typeof mcpFace;
  /** Other limits of connections than the service's own. */
  connections?: ConnectionLimits;
  /** Another pace of calls than people's own. */
  callPace?: CallPace;
}): Promise<Running> {
  const { config, catalog, log, face = mcpFace } = options;
  // Started parts stop in the other order: at the end, and where a later part cannot start.
  await using started = new AsyncDisposableStack();
  const opened = started.adopt(await openService(options), (each) => each.close());
  const { db, directory, sessions } = opened;
  const limiter = started.adopt(rateLimiter({ db, now: directory.now, log }), (each) => each.close());
  const background =
    config.role === "web" ? null : started.adopt(startBackground(opened, catalog), (each) => each.stop());
  const service: Service = { ...opened, ...(background && { wake: background.worker.wake }) };
  const metadataUrl = `${config.siteUrl}/.well-known/oauth-protected-resource`;
  const control: AdmissionControl = {
    limiter,
    directory,
    sessions,
    log,
    metadataUrl,
    trustProxy: config.trustProxy,
  };
  const opens = started.adopt(openCounter(service), (each) => each.close());
  const badges = openBadges(service);
  const live = openLive(service);
  const mcp = config.role === "worker" ? null : face(service, catalog);
  watchProcess();
  const health = openHealth({ db, config, worker: background?.worker ?? null, log });
  const app = mcp && createApp(service, catalog, control, { opens, badges, live, mcp, health });
  const { metricsPort } = config;
  const healthListening =
    metricsPort === null
      ? null
      : started.adopt(await listenHealth(health, config.host, metricsPort), (each) => each.close());
  const listening =
    app &&
    (await listen(app, control, {
      host: config.host,
      port: config.port,
      upgrades: isCallAddress,
      limits: options.connections,
    }));
  const endCalls = listening && serveCalls(listening.server, service, control, options.callPace);
  // The server waits for open connections, so streams, calls and jobs end meanwhile.
  started.defer(async () => {
    const streams = [mcp?.close(), badges.close(), live.close(), endCalls?.()];
    await Promise.all([listening?.close(), ...streams, background?.stop()]);
  });
  const parts = started.move();
  return {
    service,
    db,
    hold: opened.hold,
    listening,
    healthListening,
    idle: async () => background?.worker.idle(),
    stop: () => stopInTime(parts, log),
  };
}

/**
 * Milliseconds. A database that holds locks can keep each part waiting. The end of the process cuts what is still under
 * way: its transactions are rolled back, and its jobs are claimed again when their leases run out.
 */
const STOPS_WITHIN = 9_500;
const JOBS_END_WITHIN = 7_000;

async function stopInTime(parts: AsyncDisposableStack, log: Log): Promise<void> {
  await withDeadline(parts.disposeAsync(), STOPS_WITHIN).catch((error: unknown) => {
    if (!(error instanceof DeadlineExceeded)) throw error;
    log.warn("stopping; what is still under way is cut");
  });
}

const SYSTEM = { type: "system", id: null } as const;

function startBackground(service: Service, catalog: Catalog) {
  const { config, db, log, directory, sessions } = service;
  const channels = openChannels({ allowPrivate: config.webhooksAllowPrivate });
  const webhooks = outgoing({
    allowPrivate: config.webhooksAllowPrivate,
    allowHttp: config.webhooksAllowPrivate,
  });
  const jobs = [...catalog.jobs.values()].filter((job) => config.sending || !job.sends);
  const worker = startWorker({
    db,
    jobs,
    config,
    directory,
    sessions,
    log,
    jobRuntime: {
      outgoing: webhooks,
      open: channels.open,
      mailDomains: openMailDomains(config.dnsServers),
      run: async (name, propertyId, input) => {
        const call = { actor: SYSTEM, transport: "job" as const, requestId: randomUUID(), propertyId };
        const { body } = await invoke(service, catalog.operations.get(name)!, call, input);
        return JSON.parse(body);
      },
    },
  });
  const scheduler = startScheduler({ db, jobs, log });
  const end = async () => {
    await Promise.all([scheduler.stop(), worker.stop({ graceMs: JOBS_END_WITHIN })]);
    await Promise.all([channels.close(), webhooks.close()]);
  };
  let ended: Promise<void> | undefined;
  return {
    worker,
    stop: () => {
      ended ??= end();
      return ended;
    },
  };
}
