import { pino } from "pino";

export type Log = import("pino").Logger;

/** JSON lines on stderr, so that stdout is the result alone. Credentials never reach it. */
export function createLog(level: string): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: {
        paths: ["*.password", "*.secret", "*.api_key", "*.token", "*.authorization", "headers.*"],
        remove: true,
      },
    },
    // With a least length `flush` waits for the written lines. Each line is longer, so none waits for another.
    pino.destination({ dest: 2, sync: false, minLength: 1 }),
  );
}
