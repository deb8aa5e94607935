import { createHmac } from "node:crypto";
import { connect, type Database } from "#db/client.ts";
import { reader } from "#db/reader.ts";
import type { Catalog } from "#runtime/catalog.ts";
import { openChannels } from "#runtime/channels/index.ts";
import type { Config } from "#runtime/config.ts";
import { openDirectory } from "#runtime/directory.ts";
import type { Service } from "#runtime/invoke.ts";
import type { Log } from "#runtime/log.ts";
import { openMailDomains } from "#runtime/mail-domains.ts";
import { outgoing } from "#runtime/outgoing.ts";
import { queueNotifier } from "#runtime/queue.ts";
import { rateLimiter } from "#runtime/rate-limit.ts";
import { startScheduler } from "#runtime/scheduler.ts";
import { openSessions } from "#runtime/sessions.ts";
import { startWorker } from "#runtime/worker.ts";
import type { Gate } from "./gate.ts";
import { createApp, type Listening, listen } from "./http.ts";
import { mcpFace } from "./mcp.ts";
import type { Exhibits } from "./mcp-exhibits.ts";
import { openCounter } from "./pages/opens.ts";

export interface Running {
  service: Service;
  db: Database;
  /** Resolves when no job is ready or running. */
  idle(): Promise<void>;
  listening: Listening | null;
  /** Finishes what runs, gives back what does not, closes. */
  stop(): Promise<void>;
}

/** What runs operations, over one database. `wake` is told where jobs are worked on. */
export async function openService(options: {
  config: Config;
  databaseUrl: string;
  log: Log;
}): Promise<Service & { close(): Promise<void> }> {
  const { config, databaseUrl, log } = options;
  // Where the rest does not open, what has been opened would keep the process.
  await using opened = new AsyncDisposableStack();
  const bare = opened.adopt(connect(databaseUrl, { size: config.databasePool }), (one) => one.close());
  const directory = opened.adopt(await openDirectory(bare, log), (one) => one.close());
  const db = directory.forgetting();
  const sessions = await openSessions(db, directory, config);
  // Without a worker of our own, the others are told.
  const notify = queueNotifier(db, log);
  let telling = Promise.resolve();
  const open = opened.move();
  return {
    db,
    reader: reader(db, createHmac("sha256", config.appSecret).update("cursors").digest()),
    directory,
    sessions,
    config,
    log,
    wake: () => {
      telling = notify();
    },
    close: async () => {
      // A pool that ends under a waiting transaction takes its whole grace of five seconds.
      await telling;
      await open.disposeAsync();
    },
  };
}

/** Everything but the database server: the one place where the parts meet. */
export async function compose(options: {
  config: Config;
  databaseUrl: string;
  catalog: Catalog;
  log: Log;
  /** Tests alone have any. */
  exhibits?: Exhibits;
}): Promise<Running> {
  const { config, catalog, log, exhibits } = options;
  const opened = await openService(options);
  const background = config.role === "web" ? null : startBackground(opened, catalog);
  const service: Service = { ...opened, ...(background && { wake: background.worker.wake }) };
  const { db, directory, sessions } = service;
  const limiter = rateLimiter({ db, now: directory.now, log });
  const metadataUrl = `${config.siteUrl}/.well-known/oauth-protected-resource`;
  const gate: Gate = { limiter, directory, sessions, log, metadataUrl, trustProxy: config.trustProxy };
  const opens = openCounter(service);
  const mcp = config.role === "worker" ? null : mcpFace(service, catalog, exhibits);
  const app = mcp && createApp(service, catalog, gate, { opens, mcp });
  const listening = app && (await listen(app, gate, config.host, config.port));
  return {
    service,
    db,
    listening,
    idle: async () => background?.worker.idle(),
    stop: async () => {
      // Who listens would be waited for.
      await mcp?.close();
      await listening?.close();
      await opens.close();
      await background?.stop();
      await limiter.close();
      await opened.close();
    },
  };
}

function startBackground(service: Service, catalog: Catalog) {
  const { config, db, log, directory, sessions } = service;
  const channels = openChannels({ allowPrivate: config.webhooksAllowPrivate });
  const post = outgoing({
    allowPrivate: config.webhooksAllowPrivate,
    allowHttp: config.webhooksAllowPrivate,
  });
  const jobs = [...catalog.jobs.values()];
  const worker = startWorker({
    db,
    jobs,
    config,
    directory,
    sessions,
    log,
    jobRuntime: { outgoing: post, open: channels.open, mailDomains: openMailDomains(config.dnsServers) },
  });
  const scheduler = startScheduler({ db, jobs, log });
  return {
    worker,
    stop: async () => {
      await scheduler.stop();
      await worker.stop({ graceMs: 10_000 });
      await channels.close();
      await post.close();
    },
  };
}
