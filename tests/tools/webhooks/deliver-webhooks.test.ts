import { createHmac } from "node:crypto";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { openWebhooks, PLAYER, type Webhooks } from "./scenario.ts";

let webhooks: Webhooks;
beforeAll(async () => {
  webhooks = await openWebhooks({ timeoutMs: 1_000 });
});
afterAll(() => webhooks.close());
afterEach(() => webhooks.clear());

function endpoint(id: string) {
  return webhooks.call("get_webhook_endpoint", { id }).then(({ body }) => body);
}

test("a receiver can verify each delivery from its raw body, in both schemes", async () => {
  const { id, secret, received } = await webhooks.subscribe();
  await webhooks.emit("player.created", [{ ...PLAYER, name: "Zoë 🎰" }]);
  await webhooks.work();
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
  const [delivery] = await webhooks.deliveriesOf(id);
  expect(headers["x-service-delivery"]).toBe(delivery!.id);
  expect(delivery).toMatchObject({ status: "delivered", attempt_count: 1, next_attempt_at: null });
  expect(delivery!.attempts).toMatchObject([{ status_code: 200, error: null, response_snippet: "ok" }]);
  const body = JSON.parse(raw);
  expect(body).toEqual({
    id: headers["webhook-id"],
    type: "player.created",
    timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    api_version: "2026-06-05",
    property_id: webhooks.property,
    data: { object: { ...PLAYER, name: "Zoë 🎰" } },
  });
  expect(body.id).toBe(`evt_${delivery!.event_id}`);
});

test("a failed delivery is tried eight times on the published schedule, with the same ids and the same body", async () => {
  const { id, received } = await webhooks.subscribe(() => ({ status: 500, body: "x".repeat(1000) }));
  await webhooks.emit("player.created", [PLAYER]);
  await webhooks.work();
  const schedule = [5, 300, 1800, 7200, 18_000, 36_000, 36_000];
  for (const seconds of schedule) {
    const [wake] = (await webhooks.waiting()).filter((job) => job.endpoint === id);
    expect(wake!.seconds).toBeGreaterThan(seconds * 0.8 - 3);
    expect(wake!.seconds).toBeLessThanOrEqual(seconds * 1.2);
    await webhooks.makeDue();
    await webhooks.run(id);
  }
  const [delivery] = await webhooks.deliveriesOf(id);
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
  const { id, received } = await webhooks.subscribe((_, before) => ({ status: before === 0 ? 500 : 200 }));
  await webhooks.emit("player.created", [PLAYER]);
  await webhooks.work();
  await webhooks.run(id);
  expect(received).toHaveLength(1);
  await webhooks.makeDue();
  await webhooks.run(id);
  expect(received).toHaveLength(2);
  expect((await webhooks.deliveriesOf(id))[0]).toMatchObject({ status: "delivered", attempt_count: 2 });
});

test("410 Gone switches the endpoint off at once, and says so in the audit log", async () => {
  const { id, received } = await webhooks.subscribe(() => ({ status: 410 }));
  await webhooks.emit(
    "player.created",
    Array.from({ length: 40 }, () => PLAYER),
  );
  await webhooks.work();
  expect(await endpoint(id)).toMatchObject({
    is_active: false,
    disabled_reason: "The receiver answered 410 Gone.",
  });
  expect(received.length).toBeLessThanOrEqual(16);
  const states = (await webhooks.deliveriesOf(id)).map(({ status }) => status);
  expect(states.filter((status) => status === "failed")).toHaveLength(received.length);
  expect(states.filter((status) => status === "discarded")).toHaveLength(40 - received.length);
  const audits = await webhooks.asTenant(
    (sql) => sql`select action from audit_logs where property_id = ${webhooks.property} and entity_id = ${id}
      and action = 'disable_webhook_endpoint'`,
  );
  expect(audits).toHaveLength(1);
  await webhooks.emit("player.created", [PLAYER]);
  expect(await webhooks.deliveriesOf(id)).toHaveLength(40);
});

test.each([
  ["seconds", 429, () => "600", 600],
  ["a date", 429, () => new Date(Date.now() + 600_000).toUTCString(), 600],
  ["more than a day", 429, () => "900000", 86_400],
  ["seconds, while the receiver is down,", 503, () => "600", 600],
])("Retry-After as %s is obeyed, for the whole endpoint", async (_, status, header, seconds) => {
  const { id, received } = await webhooks.subscribe(() => ({
    status,
    headers: { "retry-after": header() },
  }));
  await webhooks.emit("player.created", [PLAYER]);
  await webhooks.work();
  await webhooks.emit("player.created", [PLAYER]);
  await webhooks.work();
  expect(received).toHaveLength(1);
  const [wake] = (await webhooks.waiting()).filter((job) => job.endpoint === id);
  expect(wake!.seconds).toBeGreaterThan(seconds - 10);
  expect(wake!.seconds).toBeLessThanOrEqual(seconds + 1);
  const [tried, waiting] = await webhooks.deliveriesOf(id);
  expect([tried!.attempt_count, waiting!.attempt_count]).toEqual([1, 0]);
  expect(Date.parse(tried!.next_attempt_at!) - Date.now()).toBeGreaterThan((seconds - 10) * 1000);
});

