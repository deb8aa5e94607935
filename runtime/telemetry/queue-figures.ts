import type { Database } from "#db/database.ts";
import { queueAge, queueJobs, sendingOpen } from "./metrics.ts";

interface QueueRow {
  name: string;
  state: "due" | "waiting" | "running" | "dead";
  count: number;
  age: number;
}

/** Reads the queue into the gauges. */
export async function readQueueFigures(db: Pick<Database, "asSystem">): Promise<void> {
  const [rows, open] = await db.asSystem(
    async (sql) =>
      [
        await sql<QueueRow[]>`
          select name, case when state <> 'ready' then state when run_at <= now() then 'due' else 'waiting' end as state,
            count(*)::int as count, greatest(0, extract(epoch from now() - min(run_at)))::float8 as age
          from queue group by 1, 2`,
        await sql<{ is_open: boolean }[]>`select sending_is_open() as is_open`,
      ] as const,
  );
  queueJobs.reset();
  queueAge.reset();
  for (const { name, state, count, age } of rows) {
    queueJobs.set({ job: name, state }, count);
    if (state === "due") queueAge.set({ job: name }, age);
  }
  sendingOpen.set(open[0]!.is_open ? 1 : 0);
}
