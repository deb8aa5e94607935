import { createHmac } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { emitMany } from "#runtime/funnel/outbox.ts";
import { openWebhooks, PLAYER, type Webhooks } from "./scenario.ts";

let webhooks: Webhooks;
beforeAll(async () => {
  webhooks = await openWebhooks();
});
afterAll(() => webhooks.close());
afterEach(() => webhooks.clear());

const URL = "http://receiver.test/hooks";
const create = (input: object = {}) =>
  webhooks.call("create_webhook_endpoint", { url: URL, events: ["player.created"], ...input });

describe("the body", () => {
  const personal = {
    ...PLAYER,
    email: "zoe@example.com",
    phone: "+17025550100",
    first_name: "Zoe",
    last_name: "Quinn",
    birth_date: "1980-01-01",
    postal_code: "89101",
    custom: { shoe: 42 },
    host: { id: 1, email: "host@example.com", seen: [{ phone: "+17025550101" }] },
  };

  async function bodyOf(input: object, object: object) {
    const { url, received } = await webhooks.receiver();
    await create({ url, ...input });
    await webhooks.emit("player.created", [object]);
    await webhooks.work();
    return { ...JSON.parse(received[0]!.raw), bytes: Buffer.byteLength(received[0]!.raw) };
  }

  test("is thin: nobody's personal data is in it, at any depth", async () => {
    const { data } = await bodyOf({}, personal);
    expect(data.object).toEqual({ ...PLAYER, host: { id: 1, seen: [{}] } });
  });

  test("is whole for an endpoint that asked for it", async () => {
    const { data } = await bodyOf({ include_pii: true }, personal);
    expect(data.object).toEqual(personal);
  });

  test("names what changed and what it was before, thin as well", async () => {
    const { url, received } = await webhooks.receiver();
    await create({ url, events: ["player.*"] });
    await webhooks.emit("player.updated", [personal], webhooks.property, {
      tier: "Silver",
      email: "old@example.com",
    });
    await webhooks.work();
    expect(JSON.parse(received[0]!.raw).data.previous).toEqual({ tier: "Silver" });
  });

  test("that would be over 20 KB holds the id alone, and says that it is cut", async () => {
    const { data, bytes } = await bodyOf({}, { ...PLAYER, note: "é".repeat(10_000) });
    expect(data).toEqual({ object: { id: PLAYER.id }, truncated: true });
    expect(bytes).toBeLessThan(20_000);
  });
});

describe("a rotation", () => {
  test("shows the new secret once, and until the overlap ends signs with both", async () => {
    const { url, received } = await webhooks.receiver();
    const { body: endpoint } = await create({ url });
    const rotate = () =>
      webhooks.call("rotate_webhook_secret", { endpointId: endpoint.id, overlapHours: 2 }, { key: "rotate" });
    const { body } = await rotate();
    expect(Date.parse(body.previous_secret_until) - Date.now()).toBeGreaterThan(7_100_000);
    expect((await rotate()).body).toEqual({
      success: true,
      previous_secret_until: body.previous_secret_until,
    });
    await webhooks.emit("player.created", [PLAYER]);
    await webhooks.work();
    const { headers, raw } = received[0]!;
    const mac = (secret: string) =>
      `v1=${createHmac("sha256", secret).update(`${headers["x-service-timestamp"]}.${raw}`).digest("hex")}`;
    expect(headers["x-service-signature"]).toBe(mac(body.secret));
    expect(headers["x-service-signature-previous"]).toBe(mac(endpoint.secret));
    expect(String(headers["webhook-signature"]).split(" ")).toHaveLength(2);
    await webhooks.asTenant((sql) => sql`update webhook_endpoints set previous_secret_until = now()`);
    await webhooks.emit("player.created", [PLAYER]);
    await webhooks.work();
    expect(received[1]!.headers).not.toHaveProperty("x-service-signature-previous");
    expect(String(received[1]!.headers["webhook-signature"]).split(" ")).toHaveLength(1);
  });

  test("without an overlap ends the old secret at once", async () => {
    const { url, received } = await webhooks.receiver();
    const { body: endpoint } = await create({ url });
    const { body } = await webhooks.call("rotate_webhook_secret", {
      endpointId: endpoint.id,
      overlapHours: 0,
    });
    expect(body.previous_secret_until).toBeNull();
    await webhooks.emit("player.created", [PLAYER]);
    await webhooks.work();
    expect(received[0]!.headers).not.toHaveProperty("x-service-signature-previous");
  });
});

