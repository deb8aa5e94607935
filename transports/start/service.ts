import { createHmac } from "node:crypto";
import { connect } from "#db/database.ts";
import { reader } from "#db/query/reader.ts";
import type { Config } from "#runtime/config.ts";
import type { Service } from "#runtime/funnel/service.ts";
import { openDirectory } from "#runtime/identity/directory.ts";
import { openSessions } from "#runtime/identity/sessions.ts";
import { enterInstallation, type Hold } from "#runtime/installation.ts";
import { queueNotifier } from "#runtime/jobs/queue.ts";
import type { Log } from "#runtime/log.ts";

/** The service over one database, which is closed at the end. */
export interface OpenedService extends Service {
  /** Why sending was held at the start; null where it was open. */
  hold: Hold | null;
  close(): Promise<void>;
}

/** Opens the service over one database. Throws ConfigError for an APP_SECRET that is not the database's. Its `wake` tells the workers of other processes about new jobs. */
export async function openService(options: {
  config: Config;
  databaseUrl: string;
  log: Log;
}): Promise<OpenedService> {
  const { config, databaseUrl, log } = options;
  // If a later part fails to open, the parts before it must close, or the process would not end.
  await using opened = new AsyncDisposableStack();
  const pool = opened.adopt(
    connect(databaseUrl, { size: config.databasePool, standbyUrl: config.readDatabaseUrl }),
    (each) => each.close(),
  );
  const hold = await enterInstallation(pool, config);
  const [cluster] = await pool.asSystem(
    (sql) => sql<[{ isCluster: boolean }]>`select is_distributed() as "isCluster"`,
  );
  const directory = opened.adopt(await openDirectory(pool, log), (each) => each.close());
  const db = directory.forgetting();
  const sessions = await openSessions(db, directory, config);
  const { notify, ended } = queueNotifier(db, log);
  const open = opened.move();
  return {
    hold,
    db,
    reader: reader(db, {
      cursorKey: createHmac("sha256", config.appSecret).update("cursors").digest(),
      ...cluster,
    }),
    directory,
    sessions,
    config,
    log,
    wake: notify,
    close: async () => {
      // A pool that closes takes no notification any more.
      await ended();
      await open.disposeAsync();
    },
  };
}
