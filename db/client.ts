import postgres from "postgres";
import { FLOW_LIMITS, type FlowLimits, LANES, type Lane, openLanes } from "./lanes.ts";
import { type Client, ConnectionLost, DeadlineExceeded, openPool, type Pool } from "./pool.ts";
import { openShared, SHORT } from "./shared.ts";
import { cuttable, gatheringSocket } from "./socket.ts";
import { jsonAsText, types } from "./types.ts";

/** A tagged template that runs SQL in the transaction that it belongs to. */
export type Sql = postgres.Sql;

export interface TransactionOptions {
  readOnly?: boolean;
  /** Milliseconds after which the caller is answered 503, whatever the connection does. */
  deadline?: number;
  /** Statements sent ahead of the tenant's role, in the same round trip. */
  before?: string;
  /** Called when these have been done. */
  onBegun?: () => void;
}

/**
 * What runs in a transaction. Statements given to `last` are not awaited by it: they go out together with the
 * commit, in one round trip, and undo everything when one fails.
 */
export type Work<T> = (sql: Sql, last: (statement: PromiseLike<unknown>) => void) => Promise<T>;

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
const REQUEST_DEADLINE = 5_000;
/** A query that nobody waits for any more ends by itself so long after: cutting its connection does not stop it. */
const OVERTIME = 1_000;
const MOST_PREPARED = 1_000;
/** Milliseconds in which the driver fails what a lost connection was asked, if it does at all. */
const ANSWERS_LOSS_WITHIN = 100;
/** Seconds. Left to itself, the driver comes to wait for 20 of them, and whoever asks meanwhile waits along. */
const LONGEST_BACKOFF = 0.25;

export interface ConnectOptions {
  /** Connections a pool: 3 to 4 serve two cores best. */
  size?: number;
  application?: string;
  flowLimits?: FlowLimits;
}

