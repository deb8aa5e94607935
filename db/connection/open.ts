import { connect, type Socket } from "node:net";
import postgres from "postgres";

/** The database did not answer within the caller's deadline. */
export class DeadlineExceeded extends Error {
  readonly code = "57014";
}

/** The connection went away in the middle: nothing of the transaction was kept, or nobody can tell. */
export class ConnectionLost extends Error {
  readonly code = "CONNECTION_CLOSED";

  constructor(options?: ErrorOptions) {
    super("the connection to the database was lost", options);
  }
}

/**
 * One connection. It is a postgres.js instance of its own, because the driver tells of a lost connection by instance
 * only, and writes to the dead socket of a reserved one.
 */
export interface Client {
  sql: postgres.Sql;
  /** The connection was lost since the client was taken: what it held open is gone. */
  lost: boolean;
  /** Called when that happens. */
  onLost: Set<() => void>;
  /** Ends it at once and for good, whatever it waits for. */
  cut(): void;
  /** Ends it when what was sent has been answered, or after 5 seconds. */
  end(): Promise<void>;
}

export type ConnectionOptions = NonNullable<Parameters<typeof postgres>[1]>;

/** Milliseconds in which the driver fails the queries of a lost connection, if it does at all. */
const ANSWERS_LOSS_WITHIN = 100;

export function openClient(url: string, options: ConnectionOptions): Client {
  const { socket, destroy } = cuttableSocket();
  const onclose = () => {
    client.lost = true;
    for (const tell of [...client.onLost]) tell();
  };
  // The driver knows the option `socket`, and its types do not.
  const own = { ...options, max: 1, onclose, socket };
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

/** Where the driver wants to be connected to. */
interface Address {
  host: string[];
  port: number[];
  path: string | false;
}

/**
 * The sockets of one connection, which can be destroyed for good. An instance of the driver (3.4.9) that is ended
 * while it waits to connect does so all the same, and keeps that connection for ever.
 */
function cuttableSocket() {
  let current: Socket | undefined;
  let isDestroyed = false;
  let attempt = 0;
  return {
    // Not awaited: the driver hears of a failure by the socket's events alone, and sockets queue until they are open.
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

/** The work's result. The driver answers nothing that is sent while a connection breaks: then ConnectionLost. */
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
