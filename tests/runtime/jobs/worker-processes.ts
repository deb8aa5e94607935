import { randomUUID } from "node:crypto";
import { pino } from "pino";
import { z } from "zod";
import type { Database } from "#db/database.ts";
import { openChannels } from "#runtime/channels/index.ts";
import { readConfig } from "#runtime/config.ts";
import { enqueue } from "#runtime/jobs/queue.ts";
import { startWorker, type WorkerOptions } from "#runtime/jobs/worker.ts";
import { openMailDomains } from "#runtime/network/mail-domains.ts";
import { outgoing } from "#runtime/network/outgoing.ts";
import { type Job, type JobContext, job } from "#runtime/operation/job.ts";
import { openService } from "#transports/start/service.ts";
import { testDatabase } from "../../support/database.ts";

export interface QueueRow {
  id: string;
  name: string;
  input: { n?: number };
  state: string;
  attempts: number;
  interruptions: number;
  dedupe: string | null;
  last_error: string | null;
  /** Seconds from now. */
  due_in: number;
}

/** A job for tests, whose input is `{ n }`. */
export function testJob(
  name: string,
  handler: (context: JobContext, input: { n: number }) => Promise<void> = async () => {},
  options: { attempts?: number; every?: string } = {},
): Job<{ n: number }> {
  const input = z.object({ n: z.number().default(0) }) as z.ZodType<{ n: number }>;
  return job({ name, input, attempts: 3, ...options, handler });
}

/** A database with two properties, in which workers are started as if each were a process of its own. */
export async function openWorkers() {
  const { url, db, drop } = await testDatabase();
  const lines: { level: number; msg: string }[] = [];
  const log = pino({ level: "info" }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const config = readConfig({ APP_SECRET: randomUUID().repeat(2) });
  const closers: (() => Promise<unknown>)[] = [];
  const channels = openChannels({ allowPrivate: true });
  const post = outgoing({ allowPrivate: true, allowHttp: true });
  const [river, rival] = await db.asSystem(
    (sql) => sql<{ id: string }[]>`
      insert into properties (name, slug) values ('River', 'river'), ('Rival', 'rival') returning id`,
  );

  const process = async () => {
    const opened = await openService({ config, databaseUrl: url, log });
    closers.push(opened.close);
    return opened;
  };
  return {
    url,
    db,
    lines,
    log,
    config,
    property: river!.id,
    rival: rival!.id,
    /** A worker with connections of its own. It is stopped at the end, if it is not before. */
    worker: async (jobs: readonly Job<{ n: number }>[], options: Partial<WorkerOptions> = {}) => {
      const worker = startWorker({
        ...(await process()),
        jobRuntime: {
          outgoing: post,
          open: channels.open,
          mailDomains: openMailDomains([]),
          run: async () => null,
        },
        jobs,
        ...options,
      });
      closers.unshift(() => worker.stop({ graceMs: 0 }));
      return worker;
    },
    process,
    put: (one: Job<{ n: number }>, n = 0, options: Parameters<typeof enqueue>[3] = {}) =>
      db.asSystem((sql) => enqueue(sql, one, { n }, options)),
    rows: () => rows(db),
    close: async () => {
      for (const close of closers) await close();
      await channels.close();
      await post.close();
      await drop();
    },
  };
}

function rows(db: Database): Promise<QueueRow[]> {
  return db.asSystem(
    (sql) => sql<QueueRow[]>`
      select id, name, input, state, attempts, interruptions, dedupe, last_error,
        extract(epoch from run_at - now())::float8 as due_in
      from queue order by run_at, id`,
  );
}
