import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { connect } from "#db/database.ts";
import { type EmbeddedDatabase, startEmbedded } from "#db/embedded/start.ts";
import { migrate } from "#db/migrate.ts";
import { ConfigError, onPort, readConfig, type Settings } from "#runtime/config.ts";
import { reap } from "#runtime/jobs/queue.ts";
import { createLog, type Log } from "#runtime/log.ts";
import { makeSecret } from "#runtime/secrets/app-secret.ts";
import { noteAddresses } from "./address.ts";
import { databaseError, errorText, folderError, say } from "./report.ts";
import { sayStarted } from "./welcome.ts";

const startedAt = performance.now();

/** Runs the service until `stop` resolves, which may be during the start, and ends the process. */
export async function serve(stop: Promise<string>): Promise<never> {
  try {
    await run(readConfig(process.env), stop);
    say("Stopped.");
    process.exit(0);
  } catch (error) {
    say(errorText(error));
    process.exit(1);
  }
}

async function run(settings: Settings, stop: Promise<string>): Promise<void> {
  const log = createLog(settings.logLevel);
  let isStopping = false;
  const stopped = stop.then((signal): never => {
    isStopping = true;
    log.info({ signal }, "stopping");
    throw new Error("stopped");
  });
  stopped.catch(() => {});
  {
    await using started = new AsyncDisposableStack();
    try {
      await start(settings, { log, stopped, started });
      await stopped;
    } catch (error) {
      // A stop makes the start fail: Ctrl-C in a terminal reaches the programs that it runs, too.
      if (!isStopping) throw settings.databaseUrl ? databaseError(error) : error;
    }
  }
  // The last line is the service's own.
  await new Promise((resolve) => log.flush(resolve));
}

interface Start {
  log: Log;
  /** Rejects when the service is to stop. A part that must be stopped in its turn is awaited all the same. */
  stopped: Promise<never>;
  /** The parts that have started, which stop in the other order. */
  started: AsyncDisposableStack;
}

async function start(settings: Settings, { log, stopped, started }: Start): Promise<void> {
  const { dataDir, databaseUrl: given } = settings;
  // Before the port: a second start in the same folder must fail with the message about the folder.
  const embedded = given ? null : started.adopt(await openEmbedded(dataDir, log), (each) => each.stop());
  const databaseUrl = given ?? embedded!.url;
  const appSecret = settings.appSecret ?? (await makeSecret(dataDir));
  const config = { ...(await withFreePort(settings)), appSecret };
  const { applied, placed } = await Promise.race([stopped, migrate(databaseUrl)]);
  for (const { name, milliseconds } of applied) log.info({ name, milliseconds }, "migration applied");
  for (const { table, place } of placed) log.info({ table, place }, "table placed on the cluster");
  if (embedded) await reclaimJobs(databaseUrl);
  if (embedded) await noteAddresses(config);
  const { CATALOG, compose, prepareDemo } = await Promise.race([stopped, readModules()]);
  const running = await compose({ config, databaseUrl, catalog: CATALOG, log });
  started.defer(running.stop);
  const filling = config.demo ? prepareDemo(running.service, CATALOG, running.idle) : null;
  const demo = await Promise.race([stopped, filling]);
  const milliseconds = performance.now() - startedAt;
  sayStarted({ config, embedded: embedded !== null, demo, hold: running.hold, milliseconds });
}

/** To read these takes a second. A start that cannot succeed fails before. */
async function readModules() {
  const { CATALOG } = await import("#tools/catalog.ts");
  const { compose } = await import("./compose.ts");
  const { prepareDemo } = await import("./demo/demo.ts");
  return { CATALOG, compose, prepareDemo };
}

async function openEmbedded(dataDir: string, log: Log): Promise<EmbeddedDatabase> {
  try {
    const embedded = await startEmbedded({
      dataDir,
      log: { info: (line) => log.info(line), error: (line) => log.error(line) },
    });
    void embedded.lost.then((reason) => {
      const sentence = `The database server could not be started again (${reason}), so the service ends.`;
      log.error(sentence);
      say(`${sentence} See ${dataDir}/postgres.log.`);
      process.exit(1);
    });
    return embedded;
  } catch (error) {
    throw folderError(dataDir, error);
  }
}

/**
 * The settings with a free port. Throws ConfigError if METRICS_PORT, or PORT as it is set, is in use; the default port
 * is replaced.
 */
async function withFreePort(settings: Settings): Promise<Settings> {
  const { host, port, metricsPort, role, explicit } = settings;
  const inUse = (name: string, taken: number) =>
    new ConfigError(`${name}: ${taken} is in use on ${host}. Choose another one, or stop what uses it.`);
  if (metricsPort !== null && (await freePort(host, metricsPort)) === null) {
    throw inUse("METRICS_PORT", metricsPort);
  }
  if (role === "worker") return settings;
  if (port !== 0 && (await freePort(host, port)) !== null) return settings;
  if (explicit.port && port !== 0) throw inUse("PORT", port);
  const free = (await freePort(host, 0))!;
  if (port !== 0) say(`Port ${port} is in use, so this start takes ${free}. Set PORT to choose.`);
  return onPort(settings, free);
}

async function freePort(host: string, port: number): Promise<number | null> {
  const server = createServer();
  try {
    server.listen(port, host);
    await once(server, "listening");
    return (server.address() as AddressInfo).port;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EADDRINUSE") return null;
    throw new ConfigError(`HOST, PORT: cannot listen on ${host}:${port} (${code}).`);
  } finally {
    server.close();
  }
}

/** Gives all claimed jobs back to the queue. The data folder is locked, so no other worker can be alive. */
async function reclaimJobs(databaseUrl: string): Promise<void> {
  const db = connect(databaseUrl, { size: 1 });
  try {
    await reap(db, { all: true });
  } finally {
    await db.close();
  }
}
