import { createHmac } from "node:crypto";
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

function endpoint(id: string) {
  return house.call("get_webhook_endpoint", { id }).then(({ body }) => body);
}

const player = { id: "0190f3b2-0000-7000-8000-000000000001", player_id: "P-1", tier: "Gold" };

test("a receiver can verify each delivery from its raw body, in both schemes", async () => {
  const { id, secret, received } = await subscribe();
  await house.emit("player.created", [{ ...player, name: "Zoë 🎰" }]);
  await house.work();
  expect(received).toHaveLength(1);
  const { headers, raw } = received[0]!;
  const timestamp = headers["x-service-timestamp"] as string;
  expect(Math.abs(Number(timestamp) - Date.now() / 1000)).toBeLessThan(60);
  const ours = createHmac("sha256", secret).update(`${timestamp}.${raw}`).digest("hex");
  expect(headers["x-service-signature"]).toBe(`v1=${ours}`);
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  const content = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${raw}`;
  expect(headers["webhook-signature"]).toBe(
    `v1,${createHmac("sha256", key).update(content).digest("base64")}`,
  );
  expect(headers).toMatchObject({
    "content-type": "application/json",
    "x-service-event": "player.created",
    "webhook-timestamp": timestamp,
    "user-agent": "Service-Webhooks/1",
  });
  const [delivery] = await house.deliveriesOf(id);
  expect(headers["x-service-delivery"]).toBe(delivery!.id);
  expect(delivery).toMatchObject({ status: "delivered", attempt_count: 1, next_attempt_at: null });
  expect(delivery!.attempts).toMatchObject([{ status_code: 200, error: null, response_snippet: "ok" }]);
  const body = JSON.parse(raw);
  expect(body).toEqual({
    id: headers["webhook-id"],
    type: "player.created",
    timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    api_version: "2026-06-05",
    property_id: house.property,
    data: { object: { ...player, name: "Zoë 🎰" } },
  });
  expect(body.id).toBe(`evt_${delivery!.event_id}`);
});

test("a failed delivery is tried eight times on the published schedule, with the same ids and the same body", async () => {
  const { id, received } = await subscribe(() => ({ status: 500, body: "x".repeat(1000) }));
  await house.emit("player.created", [player]);
  await house.work();
  const schedule = [5, 300, 1800, 7200, 18_000, 36_000, 36_000];
  for (const seconds of schedule) {
    const [wake] = (await house.waiting()).filter((job) => job.endpoint === id);
    expect(wake!.seconds).toBeGreaterThan(seconds * 0.8 - 3);
    expect(wake!.seconds).toBeLessThanOrEqual(seconds * 1.2);
    await house.makeDue();
    await house.run(id);
  }
  const [delivery] = await house.deliveriesOf(id);
  expect(delivery).toMatchObject({ status: "failed", attempt_count: 8, next_attempt_at: null });
  expect(delivery!.attempts).toHaveLength(8);
  expect(delivery!.attempts[0]).toMatchObject({
    status_code: 500,
    error: "The receiver answered 500.",
    response_snippet: "x".repeat(300),
  });
  expect(received).toHaveLength(8);
  for (const header of ["webhook-id", "x-service-delivery"]) {
    expect(new Set(received.map(({ headers }) => headers[header])).size).toBe(1);
  }
  expect(new Set(received.map(({ raw }) => raw)).size).toBe(1);
});

test("a delivery that is not due yet is left alone", async () => {
  const { id, received } = await subscribe((_, before) => ({ status: before === 0 ? 500 : 200 }));
  await house.emit("player.created", [player]);
  await house.work();
  await house.run(id);
  expect(received).toHaveLength(1);
  await house.makeDue();
  await house.run(id);
  expect(received).toHaveLength(2);
  expect((await house.deliveriesOf(id))[0]).toMatchObject({ status: "delivered", attempt_count: 2 });
});

test("410 Gone switches the endpoint off at once, and says so in the audit log", async () => {
  const { id, received } = await subscribe(() => ({ status: 410 }));
  await house.emit(
    "player.created",
    Array.from({ length: 40 }, () => player),
  );
  await house.work();
  expect(await endpoint(id)).toMatchObject({
    is_active: false,
    disabled_reason: "The receiver answered 410 Gone.",
  });
  expect(received.length).toBeLessThanOrEqual(16);
  const states = (await house.deliveriesOf(id)).map(({ status }) => status);
  expect(states.filter((status) => status === "failed")).toHaveLength(received.length);
  expect(states.filter((status) => status === "discarded")).toHaveLength(40 - received.length);
  const audits = await house.asTenant(
    (sql) => sql`select action from audit_logs where property_id = ${house.property} and entity_id = ${id}
      and action = 'disable_webhook_endpoint'`,
  );
  expect(audits).toHaveLength(1);
  await house.emit("player.created", [player]);
  expect(await house.deliveriesOf(id)).toHaveLength(40);
});

test.each([
  ["seconds", () => "600", 600],
  ["a date", () => new Date(Date.now() + 600_000).toUTCString(), 600],
  ["more than a day", () => "900000", 86_400],
])("Retry-After as %s is obeyed, for the whole endpoint", async (_, header, seconds) => {
  const { id, received } = await subscribe(() => ({ status: 429, headers: { "retry-after": header() } }));
  await house.emit("player.created", [player]);
  await house.work();
  await house.emit("player.created", [player]);
  await house.work();
  expect(received).toHaveLength(1);
  const [wake] = (await house.waiting()).filter((job) => job.endpoint === id);
  expect(wake!.seconds).toBeGreaterThan(seconds - 10);
  expect(wake!.seconds).toBeLessThanOrEqual(seconds + 1);
  const [tried, waiting] = await house.deliveriesOf(id);
  expect([tried!.attempt_count, waiting!.attempt_count]).toEqual([1, 0]);
  expect(Date.parse(tried!.next_attempt_at!) - Date.now()).toBeGreaterThan((seconds - 10) * 1000);
});

test("a redirect is a failure, and nobody is asked at its target", async () => {
  const target = await subscribe(undefined, { events: ["game.ended"] });
  const { id } = await subscribe(() => ({ status: 302, headers: { location: target.url } }));
  await house.emit("player.created", [player]);
  await house.work();
  expect(target.received).toHaveLength(0);
  const [delivery] = await house.deliveriesOf(id);
  expect(delivery).toMatchObject({ status: "pending", attempt_count: 1 });
  expect(delivery!.attempts[0]?.error).toBe("The receiver answered 302. Redirects are not followed.");
});

test("a receiver that nobody answers at is an ordinary failure with a readable reason", async () => {
  const { id } = await subscribe();
  await cleanups.shift()!();
  await house.emit("player.created", [player]);
  await house.work();
  const [delivery] = await house.deliveriesOf(id);
  expect(delivery).toMatchObject({ status: "pending", attempt_count: 1 });
  expect(delivery!.attempts[0]).toMatchObject({ status_code: null, error: /ECONNREFUSED/ });
});

test("one receiver of twenty that hangs delays none of the others", async () => {
  const hanging = await subscribe(() => ({ hangs: true }));
  const others = await Promise.all(Array.from({ length: 19 }, () => subscribe()));
  await house.emit(
    "player.created",
    Array.from({ length: 30 }, () => player),
  );
  const started = performance.now();
  await house.work();
  for (const { received } of others) {
    expect(received).toHaveLength(30);
    expect(received.at(-1)!.at - started).toBeLessThan(2_000);
  }
  expect(hanging.received.length).toBeLessThanOrEqual(16);
});

test("when a receiver hangs, the rest of the batch keeps its attempts and waits, and one request probes it later", async () => {
  const { id, received } = await subscribe((_, before) => ({ hangs: before < 17 }));
  await house.emit(
    "player.created",
    Array.from({ length: 300 }, () => player),
  );
  await house.work();
  expect(received).toHaveLength(16);
  const tried = (await house.deliveriesOf(id)).map(({ attempt_count }) => attempt_count);
  expect(tried.filter((count) => count === 0)).toHaveLength(284);
  await house.run(id);
  expect(received).toHaveLength(16);
  await house.makeDue();
  await house.run(id);
  expect(received).toHaveLength(17);
  await house.makeDue();
  await house.run(id);
  expect(received).toHaveLength(17 + 300);
  expect(await endpoint(id)).toMatchObject({ failing_since: null });
});

test("an endpoint that has only failed for five days is switched off, and a success in between saves it", async () => {
  let status = 500;
  const { id } = await subscribe(() => ({ status }));
  const fail = async (since: string) => {
    await house.asTenant(
      (sql) => sql`update webhook_endpoints set failing_since = now() - ${since}::interval where id = ${id}`,
    );
    await house.makeDue();
    await house.emit("player.created", [player]);
    await house.work();
  };
  await house.emit("player.created", [player]);
  await house.work();
  expect((await endpoint(id)).failing_since).not.toBeNull();
  await fail("4 days 23 hours");
  expect(await endpoint(id)).toMatchObject({ is_active: true });
  status = 200;
  await fail("5 days 1 hour");
  expect(await endpoint(id)).toMatchObject({ is_active: true, failing_since: null });
  status = 500;
  await fail("5 days 1 hour");
  expect(await endpoint(id)).toMatchObject({ is_active: false, disabled_reason: /5 days.*answered 500/ });
  const { body } = await house.call("update_webhook_endpoint", { id, is_active: true });
  expect(body).toMatchObject({ is_active: true, disabled_reason: null, failing_since: null });
});
