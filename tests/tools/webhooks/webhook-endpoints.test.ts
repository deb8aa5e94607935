import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { EVENT_NAMES } from "#runtime/operation/events.ts";
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

const backlog = () =>
  webhooks.asTenant((sql) => sql`select from webhook_backlog where property_id = ${webhooks.property}`);

describe("an endpoint", () => {
  test("is answered as the specification shows it, with what we add", async () => {
    const { status, body } = await create();
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.any(String),
      property_id: webhooks.property,
      url: URL,
      events: ["player.created"],
      is_active: true,
      description: null,
      include_pii: false,
      disabled_reason: null,
      failing_since: null,
      created_at: expect.any(String),
      updated_at: expect.any(String),
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
    });
  });

  test.each([
    ["http://receiver.test/h?a=[1]&b=%C3%A9#x", "http://receiver.test/h?a=[1]&b=%C3%A9#x"],
    ["http://receiver.test/caf\u00e9 1?q=\u00fc|x", "http://receiver.test/caf%C3%A9%201?q=%C3%BC%7Cx"],
    ["http://m\u00fcnchen.test/", "http://xn--mnchen-3ya.test/"],
  ])("at %j is kept as the URI %s", async (url, uri) => {
    const { body } = await create({ url });
    expect(body.url).toBe(uri);
    const changed = await webhooks.call("update_webhook_endpoint", { id: body.id, url });
    expect(changed.body.url).toBe(uri);
  });

  test("shows its secret in the first answer and never again", async () => {
    const first = await webhooks.call(
      "create_webhook_endpoint",
      { url: URL, events: ["*"] },
      { key: "once" },
    );
    const { id, secret } = first.body;
    const again = await webhooks.call(
      "create_webhook_endpoint",
      { url: URL, events: ["*"] },
      { key: "once" },
    );
    expect(again.body.id).toBe(id);
    const others = [
      again,
      await webhooks.call("get_webhook_endpoint", { id }),
      await webhooks.call("list_webhook_endpoints", {}),
      await webhooks.call("update_webhook_endpoint", { id, description: "mine" }),
    ];
    for (const { text } of others) expect(text).not.toMatch(/secret|whsec/);
    for (const filters of [{ "secret.like": "whsec%" }, { "previous_secret.is": "null" }]) {
      await expect(webhooks.call("list_webhook_endpoints", { filters })).rejects.toMatchObject({
        status: 400,
      });
    }
    await expect(webhooks.call("list_webhook_endpoints", { select: "secret" })).rejects.toMatchObject({
      status: 400,
    });
    await expect(create({ secret: "whsec_mine" })).rejects.toMatchObject({ status: 400 });
    const stored = await webhooks.asTenant(
      (sql) => sql`
        select 1 from audit_logs where diff::text like ${`%${secret}%`}
        union all select 1 from idempotency_records where body like ${`%${secret}%`}`,
    );
    expect(stored).toHaveLength(0);
  });

  test("may listen to every event, to whole categories and to all", async () => {
    const events = [...EVENT_NAMES, "campaign.*", "*"];
    expect((await create({ events: [...events, "*"] })).body.events).toEqual(events);
  });

  test.each([
    [
      "an event that does not exist",
      { events: ["player.craeted"] },
      /"player\.craeted".*Allowed: \*, campaign\.\*.*player\.created/,
    ],
    ["a category that does not exist", { events: ["wallet.*"] }, /"wallet\.\*"/],
    ["no events", { events: [] }, /events/],
    ["more than 100 events", { events: Array.from({ length: 101 }, () => "*") }, /events/],
    ["no URL", { url: "hooks" }, /url/],
    [
      "a URL that is too long as a URI",
      { url: `http://receiver.test/${"\u00e9".repeat(400)}` },
      /longer than 2048/,
    ],
    ["a URL of another kind", { url: "ftp://receiver.example.com/" }, /https:/],
    ["a password in the URL", { url: "http://me:secret@receiver.example.com/" }, /password/],
    ["an unknown field", { retries: 3 }, /retries: unknown field/],
    ["a field that the service writes", { disabled_reason: "x" }, /disabled_reason: unknown field/],
  ])("is refused with %s", async (_, input, words) => {
    await expect(create(input)).rejects.toMatchObject({ status: 400, message: words });
    const { body } = await create();
    await expect(webhooks.call("update_webhook_endpoint", { id: body.id, ...input })).rejects.toMatchObject({
      status: 400,
      message: words,
    });
  });

  test("takes its deliveries with it when it is deleted; the events stay", async () => {
    const { body } = await create();
    await webhooks.asTenant(
      (sql) => sql`
        insert into webhook_deliveries (property_id, event_id, event_type, endpoint_id, status)
        select ${webhooks.property}::uuid, uuid_v7(), 'player.created', ${body.id}::uuid, 'delivered'
        from generate_series(1, 6000) returning 1`,
    );
    await webhooks.asTenant(
      (sql) => sql`
        insert into webhook_backlog (property_id, id, endpoint_id, event_ids)
        select ${webhooks.property}::uuid, uuid_v7(), ${body.id}::uuid, array_fill(uuid_v7(), array[1000])
        from generate_series(1, 10) returning 1`,
    );
    await webhooks.emit("player.created", [PLAYER]);
    await webhooks.call("delete_webhook_endpoint", { id: body.id });
    await webhooks.work();
    expect((await webhooks.call("list_webhook_deliveries", {})).body).toEqual([]);
    expect(await backlog()).toHaveLength(0);
    expect(await webhooks.waiting()).toEqual([]);
    const events = await webhooks.asTenant(
      (sql) => sql`select 1 from outbox where property_id = ${webhooks.property}`,
    );
    expect(events.length).toBeGreaterThan(0);
  });

  test("that is being deleted holds up no write of an event, and leaves nothing of it", async () => {
    const { body } = await create();
    await webhooks.asTenant(async (sql) => {
      await sql`delete from webhook_endpoints where property_id = ${webhooks.property} and id = ${body.id}`;
      await webhooks.call("create_player", { player_id: "P-2" });
    });
    await webhooks.work();
    expect(await backlog()).toHaveLength(0);
    expect((await webhooks.call("list_webhook_deliveries", {})).body).toEqual([]);
  });

  test("that is switched off by hand gets nothing, what was pending is discarded, and it can be switched on", async () => {
    const { url, received } = await webhooks.receiver();
    const { body } = await create({ url });
    await webhooks.emit("player.created", [PLAYER]);
    await webhooks.call("update_webhook_endpoint", { id: body.id, is_active: false });
    await webhooks.emit("player.created", [PLAYER]);
    await webhooks.work();
    expect(received).toHaveLength(0);
    expect((await webhooks.deliveriesOf(body.id)).map(({ status }) => status)).toEqual(["discarded"]);
    await webhooks.call("update_webhook_endpoint", { id: body.id, is_active: true });
    await webhooks.emit("player.created", [PLAYER]);
    await webhooks.work();
    expect(received).toHaveLength(1);
  });

  test("that moves to another URL gets what was waiting there at once", async () => {
    const { url, received } = await webhooks.receiver();
    const { body } = await create({ url: "http://127.0.0.1:9/" });
    await webhooks.emit("player.created", [PLAYER]);
    await webhooks.asTenant(
      (sql) => sql`update webhook_endpoints set resting_until = now() + interval '1 day'`,
    );
    await webhooks.work();
    await webhooks.call("update_webhook_endpoint", { id: body.id, url });
    await webhooks.work();
    expect(received).toHaveLength(1);
  });

  test("of another property is not there, for any operation", async () => {
    const at = await webhooks.newProperty();
    const { body } = await create();
    const sent = await webhooks.call("test_webhook", { endpointId: body.id });
    const attempts: [string, object][] = [
      ["get_webhook_endpoint", { id: body.id }],
      ["update_webhook_endpoint", { id: body.id, is_active: false }],
      ["delete_webhook_endpoint", { id: body.id }],
      ["get_webhook_delivery", { id: sent.body.delivery_id }],
      ["rotate_webhook_secret", { endpointId: body.id }],
      ["test_webhook", { endpointId: body.id }],
      ["redeliver_webhook", { deliveryId: sent.body.delivery_id }],
      ["replay_webhooks", { endpointId: body.id, since: "2020-01-01T00:00:00Z" }],
    ];
    for (const [name, input] of attempts) {
      await expect(webhooks.call(name, input, { at }), name).rejects.toMatchObject({ status: 404 });
    }
    expect((await webhooks.call("list_webhook_endpoints", {}, { at })).body).toEqual([]);
    expect((await webhooks.call("list_webhook_deliveries", {}, { at })).body).toEqual([]);
  });
});

