import { createWriteStream, rmSync } from "node:fs";
import { rename, rm, stat } from "node:fs/promises";
import { finished } from "node:stream/promises";
import { invalid } from "#runtime/faults.ts";

/** Where a result goes: stdout, or a file that appears when it is whole. */
export interface Destination {
  stream: NodeJS.WritableStream;
  /** Keeps the file, and returns what is said of it. */
  keep(): Promise<string | null>;
  drop(): Promise<void>;
}

export function toStdout(stream: NodeJS.WritableStream): Destination {
  return { stream, keep: async () => null, drop: async () => {} };
}

const STOPS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * A file that only its owner reads: it may hold people's data. A signal that ends the command takes away the part that
 * is written. Throws `invalid` where none can be written.
 */
export async function toFile(path: string): Promise<Destination> {
  const part = `${path}.part`;
  const file = createWriteStream(part, { mode: 0o600 });
  const onSignal = (signal: NodeJS.Signals) => {
    rmSync(part, { force: true });
    settle();
    process.kill(process.pid, signal);
  };
  const settle = () => {
    for (const signal of STOPS) process.off(signal, onSignal);
  };
  for (const signal of STOPS) process.on(signal, onSignal);
  await new Promise<void>((resolve, reject) => {
    file.once("open", () => resolve());
    file.once("error", (error) => {
      settle();
      reject(invalid("--out", `cannot be written (${error.message})`));
    });
  });
  return {
    stream: file,
    keep: async () => {
      file.end();
      await finished(file);
      await rename(part, path);
      settle();
      const { size } = await stat(path);
      return `Wrote ${path} (${new Intl.NumberFormat("en-US").format(size)} bytes).`;
    },
    drop: async () => {
      file.destroy();
      await rm(part, { force: true });
      settle();
    },
  };
}