describe("sending again", () => {
  test("a test event reaches an endpoint that subscribes to something else", async () => {
    const { url, received } = await webhooks.receiver();
    const { body } = await create({ url });
    const sent = await webhooks.call("test_webhook", { endpointId: body.id });
    await webhooks.work();
    expect(received.map(({ headers }) => headers["x-service-event"])).toEqual(["webhook.test"]);
    const delivery = await webhooks.call("get_webhook_delivery", { id: sent.body.delivery_id });
    expect(delivery.body).toMatchObject({ status: "delivered", event_id: sent.body.event_id });
  });

  test("a delivery is sent again with its ids, even while the endpoint rests", async () => {
    const { url, received } = await webhooks.receiver();
    const { body } = await create({ url });
    await webhooks.emit("player.created", [PLAYER]);
    await webhooks.work();
    await webhooks.asTenant(
      (sql) => sql`update webhook_endpoints set resting_until = now() + interval '1 day'`,
    );
    const [delivery] = await webhooks.deliveriesOf(body.id);
    await webhooks.call("redeliver_webhook", { deliveryId: delivery!.id });
    await webhooks.work();
    expect(received).toHaveLength(2);
    for (const header of ["webhook-id", "x-service-delivery"]) {
      expect(received[1]!.headers[header]).toBe(received[0]!.headers[header]);
    }
    expect((await webhooks.deliveriesOf(body.id))[0]).toMatchObject({
      status: "delivered",
      attempt_count: 1,
    });
    expect((await webhooks.deliveriesOf(body.id))[0]!.attempts).toHaveLength(2);
  });

  test("a replay sends what failed in a stretch of time, and nothing else", async () => {
    const { url, received } = await webhooks.receiver();
    const { body } = await create({ url });
    const other = (await create({ url: (await webhooks.receiver()).url })).body;
    await webhooks.emit(
      "player.created",
      Array.from({ length: 6 }, () => PLAYER),
    );
    await webhooks.work();
    const ids = (await webhooks.deliveriesOf(body.id)).map(({ id }) => id);
    await webhooks.asTenant(async (sql) => {
      await sql`update webhook_deliveries set status = 'failed' where endpoint_id = ${other.id}`;
      await sql`update webhook_deliveries set status = 'failed' where id = any(${ids.slice(0, 4)}::uuid[])`;
      await sql`update webhook_deliveries set created_at = now() - interval '2 days' where id = any(${ids.slice(0, 2)}::uuid[])`;
    });
    const since = new Date(Date.now() - 86_400_000).toISOString();
    const long = new Date(Date.now() - 3 * 86_400_000).toISOString();
    for (const [times, [from, to]] of [
      [{ since: long, until: since }, [0, 2]],
      [{ since }, [2, 4]],
    ] as const) {
      const replayed = await webhooks.call("replay_webhooks", { endpointId: body.id, ...times });
      expect(replayed.body).toEqual({ success: true, replayed: 2, next_after: null });
      await webhooks.work();
      expect(received).toHaveLength(6 + to);
      const again = received.slice(6 + from).map(({ headers }) => headers["x-service-delivery"]);
      expect(again.sort()).toEqual(ids.slice(from, to).sort());
    }
    // Each begins anew, with all its attempts.
    const counts = (await webhooks.deliveriesOf(body.id)).map(({ attempt_count }) => attempt_count);
    expect(counts).toEqual(ids.map(() => 1));
    const until = new Date(Date.now() - 100_000_000).toISOString();
    await expect(
      webhooks.call("replay_webhooks", { endpointId: body.id, since, until }),
    ).rejects.toMatchObject({
      status: 400,
    });
  });

  test("a replay goes on behind a delivery that has been erased meanwhile", async () => {
    const { url, received } = await webhooks.receiver();
    const { body } = await create({ url });
    await webhooks.emit("player.created", [PLAYER, PLAYER, PLAYER]);
    await webhooks.work();
    const [first, erased, last] = (await webhooks.deliveriesOf(body.id)).map(({ id }) => id).toSorted();
    await webhooks.asTenant(async (sql) => {
      await sql`update webhook_deliveries set status = 'failed' where id = any(${[first!, last!]}::uuid[])`;
      await sql`delete from webhook_deliveries where id = ${erased}`;
    });
    const since = new Date(Date.now() - 86_400_000).toISOString();
    const replayed = await webhooks.call("replay_webhooks", { endpointId: body.id, since, after: erased });
    expect(replayed.body).toEqual({ success: true, replayed: 1, next_after: null });
    await webhooks.work();
    expect(received.slice(3).map(({ headers }) => headers["x-service-delivery"])).toEqual([last]);
  });

  test("a replay of what is pending sends at once what waits for its next attempt, and lets the endpoint rest no more", async () => {
    let status = 500;
    const { url, received } = await webhooks.receiver(() => ({ status }));
    const { body } = await create({ url });
    await webhooks.emit("player.created", [PLAYER, PLAYER, PLAYER]);
    await webhooks.work();
    status = 200;
    await webhooks.asTenant(
      (sql) => sql`update webhook_endpoints set resting_until = now() + interval '1 hour'`,
    );
    const since = new Date(Date.now() - 86_400_000).toISOString();
    const replay = { endpointId: body.id, since, status: "pending" };
    expect((await webhooks.call("replay_webhooks", replay)).body.replayed).toBe(3);
    expect((await webhooks.call("replay_webhooks", replay)).body.replayed).toBe(0);
    await webhooks.work();
    expect(received).toHaveLength(6);
    expect((await webhooks.deliveriesOf(body.id)).map((delivery) => delivery.status)).toEqual(
      Array.from({ length: 3 }, () => "delivered"),
    );
    expect((await webhooks.call("replay_webhooks", replay)).body.replayed).toBe(0);
  });

  test("a replay of more than 10,000 goes on where it stopped", async () => {
    const { body } = await create();
    await webhooks.asTenant((sql) =>
      emitMany(
        sql,
        webhooks.property,
        "player.created",
        sql`select '{}'::jsonb as object from generate_series(1, 10500)`,
      ),
    );
    await webhooks.asTenant(
      (sql) => sql`update webhook_endpoints set resting_until = now() + interval '1 day'`,
    );
    await webhooks.work();
    await webhooks.asTenant((sql) => sql`update webhook_deliveries set status = 'delivered'`);
    const replay = { endpointId: body.id, since: "2020-01-01T00:00:00Z", status: "delivered" };
    const first = (await webhooks.call("replay_webhooks", replay)).body;
    expect(first.replayed).toBe(10_000);
    const second = (await webhooks.call("replay_webhooks", { ...replay, after: first.next_after })).body;
    expect(second).toMatchObject({ replayed: 500, next_after: null });
  });

  test.each([
    ["test_webhook", (endpointId: string) => ({ endpointId })],
    ["replay_webhooks", (endpointId: string) => ({ endpointId, since: "2020-01-01T00:00:00Z" })],
  ])("%s to an endpoint that is switched off is a conflict", async (name, input) => {
    const { body } = await create({ is_active: false });
    await expect(webhooks.call(name, input(body.id))).rejects.toMatchObject({
      status: 409,
      message: /is_active/,
    });
  });
});

