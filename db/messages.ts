import { Socket } from "node:net";
import type { Address } from "./socket.ts";

const USUAL_SIZE = 262_144;
const HEADER = 5;
const READY = 0x5a;

/**
 * Sockets that read what PostgreSQL sends into one buffer each, and hand on whole messages out of it. A page of
 * 50 KB then leaves no memory outside JavaScript's heap behind, whose collection was a quarter of the process's
 * time. Whoever listens must have read the bytes when it returns, as the driver has, but for `raw()` and COPY.
 */
export function messageSockets(): (address: Address) => Socket {
  let turn = 0;
  return ({ path, host, port, ssl }) => {
    const place = turn++ % port.length;
    // Below TLS there are no messages.
    const socket = ssl ? new Socket() : messageSocket();
    return path ? socket.connect(path) : socket.connect(port[place]!, host[place]!);
  };
}

function messageSocket(): Socket {
  let bytes = Buffer.allocUnsafeSlow(USUAL_SIZE);
  let filled = 0;
  /** Where the last whole message ends. */
  let whole = 0;
  let ready = false;
  const take = (count: number): boolean => {
    filled += count;
    while (filled - whole >= HEADER) {
      const end = whole + 1 + bytes.readUInt32BE(whole + 1);
      if (end > filled) break;
      ready ||= bytes[whole] === READY;
      whole = end;
    }
    if (whole < filled) {
      if (filled === bytes.length) bytes = Buffer.concat([bytes], 2 * bytes.length);
      return true;
    }
    // What is sent before the first ready is not all read at once: the password's salt is waited with.
    const given = bytes.subarray(0, filled);
    socket.emit("data", ready ? given : Buffer.from(given));
    filled = 0;
    whole = 0;
    if (bytes.length > USUAL_SIZE) bytes = Buffer.allocUnsafeSlow(USUAL_SIZE);
    return true;
  };
  const socket = new Socket({ onread: { buffer: () => bytes.subarray(filled), callback: take } });
  return socket;
}
