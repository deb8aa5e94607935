import { connect, type Socket } from "node:net";
import postgres from "postgres";
import { types } from "#db/types.ts";

/** The database did not answer within the caller's deadline. */
export class DeadlineExceeded extends Error {
  readonly code = "57014";
}

/** A transaction that the database had begun did not end within its deadline: its own work is too slow, or is locked out. */
export class TransactionOverrun extends DeadlineExceeded {
  constructor(deadline: number) {
    super(`no answer within ${deadline} ms, so the transaction was rolled back`);
  }
}

/** The connection or the commit failed: the transaction was rolled back, or its outcome is unknown. */
export class ConnectionLost extends Error {
  readonly code = "CONNECTION_CLOSED";

  constructor(options?: ErrorOptions) {
    super("the connection to the database was lost", options);
  }
}

/**
 * One connection, as a postgres.js instance of its own. The driver reports a lost connection per instance only, and
 * writes to the dead socket of a reserved one.
 */
export interface Client {
  sql: postgres.Sql;
  /** The connection was lost: its transaction is gone. The driver's next connection begins with what is left of it. */
  lost: boolean;
  /** Called when the connection is lost. */
  onLost: Set<() => void>;
  /** Destroys the connection at once and for good, even while it waits. */
  cut(): void;
  /** Ends the connection when all sent queries are answered, or after 5 seconds. */
  end(): Promise<void>;
}

export type ConnectionOptions = NonNullable<Parameters<typeof postgres>[1]>;

/** Milliseconds within which the driver fails the queries of a lost connection, if it does so at all. */
const ANSWERS_LOSS_WITHIN = 100;

export function openClient(url: string, options: ConnectionOptions): Client {
  const { socket, destroy } = cuttableSocket();
  const onclose = () => {
    client.lost = true;
    for (const tell of [...client.onLost]) tell();
  };
  // The driver knows the option `socket`, and its types do not. To fetch types makes a query whose failure ends the
  // process.
  const own = { types: types as never, ...options, fetch_types: false, max: 1, onclose, socket };
  const sql = postgres(url, own);
  const client: Client = {
    sql,
    lost: false,
    onLost: new Set(),
    cut: () => {
      client.lost = true;
      destroy();
      void sql.end({ timeout: 0 }).catch(() => {});
    },
    end: () => sql.end({ timeout: 5 }).finally(destroy),
  };
  return client;
}

/** The address that the driver connects to. */
interface Address {
  host: string[];
  port: number[];
  path: string | false;
}

/**
 * The sockets of one connection, which can be destroyed for good. The driver (3.4.9) connects even when it is ended
 * while it waits to connect, and then keeps that connection forever.
 */
function cuttableSocket() {
  let current: Socket | undefined;
  let isDestroyed = false;
  let attempt = 0;
  return {
    // Not awaited: the driver learns of a failure by socket events only, and a socket queues writes until it is open.
    socket: ({ host, port, path }: Address): Socket => {
      if (isDestroyed) throw new Error("the connection was given up");
      const at = attempt++ % host.length;
      current = path ? connect(path) : connect(port[at]!, host[at]!);
      return Object.assign(current, { host: host[at], port: port[at] });
    },
    destroy: () => {
      isDestroyed = true;
      current?.destroy();
    },
  };
}

/**
 * Resolves with the work's result, or throws ConnectionLost. The driver answers no query that is sent while a
 * connection breaks.
 */
export async function unlessLost<T>(client: Client, work: PromiseLike<T>, cut: () => void): Promise<T> {
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

export async function withDeadline<T>(promise: PromiseLike<T>, milliseconds: number): Promise<T> {
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

/**
 * A command in the service's own words, which takes no parameters: `begin`, SET, COPY, or a change of the schema. Names
 * in it come from code, never from a request.
 */
export function command<R extends readonly object[] = postgres.Row[]>(
  driver: Pick<postgres.Sql, "unsafe">,
  text: string,
) {
  return driver.unsafe<R & object[]>(text);
}

export interface Pool {
  /** Throws ConnectionLost once the pool closes. */
  take(): Promise<Client>;
  /** Takes a client back, unless it was discarded. A lost one is discarded. */
  give(client: Client): void;
  /** Cuts the client's connection, even while it waits, and opens a new one in its place. */
  discard(client: Client): void;
  /** Takes no more callers, waits for those that have a client or wait for one, and ends the connections. */
  close(): Promise<void>;
}

/** Milliseconds. A client that is still out then is cut. */
const CLOSES_WITHIN = 5_000;

/** A pool of connections: each is handed to one caller at a time. */
export function openPool(url: string, size: number, options: ConnectionOptions): Pool {
  const idle: Client[] = [];
  const waiting: PromiseWithResolvers<Client>[] = [];
  const all = new Set<Client>();
  const drained = Promise.withResolvers<void>();
  let closed = false;

  const open = (): Client => {
    const client = openClient(url, options);
    all.add(client);
    return client;
  };
  const give = (client: Client) => {
    if (client.lost) return discard(client);
    if (!all.has(client)) return;
    const next = waiting.shift();
    if (next) return next.resolve(client);
    idle.push(client);
    noteDrained();
  };
  const discard = (client: Client) => {
    if (!all.delete(client)) return;
    client.cut();
    if (waiting.length > 0) give(open());
    noteDrained();
  };
  const noteDrained = () => {
    if (closed && idle.length === all.size) drained.resolve();
  };
  const takeIdle = (): Client | undefined => {
    const client = idle.pop();
    if (!client?.lost) return client;
    discard(client);
    return takeIdle();
  };
  return {
    take: async () => {
      if (closed) throw new ConnectionLost();
      const client = takeIdle() ?? (all.size < size ? open() : undefined);
      if (client) return client;
      const next = Promise.withResolvers<Client>();
      waiting.push(next);
      return next.promise;
    },
    give,
    discard,
    close: async () => {
      closed = true;
      noteDrained();
      await withDeadline(drained.promise, CLOSES_WITHIN).catch(() => {
        for (const next of waiting.splice(0)) next.reject(new ConnectionLost());
        for (const client of all) if (!idle.includes(client)) discard(client);
      });
      await Promise.all([...all].map((client) => client.end()));
    },
  };
}
