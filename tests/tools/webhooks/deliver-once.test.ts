import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../support/database.ts";
import { type House, openHouse, openReceiver, type Received, type Reply } from "./house.ts";

let house: House;
const cleanups: (() => unknown)[] = [];
beforeAll(async () => {
  house = await openHouse(await testDatabase(), { timeoutMs: 1_000 });
});
afterAll(() => house.close());
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  await house.db.asSystem((sql) => sql`delete from queue`);
});

async function subscribe(
  reply?: (request: Received, before: number) => Reply,
  input: object = {},
): Promise<{ id: string; secret: string; received: Received[]; url: string }> {
  const receiver = await openReceiver(reply);
  cleanups.push(receiver.close);
  const { body } = await house.call("create_webhook_endpoint", {
    url: receiver.url,
    events: ["player.created"],
    ...input,
  });
  cleanups.push(() => house.call("delete_webhook_endpoint", { id: body.id }).catch(() => {}));
  return { id: body.id, secret: body.secret, received: receiver.received, url: receiver.url };
}

const player = { id: "0190f3b2-0000-7000-8000-000000000001", player_id: "P-1", tier: "Gold" };

test("a worker that dies between the POST and its record repeats the delivery with the same ids", async () => {
  const { id, received } = await subscribe();
  await house.emit(
    "player.created",
    Array.from({ length: 100 }, (_, i) => ({ ...player, id: i })),
  );
  const [job] = await house.db.asSystem((sql) => sql<{ id: string }[]>`delete from queue returning id`);
  const { transact } = house.jobContext(job!.id);
  let visits = 0;
  const dying = house.run(id, {
    jobId: job!.id,
    transact: (work) => (visits++ === 0 ? transact(work) : Promise.reject(new Error("killed"))),
  });
  await expect(dying).rejects.toThrow("killed");
  expect(received).toHaveLength(100);
  // Any other job leaves: the dead one still has the endpoint.
  await house.run(id);
  expect(received).toHaveLength(100);
  await house.run(id, { jobId: job!.id });
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
  const { id, received } = await subscribe();
  await house.emit("player.created", [player]);
  await house.asTenant(
    (sql) => sql`update webhook_endpoints set delivering_by = uuid_v7(),
      delivering_until = now() + interval '1 minute' where id = ${id}`,
  );
  await house.run(id);
  expect(received).toHaveLength(0);
  await house.asTenant((sql) => sql`update webhook_endpoints set delivering_until = now() where id = ${id}`);
  await house.run(id);
  expect(received).toHaveLength(1);
});

test("of many jobs for one endpoint at once, one delivers each event, and none is left behind", async () => {
  const { id, received } = await subscribe();
  const writers = Array.from({ length: 60 }, async () => {
    await house.emit("player.created", [player]);
    await house.work();
  });
  await Promise.all(writers);
  expect(received).toHaveLength(60);
  expect(new Set(received.map(({ headers }) => headers["x-service-delivery"])).size).toBe(60);
  expect((await house.deliveriesOf(id)).every(({ status }) => status === "delivered")).toBe(true);
});

test("writing an event does not wait for the job that delivers to the endpoint", async () => {
  const { id } = await subscribe();
  const { transact } = house.jobContext(id);
  await house.run(id, {
    transact: (work) =>
      transact(async (context) => {
        const result = await work(context);
        // The job's transaction is still open; a writer that had to wait for it would never end.
        await house.emit("player.created", [player]);
        return result;
      }),
  });
  expect(await house.deliveriesOf(id)).toHaveLength(1);
});

test("a job that comes back late does not undo what another has recorded", async () => {
  const { id } = await subscribe(() => ({ status: 500 }));
  await house.emit("player.created", [player]);
  const { transact } = house.jobContext(id);
  let visits = 0;
  await house.run(id, {
    transact: async (work) => {
      visits += 1;
      if (visits === 2) {
        await house.asTenant(
          (sql) => sql`update webhook_deliveries set status = 'delivered', next_attempt_at = null
            where endpoint_id = ${id}`,
        );
      }
      return await transact(work);
    },
  });
  expect((await house.deliveriesOf(id))[0]).toMatchObject({ status: "delivered", next_attempt_at: null });
});

test("a worker that is told to stop hands over what is due, and burns no attempt", async () => {
  const { id, received } = await subscribe();
  await house.emit("player.created", [player]);
  await house.db.asSystem((sql) => sql`delete from queue`);
  await house.run(id, { signal: AbortSignal.abort() });
  expect(received).toHaveLength(0);
  expect(await house.waiting()).toHaveLength(1);
  await house.work();
  expect(received).toHaveLength(1);
});

test("the events of one property never reach another's endpoint", async () => {
  const rival = await house.newProperty();
  const { received } = await subscribe(undefined, { events: ["*"] });
  await house.emit("player.created", [player], rival);
  await house.work();
  expect(received).toHaveLength(0);
  await house.run((await house.call("list_webhook_endpoints", {})).body[0].id, { at: rival });
  expect(received).toHaveLength(0);
});
