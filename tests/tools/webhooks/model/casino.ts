import { randomUUIDv7 } from "node:crypto";
import type { Sql } from "#db/database.ts";
import { workAsSystem } from "#runtime/funnel/system-work.ts";
import { outgoing } from "#runtime/network/outgoing.ts";
import type { JobContext } from "#runtime/operation/job.ts";
import deliverWebhooks from "#tools/webhooks/deliver-webhooks.job.ts";
import { scenarioIn } from "../../../support/scenario.ts";
import type { Received } from "../../../support/servers/receivers.ts";
import type { TestService } from "../../../support/service.ts";
import { Book, type Endpoint, type Occurred, type Owed } from "./book.ts";
import { openWire, type Posted, wrongSignature } from "./wire.ts";

export type Casino = Awaited<ReturnType<typeof openCasino>>;

/** A delivery as the API lists it. */
interface Listed {
  id: string;
  event_id: string;
  status: string;
  attempt_count: number;
  attempts: { at: string; status_code: number | null }[];
  next_attempt_at: string | null;
}

class Killed extends Error {}

const TRANSACTION_DEADLINE = 60_000;

/** A property, its receivers, its jobs run by hand, and the book that they are compared with. */
export async function openCasino(service: TestService) {
  const { id: property, key } = await service.newTenant();
  const { db, directory, config, log } = service.internals;
  const wire = openWire(outgoing({ allowPrivate: true, allowHttp: true }));
  const scenario = scenarioIn(service, property);
  const book = new Book();
  const stops: (() => Promise<void>)[] = [];
  const wrong: string[] = [];
  /** The body and the delivery's id of the first request for an event, by endpoint and kind of body. */
  const first = new Map<string, { raw: string; delivery: string }>();
  const asTenant = <T>(query: (sql: Sql) => Promise<T>) => db.asProperty(property, query);

  const complain = (text: string) => void wrong.push(text);
  const hear = (endpoint: Endpoint) => (request: Received) => {
    const { headers, raw } = request;
    const body = JSON.parse(raw);
    const event = String(headers["webhook-id"]).replace("evt_", "");
    const about = `the request for ${body.type} ${event} to endpoint ${book.endpoints.indexOf(endpoint)}`;
    const owed = book.of(endpoint).find((one) => one.event.id === event);
    if (!owed) complain(`${about} is owed to nobody`);
    if (body.id !== `evt_${event}` || body.property_id !== property) complain(`${about}: ${raw}`);
    if (body.type !== headers["x-service-event"] || body.type !== owed?.event.type)
      complain(`${about} names ${headers["x-service-event"]}`);
    const unsigned = wrongSignature(request, endpoint);
    if (unsigned) complain(`${about}: ${unsigned}`);
    if (!endpoint.include_pii && /@example|Zed\d/.test(raw)) complain(`${about} has personal data: ${raw}`);
    const kind = `${endpoint.id} ${event} ${endpoint.include_pii}`;
    const delivery = headers["x-service-delivery"] as string;
    const known = first.get(kind) ?? { raw, delivery };
    first.set(kind, known);
    if (known.raw !== raw || known.delivery !== delivery) complain(`${about} is not as at the first attempt`);
  };

  async function subscribe(input: { events: string[]; include_pii: boolean }): Promise<Endpoint> {
    const endpoint = { ...input, is_active: true, isDeleted: false } as Endpoint;
    const { url, stop } = await wire.receiver(hear(endpoint));
    stops.push(stop);
    const { id, secret } = await scenario.call("create_webhook_endpoint", { url, ...input });
    Object.assign(endpoint, {
      id,
      url,
      secret,
      previous: null,
      isLongFailing: false,
      isFailing: false,
      rests: false,
    });
    book.endpoints.push(endpoint);
    return endpoint;
  }

  const stored = () =>
    asTenant(
      (sql) => sql<Occurred[]>`
        select id, type, data::text as text, occurred_at as at from outbox where property_id = ${property} order by id`,
    );

  /** Enters the events since the last look. Answers their names, sorted. */
  async function look(only?: string): Promise<string[]> {
    const fresh = (await stored()).filter(({ id }) => !book.events.has(id));
    for (const event of fresh) book.occurred(event, only);
    return fresh.map(({ type }) => type).sort();
  }

  function jobContext(jobId: string, transact: JobContext["transact"]): JobContext {
    return {
      ...{ jobId, attempt: 1, isLast: false, propertyId: property, config, log, transact },
      signal: new AbortController().signal,
      transactSystem: (work) => db.asSystem(work),
      runtime: { outgoing: wire.outgoing } as JobContext["runtime"],
    };
  }

  /** Runs a job of an endpoint until it is killed after so many commits, or has ended. */
  async function run(endpoint: Endpoint, jobId: string, commits = Number.POSITIVE_INFINITY): Promise<void> {
    const about = {
      property: (await directory.property(property))!,
      transport: "job",
      requestId: jobId,
    } as const;
    let left = commits;
    const transact: JobContext["transact"] = async (work) => {
      if (left-- <= 0) throw new Killed();
      return workAsSystem(service.internals, about, (context) => work(context, performance.now()), {
        deadline: TRANSACTION_DEADLINE,
      });
    };
    const from = wire.posted.length;
    const died = await deliverWebhooks
      .handler(jobContext(jobId, transact), { endpointId: endpoint.id })
      .then(() => false)
      .catch((error: unknown) => {
        if (error instanceof Killed) return true;
        throw error;
      });
    await wire.quiet();
    await enter(endpoint, wire.posted.slice(from), died);
  }

  async function enter(endpoint: Endpoint, results: readonly Posted[], died: boolean): Promise<void> {
    if (endpoint.isDeleted) {
      if (results.length > 0) complain("a deleted endpoint got a request");
      return;
    }
    if (endpoint.rests && results.length > 0) complain("a request came during a rest");
    checkOrder(results);
    const rows = died ? await listed(endpoint) : [];
    const recorded = results.filter((one) => {
      const owed = owedOf(endpoint, one);
      // A killed job may not have recorded its last results: they are made again.
      const row = rows.find(({ event_id }) => event_id === owed?.event.id);
      if (owed && (!died || (row?.attempts.length ?? 0) > owed.codes.length)) {
        book.attempted(endpoint, owed, one);
        return true;
      }
      return false;
    });
    book.ran(endpoint, recorded);
  }

  const owedOf = (endpoint: Endpoint, { event }: Posted): Owed | undefined =>
    book.of(endpoint).find((one) => `evt_${one.event.id}` === event);

  /** New events are told in the order of their transactions. */
  function checkOrder(results: readonly Posted[]): void {
    const times = results
      .map(({ event }) => book.owed.find((one) => `evt_${one.event.id}` === event))
      .filter((one) => one !== undefined && one.codes.length === 0)
      .map((one) => one!.event.at);
    if (times.some((at, i) => i > 0 && at < times[i - 1]!)) complain(`out of order: ${times}`);
  }

  /** Claims the due jobs as a worker does, and runs them until none is due. */
  async function deliver(): Promise<void> {
    for (let round = 0; ; round += 1) {
      if (round > 100) throw new Error("there is always one more delivery job due");
      const due = await db.asSystem(
        (sql) => sql<{ id: string; input: { endpointId: string } }[]>`
          delete from queue where name = ${deliverWebhooks.name} and run_at <= clock_timestamp() and property_id = ${property}
          returning id, input`,
      );
      if (due.length === 0) break;
      for (const { id, input } of due) {
        const endpoint = book.endpoints.find((one) => one.id === input.endpointId);
        if (endpoint) await run(endpoint, id);
      }
    }
    book.settled();
  }

  const listed = (endpoint: Endpoint): Promise<Listed[]> =>
    scenario.call("list_webhook_deliveries", { filters: { "endpoint_id.eq": endpoint.id }, limit: 1000 });

  return {
    ...{ service, property, key, wire, scenario, book, wrong, complain, asTenant },
    /** The id that the receiver knows a delivery by. */
    knownId: (endpoint: Endpoint, event: string) =>
      (first.get(`${endpoint.id} ${event} true`) ?? first.get(`${endpoint.id} ${event} false`))?.delivery,
    ...{ subscribe, stored, look, run, deliver, listed },
    newJobId: () => randomUUIDv7(),
    close: async () => {
      await Promise.all(stops.map((stop) => stop()));
      await wire.outgoing.close();
      // Another sequence must not find its jobs.
      await db.asSystem((sql) => sql`delete from queue where property_id = ${property}`);
    },
  };
}
