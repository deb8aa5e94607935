import type postgres from "postgres";
import { groupCommit } from "./connection/group-commit.ts";
import { type ConnectionOptions, openClient } from "./connection/open.ts";
import { openPool, type Pool } from "./connection/pool.ts";
import { openSharedReaders, SHORT } from "./connection/shared-readers.ts";
import { OVERTIME, REQUEST_DEADLINE, transact, type Work, withClient } from "./connection/transaction.ts";
import type { ReadRows, RowValues } from "./query/reader.ts";
import { query } from "./sql.ts";
import {
  EXPORT_LIMITS,
  type ExportLimits,
  type ExportSource,
  type ExportStream,
  startExport,
} from "./stream/export.ts";
import { EXPORT_SLOTS, exportSlots } from "./stream/export-slots.ts";
import { isUuid } from "./text.ts";
import { jsonAsText, types } from "./types.ts";

export type { Work } from "./connection/transaction.ts";
export type { Sql } from "./sql.ts";

export interface TransactionOptions {
  readOnly?: boolean;
  /** Milliseconds after which the caller is answered 503, whatever the connection does. */
  deadline?: number;
  /** Statements sent ahead of the tenant's role, in the same round trip. Without parameters. */
  before?: readonly string[];
  /**
   * It may share a transaction with others of the tenant that begin alike. `work` may run twice then, and asks nothing
   * that another of them changes.
   */
  group?: boolean;
}

/** A connection that is kept for one export. Its stream gives it back, or `release` when there is none. */
export interface ExportSlot {
  start(source: ExportSource): ExportStream;
  release(): void;
}

export interface Database {
  /** Runs `work` in one transaction as the tenant: role, row-level security and property are set in it. */
  asProperty<T>(property: string, work: Work<T>, options?: TransactionOptions): Promise<T>;
  /** Runs `work` in one transaction over the platform's own tables. */
  asSystem<T>(work: Work<T>, options?: TransactionOptions): Promise<T>;
  /** One prepared statement as the reader's role, which row-level security lets pass. For db/reader.ts only. */
  read: ReadRows;
  /** Waits for one of the few export slots. Throws DeadlineExceeded when all stay taken. */
  exportSlot(property: string): Promise<ExportSlot>;
  /** Calls back on each notification, and on each time the listener is connected anew. */
  listen(channel: string, onNotify: (payload: string) => void, onListen?: () => void): Promise<void>;
  close(): Promise<void>;
}

/** Seconds. Left to itself, the driver comes to wait for 20 of them, and whoever asks meanwhile waits along. */
const LONGEST_BACKOFF = 0.25;

export interface ConnectOptions {
  /** Connections a pool: 3 to 4 serve two cores best. */
  size?: number;
  application?: string;
  exportLimits?: ExportLimits;
}

type Settings = (role: string, more?: Record<string, string>) => ConnectionOptions;

/** The roles' pools over one URL. */
export function connect(url: string, options: ConnectOptions = {}): Database {
  const settings = settingsOf(options);
  const size = options.size ?? 4;
  const writers = openPool(url, size, settings("app_idle"));
  const reading = openReading(url, size, settings);
  const exporters = openPool(url, EXPORT_SLOTS, settings("app_idle", { statement_timeout: "0" }));
  const listener = openClient(url, settings("app_idle"));
  return {
    ...writing(writers),
    read: reading.read,
    exportSlot: openExporting(exporters, writers, options.exportLimits),
    listen: async (channel, onNotify, onListen) => {
      await listener.sql.listen(channel, onNotify, onListen);
    },
    close: async () => {
      await Promise.all([writers.close(), reading.close(), exporters.close(), listener.end()]);
    },
  };
}

function settingsOf({ application = "marketing" }: ConnectOptions): Settings {
  return (role, more = {}) => ({
    types: types as never,
    fetch_types: false,
    onnotice: () => {},
    idle_timeout: 0,
    max_lifetime: null,
    connect_timeout: 5,
    backoff: (failures: number) => (0.5 + Math.random() / 2) * Math.min(3 ** failures / 100, LONGEST_BACKOFF),
    connection: {
      application_name: application,
      role,
      timezone: "UTC",
      lock_timeout: "2s",
      statement_timeout: `${REQUEST_DEADLINE + OVERTIME}ms`,
      // Rules compile to large expressions: compiling them to machine code cost 5x their running time.
      jit: "off",
      idle_in_transaction_session_timeout: "60s",
      ...more,
    } as never,
  });
}

function writing(writers: Pool): Pick<Database, "asProperty" | "asSystem"> {
  const group = groupCommit((statements, work) => transact(writers, work, { statements }));
  const run = <T>(role: string[], work: Work<T>, options: TransactionOptions): Promise<T> => {
    const { before = [], group: isGrouped, ...rest } = options;
    const statements = [...before, ...role];
    if (isGrouped) return group.run(statements, work, options.deadline);
    return transact(writers, work, { ...rest, statements });
  };
  return {
    asProperty: async (property, work, options = {}) => run(tenantRole(property), work, options),
    asSystem: (work, options = {}) => run(["set local role app_system"], work, options),
  };
}

function openExporting(pool: Pool, writers: Pool, limits = EXPORT_LIMITS): Database["exportSlot"] {
  const slots = exportSlots();
  const stopQuery = (backend: number) => cancelBackend(writers, backend);
  return async (property) => {
    const opening = tenantRole(property);
    const onEnd = await slots.take(property);
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

function openReading(url: string, size: number, settings: Settings): Pick<Database, "read" | "close"> {
  // What is not known to be short is worth planning for its values: a rare one may need another index.
  const readers = openPool(url, size, {
    ...settings("app_reader", { plan_cache_mode: "force_custom_plan" }),
    types: jsonAsText as never,
  });
  const shared = openSharedReaders(url, { ...settings("app_reader", SHORT), types: jsonAsText as never });
  // Callers choose the filters of lists: their texts must not take the room of the service's own.
  const listTexts = new Set<string>();
  return {
    read: async (statement, { short = false, deadline = REQUEST_DEADLINE } = {}) => {
      const run = (sql: postgres.Sql) => query(sql, statement, listTexts).values().then(dense);
      const startedAt = performance.now();
      if (short) {
        const rows = await shared.run(`${statement.values[0]} ${statement.texts.join("?")}`, run, deadline);
        if (rows) return rows;
      }
      return withClient(readers, deadline - (performance.now() - startedAt), ({ sql }) => run(sql));
    },
    close: async () => {
      await Promise.all([readers.close(), shared.close()]);
    },
  };
}

/** The driver (3.4.9) counts on from a statement that failed between its rows, and begins the next result with holes. */
function dense(rows: unknown[]): RowValues[] {
  return (rows.length > 0 && !(0 in rows) ? rows.filter(() => true) : rows) as RowValues[];
}

function tenantRole(property: string): string[] {
  if (!isUuid(property)) throw new TypeError("a tenant is named by a uuid");
  return ["set local role app_property", `set local app.property_id = '${property}'`];
}

/** Cancels the query of a backend of ours. Only the login itself may, and none of the roles that it takes on. */
async function cancelBackend(pool: Pool, backend: number): Promise<void> {
  const statement = `set local role none; select pg_cancel_backend(${backend})`;
  await withClient(pool, 2_000, ({ sql }) => sql.unsafe(statement).simple()).catch(() => {});
}
