import type postgres from "postgres";
import type { ReadRows, RowValues } from "#db/query/reader.ts";
import { query } from "#db/sql.ts";
import { jsonAsText } from "#db/types.ts";
import { openPool } from "./pool.ts";
import type { Settings } from "./settings.ts";
import { openSharedReaders, SHORT } from "./shared-readers.ts";
import type { Standby } from "./standby.ts";
import { REQUEST_DEADLINE, withClient } from "./transaction.ts";

export interface Reading {
  read: ReadRows;
  close(): Promise<void>;
}

export function openReading(url: string, size: number, settings: Settings): Reading {
  // A statement that may be long is planned for its values: a rare value may need another index.
  const readers = openPool(url, size, {
    ...settings("app_reader", { plan_cache_mode: "force_custom_plan" }),
    types: jsonAsText as never,
  });
  const shared = openSharedReaders(url, { ...settings("app_reader", SHORT), types: jsonAsText as never });
  // Callers choose the filters of lists: these texts must not displace the service's own prepared ones.
  const listTexts = new Set<string>();
  return {
    read: async (statement, { short = false, deadline = REQUEST_DEADLINE } = {}) => {
      const run = (sql: postgres.Sql) => query(sql, statement, listTexts).values().then(dense);
      const startedAt = performance.now();
      if (short) {
        const rows = await shared.run(`${statement.values[0]} ${statement.texts.join("?")}`, run, deadline);
        if (rows) return rows;
      }
      return withClient(readers, deadline - (performance.now() - startedAt), ({ sql }) => run(sql));
    },
    close: async () => {
      await Promise.all([readers.close(), shared.close()]);
    },
  };
}

/** The standby answers the callers that it serves. A read that fails there runs again on the primary. */
export function besideStandby(primary: Reading, copy: Reading, standby: Standby): Reading {
  return {
    read: async (statement, options = {}) => {
      const { caller, deadline = REQUEST_DEADLINE } = options;
      if (caller === undefined || !standby.serves(caller)) return primary.read(statement, options);
      const startedAt = performance.now();
      try {
        return await copy.read(statement, { ...options, deadline: deadline / 2 });
      } catch (error) {
        standby.failed(error);
        const left = deadline - (performance.now() - startedAt);
        return primary.read(statement, { ...options, deadline: left });
      }
    },
    close: async () => {
      await Promise.all([primary.close(), copy.close()]);
    },
  };
}

/**
 * The driver (3.4.9) keeps counting after a statement that failed between its rows: the next result begins with
 * holes.
 */
function dense(rows: unknown[]): RowValues[] {
  return (rows.length > 0 && !(0 in rows) ? rows.filter(() => true) : rows) as RowValues[];
}
