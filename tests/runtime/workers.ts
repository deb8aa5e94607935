import { randomUUID } from "node:crypto";
import { pino } from "pino";
import { z } from "zod";
import { connect, type Database } from "#db/client.ts";
import { openChannels } from "#runtime/channels/index.ts";
import { readConfig } from "#runtime/config.ts";
import { openDirectory } from "#runtime/directory.ts";
import { openMailDomains } from "#runtime/mail-domains.ts";
import { type Job, type JobContext, job } from "#runtime/operation.ts";
import { outgoing } from "#runtime/outgoing.ts";
import { enqueue } from "#runtime/queue.ts";
import { openSessions } from "#runtime/sessions.ts";
import { startWorker, type WorkerOptions } from "#runtime/worker.ts";
import { testDatabase } from "../support/database.ts";

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
export async function workplace() {
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
    const own = connect(url);
    const directory = await openDirectory(own, log);
    const sessions = await openSessions(own, directory, config);
    closers.push(async () => {
      await directory.close();
      await own.close();
    });
    return { db: own, directory, sessions };
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
        config,
        log,
        jobRuntime: { outgoing: post, open: channels.open, mailDomains: openMailDomains([]) },
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
