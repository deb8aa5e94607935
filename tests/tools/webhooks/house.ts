import { randomUUIDv7 } from "node:crypto";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import type { Sql } from "#db/client.ts";
import { reader } from "#db/reader.ts";
import { readConfig } from "#runtime/config.ts";
import type { Call, Context } from "#runtime/context.ts";
import { operationsOf } from "#runtime/crud.ts";
import { openDirectory } from "#runtime/directory.ts";
import type { EventName } from "#runtime/events.ts";
import { invoke, type Outcome, type Service } from "#runtime/invoke.ts";
import { createLog } from "#runtime/log.ts";
import type { JobContext, Operation } from "#runtime/operation.ts";
import { flush, type PendingEvent, type PendingJob } from "#runtime/outbox.ts";
import { type Outgoing, outgoing } from "#runtime/outgoing.ts";
import { openSessions } from "#runtime/sessions.ts";
import deliverWebhooks from "#tools/webhooks/deliver-webhooks.job.ts";
import redeliver from "#tools/webhooks/redeliver-webhook.ts";
import replay from "#tools/webhooks/replay-webhooks.ts";
import rotate from "#tools/webhooks/rotate-webhook-secret.ts";
import testWebhook from "#tools/webhooks/test-webhook.ts";
import deliveries from "#tools/webhooks/webhook-deliveries.table.ts";
import endpoints from "#tools/webhooks/webhook-endpoints.table.ts";
import type { TestDatabase } from "../../support/database.ts";

export type House = Awaited<ReturnType<typeof openHouse>>;

export interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects to be there
  body: any;
  text: string;
}

export interface ListedDelivery {
  id: string;
  event_id: string;
  event_type: string;
  status: "pending" | "delivered" | "failed" | "discarded";
  attempt_count: number;
  attempts: { status_code: number | null; error: string | null; response_snippet: string | null }[];
  next_attempt_at: string | null;
}

const OPERATIONS = new Map(
  [redeliver, replay, rotate, testWebhook, ...operationsOf(endpoints), ...operationsOf(deliveries)].map(
    (operation: Operation) => [operation.name, operation],
  ),
);

