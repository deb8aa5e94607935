import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { claim } from "#runtime/jobs/queue.ts";
import type { AttemptOutcome } from "#tools/webhooks/attempt.ts";
import { visit } from "#tools/webhooks/visit.ts";
import { lockWaits, openTransaction } from "../../support/postgres/blocking.ts";
import { openWebhooks, PLAYER, type Webhooks } from "./scenario.ts";

let webhooks: Webhooks;
beforeAll(async () => {
  webhooks = await openWebhooks();
});
afterAll(() => webhooks.close());
afterEach(() => webhooks.clear());

test("a worker that dies between the POST and its record repeats the delivery with the same ids", async () => {
  const { id, received } = await webhooks.subscribe();
  await webhooks.emit(
    "player.created",
    Array.from({ length: 100 }, (_, i) => ({ ...PLAYER, id: i })),
  );
  const [job] = await webhooks.db.asSystem((sql) => sql<{ id: string }[]>`delete from queue returning id`);
  const { transact } = webhooks.jobContext(job!.id);
  let visits = 0;
  const dying = webhooks.run(id, {
    jobId: job!.id,
    transact: async (work) => {
      if (visits++ === 0) return await transact(work);
      await vi.waitFor(() => expect(received).toHaveLength(100), 10_000);
      throw new Error("killed");
    },
  });
  await expect(dying).rejects.toThrow("killed");
  expect(received).toHaveLength(100);
  // Any other job leaves: the dead one still has the endpoint.
  await webhooks.run(id);
  expect(received).toHaveLength(100);
  await webhooks.run(id, { jobId: job!.id });
  expect(received).toHaveLength(200);
  const ids = (from: number, to: number, header: string) =>
    received
      .slice(from, to)
      .map(({ headers }) => headers[header] as string)
      .sort();
  for (const header of ["x-service-delivery", "webhook-id"]) {
    expect(new Set(ids(0, 100, header)).size).toBe(100);
    expect(ids(100, 200, header)).toEqual(ids(0, 100, header));
  }
});

test("an endpoint whose job died is taken over when its lease has run out", async () => {
  const { id, received } = await webhooks.subscribe();
  await webhooks.emit("player.created", [PLAYER]);
  await webhooks.asTenant(
    (sql) => sql`update webhook_endpoints set delivering_by = ${randomUUID()},
      delivering_until = now() + interval '1 minute' where id = ${id}`,
  );
  await webhooks.run(id);
  expect(received).toHaveLength(0);
  await webhooks.asTenant(
    (sql) => sql`update webhook_endpoints set delivering_until = now() where id = ${id}`,
  );
  await webhooks.run(id);
  expect(received).toHaveLength(1);
});

test("of many jobs for one endpoint at once, one delivers each event, and none is left behind", async () => {
  const { id, received } = await webhooks.subscribe();
  const writers = Array.from({ length: 60 }, async () => {
    await webhooks.emit("player.created", [PLAYER]);
    await webhooks.work();
  });
  await Promise.all(writers);
  expect(received).toHaveLength(60);
  expect(new Set(received.map(({ headers }) => headers["x-service-delivery"])).size).toBe(60);
  expect((await webhooks.deliveriesOf(id)).every(({ status }) => status === "delivered")).toBe(true);
});

test("writing an event does not wait for the job that delivers to the endpoint", async () => {
  const { id, received } = await webhooks.subscribe();
  const { transact } = webhooks.jobContext(id);
  await webhooks.run(id, {
    transact: (work) =>
      transact(async (context, startedAt) => {
        const result = await work(context, startedAt);
        // The job's transaction is still open; a writer that had to wait for it would never end.
        await webhooks.emit("player.created", [PLAYER]);
        return result;
      }),
  });
  await webhooks.work();
  expect(received).toHaveLength(1);
});

