import { connect, type Socket } from "node:net";

/** postgres.js (3.4.9) sends at once from this many bytes on, and gathers what is less until the loop's end. */
const SENT_AT_ONCE = 1024;

/** Where the driver wants to be connected to. */
export interface Address {
  host: string[];
  port: number[];
  path: string | false;
  ssl: unknown;
}

type Opens = (address: Address) => Socket;

/**
 * One connection's sockets, which can be cut for good. An instance of the driver (3.4.9) that is ended while it
 * waits to connect does so all the same, and keeps that connection for ever.
 */
export function cuttable(open: Opens): { socket: Opens; cut(): void } {
  let current: Socket | undefined;
  let isCut = false;
  return {
    socket: (address) => {
      if (isCut) throw new Error("the connection was given up");
      current = open(address);
      return current;
    },
    cut: () => {
      isCut = true;
      current?.destroy();
    },
  };
}

/**
 * Sockets for postgres.js that send a long statement together with what follows it in the same turn of the loop,
 * such as the commit. Each write costs as much as a short statement does.
 */
export function gatheringSocket() {
  let attempt = 0;
  return ({ host, port, path }: Address): Socket => {
    const at = attempt++ % host.length;
    // Not awaited: the driver hears of a failure by the socket's events alone, and sockets queue until they are open.
    const socket = path ? connect(path) : connect(port[at]!, host[at]!);
    const send = socket.write;
    let gathering = false;
    const flush = () => {
      gathering = false;
      socket.uncork();
    };
    socket.write = ((chunk: Uint8Array | string, ...rest: never[]) => {
      if (!gathering && chunk.length >= SENT_AT_ONCE) {
        gathering = true;
        socket.cork();
        // What follows is written by an immediate that is set in this turn: ours must come after it.
        process.nextTick(setImmediate, flush);
      }
      return send.call(socket, chunk, ...rest);
    }) as Socket["write"];
    return Object.assign(socket, { host: host[at], port: port[at] });
  };
}
