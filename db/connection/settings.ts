import type { ConnectionOptions } from "./open.ts";
import { OVERTIME, REQUEST_DEADLINE } from "./transaction.ts";

/** The options of a connection that has this role, and more settings of its session. */
export type Settings = (role: string, more?: Record<string, string>) => ConnectionOptions;

/** Seconds. The driver's own backoff grows to 20, and every caller waits along meanwhile. */
const LONGEST_BACKOFF = 0.25;

export function settingsOf(application = "marketing"): Settings {
  return (role, more = {}) => ({
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
      // Rules compile to large expressions: compiling them to machine code cost 5 times their running time.
      jit: "off",
      idle_in_transaction_session_timeout: "60s",
      // Simulations compute in temporary tables: with the usual 8 MB they take a quarter longer.
      temp_buffers: "64MB",
      ...more,
    } as never,
  });
}
