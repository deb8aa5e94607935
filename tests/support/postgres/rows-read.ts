import postgres from "postgres";
import { type MockInstance, vi } from "vitest";
import { settingsOf } from "#db/connection/settings.ts";
import type { Database } from "#db/database.ts";
import { query, raw } from "#db/sql.ts";
import type { ExportSource } from "#db/stream/export.ts";
import { jsonAsText } from "#db/types.ts";
import type { TestService } from "../service.ts";

/** Rows by the table's name. A partition's rows are its table's. */
type RowsRead = Record<string, number>;

export interface RowCounter {
  /** The rows that the service's statements read meanwhile. */
  during<T>(work: () => Promise<T>): Promise<{ result: T; read: RowsRead }>;
  stop(): Promise<void>;
}

/** The server reports a transaction's figures at its end, and not a second later. */
const REPORT = "select pg_stat_force_next_flush()";

/**
 * Counts what the service's transactions and lists read, their checks of foreign keys among them. It counts everything
 * that runs at the time, so one thing runs at a time.
 */
export function countRows({ internals, database }: TestService): RowCounter {
  const { db } = internals;
  const settings = settingsOf("rows_read")("app_reader");
  const sql = postgres(database.url, { ...settings, types: jsonAsText as never, max: 1 });
  const { asProperty, asSystem, exportSlot } = db;
  const spies: MockInstance[] = [
    vi
      .spyOn(db, "asProperty")
      .mockImplementation((property, work, options) => asProperty(property, work, reporting(options))),
    vi.spyOn(db, "asSystem").mockImplementation((work, options) => asSystem(work, reporting(options))),
    vi.spyOn(db, "exportSlot").mockImplementation(async (property, caller) => {
      const slot = await exportSlot(property, caller);
      return { ...slot, start: (source) => slot.start((copy) => reported(copy, source)) };
    }),
    vi.spyOn(db, "read").mockImplementation(async (statement, { short = false } = {}) => {
      await sql.unsafe(`set plan_cache_mode = force_${short ? "generic" : "custom"}_plan`);
      await sql.unsafe(REPORT);
      return query(sql, statement).values() as never;
    }),
  ];
  const counts = async (): Promise<RowsRead> => {
    const tables = await sql<{ name: string; rows: string }[]>`
      select c.relname as name, sum(s.seq_tup_read + coalesce(s.idx_tup_fetch, 0)) as rows
      from pg_stat_user_tables s join pg_class c on c.oid = coalesce(pg_partition_root(s.relid), s.relid) group by 1`;
    return Object.fromEntries(tables.map(({ name, rows }) => [name, Number(rows)]));
  };
  return {
    during: async (work) => {
      const before = await counts();
      const result = await work();
      const after = Object.entries(await counts());
      return {
        result,
        read: Object.fromEntries(after.map(([name, rows]) => [name, rows - (before[name] ?? 0)])),
      };
    },
    stop: async () => {
      for (const spy of spies) spy.mockRestore();
      await sql.end();
    },
  };
}

async function* reported(copy: Parameters<ExportSource>[0], source: ExportSource): AsyncGenerator<Buffer> {
  for await (const _ of copy(raw(REPORT)));
  yield* source(copy);
}

type Options = Parameters<Database["asSystem"]>[1];

function reporting(options: Options = {}): NonNullable<Options> {
  return { ...options, before: [REPORT, ...(options.before ?? [])] };
}
