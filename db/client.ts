import postgres from "postgres";
import { FLOW_LIMITS, type FlowLimits, LANES, type Lane, openLanes } from "./lanes.ts";
import { openPool, type Pool } from "./pool.ts";
import { openShared, SHORT } from "./shared.ts";
import { cuttable, gatheringSocket } from "./socket.ts";
import { openTogether } from "./together.ts";
import { OVERTIME, REQUEST_DEADLINE, type Sql, transact, type Work, withClient } from "./transaction.ts";
import { jsonAsText, types } from "./types.ts";

export type { Sql, Work } from "./transaction.ts";

export interface TransactionOptions {
  readOnly?: boolean;
  /** Milliseconds after which the caller is answered 503, whatever the connection does. */
  deadline?: number;
  /** Statements sent ahead of the tenant's role, in the same round trip. */
  before?: string;
  /** Called when these have been done. */
  onBegun?: () => void;
  /** It may share its transaction with others of the tenant that begin like it. Throws NotTogether. */
  together?: boolean;
}

/** The values of a row, in the order of its columns; JSON as PostgreSQL wrote it. */
export type Row = unknown[];

export interface ReadOptions {
  /** An index leads straight to the few rows, so it may share a connection. It is run again where that is not so. */
  short?: boolean;
  deadline?: number;
}

export interface Database {
  /** Runs `work` in one transaction as the tenant: role, row-level security and property are set in it. */
  asProperty<T>(property: string, work: Work<T>, options?: TransactionOptions): Promise<T>;
  /** Runs `work` in one transaction over the platform's own tables. */
  asSystem<T>(work: Work<T>, options?: TransactionOptions): Promise<T>;
  /** One prepared statement as the reader's role, which row-level security lets pass. For db/reader.ts only. */
  read(query: string, parameters: unknown[], options?: ReadOptions): Promise<Row[]>;
  /** A connection for bytes that flow out as the tenant. Throws DeadlineExceeded when all lanes stay taken. */
  lane(property: string): Promise<Lane>;
  /** Calls back on each notification, and on each time the listener is connected anew. */
  listen(channel: string, onNotify: (payload: string) => void, onListen?: () => void): Promise<void>;
  close(): Promise<void>;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const MOST_PREPARED = 1_000;
const LOCKED_TOGETHER = "100ms";
/** Seconds. Left to itself, the driver comes to wait for 20 of them, and whoever asks meanwhile waits along. */
const LONGEST_BACKOFF = 0.25;

export interface ConnectOptions {
  /** Connections a pool: 3 to 4 serve two cores best. */
  size?: number;
  application?: string;
  flowLimits?: FlowLimits;
}

type Settings = (role: string, more?: Record<string, string>) => NonNullable<Parameters<typeof postgres>[1]>;

/** The roles' pools over one URL. */
export function connect(url: string, options: ConnectOptions = {}): Database {
  const settings = settingsOf(options);
  const size = options.size ?? 4;
  const writers = openPool(url, size, settings("app_idle"));
  const reading = openReading(url, size, settings);
  const lanes = openLanes(
    openPool(url, LANES, settings("app_idle", { statement_timeout: "0" })),
    options.flowLimits ?? FLOW_LIMITS,
    (backend) => stopQuery(writers, backend),
  );
  const listening = cuttable(gatheringSocket());
  const sockets = { socket: listening.socket };
  const listener = postgres(url, { ...settings("app_idle"), ...sockets, max: 1 });
  return {
    ...writing(writers),
    read: reading.read,
    lane: async (property) => lanes.open(property, tenantRole(property)),
    listen: async (channel, onNotify, onListen) => {
      await listener.listen(channel, onNotify, onListen);
    },
    close: async () => {
      await Promise.all([
        writers.close(),
        reading.close(),
        lanes.close(),
        listener.end({ timeout: 5 }).finally(listening.cut),
      ]);
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
  const alone = async <T>(role: string, work: Work<T>, transaction: TransactionOptions): Promise<T> => {
    const statements = [openingOf(role, transaction)];
    const [result] = await transact(writers, [work], { ...transaction, statements });
    return result!;
  };
  const together = openTogether((opening, works) => {
    // Who has to wait for a lock has to wait alone.
    const hurry = works.length > 1 ? [`set local lock_timeout = '${LOCKED_TOGETHER}'`] : [];
    return transact(writers, works, { statements: [...hurry, opening] });
  });
  return {
    asProperty: async (property, work, transaction = {}) => {
      const role = tenantRole(property);
      if (!transaction.together) return alone(role, work, transaction);
      return together.join(openingOf(role, transaction), work, transaction.deadline);
    },
    asSystem: (work, transaction = {}) => alone("set local role app_system", work, transaction),
  };
}

function openReading(url: string, size: number, settings: Settings): Pick<Database, "read" | "close"> {
  // What is not known to be short is worth planning for its values: a rare one may need another index.
  const readers = openPool(url, size, {
    ...settings("app_reader", { plan_cache_mode: "force_custom_plan" }),
    types: jsonAsText as never,
  });
  const shared = openShared(url, { ...settings("app_reader", SHORT), types: jsonAsText as never });
  const prepared = new Set<string>();
  return {
    read: async (query, parameters, { short = false, deadline = REQUEST_DEADLINE } = {}) => {
      // A connection keeps every statement that it has prepared, so the texts must not grow without end.
      const prepare = prepared.has(query) || prepared.size < MOST_PREPARED;
      if (prepare) prepared.add(query);
      const run = (sql: Sql) =>
        sql
          .unsafe(query, parameters as never[], { prepare })
          .values()
          .then(dense);
      const startedAt = performance.now();
      if (short && prepare) {
        const rows = await shared.run(`${parameters[0]} ${query}`, run, deadline);
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
function dense(rows: unknown[]): Row[] {
  return (rows.length > 0 && !(0 in rows) ? rows.filter(() => true) : rows) as Row[];
}

function openingOf(role: string, { before }: TransactionOptions): string {
  return before ? `${before}; ${role}` : role;
}

function tenantRole(property: string): string {
  if (!UUID.test(property)) throw new TypeError("a tenant is named by a uuid");
  return `set local role app_property; set local app.property_id = '${property}'`;
}

/** Cancels what a backend of ours runs. Only the login itself may, and none of the roles that it takes on. */
async function stopQuery(pool: Pool, backend: number): Promise<void> {
  const statement = `set local role none; select pg_cancel_backend(${backend})`;
  await withClient(pool, 2_000, ({ sql }) => sql.unsafe(statement).simple()).catch(() => {});
}