describe("where private addresses are closed", () => {
  let closed: Webhooks;
  beforeAll(async () => {
    closed = await openWebhooks({ allowPrivate: false });
  });
  afterAll(() => closed.close());

  test.each([
    ["http://receiver.example.com/", /https:.*WEBHOOK_ALLOW_PRIVATE/],
    ["https://127.0.0.1/", /not on the public internet/],
    ["https://169.254.169.254/latest/meta-data/", /not on the public internet/],
    ["https://localhost:8443/", /not on the public internet/],
  ])("an endpoint at %s is refused", async (url, words) => {
    const input = { url, events: ["*"] };
    await expect(closed.call("create_webhook_endpoint", input)).rejects.toMatchObject({
      status: 400,
      message: words,
    });
  });

  test("one that got in all the same is not called, and the delivery says why", async () => {
    const { url, received } = await webhooks.receiver();
    const { body } = await closed.call("create_webhook_endpoint", {
      url: "https://receiver.example.com/",
      events: ["*"],
    });
    const inside = url.replace("http:", "https:");
    await closed.asTenant((sql) => sql`update webhook_endpoints set url = ${inside} where id = ${body.id}`);
    await closed.emit("player.created", [PLAYER]);
    await closed.work();
    const [delivery] = await closed.deliveriesOf(body.id);
    expect(delivery).toMatchObject({ status: "pending", attempt_count: 1 });
    expect(delivery!.attempts[0]?.error).toBe("The host 127.0.0.1 is not on the public internet.");
    expect(received).toHaveLength(0);
  });
});