/** The webhooks of a platform: its operations, and its deliver jobs run by hand instead of by a worker. */
export async function openHouse(
  { db, url, drop }: TestDatabase,
  options: { allowPrivate?: boolean; timeoutMs?: number } = {},
) {
  const allowPrivate = options.allowPrivate ?? true;
  const config = readConfig({
    APP_SECRET: "x".repeat(32),
    DATABASE_URL: url,
    WEBHOOK_ALLOW_PRIVATE: allowPrivate ? "on" : "off",
  });
  const log = createLog("silent");
  const directory = await openDirectory(db, log);
  const sessions = await openSessions(db, directory, config);
  const service: Service = { db, reader: reader(db), directory, sessions, config, log, wake: () => {} };
  const network = outgoing({ allowPrivate, allowHttp: allowPrivate });
  // The real client with a shorter clock, so that a receiver that hangs costs a test 300 ms and not 15 s.
  const hurried: Outgoing = {
    post: (request) =>
      network.post({ ...request, timeoutMs: options.timeoutMs ?? request.timeoutMs ?? 15_000 }),
    close: network.close,
  };
  const property = await newProperty();

  async function newProperty(): Promise<string> {
    const id = randomUUIDv7();
    await db.asSystem((sql) => sql`insert into properties (id, name, slug) values (${id}, ${id}, ${id})`);
    return id;
  }

  async function call(
    name: string,
    input: object,
    { at = property, key }: { at?: string; key?: string } = {},
  ): Promise<Answer> {
    const operation = OPERATIONS.get(name)!;
    const from: Call = {
      actor: { type: "system", id: null },
      transport: "rest",
      requestId: randomUUIDv7(),
      propertyId: at,
      ...(key && { idempotency: { key, fingerprint: Buffer.alloc(32) } }),
    };
    const answer: Outcome = await invoke(service, operation, from, input);
    return { status: answer.status, body: JSON.parse(answer.body), text: answer.body };
  }

  /** Events as a tool's transaction writes them. */
  async function emit(type: EventName, objects: object[], at = property, previous?: object): Promise<void> {
    await db.asProperty(at, (sql) =>
      flush(
        sql,
        at,
        objects.map((object) => ({ type, object, previous })),
        [],
      ),
    );
  }

  /** A job's context, as a worker makes it. */
  function jobContext(jobId: string, at = property): JobContext {
    const transact = <T>(work: (context: Context) => Promise<T>): Promise<T> =>
      db.asProperty(at, async (sql) => {
        const events: PendingEvent[] = [];
        const jobs: PendingJob[] = [];
        const known = await directory.property(at);
        const result = await work({
          sql,
          property: known!,
          call: { actor: { type: "system", id: null }, transport: "job", requestId: jobId },
          config,
          log,
          now: directory.now,
          issueToken: sessions.issue,
          signDetached: sessions.signDetached,
          emit: (type, object, previous) => void events.push({ type, object, previous }),
          enqueue: (job, input, chosen) =>
            void jobs.push({ name: job.name, attempts: job.attempts, input, ...chosen }),
          audit: () => {},
        });
        if (events.length + jobs.length > 0) await flush(sql, at, events, jobs);
        return result;
      });
    return {
      jobId,
      attempt: 1,
      isLast: false,
      propertyId: at,
      signal: new AbortController().signal,
      config,
      log,
      runtime: {
        outgoing: hurried,
        open: () => Promise.reject(new Error("no email here")) as never,
        mailDomains: null as never,
      },
      transact,
      transactSystem: (work) => db.asSystem(work),
    };
  }

  /** Runs the handler of one job, as a worker does; `change` replaces parts of its context. */
  function run(endpointId: string, change: Partial<JobContext> & { at?: string } = {}): Promise<void> {
    const { at = property, ...context } = change;
    const base = jobContext(context.jobId ?? randomUUIDv7(), at);
    return deliverWebhooks.handler({ ...base, ...context }, { endpointId });
  }

  /** Takes what is due on the queue and runs all of it at once, until nothing is due. */
  async function work(): Promise<number> {
    for (let ran = 0; ; ) {
      const due = await db.asSystem(
        (sql) => sql<{ id: string; property_id: string; input: { endpointId: string } }[]>`
          delete from queue where name = ${deliverWebhooks.name} and run_at <= clock_timestamp()
          returning id, property_id, input`,
      );
      if (due.length === 0) return ran;
      await Promise.all(
        due.map(({ id, property_id, input }) => run(input.endpointId, { at: property_id, jobId: id })),
      );
      ran += due.length;
    }
  }

  /** The deliveries of an endpoint as the API lists them, oldest first. */
  async function deliveriesOf(endpointId: string) {
    const filters = { "endpoint_id.eq": endpointId };
    const { body } = await call("list_webhook_deliveries", { filters, order: "created_at,id", limit: 1000 });
    return body as ListedDelivery[];
  }

  const asTenant = <T>(query: (sql: Sql) => Promise<T>, at = property) => db.asProperty(at, query);

  return {
    db,
    property,
    newProperty,
    call,
    emit,
    run,
    work,
    deliveriesOf,
    asTenant,
    jobContext,
    /** Jobs that wait on the queue, with the seconds until they are due. */
    waiting: () =>
      db.asSystem(
        (sql) => sql<{ endpoint: string; seconds: number }[]>`
          select input->>'endpointId' as endpoint,
            extract(epoch from run_at - clock_timestamp())::double precision as seconds
          from queue order by run_at`,
      ),
    /** Lets the time of all pending deliveries and rests come; the jobs that waited for it are gone. */
    makeDue: async () => {
      await asTenant(async (sql) => {
        await sql`update webhook_deliveries set next_attempt_at = now() where status = 'pending'`;
        await sql`update webhook_endpoints set resting_until = null`;
      });
      await db.asSystem((sql) => sql`delete from queue`);
    },
    close: async () => {
      await network.close();
      await directory.close();
      await drop();
    },
  };
}

export interface Received {
  headers: IncomingHttpHeaders;
  raw: string;
  at: number;
}

export interface Reply {
  status?: number;
  headers?: Record<string, string>;
  body?: string;
  /** Never answers. */
  hangs?: boolean;
}

/** A customer's server. `reply` decides each answer, from the request and how many came before. */
export async function openReceiver(reply: (request: Received, before: number) => Reply = () => ({})) {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const raw = Buffer.concat(await request.toArray()).toString("utf8");
    const one = { headers: request.headers, raw, at: performance.now() };
    received.push(one);
    const { status = 200, headers = {}, body = "ok", hangs = false } = reply(one, received.length - 1);
    if (!hangs) response.writeHead(status, headers).end(body);
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`,
    received,
    close: () => {
      server.closeAllConnections();
      return new Promise<void>((done) => server.close(() => done()));
    },
  };
}