test("a job that comes back late does not undo what another has recorded", async () => {
  const { id } = await webhooks.subscribe(() => ({ status: 500 }));
  await webhooks.emit("player.created", [PLAYER]);
  const { transact } = webhooks.jobContext(id);
  let visits = 0;
  await webhooks.run(id, {
    transact: async (work) => {
      visits += 1;
      if (visits === 2) {
        await webhooks.asTenant(
          (sql) => sql`update webhook_deliveries set status = 'delivered', next_attempt_at = null
            where endpoint_id = ${id}`,
        );
      }
      return await transact(work);
    },
  });
  expect((await webhooks.deliveriesOf(id))[0]).toMatchObject({ status: "delivered", next_attempt_at: null });
});

test("a worker that is told to stop hands over what is due, and burns no attempt", async () => {
  const { id, received } = await webhooks.subscribe();
  await webhooks.emit("player.created", [PLAYER]);
  await webhooks.db.asSystem((sql) => sql`delete from queue`);
  const { transact } = webhooks.jobContext(id);
  let visits = 0;
  await webhooks.run(id, {
    signal: AbortSignal.abort(),
    transact: (work) => {
      visits += 1;
      expect(visits).toBe(1);
      return transact(work);
    },
  });
  expect(received).toHaveLength(0);
  expect(await webhooks.waiting()).toHaveLength(1);
  await webhooks.work();
  expect(received).toHaveLength(1);
});

test("a delivery whose event an erasure has taken meanwhile is gone, and keeps no other waiting", async () => {
  const { id, received } = await webhooks.subscribe();
  await webhooks.emit("player.created", [PLAYER]);
  // This visit makes the delivery, and leaves it to another job.
  await webhooks.run(id, { signal: AbortSignal.abort() });
  expect(await webhooks.deliveriesOf(id)).toHaveLength(1);
  await webhooks.asTenant((sql) => sql`delete from outbox`);
  await webhooks.work();
  expect(await webhooks.deliveriesOf(id)).toEqual([]);
  expect(await webhooks.waiting()).toEqual([]);
  await webhooks.emit("player.created", [PLAYER]);
  await webhooks.work();
  expect(received).toHaveLength(1);
});

test("an erasure takes what a job has claimed and not begun to send", async () => {
  const player = (await webhooks.call("create_player", { player_id: "P-9" })).body;
  const answers = Promise.withResolvers<void>();
  const { id, received } = await webhooks.subscribe(() => ({ after: answers.promise }));
  const theirs = Array.from({ length: 40 }, () => ({ id: player.id }));
  await webhooks.emit("player.created", theirs);
  await webhooks.emit("player.created", [PLAYER]);
  const { transact } = webhooks.jobContext(id);
  let visits = 0;
  const delivering = webhooks.run(id, {
    transact: async (work) => {
      const result = await transact(work);
      visits += 1;
      return result;
    },
  });
  await vi.waitFor(() => expect(received).toHaveLength(16), 10_000);
  await webhooks.call("data_deletion", { propertyId: webhooks.property, playerId: player.id });
  // One visit may have begun before the erasure ended.
  const before = visits;
  await vi.waitFor(() => expect(visits).toBeGreaterThan(before + 1), 10_000);
  answers.resolve();
  await delivering;
  expect(received.slice(16).map(({ raw }) => JSON.parse(raw).data.object.id)).toEqual([PLAYER.id]);
});

test.each([
  [0, 0],
  [0, 1],
  [1, 0],
  [1, 1],
])(
  "an erasure and a visit lock deliveries in one order, with number %i written last and number %i locked",
  async (last, locked) => {
    const player = (await webhooks.call("create_player", {})).body;
    const { id } = await webhooks.subscribe();
    await webhooks.emit("player.created", [{ id: player.id }, { id: player.id }]);
    await webhooks.run(id, { signal: AbortSignal.abort() });
    const ids = (await webhooks.deliveriesOf(id)).map((one) => one.id).toSorted();
    await webhooks.asTenant(
      (sql) => sql`
      update webhook_deliveries set updated_at = now()
      where property_id = ${webhooks.property} and id = ${ids[last]!}`,
    );
    const admin = postgres(webhooks.url, { max: 2, onnotice: () => {} });
    const close = await openTransaction(
      admin,
      (sql) =>
        sql`select from webhook_deliveries where property_id = ${webhooks.property} and id = ${ids[locked]!} for update`,
    );
    const erasing = webhooks.call("data_deletion", { propertyId: webhooks.property, playerId: player.id });
    await lockWaits(admin, 1);
    const outcomes = [ids[1 - locked]!, ids[locked]!].map(outcomeOf);
    const visiting = webhooks.jobContext(id).transact((context) =>
      visit(context, {
        ...{ endpointId: id, jobId: randomUUID(), outcomes, inFlight: [], unsent: [] },
        ...{ hangs: false, handOver: true },
      }),
    );
    await lockWaits(admin, 2);
    await close();
    expect((await erasing).status).toBe(200);
    await visiting;
    expect(await webhooks.deliveriesOf(id)).toEqual([]);
    await admin.end();
  },
);

