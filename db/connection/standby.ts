import { setTimeout as pause } from "node:timers/promises";
import postgres from "postgres";
import {
  type Client,
  type ConnectionOptions,
  command,
  openClient,
  withDeadline,
} from "#db/connection/open.ts";

/** A streaming standby, as this process knows it. */
export interface Standby {
  /** Notes that the caller has written: the primary answers it until the standby has replayed as much. */
  wrote(caller: string): void;
  /** Whether the standby is well and has all that the caller has written. */
  serves(caller: string): boolean;
  /** Notes that a read has failed there: the primary answers all until the standby is found well again. */
  failed(error: unknown): void;
  close(): Promise<void>;
}

/** Milliseconds. */
const LOOK_EVERY = 100;
const ANSWERS_WITHIN = 1_000;
/** A standby that lags more gets no reads. */
const LONGEST_LAG = 10_000;

interface Place {
  /** Bytes of the log of changes that are written, or replayed. */
  position: number;
  /** Of the database and its server: a standby has that of its primary. */
  identity: string;
  is_standby: boolean;
  is_cluster: boolean;
}

const PLACE = `
  select ((case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_insert_lsn() end)
      - '0/0')::float8 as position, database_identity() as identity, pg_is_in_recovery() as is_standby,
    is_distributed() as is_cluster`;

/**
 * Watches a standby: asks both servers for their positions again and again. A position that is asked for after a write
 * has ended lies behind that write.
 */
export function watchStandby(primaryUrl: string, standbyUrl: string, options: ConnectionOptions): Standby {
  const primary = asker(primaryUrl, options);
  const standby = asker(standbyUrl, options);
  /** Callers whose writes have no position yet, by the number of their last write. */
  const unplaced = new Map<string, number>();
  const placed = new Map<string, number>();
  const history: { at: number; position: number }[] = [];
  let writes = 0;
  let replayed = -1;
  const closing = new AbortController();

  const placeWrites = (until: number, position: number): void => {
    for (const [caller, write] of unplaced) {
      if (write > until) continue;
      unplaced.delete(caller);
      placed.set(caller, position);
    }
    history.push({ at: performance.now(), position });
    while (history.length > 1 && history[1]!.at < performance.now() - LONGEST_LAG) history.shift();
  };
  const isLate = (position: number): boolean => {
    const [oldest] = history;
    return oldest!.at < performance.now() - LONGEST_LAG && position < oldest!.position;
  };
  const look = async (): Promise<void> => {
    const until = writes;
    const here = await primary.ask();
    placeWrites(until, here.position);
    const there = await standby.ask();
    const isOurs = there.is_standby && there.identity === here.identity && !here.is_cluster;
    replayed = isOurs && !isLate(there.position) ? there.position : -1;
    for (const [caller, position] of placed) if (position <= replayed) placed.delete(caller);
  };
  const watching = (async () => {
    while (!closing.signal.aborted) {
      await look().catch(() => {
        replayed = -1;
      });
      await pause(LOOK_EVERY, undefined, { ref: false, signal: closing.signal }).catch(() => {});
    }
  })();
  return {
    wrote: (caller) => void unplaced.set(caller, ++writes),
    serves: (caller) => replayed >= 0 && !unplaced.has(caller) && (placed.get(caller) ?? 0) <= replayed,
    failed: (error) => {
      // The statement's own error says nothing of the server.
      if (!(error instanceof postgres.PostgresError) || /^(08|57P|53)/.test(error.code)) replayed = -1;
    },
    close: async () => {
      closing.abort();
      await watching;
      await Promise.all([primary.close(), standby.close()]);
    },
  };
}

/** Asks one server for its place, on a connection that is opened anew after silence. */
function asker(url: string, options: ConnectionOptions) {
  let client: Client | null = null;
  return {
    ask: async (): Promise<Place> => {
      client ??= openClient(url, options);
      try {
        const [place] = await withDeadline(command<Place[]>(client.sql, PLACE), ANSWERS_WITHIN);
        return place!;
      } catch (error) {
        client?.cut();
        client = null;
        throw error;
      }
    },
    close: async () => client?.cut(),
  };
}
