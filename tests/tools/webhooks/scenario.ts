import { randomUUIDv7 } from "node:crypto";
import type { Sql } from "#db/database.ts";
import { semaphore } from "#db/semaphore.ts";
import { invoke } from "#runtime/funnel/invoke.ts";
import { effectStatements } from "#runtime/funnel/outbox.ts";
import { workAsSystem } from "#runtime/funnel/system-work.ts";
import { type Outgoing, outgoing } from "#runtime/network/outgoing.ts";
import type { Call } from "#runtime/operation/context.ts";
import type { EventName } from "#runtime/operation/events.ts";
import type { JobContext } from "#runtime/operation/job.ts";
import { CATALOG } from "#tools/catalog.ts";
import deliverWebhooks from "#tools/webhooks/deliver-webhooks.job.ts";
import type { TestDatabase } from "../../support/database.ts";
import { type Received, type Reply, webhookReceiver } from "../../support/servers/receivers.ts";
import { startService } from "../../support/service.ts";

export type Webhooks = Awaited<ReturnType<typeof openWebhooks>>;

export const PLAYER = { id: "0190f3b2-0000-7000-8000-000000000001", player_id: "P-1", tier: "Gold" };

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

/** As many jobs as a worker runs at once, and the time that it gives each of their transactions. */
const WORKER_SLOTS = 8;
const JOB_DEADLINE = 60_000;

/** A service's webhooks, whose deliver jobs are run by hand instead of by a worker. */
export async function openWebhooks(
  options: { allowPrivate?: boolean; timeoutMs?: number; database?: TestDatabase } = {},
) {
  const { allowPrivate = true, timeoutMs, database } = options;
  const overrides = { role: "web", webhooksAllowPrivate: allowPrivate } as const;
  const service = await startService(overrides, database && { database });
  const { db, directory, config, log } = service.internals;
  const property = service.tenant.id;
  const inSlot = semaphore(WORKER_SLOTS);
  const network = outgoing({ allowPrivate, allowHttp: allowPrivate });
  // The real client with a shorter clock, so that a receiver that hangs costs a test 1 s and not 15 s.
  const hurried: Outgoing = {
    post: (request) => network.post({ ...request, timeoutMs: timeoutMs ?? request.timeoutMs ?? 15_000 }),
    close: network.close,
  };

  async function call(
    name: string,
    input: object,
    { at = property, key }: { at?: string; key?: string } = {},
  ): Promise<Answer> {
    const from: Call = {
      actor: { type: "system", id: null },
      transport: "rest",
      requestId: randomUUIDv7(),
      propertyId: at,
      ...(key && { idempotency: { key, fingerprint: Buffer.alloc(32) } }),
    };
    const answer = await invoke(service.internals, CATALOG.operations.get(name)!, from, input);
    return { status: answer.status, body: JSON.parse(answer.body), text: answer.body };
  }

  /** Events as the last statements of a tool's transaction write them. */
  async function emitIn(
    sql: Sql,
    type: EventName,
    objects: object[],
    at = property,
    previous?: object,
  ): Promise<void> {
    const events = objects.map((object) => ({ type, object, previous, trace: null }));
    const { statements } = await effectStatements(sql, at, { events, jobs: [] });
    for (const statement of statements) await sql`${statement}`;
  }

  /** Events in a transaction of their own. */
  const emit = (type: EventName, objects: object[], at = property, previous?: object): Promise<void> =>
    db.asProperty(at, (sql) => emitIn(sql, type, objects, at, previous));

  /** A job's context, as a worker makes it. */
  function jobContext(jobId: string, at = property): JobContext {
    const transact: JobContext["transact"] = async (work) =>
      workAsSystem(
        service.internals,
        { property: (await directory.property(at))!, transport: "job", requestId: jobId },
        (context) => work(context, performance.now()),
        { deadline: JOB_DEADLINE },
      );
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
        run: null as never,
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
        due.map(({ id, property_id, input }) =>
          inSlot(() => run(input.endpointId, { at: property_id, jobId: id })),
        ),
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

  const receivers: { stop(): Promise<void> }[] = [];

  /** A customer's server, until `clear`. */
  async function receiver(reply?: (request: Received, before: number) => Reply) {
    const opened = await webhookReceiver(reply);
    receivers.push(opened);
    return opened;
  }

  /** An endpoint at a server of its own, for created players unless `input` says otherwise. */
  async function subscribe(reply?: (request: Received, before: number) => Reply, input: object = {}) {
    const { url, received, stop } = await receiver(reply);
    const { body } = await call("create_webhook_endpoint", { url, events: ["player.created"], ...input });
    return { id: body.id as string, secret: body.secret as string, received, url, stop };
  }

  const asTenant = <T>(query: (sql: Sql) => Promise<T>, at = property) => db.asProperty(at, query);

  return {
    db,
    url: service.database.url,
    property,
    newProperty: async () => (await service.newProperty()).id,
    call,
    receiver,
    subscribe,
    emit,
    emitIn,
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
    /** Receivers, endpoints and jobs are gone. */
    clear: async () => {
      await Promise.all(receivers.splice(0).map(({ stop }) => stop()));
      await asTenant(async (sql) => {
        await sql`delete from webhook_backlog`;
        await sql`delete from webhook_deliveries`;
        await sql`delete from webhook_endpoints`;
      });
      await db.asSystem((sql) => sql`delete from queue`);
    },
    close: async () => {
      await network.close();
      await service.stop();
    },
  };
}
