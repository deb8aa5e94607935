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
  /** Milliseconds until the caller gets 503, whatever the connection does. */
  deadline?: number;
  /** Statements without parameters, sent before the tenant's role is set, in the same round trip. */
  before?: readonly string[];
  /**
   * The work may share a transaction with other works of the tenant that have the same opening. It may then run
   * twice, and reads nothing that another of them changes.
   */
  group?: boolean;
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
  /** Waits for one of the few export slots. Throws DeadlineExceeded when none becomes free. */
  exportSlot(property: string): Promise<ExportSlot>;
  /** Calls `onNotify` for each notification, and `onListen` each time the listener has connected. */
  listen(channel: string, onNotify: (payload: string) => void, onListen?: () => void): Promise<void>;
  close(): Promise<void>;
}

/** Seconds. The driver's own backoff grows to 20, and every caller waits along meanwhile. */
const LONGEST_BACKOFF = 0.25;

export interface ConnectOptions {
  /** Connections per pool: 3 to 4 serve two cores best. */
  size?: number;
  application?: string;
  exportLimits?: ExportLimits;
}

type Settings = (role: string, more?: Record<string, string>) => ConnectionOptions;

/** Opens one pool per role over one URL. */
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
      // Rules compile to large expressions: compiling them to machine code cost 5 times their running time.
      jit: "off",
      idle_in_transaction_session_timeout: "60s",
      // Simulations compute in temporary tables: with the usual 8 MB they take a quarter longer.
      temp_buffers: "64MB",
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
  // A statement that may be long is planned for its values: a rare value may need another index.
  const readers = openPool(url, size, {
    ...settings("app_reader", { plan_cache_mode: "force_custom_plan" }),
    types: jsonAsText as never,
  });
  const shared = openSharedReaders(url, { ...settings("app_reader", SHORT), types: jsonAsText as never });
  // Callers choose the filters of lists: these texts must not displace the service's own prepared ones.
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

/**
 * The driver (3.4.9) keeps counting after a statement that failed between its rows: the next result begins with
 * holes.
 */
function dense(rows: unknown[]): RowValues[] {
  return (rows.length > 0 && !(0 in rows) ? rows.filter(() => true) : rows) as RowValues[];
}

function tenantRole(property: string): string[] {
  if (!isUuid(property)) throw new TypeError("a tenant is named by a uuid");
  return ["set local role app_property", `set local app.property_id = '${property}'`];
}

/** Cancels the query of one of our backends. Only the login role may do so, not the roles that it takes on. */
async function cancelBackend(pool: Pool, backend: number): Promise<void> {
  const statement = `set local role none; select pg_cancel_backend(${backend})`;
  await withClient(pool, 2_000, ({ sql }) => sql.unsafe(statement).simple()).catch(() => {});
}