test("once a receiver asks for a rest, the rest of the batch is not posted", async () => {
  const { id, received } = await webhooks.subscribe(() => ({
    status: 429,
    headers: { "retry-after": "600" },
  }));
  await webhooks.emit(
    "player.created",
    Array.from({ length: 300 }, () => PLAYER),
  );
  await webhooks.work();
  // Sixteen requests are open when the first is answered.
  expect(received).toHaveLength(16);
  const tried = (await webhooks.deliveriesOf(id)).map(({ attempt_count }) => attempt_count);
  expect(tried.filter((count) => count === 0)).toHaveLength(284);
});

test("a receiver that lets some requests hang, and answers others, still gets all the rest", async () => {
  const { id, received } = await webhooks.subscribe((_, before) => ({
    hangs: before > 0 && before % 40 === 0,
  }));
  await webhooks.emit(
    "player.created",
    Array.from({ length: 300 }, () => PLAYER),
  );
  await webhooks.work();
  expect(received).toHaveLength(300);
  const states = (await webhooks.deliveriesOf(id)).map(({ status }) => status);
  expect(states.filter((status) => status === "delivered")).toHaveLength(293);
  // Seven time-outs in a row give the endpoint no rest.
  await webhooks.emit("player.created", [PLAYER]);
  await webhooks.work();
  expect(received.length).toBeGreaterThan(300);
});

test("a redirect is a failure, and nobody is asked at its target", async () => {
  const target = await webhooks.subscribe(undefined, { events: ["player.shared"] });
  const { id } = await webhooks.subscribe(() => ({ status: 302, headers: { location: target.url } }));
  await webhooks.emit("player.created", [PLAYER]);
  await webhooks.work();
  expect(target.received).toHaveLength(0);
  const [delivery] = await webhooks.deliveriesOf(id);
  expect(delivery).toMatchObject({ status: "pending", attempt_count: 1 });
  expect(delivery!.attempts[0]?.error).toBe("The receiver answered 302. Redirects are not followed.");
});

test("a receiver that nobody answers at is an ordinary failure with a readable reason", async () => {
  const { id, stop } = await webhooks.subscribe();
  await stop();
  await webhooks.emit("player.created", [PLAYER]);
  await webhooks.work();
  const [delivery] = await webhooks.deliveriesOf(id);
  expect(delivery).toMatchObject({ status: "pending", attempt_count: 1 });
  expect(delivery!.attempts[0]).toMatchObject({ status_code: null, error: /ECONNREFUSED/ });
});

test("when a receiver hangs, the rest of the batch keeps its attempts and waits, and one request probes it later", async () => {
  const { id, received } = await webhooks.subscribe((_, before) => ({ hangs: before < 17 }));
  await webhooks.emit(
    "player.created",
    Array.from({ length: 300 }, () => PLAYER),
  );
  await webhooks.work();
  expect(received).toHaveLength(16);
  const tried = (await webhooks.deliveriesOf(id)).map(({ attempt_count }) => attempt_count);
  expect(tried.filter((count) => count === 0)).toHaveLength(284);
  await webhooks.run(id);
  expect(received).toHaveLength(16);
  await webhooks.makeDue();
  await webhooks.run(id);
  expect(received).toHaveLength(17);
  await webhooks.makeDue();
  await webhooks.run(id);
  expect(received).toHaveLength(17 + 300);
  expect(await endpoint(id)).toMatchObject({ failing_since: null });
});

test("an endpoint that has only failed for five days is switched off, and a success in between saves it", async () => {
  let status = 500;
  const { id } = await webhooks.subscribe(() => ({ status }));
  const fail = async (since: string) => {
    await webhooks.asTenant(
      (sql) => sql`update webhook_endpoints set failing_since = now() - ${since}::interval where id = ${id}`,
    );
    await webhooks.makeDue();
    await webhooks.emit("player.created", [PLAYER]);
    await webhooks.work();
  };
  await webhooks.emit("player.created", [PLAYER]);
  await webhooks.work();
  expect((await endpoint(id)).failing_since).not.toBeNull();
  await fail("4 days 23 hours");
  expect(await endpoint(id)).toMatchObject({ is_active: true });
  status = 200;
  await fail("5 days 1 hour");
  expect(await endpoint(id)).toMatchObject({ is_active: true, failing_since: null });
  status = 500;
  await fail("5 days 1 hour");
  expect(await endpoint(id)).toMatchObject({ is_active: false, disabled_reason: /5 days.*answered 500/ });
  const { body } = await webhooks.call("update_webhook_endpoint", { id, is_active: true });
  expect(body).toMatchObject({ is_active: true, disabled_reason: null, failing_since: null });
});