describe("events of many rows at once", () => {
  const rows = 1_000;
  const emit = (count = rows) =>
    webhooks.asTenant((sql) =>
      emitMany(
        sql,
        webhooks.property,
        "player.created",
        sql`select jsonb_build_object('id', i) as object from generate_series(1, ${count}) i`,
      ),
    );

  test("reach every endpoint that asked, each once, by one job an endpoint", async () => {
    const receivers = [await webhooks.receiver(), await webhooks.receiver()];
    for (const { url } of receivers) await create({ url });
    await create({ events: ["player.updated"] });
    // Two of the batches of a visit.
    const few = 600;
    expect(await emit(few)).toBe(2);
    expect(await webhooks.waiting()).toHaveLength(2);
    await webhooks.work();
    for (const { received } of receivers) {
      const ids = received.map(({ raw }) => JSON.parse(raw).data.object.id);
      expect(new Set(ids).size).toBe(few);
      expect(ids).toHaveLength(few);
    }
  });

  test("cost their writer a row for each thousand of them and endpoint, and no delivery", async () => {
    await create();
    await create();
    await emit();
    await emit();
    const rows = await webhooks.asTenant(
      (sql) => sql`
        select cardinality(event_ids)::int as events from webhook_backlog where property_id = ${webhooks.property}`,
    );
    expect(rows.map(({ events }) => events)).toEqual([1_000, 1_000, 1_000, 1_000]);
  });

  test("are all listed while their endpoint rests, and it is called when its rest ends", async () => {
    const { url, received } = await webhooks.receiver();
    const { body } = await create({ url });
    await webhooks.asTenant(
      (sql) => sql`update webhook_endpoints set resting_until = now() + interval '1 hour'`,
    );
    await emit();
    await emit();
    await emit();
    await webhooks.work();
    expect(received).toHaveLength(0);
    const [{ count }] = (await webhooks.asTenant(
      (sql) => sql`
        select count(*)::int as count from webhook_deliveries
        where property_id = ${webhooks.property} and endpoint_id = ${body.id} and status = 'pending'`,
    )) as unknown as [{ count: number }];
    expect(count).toBe(3 * rows);
    const waiting = await webhooks.waiting();
    expect(waiting.map(({ endpoint }) => endpoint)).toEqual([body.id]);
    expect(waiting[0]!.seconds).toBeGreaterThan(3_000);
  });

  test("are all discarded, and can be replayed, when their endpoint is switched off before it gets them", async () => {
    const { url, received } = await webhooks.receiver();
    const { body } = await create({ url });
    await emit(3 * rows);
    await webhooks.call("update_webhook_endpoint", { id: body.id, is_active: false });
    await webhooks.work();
    await webhooks.call("update_webhook_endpoint", { id: body.id, is_active: true });
    const replay = { endpointId: body.id, since: "2020-01-01T00:00:00Z", status: "discarded" };
    expect(received).toHaveLength(0);
    expect((await webhooks.call("replay_webhooks", replay)).body.replayed).toBe(3 * rows);
  });

  test("cost nothing when nobody asked: the query does not run", async () => {
    await create({ events: ["player.updated"] });
    await create({ is_active: false });
    const queued = await webhooks.asTenant((sql) =>
      emitMany(sql, webhooks.property, "player.created", sql`select to_jsonb(1 / 0) as object`),
    );
    expect(queued).toBe(0);
  });

  test("of no rows wake nobody", async () => {
    await create();
    const queued = await webhooks.asTenant((sql) =>
      emitMany(sql, webhooks.property, "player.created", sql`select '{}'::jsonb as object where false`),
    );
    expect(queued).toBe(0);
  });
});
