import { connect } from "#db/client.ts";
import { type EmbeddedDatabase, startEmbedded } from "#db/embedded.ts";
import { migrate } from "#db/migrate.ts";
import { makeSecret } from "#runtime/app-secret.ts";
import { readConfig, type Settings } from "#runtime/config.ts";
import { createLog, type Log } from "#runtime/log.ts";
import { reap } from "#runtime/queue.ts";
import { CATALOG } from "#tools/catalog.ts";
import { isSealedByAnother } from "#tools/ledgers/seals.ts";
import { compose } from "./compose.ts";
import { prepareDemo } from "./demo.ts";
import { ofDatabase, ofFolder, told } from "./explained.ts";
import { withFreePort } from "./port.ts";
import { say, sayStarted } from "./welcome.ts";

const startedAt = performance.now();
let stopping = false;

try {
  await main(readConfig(process.env));
} catch (error) {
  // A stop in the middle of the start ends it here; the stop says how it went.
  if (stopping) await new Promise(() => {});
  say(told(error));
  process.exit(1);
}

async function main(settings: Settings): Promise<void> {
  const { logLevel, dataDir, databaseUrl: given } = settings;
  const log = createLog(logLevel);
  // First: a second start in the same folder has the port taken too, and that is not what is wrong.
  const embedded = given ? null : await openEmbedded(dataDir, log);
  const databaseUrl = given ?? embedded!.url;
  try {
    const appSecret = settings.appSecret ?? (await makeSecret(dataDir));
    const config = { ...(await withFreePort(settings)), appSecret };
    const applied = await migrate(databaseUrl);
    for (const { name, milliseconds } of applied) log.info({ name, milliseconds }, "migration applied");
    if (embedded) await takeBackJobs(databaseUrl);
    const running = await compose({ config, databaseUrl, catalog: CATALOG, log });
    const stop = once(async () => {
      await running.stop();
      await embedded?.stop();
    });
    whenTold((signal) => {
      stopping = true;
      log.info({ signal }, "stopping");
      stop().then(
        () => process.exit(0),
        (error: unknown) => {
          log.error({ err: error }, "stopping failed");
          process.exit(1);
        },
      );
    });
    if (await running.service.db.asSystem((sql) => isSealedByAnother(sql, config))) {
      say("APP_SECRET: not the one that this database was used with, so unsubscribe links in sent mail");
      say("do not work, and stored credentials cannot be read. Start with the one from before.");
    }
    const demo = config.demo ? await prepareDemo(running.service, CATALOG, running.idle) : null;
    sayStarted({ config, embedded: embedded !== null, demo, milliseconds: performance.now() - startedAt });
  } catch (error) {
    if (!stopping) await embedded?.stop();
    throw given ? ofDatabase(error) : error;
  }
}

async function openEmbedded(dataDir: string, log: Log): Promise<EmbeddedDatabase> {
  try {
    return await startEmbedded({ dataDir, log: (line) => log.info(line) });
  } catch (error) {
    throw ofFolder(dataDir, error);
  }
}

/** Calls back on each signal to stop, also on one that npm was sent: its shell dies of it and does not pass it on. */
function whenTold(stop: (signal: string) => void): void {
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

/** The data folder is ours alone, so whoever had jobs is dead: no need to wait until the leases run out. */
async function takeBackJobs(databaseUrl: string): Promise<void> {
  const db = connect(databaseUrl, { size: 1 });
  try {
    await reap(db, { all: true });
  } finally {
    await db.close();
  }
}

function once(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null;
  return () => {
    running ??= work();
    return running;
  };
}
