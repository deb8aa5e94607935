import { createHmac } from "node:crypto";
import { connect } from "#db/database.ts";
import { reader } from "#db/query/reader.ts";
import type { Config } from "#runtime/config.ts";
import type { Service } from "#runtime/funnel/service.ts";
import { openDirectory } from "#runtime/identity/directory.ts";
import { openSessions } from "#runtime/identity/sessions.ts";
import { queueNotifier } from "#runtime/jobs/queue.ts";
import type { Log } from "#runtime/log.ts";

/** Opens the service over one database. Its `wake` tells the workers of other processes about new jobs. */
export async function openService(options: {
  config: Config;
  databaseUrl: string;
  log: Log;
}): Promise<Service & { close(): Promise<void> }> {
  const { config, databaseUrl, log } = options;
  // If a later part fails to open, the parts before it must close, or the process would not end.
  await using opened = new AsyncDisposableStack();
  const pool = opened.adopt(connect(databaseUrl, { size: config.databasePool }), (each) => each.close());
  const directory = opened.adopt(await openDirectory(pool, log), (each) => each.close());
  const db = directory.forgetting();
  const sessions = await openSessions(db, directory, config);
  const notify = queueNotifier(db, log);
  let notifying = Promise.resolve();
  const open = opened.move();
  return {
    db,
    reader: reader(db, createHmac("sha256", config.appSecret).update("cursors").digest()),
    directory,
    sessions,
    config,
    log,
    wake: () => {
      notifying = notify();
    },
    close: async () => {
      // A pool that closes under a running transaction waits its whole grace time of five seconds.
      await notifying;
      await open.disposeAsync();
    },
  };
}
