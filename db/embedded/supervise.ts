import { setTimeout as pause } from "node:timers/promises";
import type { Server } from "./server.ts";

/** Where the embedded server's lines go: `error` for what an operator must see. */
export interface ServerLog {
  info(line: string): void;
  error(line: string): void;
}

export interface Supervised {
  /** Resolves with the reason when the server has ended for good. */
  lost: Promise<string>;
  /** Ends the server, or the attempt to start it again. */
  stop(): Promise<void>;
}

/** Milliseconds before each attempt to start it again: after five that failed, it is given up. */
const PAUSES = [0, 500, 1_000, 2_000, 4_000];
/** A server that has run for this time was well: its end counts as the first failure again. */
const WELL_AFTER_MS = 60_000;

/** Starts a server again whenever it ends by itself. */
export function supervise(
  first: Server,
  relaunch: () => Promise<Server>,
  log: ServerLog,
  pauses: readonly number[] = PAUSES,
): Supervised {
  const stopping = new AbortController();
  const { signal } = stopping;
  const { promise: lost, resolve: giveUp } = Promise.withResolvers<string>();
  let server = first;

  /** The reason of the server's last failure; null after a requested stop. */
  const watch = async (): Promise<string | null> => {
    let failures = 0;
    let reason = await server.ended;
    while (!signal.aborted) {
      const wait = pauses[failures];
      if (wait === undefined) return reason;
      log.error(`the database server has ended by itself (${reason}); it is started again`);
      await pause(wait, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) break;
      failures += 1;
      try {
        server = await relaunch();
        if (signal.aborted) await server.stop();
        const startedAt = performance.now();
        reason = await server.ended;
        if (performance.now() - startedAt > WELL_AFTER_MS) failures = 0;
      } catch (error) {
        reason = error instanceof Error ? error.message : String(error);
      }
    }
    return null;
  };
  const watching = watch().then((reason) => {
    if (reason !== null) giveUp(reason);
  });
  return {
    lost,
    stop: async () => {
      stopping.abort();
      await server.stop();
      await watching;
    },
  };
}
