import { BackupError } from "#db/backup/file.ts";
import { findEmbedded, startEmbedded } from "#db/embedded/start.ts";
import type { Settings } from "#runtime/config.ts";
import { databaseError, folderError } from "./report.ts";
import { stopSignal } from "./stop-signal.ts";

type Work<T> = (url: string) => Promise<T>;

/** Does something with the service's database. The embedded one is started for it where it does not run. */
export async function withDatabase<T>(settings: Settings, work: Work<T>): Promise<T> {
  const running = settings.databaseUrl === null ? await findEmbedded(settings.dataDir) : null;
  return running ? work(running) : withStoppedDatabase(settings, work);
}

/** The same. Throws DataFolderInUse where a service runs on the embedded database. */
export async function withStoppedDatabase<T>({ databaseUrl, dataDir }: Settings, work: Work<T>): Promise<T> {
  if (databaseUrl) {
    return work(databaseUrl).catch((error: unknown) => {
      throw databaseError(error);
    });
  }
  let stop: string | undefined;
  const stopped = stopSignal().then((signal) => {
    stop = signal;
  });
  const embedded = await startEmbedded({ dataDir }).catch((error: unknown) => {
    throw folderError(dataDir, error);
  });
  // The server would outlive this program. Its end fails the work, which can then remove what it has begun.
  void stopped.then(embedded.stop);
  try {
    return await work(embedded.url);
  } catch (error) {
    throw stop ? new BackupError(`Stopped by ${stop} before its end.`) : error;
  } finally {
    await embedded.stop();
  }
}
