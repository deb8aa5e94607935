import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { connect } from "#db/database.ts";
import { type EmbeddedDatabase, startEmbedded } from "#db/embedded/start.ts";
import { migrate } from "#db/migrate.ts";
import { ConfigError, onPort, readConfig, type Settings } from "#runtime/config.ts";
import { reap } from "#runtime/jobs/queue.ts";
import { createLog, type Log } from "#runtime/log.ts";
import { makeSecret } from "#runtime/secrets/app-secret.ts";
import { CATALOG } from "#tools/catalog.ts";
import { noteAddresses } from "./address.ts";
import { compose } from "./compose.ts";
import { prepareDemo } from "./demo/demo.ts";
import { databaseError, errorText, folderError, say } from "./report.ts";
import { sayStarted } from "./welcome.ts";

const startedAt = performance.now();
let stopping = false;

try {
  await main(readConfig(process.env));
} catch (error) {
  // A stop during the start makes it fail; the stop ends the process and gives its own exit code.
  if (stopping) await new Promise(() => {});
  say(errorText(error));
  process.exit(1);
}

async function main(settings: Settings): Promise<void> {
  const { logLevel, dataDir, databaseUrl: given } = settings;
  const log = createLog(logLevel);
  // Before the port: a second start in the same folder must fail with the message about the folder.
  const embedded = given ? null : await openEmbedded(dataDir, log);
  const databaseUrl = given ?? embedded!.url;
  try {
    const appSecret = settings.appSecret ?? (await makeSecret(dataDir));
    const config = { ...(await withFreePort(settings)), appSecret };
    const { applied, placed } = await migrate(databaseUrl);
    for (const { name, milliseconds } of applied) log.info({ name, milliseconds }, "migration applied");
    for (const { table, place } of placed) log.info({ table, place }, "table placed on the cluster");
    if (embedded) await reclaimJobs(databaseUrl);
    if (embedded) await noteAddresses(config);
    const running = await compose({ config, databaseUrl, catalog: CATALOG, log });
    const stop = runOnce(async () => {
      await running.stop();
      await embedded?.stop();
    });
    onStopSignal((signal) => {
      stopping = true;
      log.info({ signal }, "stopping");
      stop().then(
        () => {
          say("Stopped.");
          process.exit(0);
        },
        (error: unknown) => {
          log.error({ err: error }, "stopping failed");
          process.exit(1);
        },
      );
    });
    const demo = config.demo ? await prepareDemo(running.service, CATALOG, running.idle) : null;
    const milliseconds = performance.now() - startedAt;
    sayStarted({ config, embedded: embedded !== null, demo, hold: running.hold, milliseconds });
  } catch (error) {
    if (!stopping) await embedded?.stop();
    throw given ? databaseError(error) : error;
  }
}

async function openEmbedded(dataDir: string, log: Log): Promise<EmbeddedDatabase> {
  try {
    const embedded = await startEmbedded({
      dataDir,
      log: { info: (line) => log.info(line), error: (line) => log.error(line) },
    });
    void embedded.lost.then((reason) => {
      if (stopping) return;
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

/** The settings with a free port. Throws ConfigError if PORT is set and in use; the default port is replaced. */
async function withFreePort(settings: Settings): Promise<Settings> {
  const { host, port, role, explicit } = settings;
  if (role === "worker") return settings;
  if (port !== 0 && (await freePort(host, port)) !== null) return settings;
  if (explicit.port && port !== 0) {
    throw new ConfigError(`PORT: ${port} is in use on ${host}. Choose another one, or stop what uses it.`);
  }
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

/** Calls back on each stop signal. npm's shell does not pass its own signal on, so the end of the parent counts too. */
function onStopSignal(stop: (signal: string) => void): void {
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => stop(signal));
  if (process.env.npm_lifecycle_event === undefined) return;
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    stop("npm ended");
  }, 250);
  watch.unref();
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

function runOnce(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null;
  return () => {
    running ??= work();
    return running;
  };
}
