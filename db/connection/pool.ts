import { type Client, type ConnectionOptions, openClient } from "./open.ts";

export interface Pool {
  take(): Promise<Client>;
  /** Takes a client back, unless it was discarded. */
  give(client: Client): void;
  /** Cuts the client's connection, even while it waits, and opens a new one in its place. */
  discard(client: Client): void;
  close(): Promise<void>;
}

/** A pool of connections: each is handed to one caller at a time. */
export function openPool(url: string, size: number, options: ConnectionOptions): Pool {
  const idle: Client[] = [];
  const waiting: ((client: Client) => void)[] = [];
  const all = new Set<Client>();
  let closed = false;

  const open = (): Client => {
    const client = openClient(url, options);
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
    discard: (client) => {
      if (!all.delete(client)) return;
      client.cut();
      if (!closed && waiting.length > 0) give(open());
    },
    close: async () => {
      closed = true;
      await Promise.all([...all].map((client) => client.end()));
    },
  };
}
