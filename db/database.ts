import { groupCommit } from "./connection/group-commit.ts";
import { command, openClient, openPool, type Pool } from "./connection/open.ts";
import { besideStandby, openReading } from "./connection/reading.ts";
import { type Settings, settingsOf } from "./connection/settings.ts";
import { type Standby, watchStandby } from "./connection/standby.ts";
import { transact, type Work, withClient } from "./connection/transaction.ts";
import type { ReadRows } from "./query/reader.ts";
import {
  EXPORT_LIMITS,
  type ExportLimits,
  type ExportSource,
  type ExportStream,
  startExport,
} from "./stream/export.ts";
import { EXPORT_SLOTS, exportSlots } from "./stream/export-slots.ts";
import { isUuid } from "./text.ts";

export type { Last, Work, Write } from "./connection/transaction.ts";
export type { Sql } from "./sql.ts";

/** The works that may share a transaction. */
export interface Group {
  /** Only works of one name share one. */
  name: string;
  /** Works with the same value run in different transactions: the later one reads what the earlier has changed. */
  one: string;
}

export interface TransactionOptions {
  readOnly?: boolean;
  /** Milliseconds until the caller gets 503, also where the connection hangs. */
  deadline?: number;
  /** Statements without parameters, sent before the tenant's role is set, in the same round trip. */
  before?: readonly string[];
  /**
   * The work may share a transaction with other works of the tenant that have the same opening. It may then run
   * twice, and reads nothing that another of them changes.
   */
  group?: boolean | Group;
  /** The credential that writes: its reads are not answered by a standby that lacks this write. */
  caller?: string;
}

/** A connection that is reserved for one export. The stream gives it back; without a stream, `release` does. */
export interface ExportSlot {
  start(source: ExportSource): ExportStream;
  release(): void;
}

export interface Database {
  /** Runs `work` in one transaction as the tenant, with its role, row-level security and property. */
  asProperty<T>(property: string, work: Work<T>, options?: TransactionOptions): Promise<T>;
  /** Runs `work` in one transaction over the platform's own tables. */
  asSystem<T>(work: Work<T>, options?: TransactionOptions): Promise<T>;
  /**
   * Runs one prepared statement as the reader's role, which is exempt from row-level security. For db/query/reader.ts
   * only.
   */
  read: ReadRows;
  /**
   * Waits for one of the few export slots. Throws DeadlineExceeded when none becomes free. A standby may answer, where
   * it has what the caller has written.
   */
  exportSlot(property: string, caller?: string): Promise<ExportSlot>;
  /** Calls `onNotify` for each notification, and `onListen` each time the listener has connected. */
  listen(channel: string, onNotify: (payload: string) => void, onListen?: () => void): Promise<void>;
  close(): Promise<void>;
}

export interface ConnectOptions {
  /** Connections per pool: 3 to 4 serve two cores best. */
  size?: number;
  application?: string;
  exportLimits?: ExportLimits;
  /** A streaming standby of the same server, for lists, counts and exports. */
  standbyUrl?: string | null;
}

/** Opens one pool per role over one URL, and more of them over a standby. */
export function connect(url: string, options: ConnectOptions = {}): Database {
  const settings = settingsOf(options.application);
  const { size = 4, standbyUrl } = options;
  const writers = openPool(url, size, settings("app_idle"));
  const standby = standbyUrl ? watchStandby(url, standbyUrl, settings("app_system")) : null;
  const primary = openReading(url, size, settings);
  const reading = standby
    ? besideStandby(primary, openReading(standbyUrl!, size, settings), standby)
    : primary;
  const exporters = openExporters(url, settings);
  const copies = standbyUrl ? openExporters(standbyUrl, settings) : exporters;
  const listener = openClient(url, settings("app_idle"));
  return {
    ...writing(writers, standby),
    read: reading.read,
    exportSlot: exporting(
      (caller) => (caller !== undefined && standby?.serves(caller) ? copies : exporters),
      options.exportLimits,
    ),
    listen: async (channel, onNotify, onListen) => {
      await listener.sql.listen(channel, onNotify, onListen);
    },
    close: async () => {
      const parts = new Set([writers, reading, exporters, copies, ...(standby ? [standby] : [])]);
      await Promise.all([...[...parts].map((part) => part.close()), listener.end()]);
    },
  };
}

function writing(
  writers: Pool,
  standby: Pick<Standby, "wrote"> | null,
): Pick<Database, "asProperty" | "asSystem"> {
  const group = groupCommit((statements, work) => transact(writers, work, { statements }));
  const run = <T>(role: string[], work: Work<T>, options: TransactionOptions): Promise<T> => {
    const { before = [], group: isGrouped, caller, ...rest } = options;
    const statements = [...before, ...role];
    const running = isGrouped
      ? group.run(statements, work, { ...(isGrouped !== true && isGrouped), deadline: options.deadline })
      : transact(writers, work, { ...rest, statements });
    // In any case: a transaction whose outcome is unknown may have been committed.
    return standby && caller ? running.finally(() => standby.wrote(caller)) : running;
  };
  return {
    asProperty: async (property, work, options = {}) => run(tenantRole(property), work, options),
    asSystem: (work, options = {}) => run(["set local role app_system"], work, options),
  };
}

interface Exporters {
  pool: Pool;
  stopQuery(backend: number): Promise<void>;
  close(): Promise<void>;
}

function openExporters(url: string, settings: Settings): Exporters {
  const pool = openPool(url, EXPORT_SLOTS, settings("app_idle", { statement_timeout: "0" }));
  const stoppers = openPool(url, 1, settings("app_idle"));
  return {
    pool,
    stopQuery: (backend) => cancelBackend(stoppers, backend),
    close: async () => {
      await Promise.all([pool.close(), stoppers.close()]);
    },
  };
}

function exporting(
  exportersOf: (caller: string | undefined) => Exporters,
  limits = EXPORT_LIMITS,
): Database["exportSlot"] {
  const slots = exportSlots();
  return async (property, caller) => {
    const opening = tenantRole(property);
    const onEnd = await slots.take(property);
    const { pool, stopQuery } = exportersOf(caller);
    const client = await pool.take();
    return {
      start: (source) => startExport({ pool, client, opening, limits, stopQuery, onEnd }, source),
      release: () => {
        pool.give(client);
        onEnd();
      },
    };
  };
}

function tenantRole(property: string): string[] {
  if (!isUuid(property)) throw new TypeError("a tenant is named by a uuid");
  return ["set local role app_property", `set local app.property_id = '${property}'`];
}

/** Cancels the query of one of our backends. Only the login role may do so, not the roles that it takes on. */
async function cancelBackend(pool: Pool, backend: number): Promise<void> {
  const statement = `set local role none; select pg_cancel_backend(${backend})`;
  await withClient(pool, 2_000, ({ sql }) => command(sql, statement).simple()).catch(() => {});
}
