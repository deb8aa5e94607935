import postgres from "postgres";

/** A tagged template that runs SQL in the transaction that it belongs to. */
export type Sql = postgres.ReservedSql;

export interface TransactionOptions {
  readOnly?: boolean;
  /** Milliseconds after which the caller is answered 503, whatever the connection does. */
  deadline?: number;
  /** Statements sent ahead of the tenant's role, in the same round trip. */
  before?: string;
}

export interface Database {
  /** Runs `work` in one transaction as the tenant: role, row-level security and property are set in it. */
  asProperty<T>(property: string, work: (sql: Sql) => Promise<T>, options?: TransactionOptions): Promise<T>;
  /** Runs `work` in one transaction over the platform's own tables. */
  asSystem<T>(work: (sql: Sql) => Promise<T>, options?: TransactionOptions): Promise<T>;
  /** One prepared statement as the reader's role, which row-level security lets pass. For db/reader.ts only. */
  read(query: string, parameters: unknown[], deadline?: number): Promise<Record<string, unknown>[]>;
  /** Calls back on each notification, and on each time the listener is connected anew. */
  listen(channel: string, onNotify: (payload: string) => void, onListen?: () => void): Promise<void>;
  close(): Promise<void>;
}

/** The database did not answer within the caller's deadline. */
export class DeadlineExceeded extends Error {
  readonly code = "57014";
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const REQUEST_DEADLINE = 5_000;
const MOST_PREPARED = 1_000;

/** PostgreSQL's text form of a time as ISO 8601 in UTC, microseconds kept. */
function isoTime(text: string): string {
  return `${text.replace(" ", "T")}:00`;
}

const types = {
  date: { to: 1184, from: [1184], serialize: String, parse: isoTime },
  calendar: { to: 1082, from: [1082], serialize: String, parse: String },
  bigint: { to: 20, from: [20], serialize: String, parse: Number },
};

/** The roles' pools over one URL. `size` counts connections a pool (3 to 4 serve two cores best). */
export function connect(url: string, options: { size?: number; application?: string } = {}): Database {
  const pool = (role: string, max: number, lockTimeout: string) =>
    postgres(url, {
      max,
      types: types as never,
      onnotice: () => {},
      idle_timeout: 0,
      max_lifetime: null,
      connect_timeout: 5,
      connection: {
        application_name: options.application ?? "marketing",
        role,
        timezone: "UTC",
        lock_timeout: lockTimeout,
        // Rules compile to large expressions: compiling them to machine code cost 5x their running time.
        jit: "off",
        idle_in_transaction_session_timeout: "60s",
      } as never,
    });
  const size = options.size ?? 4;
  const writer = pool("app_idle", size, "2s");
  const reader = pool("app_reader", size, "2s");
  const listener = pool("app_idle", 1, "2s");
  const prepared = new Set<string>();

  return {
    asProperty: async (property, work, transaction = {}) => {
      if (!UUID.test(property)) throw new TypeError("asProperty needs a uuid");
      return transact(
        writer,
        `set local role app_property; set local app.property_id = '${property}'`,
        work,
        transaction,
      );
    },
    asSystem: (work, transaction = {}) => transact(writer, "set local role app_system", work, transaction),
    read: (query, parameters, deadline = REQUEST_DEADLINE) => {
      // A connection keeps every statement that it has prepared, so the texts must not grow without end.
      const prepare = prepared.has(query) || prepared.size < MOST_PREPARED;
      if (prepare) prepared.add(query);
      const rows = reader.unsafe(query, parameters as never[], { prepare });
      return withDeadline(rows as unknown as Promise<Record<string, unknown>[]>, deadline);
    },
    listen: async (channel, onNotify, onListen) => {
      await listener.listen(channel, onNotify, onListen);
    },
    close: async () => {
      await Promise.all([writer, reader, listener].map((one) => one.end({ timeout: 5 })));
    },
  };
}

async function transact<T>(
  pool: postgres.Sql,
  role: string,
  work: (sql: Sql) => Promise<T>,
  { readOnly, before, deadline = REQUEST_DEADLINE }: TransactionOptions,
): Promise<T> {
  const sql = await reserve(pool, deadline);
  let finished = false;
  const run = async (): Promise<T> => {
    try {
      // Not awaited: the handler's first query follows on the wire at once.
      const opening = sql.unsafe(
        `begin${readOnly ? " read only" : ""}; ${before ? `${before}; ` : ""}${role}`,
      );
      const opened = opening.simple().then(
        () => null,
        (error: unknown) => ({ error }),
      );
      const result = await settle(work(sql), opened);
      await sql.unsafe("commit");
      finished = true;
      return result;
    } finally {
      if (!finished) await sql.unsafe("rollback").then(undefined, () => {});
      sql.release();
    }
  };
  return withDeadline(run(), deadline);
}

/** The work's result, or the error of the opening statements, which explains any that followed. */
async function settle<T>(work: Promise<T>, opened: Promise<{ error: unknown } | null>): Promise<T> {
  const [outcome, failed] = await Promise.all([
    work.then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    ),
    opened,
  ]);
  if (failed) throw failed.error;
  if ("error" in outcome) throw outcome.error;
  return outcome.value;
}

async function reserve(pool: postgres.Sql, deadline: number): Promise<Sql> {
  const reserving = pool.reserve();
  try {
    return await withDeadline(reserving, deadline);
  } catch (error) {
    void reserving.then(
      (late) => late.release(),
      () => {},
    );
    throw error;
  }
}

async function withDeadline<T>(promise: Promise<T>, milliseconds: number): Promise<T> {
  if (milliseconds === Number.POSITIVE_INFINITY) return promise;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new DeadlineExceeded(`no answer within ${milliseconds} ms`)),
      milliseconds,
    );
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