function outcomeOf(id: string): AttemptOutcome {
  const attempt = {
    at: new Date().toISOString(),
    status_code: 200,
    duration_ms: 1,
    error: null,
    response_snippet: null,
  };
  const receiver = { hangs: false, gone: false, retryAfter: 0 };
  return { id, status: "delivered", delay: null, attempt, receiver };
}

test("the events of one property never reach another's endpoint", async () => {
  const rival = await webhooks.newProperty();
  const { received } = await webhooks.subscribe(undefined, { events: ["*"] });
  await webhooks.emit("player.created", [PLAYER], rival);
  await webhooks.work();
  expect(received).toHaveLength(0);
  await webhooks.run((await webhooks.call("list_webhook_endpoints", {})).body[0].id, { at: rival });
  expect(received).toHaveLength(0);
});

describe("the delivery jobs of an endpoint", () => {
  const claimed = async (limit = 10) => {
    const jobs = await claim(webhooks.db, {
      names: ["deliver_webhooks"],
      sending: [],
      limit,
      lease: randomUUID(),
      leaseMs: 30_000,
      cap: 1_000,
      held: new Map(),
    });
    return jobs.map(({ id }) => id);
  };
  const ready = () =>
    webhooks.db.asSystem(
      (sql) => sql<{ id: string }[]>`select id from queue where state = 'ready' order by id`,
    );

  test("are one for all events that wait, however many writers commit", async () => {
    await webhooks.subscribe();
    for (let i = 0; i < 5; i += 1) await webhooks.emit("player.created", [{ ...PLAYER, id: i }]);
    expect(await ready()).toHaveLength(1);
  });

  test("are not those of another endpoint, and not one that is due later", async () => {
    const [one, other] = [await webhooks.subscribe(), await webhooks.subscribe()];
    await webhooks.emit("player.created", [PLAYER]);
    await webhooks.db.asSystem(
      (sql) => sql`update queue set run_at = now() + interval '1 hour' where merge_key = ${one.id}`,
    );
    await webhooks.emit("player.created", [PLAYER]);
    const due = (await webhooks.waiting()).filter(({ seconds }) => seconds <= 0);
    expect(due.map(({ endpoint }) => endpoint).sort()).toEqual([one.id, other.id].sort());
  });

  test("serve an event of a writer that commits late, and that writer delays no other", async () => {
    await webhooks.subscribe();
    await webhooks.emit("player.created", [PLAYER]);
    const [shared] = await ready();
    const written = Promise.withResolvers<void>();
    const commit = Promise.withResolvers<void>();
    const late = webhooks.asTenant(async (sql) => {
      await webhooks.emitIn(sql, "player.created", [PLAYER]);
      written.resolve();
      await commit.promise;
    });
    await written.promise;
    // The job that the late writer counts on cannot be claimed before its event is there.
    expect(await claimed()).toEqual([]);
    await webhooks.emit("player.created", [PLAYER]);
    const early = await claimed();
    expect(early).toHaveLength(1);
    expect(early).not.toEqual([shared!.id]);
    commit.resolve();
    await late;
    await webhooks.db.asSystem((sql) => sql`delete from queue where state = 'running'`);
    expect(await claimed()).toEqual([shared!.id]);
  });
});