/** The roles' pools over one URL. */
export function connect(url: string, options: ConnectOptions = {}): Database {
  const settings = (role: string, more: Record<string, string> = {}) => ({
    types: types as never,
    fetch_types: false,
    onnotice: () => {},
    idle_timeout: 0,
    max_lifetime: null,
    connect_timeout: 5,
    backoff: (failures: number) => (0.5 + Math.random() / 2) * Math.min(3 ** failures / 100, LONGEST_BACKOFF),
    connection: {
      application_name: options.application ?? "marketing",
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
  const size = options.size ?? 4;
  const writers = openPool(url, size, settings("app_idle"));
  // What is not known to be short is worth planning for its values: a rare one may need another index.
  const readers = openPool(url, size, {
    ...settings("app_reader", { plan_cache_mode: "force_custom_plan" }),
    types: jsonAsText as never,
  });
  const shared = openShared(url, { ...settings("app_reader", SHORT), types: jsonAsText as never });
  const lanes = openLanes(
    openPool(url, LANES, settings("app_idle", { statement_timeout: "0" })),
    options.flowLimits ?? FLOW_LIMITS,
    (backend) => stopQuery(writers, backend),
  );
  const listening = cuttable(gatheringSocket());
  const sockets = { socket: listening.socket };
  const listener = postgres(url, { ...settings("app_idle"), ...sockets, max: 1 });
  const prepared = new Set<string>();

  return {
    asProperty: async (property, work, transaction = {}) => {
      return transact(writers, tenantRole(property), work, transaction);
    },
    asSystem: (work, transaction = {}) => transact(writers, "set local role app_system", work, transaction),
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
    lane: async (property) => lanes.open(property, tenantRole(property)),
    listen: async (channel, onNotify, onListen) => {
      await listener.listen(channel, onNotify, onListen);
    },
    close: async () => {
      await Promise.all([
        writers.close(),
        readers.close(),
        shared.close(),
        lanes.close(),
        listener.end({ timeout: 5 }).finally(listening.cut),
      ]);
    },
  };
}

/** The driver (3.4.9) counts on from a statement that failed between its rows, and begins the next result with holes. */
function dense(rows: unknown[]): Row[] {
  return (rows.length > 0 && !(0 in rows) ? rows.filter(() => true) : rows) as Row[];
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

function transact<T>(
  pool: Pool,
  role: string,
  work: Work<T>,
  { readOnly, before, onBegun, deadline = REQUEST_DEADLINE }: TransactionOptions,
): Promise<T> {
  return withClient(pool, deadline, async (client, handOver) => {
    const { sql, losses } = client;
    const isLost = () => client.losses !== losses;
    // Not awaited: the handler's first query follows on the wire at once.
    const opening = [
      `begin${readOnly ? " read only" : ""}`,
      ...(deadline === REQUEST_DEADLINE ? [] : [`set local statement_timeout = ${timeoutOf(deadline)}`]),
      ...(before ? [before] : []),
      role,
    ];
    const opened = sql
      .unsafe(opening.join("; "))
      .simple()
      .then(
        () => {
          onBegun?.();
          return null;
        },
        (error: unknown) => ({ error }),
      );
    const final: Promise<unknown>[] = [];
    let result: T;
    try {
      result = await settle(
        work(sql, (statement) => {
          const sent = Promise.resolve(statement);
          // Heard even where the connection is lost before anybody waits for it.
          sent.catch(() => {});
          final.push(sent);
        }),
        opened,
      );
      // On a connection that came back by itself there is no transaction left to commit.
      if (isLost()) throw new ConnectionLost();
    } catch (error) {
      if (isLost()) throw error instanceof ConnectionLost ? error : new ConnectionLost({ cause: error });
      await sql.unsafe("rollback").then(undefined, () => {});
      throw isLost() ? new ConnectionLost({ cause: error }) : error;
    }
    // The transaction ends here in any case: where a statement has failed, this rolls it back. So the next one may
    // begin behind it, in the same write.
    const ending = Promise.all([...final, sql.unsafe("commit")]);
    handOver();
    const failed = await ending.then(
      () => null,
      (error: unknown) => ({ error }),
    );
    if (isLost()) throw new ConnectionLost({ cause: failed?.error });
    if (failed) throw failed.error;
    return result;
  });
}

/** Milliseconds for the server, where 0 is no limit. */
function timeoutOf(deadline: number): number {
  return Number.isFinite(deadline) ? Math.ceil(deadline) + OVERTIME : 0;
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

/** Runs `work` on a connection of its own. One that has not answered by the deadline, or was lost, is cut. */
async function withClient<T>(
  pool: Pool,
  deadline: number,
  work: (client: Client, handOver: () => void) => PromiseLike<T>,
): Promise<T> {
  const startedAt = performance.now();
  const taking = pool.take();
  let client: Client;
  try {
    client = await withDeadline(taking, deadline);
  } catch (error) {
    void taking.then(pool.give);
    throw error;
  }
  let gone = false;
  let isCut = false;
  const cut = () => {
    isCut = true;
    pool.discard(client);
  };
  const handOver = () => {
    gone = pool.handOver(client);
  };
  try {
    const given = whileHeld(client, work(client, handOver), cut);
    const result = await withDeadline(given, deadline - (performance.now() - startedAt));
    if (!gone) pool.give(client);
    return result;
  } catch (error) {
    // Whoever has it by now waits behind the same silence. One that came back by itself may have begun what the
    // driver had not sent yet, and nobody would end it.
    if (error instanceof DeadlineExceeded || (error instanceof ConnectionLost && !gone && !isCut)) cut();
    else if (!gone && !isCut) pool.give(client);
    throw error;
  }
}

/** The driver answers nothing that is sent while a connection breaks, and what it kept open is gone in any case. */
async function whileHeld<T>(client: Client, work: PromiseLike<T>, cut: () => void): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const { promise: lost, reject } = Promise.withResolvers<never>();
  const onLost = () => {
    timer ??= setTimeout(() => {
      cut();
      reject(new ConnectionLost());
    }, ANSWERS_LOSS_WITHIN);
  };
  client.onLost.add(onLost);
  try {
    return await Promise.race([work, lost]);
  } finally {
    clearTimeout(timer);
    client.onLost.delete(onLost);
  }
}

async function withDeadline<T>(promise: PromiseLike<T>, milliseconds: number): Promise<T> {
  if (milliseconds === Number.POSITIVE_INFINITY) return promise;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new DeadlineExceeded(`no answer within ${milliseconds} ms`)),
      Math.max(0, milliseconds),
    );
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
