import postgres from "postgres";
import { cuttable, gatheringSocket } from "./socket.ts";

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

/** One connection, used by one piece of work at a time. */
export interface Client {
  sql: postgres.Sql;
  /** The connection was lost since the client was taken: what it held open is gone. */
  lost: boolean;
  /** How often it was lost so far: for work that outlives its turn. */
  losses: number;
  /** Called when that happens. */
  onLost: Set<() => void>;
  /** Ends it at once, whatever it waits for, and for good. */
  cut(): void;
}

export interface Pool {
  take(): Promise<Client>;
  /** Gives a client back to whoever waits. */
  give(client: Client): void;
  /** Gives a client on to the next who waits, behind what has been sent by it; false where nobody does. */
  handOver(client: Client): boolean;
  /** Cuts the client's connection, whatever it waits for, and puts a new one in its place. */
  discard(client: Client): void;
  close(): Promise<void>;
}

type Options = NonNullable<Parameters<typeof postgres>[1]>;

/**
 * Connections that are handed out whole. Each is a postgres.js instance of its own, because it tells of a lost
 * connection by instance only, and writes to the dead socket of a reserved one.
 */
export function openPool(url: string, size: number, options: Options): Pool {
  const idle: Client[] = [];
  const waiting: ((client: Client) => void)[] = [];
  const all = new Set<Client>();
  const opens = gatheringSocket();
  let closed = false;

  const open = (): Client => {
    const { socket, cut } = cuttable(opens);
    const client: Client = { sql: undefined as never, lost: false, losses: 0, onLost: new Set(), cut };
    // The driver knows the option, and its types do not.
    const sockets = { socket };
    client.sql = postgres(url, {
      ...options,
      ...sockets,
      max: 1,
      onclose: () => {
        client.lost = true;
        client.losses++;
        for (const tell of [...client.onLost]) tell();
      },
    });
    all.add(client);
    return client;
  };
  const give = (client: Client) => {
    if (!all.has(client)) return;
    const next = waiting.shift();
    if (!next) return void idle.push(client);
    client.lost = false;
    next(client);
  };
  return {
    take: async () => {
      const client = idle.pop() ?? (all.size < size && !closed ? open() : undefined);
      if (!client) return new Promise((resolve) => waiting.push(resolve));
      client.lost = false;
      return client;
    },
    give,
    handOver: (client) => {
      const wanted = waiting.length > 0 && all.has(client);
      if (wanted) give(client);
      return wanted;
    },
    discard: (client) => {
      if (!all.delete(client)) return;
      client.lost = true;
      client.losses++;
      client.cut();
      void client.sql.end({ timeout: 0 }).catch(() => {});
      if (!closed && waiting.length > 0) give(open());
    },
    close: async () => {
      closed = true;
      await Promise.all([...all].map(({ sql, cut }) => sql.end({ timeout: 5 }).finally(cut)));
    },
  };
}
