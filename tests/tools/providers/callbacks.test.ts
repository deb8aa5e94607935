import { randomUUID } from "node:crypto";
import { HttpResponse, http, passthrough } from "msw";
import { setupServer } from "msw/node";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { EmailMessage, SendOutcome } from "#runtime/channels/provider/channel.ts";
import { fail } from "#runtime/jobs/leases.ts";
import { NOTICE_EXAMPLES } from "#transports/openapi/vendor-notices.ts";
import { shifted } from "../../support/database.ts";
import { Killed, loseWorker, vendor } from "../../support/job-runner.ts";
import { newScenario, type Scenario } from "../../support/scenario.ts";
import { startService, type TestService } from "../../support/service.ts";
import { amazon, CERTIFICATE_URL, type Posted, sendgrid, TOPIC, twilioPost } from "./vendor-signing.ts";

const grid = sendgrid();
const aws = amazon();
let confirmed = 0;
const server = setupServer(
  http.all(/^http:\/\/127\.0\.0\.1:/, () => passthrough()),
  http.get(CERTIFICATE_URL, () => HttpResponse.text(aws.certificate)),
  http.get("https://sns.us-east-1.amazonaws.com/", () => {
    confirmed += 1;
    return HttpResponse.text("<ok/>");
  }),
);
let service: TestService;
let scenario: Scenario;
let provider: string;

beforeAll(async () => {
  server.listen({ onUnhandledFrame: "error" });
  service = await startService({ role: "web" });
});
afterAll(async () => {
  server.close();
  await service?.stop();
});
/** Of what has been stored, a test looks at what came behind its beginning. */
let since = "-infinity";

/** A property of the test's own. */
async function own(): Promise<void> {
  scenario = await newProperty();
  provider = await newProvider(scenario, "sendgrid", { api_key: "SG", webhook_public_key: grid.publicKey });
  since = "-infinity";
}

const SHARED_SENDS = 20;
let shared: { scenario: Scenario; provider: string; sends: { id: string; player: string }[] } | undefined;

/** The property of tests that have to do with messages and addresses alone, and so many of its sent messages. */
async function inShared(count = 0): Promise<{ sends: { id: string; player: string }[] }> {
  if (!shared) {
    await own();
    await scenario.call("create_webhook_endpoint", { url: "https://receiver.example/hook", events: ["*"] });
    await scenario.crowd(SHARED_SENDS);
    shared = { scenario, provider, sends: (await campaign()).sends };
  }
  ({ scenario, provider } = shared);
  const [clock] = await scenario.query(
    (sql) => sql<{ now: string }[]>`select clock_timestamp()::text as now`,
  );
  since = clock!.now;
  const sends = shared.sends.splice(0, count);
  expect(sends).toHaveLength(count);
  return { sends };
}

function newProperty(): Promise<Scenario> {
  return newScenario(service, { from_email: "offers@casino.example" });
}

async function newProvider(of: Scenario, kind: string, credentials: object): Promise<string> {
  const record = { channel: "email", kind, name: randomUUID(), credentials, allows_gaming: true };
  return (await of.call("create_message_provider", record)).id;
}

const sent = ({ id }: EmailMessage): SendOutcome => ({ id, status: "sent", providerMessageId: `v-${id}` });

/** A campaign that went to so many players, by what the vendor answered. */
async function campaign(
  answer: (message: EmailMessage) => SendOutcome | Promise<SendOutcome> = sent,
  of = scenario,
): Promise<{ id: string; sends: { id: string; player: string }[] }> {
  const id = await of.campaign();
  await of.send(id);
  await of.work({ open: () => vendor({ answer }).sender });
  return { id, sends: (await of.sends(id)).filter(({ status }) => status !== "skipped") };
}

async function post({ body, headers }: Posted, id = provider, kind = "sendgrid") {
  const response = await fetch(`${service.baseUrl}/api/callbacks/${kind}/${id}`, {
    method: "POST",
    body,
    headers,
  });
  return {
    status: response.status,
    body: (await response.json()) as { error?: string; success?: boolean },
    headers: response.headers,
  };
}

let events = 0;
function event(kind: string, send: { id: string }, more: object = {}) {
  events += 1;
  const about = {
    sg_event_id: `e${events}`,
    sg_message_id: `v-${send.id}.f0`,
    timestamp: Math.floor(Date.now() / 1000),
  };
  return { event: kind, send_id: send.id, ...about, ...more };
}
const hard = { type: "bounce", status: "5.1.1", reason: "no such user" };
const soft = { type: "bounce", status: "4.2.2", reason: "mailbox full" };

/** Tells by SendGrid, and works on it. */
async function tell(...list: object[]): Promise<void> {
  const { status, body } = await post(grid.post(list));
  expect([status, body]).toEqual([200, { success: true }]);
  await scenario.work({ only: "receive_notices" });
}

const row = async (id: string) =>
  (
    await scenario.query(
      (sql) => sql`select * from campaign_sends where property_id = ${scenario.id} and id = ${id}`,
    )
  )[0]!;
const suppressions = async (of = scenario) =>
  (
    await of.query(
      (sql) => sql`select channel, reason, source, address from suppressions
        where property_id = ${of.id} and lifted_at is null and created_at >= ${since} order by channel, reason`,
    )
  ).map((one) => ({ ...one }));
const waiting = () =>
  service.internals.db.asSystem(
    (sql) => sql`select id from queue where name = 'receive_notices' and property_id = ${scenario.id}`,
  );
const emitted = async (type: string) =>
  (
    await scenario.query(
      (sql) => sql`
        select data from outbox
        where property_id = ${scenario.id} and type = ${type} and occurred_at >= ${since} order by id`,
    )
  ).map(({ data }) => data.object);

test("a permanent bounce suppresses the address at once, and tells of it", async () => {
  await own();
  await scenario.call("create_webhook_endpoint", { url: "https://receiver.example/hook", events: ["*"] });
  await scenario.crowd(2);
  const { id, sends } = await campaign();
  await tell(event("bounce", sends[0]!, hard), event("delivered", sends[1]!));
  expect(await row(sends[0]!.id)).toMatchObject({
    status: "bounced",
    bounce_type: "hard",
    error_code: "5.1.1",
    error_message: "no such user",
  });
  expect(await row(sends[1]!.id)).toMatchObject({ status: "delivered", delivered_at: expect.any(String) });
  expect(await suppressions()).toEqual([
    { channel: "email", reason: "hard_bounce", source: "sendgrid", address: "p1@example.com" },
  ]);
  expect(await scenario.stats(id)).toMatchObject({ bounced: 1, delivered: 1, sent: 0 });
  expect(await emitted("campaign.message_bounced")).toMatchObject([
    { id: sends[0]!.id, bounce_type: "hard" },
  ]);
  expect(await emitted("campaign.message_delivered")).toMatchObject([{ id: sends[1]!.id, campaign_id: id }]);
  expect(await emitted("player.suppressed")).toMatchObject([{ reason: "hard_bounce" }]);
  expect(JSON.stringify(await emitted("player.suppressed"))).not.toContain("example.com");
  const next = await scenario.campaign();
  await scenario.send(next);
  await scenario.work({ only: "plan_campaign" });
  expect((await scenario.sends(next)).map(({ status, skip_reasons }) => [status, ...skip_reasons])).toEqual([
    ["skipped", "suppressed"],
    ["pending"],
  ]);
});

test("the third passing bounce within a week suppresses, by the property's own limit", async () => {
  await own();
  await scenario.crowd(1);
  for (const expected of [[], [], ["soft_bounce_limit"]]) {
    const { sends } = await campaign();
    await tell(event("bounce", sends[0]!, soft));
    expect((await suppressions()).map(({ reason }) => reason)).toEqual(expected);
  }
  await own();
  await scenario.call("update_property", {
    propertyId: scenario.id,
    soft_bounce_limit: 2,
    hard_bounce_limit: 2,
  });
  await scenario.crowd(1);
  const first = await campaign();
  await tell(event("bounce", first.sends[0]!, soft));
  await scenario.query((sql) => sql`update campaign_sends set bounced_at = now() - interval '8 days'`);
  const second = await campaign();
  await tell(event("bounce", second.sends[0]!, soft));
  expect(await suppressions()).toEqual([]);
  const third = await campaign();
  await tell(event("bounce", third.sends[0]!, soft));
  expect((await suppressions()).map(({ reason }) => reason)).toEqual(["soft_bounce_limit"]);
});

test("a complaint, and unsubscribing at the vendor, take consent back and cancel what is open", async () => {
  await own();
  await scenario.crowd(2);
  const { sends } = await campaign();
  const next = await scenario.campaign();
  await scenario.send(next);
  await scenario.work({ only: "plan_campaign" });
  await tell(event("spamreport", sends[0]!), event("unsubscribe", sends[1]!));
  expect((await suppressions()).map(({ reason, address }) => [reason, address])).toEqual([
    ["complaint", "p1@example.com"],
    ["unsubscribed", "p2@example.com"],
  ]);
  expect((await scenario.sends(next)).map(({ status }) => status)).toEqual(["cancelled", "cancelled"]);
  const ledger = await scenario.query(
    (sql) => sql`
      select action, collection_method, consent_source from consent_records
      where property_id = ${scenario.id} order by collection_method`,
  );
  expect(ledger.map((one) => ({ ...one }))).toEqual([
    { action: "revoked", collection_method: "complaint", consent_source: "sendgrid" },
    { action: "revoked", collection_method: "provider", consent_source: "sendgrid" },
  ]);
  expect(await row(sends[0]!.id)).toMatchObject({ status: "delivered", complained_at: expect.any(String) });
});

test("a vendor's notices of others are carried out, though one of the players is erased while they wait", async () => {
  await own();
  await scenario.crowd(2);
  await scenario.player({ player_id: "q-1", email: "jop1@example.com" });
  const { sends } = await campaign();
  const notices = [
    { ...hard, email: "p1@example.com" },
    { ...hard, email: "p2@example.com" },
    { ...hard, email: "jop1@example.com" },
  ].map((more, at) => event("bounce", sends[at]!, more));
  expect((await post(grid.post(notices))).status).toBe(200);
  expect(
    (await post(grid.post([event("bounce", sends[0]!, { ...hard, email: "P1@Example.com" })]))).status,
  ).toBe(200);
  expect(await waiting()).toHaveLength(2);
  const [erased] = await scenario.query(
    (sql) => sql`select id from players where property_id = ${scenario.id} and player_id = 'p-1'`,
  );
  await scenario.call("data_deletion", { propertyId: scenario.id, playerId: erased!.id });
  expect(await waiting()).toHaveLength(1);
  const [left] = await service.internals.db.asSystem(
    (sql) => sql`select input::text as input from queue
      where name = 'receive_notices' and property_id = ${scenario.id}`,
  );
  expect(left!.input).not.toMatch(/"p1@example/);
  await scenario.work({ only: "receive_notices" });
  const bounced = (await suppressions()).filter(({ reason }) => reason === "hard_bounce");
  expect(bounced.map(({ address }) => address).sort()).toEqual(["jop1@example.com", "p2@example.com"]);
});

test("an erasure reaches a vendor's notices that have failed for good, or are being worked on and fail for good then", async () => {
  await own();
  await scenario.crowd(2);
  const { sends } = await campaign();
  const tellOf = async (...players: string[]) => {
    const notices = players.map((one) =>
      event("bounce", sends.find(({ player }) => player === one)!, {
        ...hard,
        email: `${one.replace("-", "")}@example.com`,
        reason: `550 <${one.replace("-", "")}@example.com> unknown`,
      }),
    );
    expect((await post(grid.post(notices))).status).toBe(200);
  };
  const inState = (state: string) =>
    service.internals.db.asSystem(
      (sql) => sql<{ id: string; lease: string }[]>`
        update queue set state = ${state}, attempts = max_attempts, lease = ${state === "running" ? randomUUID() : null},
          leased_until = now() + interval '1 hour'
        where name = 'receive_notices' and property_id = ${scenario.id} and state = 'ready' returning id, lease`,
    );
  await tellOf("p-1", "p-2");
  await tellOf("p-1");
  await inState("dead");
  await tellOf("p-1", "p-2");
  await tellOf("p-1");
  const atWork = await inState("running");
  const [erased] = await scenario.query(
    (sql) => sql`select id from players where property_id = ${scenario.id} and player_id = 'p-1'`,
  );
  await scenario.call("data_deletion", { propertyId: scenario.id, playerId: erased!.id });
  for (const lease of atWork) {
    const trouble = { error: "gone", interrupted: false };
    expect(await fail(service.internals.db, lease, trouble)).toBe("dead");
  }
  const left = await service.internals.db.asSystem(
    (sql) => sql<{ input: { notices: { address: string }[] } }[]>`
      select input from queue where name = 'receive_notices' and property_id = ${scenario.id} order by id`,
  );
  expect(JSON.stringify(left)).not.toContain("p1@example.com");
  expect(left.map(({ input }) => input.notices.map(({ address }) => address))).toEqual([
    ["p2@example.com"],
    [undefined],
    [],
  ]);
});

test.each([
  ["notices", false],
  ["notices, and then of its answer,", true],
])("of %s behind the erasure of a person nothing names the message to the vendor", async (_, isOpen) => {
  await own();
  const ana = await scenario.player({ player_id: "ana", email: "p1@example.com" });
  const erase = () => scenario.call("data_deletion", { propertyId: scenario.id, playerId: ana });
  const { sends } = await campaign(async (message) => {
    if (isOpen) {
      await tell(event("delivered", message));
      await erase();
    }
    return sent(message);
  });
  if (!isOpen) {
    await erase();
    await tell(event("bounce", sends[0]!, { ...hard, reason: "550 <p1@example.com> unknown" }));
  }
  const { status, player_id, anon_id, provider_message_id, error_message } = await row(sends[0]!.id);
  expect(anon_id).not.toBeNull();
  expect({ status, player_id, provider_message_id, error_message }).toEqual({
    status: isOpen ? "delivered" : "bounced",
    ...{ player_id: null, provider_message_id: null, error_message: null },
  });
});

test("a notice that comes late or in another order undoes nothing that is known better", async () => {
  const { sends } = await inShared(3);
  const [one, two, three] = [sends[0]!, sends[1]!, sends[2]!];
  await tell(event("delivered", one));
  const known = await row(one.id);
  await tell(event("dropped", one, { reason: "Invalid" }));
  await tell(event("processed", one), event("delivered", one));
  expect(await row(one.id)).toMatchObject({ status: "delivered", delivered_at: known.delivered_at });
  await tell(event("bounce", two, hard), event("delivered", two));
  await tell(event("delivered", two), event("bounce", two, soft));
  expect(await row(two.id)).toMatchObject({ status: "bounced", bounce_type: "hard", error_code: "5.1.1" });
  await tell(event("dropped", three, { reason: "Invalid" }));
  await tell(event("delivered", three));
  expect(await row(three.id)).toMatchObject({ status: "failed", error_code: "dropped" });
});

test("a send of which nobody could tell is settled, and one that was given back is not sent again", async () => {
  await own();
  await scenario.crowd(3);
  const told: Record<string, SendOutcome["status"]> = {
    "p1@example.com": "unknown",
    "p2@example.com": "unknown",
  };
  const { id, sends } = await campaign((message) => {
    const trouble = { id: message.id, code: "http_500", message: "?" };
    return told[message.to] === "unknown"
      ? { ...trouble, status: "unknown" }
      : { ...trouble, status: "retry", retryAfter: 60 };
  });
  expect((await scenario.sends(id)).map(({ status }) => status)).toEqual(["unknown", "unknown", "pending"]);
  await tell(
    event("delivered", sends[0]!),
    event("dropped", sends[1]!, { reason: "Invalid" }),
    event("open", sends[2]!),
  );
  expect((await scenario.sends(id)).map(({ status }) => status)).toEqual([
    "delivered",
    "failed",
    "delivered",
  ]);
  await service.internals.db.asSystem(
    (sql) => sql`update queue set run_at = now() where property_id = ${scenario.id}`,
  );
  const after = vendor();
  await scenario.work({ open: () => after.sender });
  expect(after.given).toEqual([]);
});

test("a send that was settled for want of any word counts against caps, until the vendor says that it failed", async () => {
  await own();
  await scenario.query(
    (sql) => sql`
      insert into frequency_rules (property_id, channel, max_sends, window_unit) values (${scenario.id}, 'email', 1, 'week')`,
  );
  await scenario.crowd(3);
  const refused = "p3@example.com";
  const { id, sends } = await campaign((message) => ({
    id: message.id,
    status: message.to === refused ? "failed" : "unknown",
    code: "http_500",
    message: "?",
  }));
  expect(await scenario.stats(id)).toMatchObject({ unknown: 2, failed: 1, unconfirmed: 0 });
  await scenario.query(
    (sql) => sql`
      update campaign_sends set claimed_at = ${shifted("claimed_at", "-25 hours")} where property_id = ${scenario.id}`,
  );
  await service.internals.db.asSystem(
    (sql) => sql`update queue set run_at = now() where property_id = ${scenario.id}`,
  );
  await scenario.work({ only: "settle_sends" });
  expect(await scenario.stats(id)).toMatchObject({ unknown: 0, failed: 3, unconfirmed: 2 });
  await tell(event("dropped", sends[0]!, { reason: "Invalid" }));
  expect(await scenario.stats(id)).toMatchObject({ failed: 3, unconfirmed: 1 });
  const next = await campaign();
  expect(next.sends.map((send) => send.player)).toEqual(["p-1", "p-2", "p-3"]);
  expect(
    (await scenario.sends(next.id)).map(({ status, skip_reasons }) => [status, ...skip_reasons]),
  ).toEqual([["sent"], ["deferred", "frequency_capped"], ["sent"]]);
});

describe("that the vendor took a message is told of once", () => {
  const told = async () =>
    (await emitted("campaign.message_sent")).map(({ id }: { id: string }) => id).sort();
  /** A campaign to five, of whom the vendor tells before it answers; it is sent as far as `life` goes. */
  const fast = async (life: { left: number }, onTold = () => {}) => {
    await scenario.call("create_webhook_endpoint", { url: "https://receiver.example/hook", events: ["*"] });
    await scenario.crowd(5);
    const id = await scenario.campaign();
    await scenario.send(id);
    await scenario.work({ only: "plan_campaign" });
    const sends = await scenario.sends(id);
    const notices = [
      event("delivered", sends[0]!),
      event("bounce", sends[1]!, hard),
      event("dropped", sends[2]!, { reason: "Invalid" }),
    ];
    let telling: Promise<void> | undefined;
    const answer = async (message: EmailMessage) => {
      telling ??= tell(...notices);
      await telling;
      onTold();
      return sent(message);
    };
    const open = () => vendor({ answer }).sender;
    return {
      id,
      sends,
      ids: sends.map((send) => send.id).sort(),
      work: () => scenario.work({ open, killedAfter: life }),
    };
  };

  test("though its notice comes before the record", async () => {
    await own();
    const { sends, ids, work } = await fast({ left: Number.POSITIVE_INFINITY });
    await work();
    expect(await told()).toEqual(ids);
    await tell(event("delivered", sends[0]!), event("delivered", sends[3]!), event("open", sends[4]!));
    expect(await told()).toEqual(ids);
    expect(await emitted("campaign.message_delivered")).toHaveLength(3);
  });

  test("though the process was killed before the record, and only notices say so", async () => {
    await own();
    const life = { left: Number.POSITIVE_INFINITY };
    const { id, sends, ids, work } = await fast(life, () => {
      life.left = 0;
    });
    await expect(work()).rejects.toThrow(Killed);
    await loseWorker(service, scenario.id);
    await scenario.work();
    const states = async () => (await scenario.sends(id)).map(({ status }) => status);
    expect(await states()).toEqual(["delivered", "bounced", "failed", "unknown", "unknown"]);
    expect(await told()).toEqual(ids.filter((one) => one !== sends[3]!.id && one !== sends[4]!.id));
    await tell(event("delivered", sends[3]!), event("bounce", sends[4]!, soft), event("open", sends[0]!));
    expect(await states()).toEqual(["delivered", "bounced", "failed", "delivered", "bounced"]);
    expect(await told()).toEqual(ids);
  });

  test("and not of one that it refused, or that nobody has told of", async () => {
    await own();
    await scenario.call("create_webhook_endpoint", { url: "https://receiver.example/hook", events: ["*"] });
    await scenario.crowd(2);
    const { sends } = await campaign(({ id, to }) => ({
      id,
      status: to === "p1@example.com" ? "failed" : "unknown",
      code: "http_500",
      message: "?",
    }));
    await tell(event("dropped", sends[0]!, { reason: "Invalid" }));
    expect(await told()).toEqual([]);
  });
});

test("opens and clicks at the vendor count as our own do", async () => {
  const { sends } = await inShared(1);
  await scenario.query((sql) => sql`update campaign_sends set sent_at = now() - interval '1 hour'`);
  const browser = { useragent: "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/140.0" };
  await tell(
    event("open", sends[0]!, { ...browser, sg_machine_open: true }),
    event("click", sends[0]!, browser),
  );
  expect(await row(sends[0]!.id)).toMatchObject({
    opens: 1,
    clicks: 1,
    opened_at: expect.any(String),
    first_human_open_at: null,
    first_human_click_at: expect.any(String),
  });
});

test("the same notice again changes nothing, at once or later", async () => {
  const { sends } = await inShared(1);
  const posted = grid.post([event("bounce", sends[0]!, soft), event("delivered", { id: randomUUID() })]);
  const answers = await Promise.all([post(posted), post(posted), post(posted)]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(await waiting()).toHaveLength(1);
  await scenario.work({ only: "receive_notices" });
  expect((await post(posted)).status).toBe(200);
  expect(await waiting()).toHaveLength(0);
  expect(await emitted("campaign.message_bounced")).toHaveLength(1);
});

test("a callback that the vendor did not sign is refused, and changes nothing", async () => {
  await own();
  await scenario.crowd(1);
  const { sends } = await campaign();
  const list = [event("bounce", sends[0]!, hard)];
  const good = grid.post(list);
  const refused = await post({ ...good, body: good.body.replace("5.1.1", "5.1.2") });
  expect([refused.status, refused.body.error]).toEqual([401, "invalid_credential"]);
  for (const name of ["API-Version", "X-RateLimit-Limit", "X-RateLimit-Reset"]) {
    expect(refused.headers.get(name), name).toBeTruthy();
  }
  expect((await post(sendgrid().post(list))).status).toBe(401);
  expect((await post({ body: good.body, headers: {} })).status).toBe(401);
  expect((await post(good, randomUUID())).status).toBe(404);
  expect((await post(good, "x")).status).toBe(404);
  expect((await post(good, provider, "resend")).status).toBe(404);
  expect((await post({ ...good, body: "x".repeat(1_100_000) })).status).toBe(413);
  await scenario.call("delete_message_provider", { id: provider });
  expect((await post(good)).status).toBe(404);
  expect(await waiting()).toHaveLength(0);
});

test("a provider tells of its own sends alone, not of another provider's or another property's", async () => {
  const { sends } = await inShared(1);
  const theirs = grid.post([event("bounce", sends[0]!, hard)]);
  const rival = await newProperty();
  const foreign = await newProvider(rival, "sendgrid", { api_key: "SG", webhook_public_key: grid.publicKey });
  expect((await post(theirs, foreign)).status).toBe(200);
  await rival.work({ only: "receive_notices" });
  const second = await scenario.call("create_message_provider", {
    channel: "email",
    kind: "sendgrid",
    name: "second",
    credentials: { api_key: "SG", webhook_public_key: grid.publicKey },
    allows_gaming: true,
  });
  expect((await post(grid.post([event("spamreport", sends[0]!)]), second.id)).status).toBe(200);
  await scenario.work({ only: "receive_notices" });
  expect(await row(sends[0]!.id)).toMatchObject({ status: "sent", complained_at: null });
  expect([await suppressions(), await suppressions(rival)]).toEqual([[], []]);
});

test("without our id a message is found by the vendor's own, among its recipient's", async () => {
  const { sends } = await inShared(2);
  const about = { send_id: undefined, email: addressee(sends[0]!).toUpperCase() };
  await tell(event("delivered", sends[0]!, about), event("bounce", sends[1]!, { ...hard, ...about }));
  expect((await row(sends[0]!.id)).status).toBe("delivered");
  expect((await row(sends[1]!.id)).status).toBe("sent");
});

test("a notice that names no message of ours still stops those to its address, and is found though its player has moved", async () => {
  await own();
  await scenario.call("update_property", { propertyId: scenario.id, complaint_limit: 2 });
  await scenario.crowd(2);
  const { sends } = await campaign();
  const of = (email: string) => ({ send_id: undefined, sg_message_id: "elsewhere.f0", email });
  await tell(
    event("spamreport", { id: randomUUID() }, of("stranger@example.com")),
    event("unsubscribe", { id: randomUUID() }, of("p1@example.com")),
  );
  expect((await suppressions()).map(({ reason, address }) => [reason, address])).toEqual([
    ["complaint", null],
    ["unsubscribed", "p1@example.com"],
  ]);
  await scenario.query(
    (sql) => sql`update players set email = null, email_hash = null where property_id = ${scenario.id}`,
  );
  const moved = sends.find(({ player }) => player === "p-2")!;
  await tell(event("unsubscribe", moved, { send_id: undefined, email: "p2@example.com" }));
  expect(await row(moved.id)).toMatchObject({ unsubscribed_at: expect.any(String) });
  // The address, and the player who was written to.
  expect(await suppressions()).toHaveLength(4);
});

test("hostile words in a callback are kept harmless", async () => {
  const { sends } = await inShared(1);
  const words = {
    status: "5.1.1\u0000",
    reason: `\u0000\ud800'; drop table players; --${"x".repeat(5_000)}`,
  };
  const odd = event(
    "bounce",
    { id: "'; --" },
    { sg_event_id: "e\u0000".repeat(500), timestamp: 1e300, ...hard },
  );
  await tell(event("bounce", sends[0]!, { ...hard, ...words, timestamp: 9_999_999_999 }), odd);
  const { error_message: message, bounced_at: at } = await row(sends[0]!.id);
  expect(message).toHaveLength(500);
  expect(Date.parse(at)).toBeLessThanOrEqual(Date.now());
});

test("the notices that stand as examples in the OpenAPI document are taken", async () => {
  await own();
  await tell(...NOTICE_EXAMPLES["application/json"]);
  const text = await newTwilio();
  expect(await text(NOTICE_EXAMPLES["application/x-www-form-urlencoded"])).toEqual([200, "<Response/>"]);
  const ses = await newProvider(scenario, "ses", SES);
  const { Timestamp: _, SignatureVersion: __, ...notice } = JSON.parse(NOTICE_EXAMPLES["text/plain"]);
  expect((await post(aws.post(notice), ses, "ses")).body).toEqual({ success: true });
});

const SES = { region: "us-east-1", access_key_id: "AKIA", secret_access_key: "s", topic_arn: TOPIC };

/** Twilio, which brings a text to a provider of its own. */
async function newTwilio() {
  const settings = { account_sid: `AC${"0".repeat(32)}`, auth_token: "token" };
  const { id } = await scenario.call("create_message_provider", {
    channel: "sms",
    kind: "twilio",
    name: randomUUID(),
    credentials: settings,
  });
  const path = `/api/callbacks/twilio/${id}`;
  return async (
    message: { Body: string; MessageSid: string; From?: string },
    tampered = (body: string) => body,
  ) => {
    const form = { From: "+17025550199", To: "+17025550100", ...message };
    const url = service.internals.config.baseUrl + path;
    const { body, headers } = twilioPost(url, form, settings.auth_token);
    const response = await fetch(service.baseUrl + path, { method: "POST", body: tampered(body), headers });
    return [response.status, await response.text()];
  };
}

test("a player's text arrives by Twilio's callback, once, and STOP is heard", async () => {
  await inShared();
  const smsScenarioIn = await newTwilio();
  const stop = { Body: "Stop!", MessageSid: "SM1" };
  expect(await smsScenarioIn(stop)).toEqual([200, "<Response/>"]);
  expect(await smsScenarioIn(stop)).toEqual([200, "<Response/>"]);
  expect((await smsScenarioIn(stop, (body) => body.replace("Stop", "Start")))[0]).toBe(401);
  // The stop takes effect before the answer, and waits behind no other job.
  expect(await waiting()).toEqual([]);
  expect((await suppressions()).map(({ channel, reason }) => [channel, reason])).toEqual([
    ["sms", "stop_keyword"],
    ["voice", "stop_keyword"],
  ]);
});

test("a STOP is in force when Twilio has its answer, though an import holds the player, and is then carried out", async () => {
  await own();
  const smsScenarioIn = await newTwilio();
  const phone = "+17025550199";
  const player = await scenario.call("create_player", { player_id: "ana", phone });
  const ask = () =>
    scenario.call("compliance_check", { propertyId: scenario.id, channel: "sms", playerId: player.id });
  const consent = { propertyId: scenario.id, playerId: player.id, channel: "sms", consentGiven: true };
  await scenario.call("consent_record", consent);
  await whileHeld(async () => {
    expect(await smsScenarioIn({ Body: "STOP", MessageSid: "SM1" })).toEqual([200, "<Response/>"]);
    expect((await ask()).reasons).toEqual(["suppressed"]);
    expect(await smsScenarioIn({ Body: "Should I stop?", MessageSid: "SM2", From: "+17025550198" })).toEqual([
      200,
      "<Response/>",
    ]);
    expect(
      (
        await scenario.call("compliance_check", {
          propertyId: scenario.id,
          channel: "sms",
          phone: "+17025550198",
        })
      ).reasons,
    ).toEqual(["needs_review", "no_consent"]);
  });
  expect(await waiting()).toHaveLength(1);
  await scenario.work({ only: "receive_notices" });
  expect((await ask()).reasons).toEqual(["no_consent", "suppressed"]);
  expect(
    await scenario.query(
      (sql) =>
        sql`select action, reply_status from inbound_messages where property_id = ${scenario.id} order by id`,
    ),
  ).toEqual([expect.objectContaining({ action: "review" }), { action: "stop", reply_status: "queued" }]);
  expect((await suppressions()).filter(({ source }) => source === "sms_unread")).toEqual([]);
});

test("a person who complains or leaves is left alone before the vendor has its answer, also while a writer holds their record", async () => {
  await own();
  await scenario.crowd(4);
  const { sends } = await campaign();
  expect((await post(grid.post([event("spamreport", sends[0]!)]))).status).toBe(200);
  expect((await suppressions()).map(({ address }) => address)).toEqual([`${addressee(sends[0]!)}`]);
  await whileHeld(async () => {
    const told = [
      event("spamreport", sends[1]!),
      event("unsubscribe", sends[2]!),
      event("unsubscribe", { id: randomUUID() }, { send_id: undefined, email: addressee(sends[3]!) }),
    ];
    expect((await post(grid.post(told))).status).toBe(200);
    expect(await waiting()).toHaveLength(1);
    expect((await suppressions()).map(({ reason }) => reason)).toEqual([
      "complaint",
      "complaint",
      "unsubscribed",
      "unsubscribed",
    ]);
  });
  const barred = await suppressions();
  const ledger = () =>
    scenario.query(
      (sql) => sql`select from consent_records where property_id = ${scenario.id} and action = 'revoked'`,
    );
  expect(await ledger()).toHaveLength(1);
  await scenario.work({ only: "receive_notices" });
  expect(await ledger()).toHaveLength(4);
  expect(await suppressions()).toHaveLength(barred.length);
});

test("more people than are taken in at once are barred before the vendor has its answer", async () => {
  await inShared();
  const many = Array.from({ length: 210 }, (_, n) =>
    event("unsubscribe", { id: randomUUID() }, { send_id: undefined, email: `m${n}@example.com` }),
  );
  expect((await post(grid.post(many))).status).toBe(200);
  expect(await suppressions()).toHaveLength(many.length);
});

test("the complaints that a property bears it bears while somebody holds the record, too", async () => {
  await own();
  await scenario.call("update_property", { propertyId: scenario.id, complaint_limit: 2 });
  await scenario.crowd(1);
  const sends = [(await campaign()).sends[0]!, (await campaign()).sends[0]!];
  const complain = (send: { id: string }) =>
    whileHeld(async () => expect((await post(grid.post([event("spamreport", send)]))).status).toBe(200));
  await complain(sends[0]!);
  expect(await suppressions()).toEqual([]);
  await scenario.work({ only: "receive_notices" });
  expect(await suppressions()).toEqual([]);
  await complain(sends[1]!);
  expect(await suppressions()).toHaveLength(1);
});

/** As a batch of an import holds its players. */
const whileHeld = (work: () => Promise<unknown>) =>
  scenario.query(async (sql) => {
    await sql`select from players where property_id = ${scenario.id} for update`;
    await work();
  });

const addressee = ({ player }: { player: string }) => `${player.replace("-", "")}@example.com`;

test("Amazon's bounces arrive signed by either version, and its subscription is confirmed", async () => {
  scenario = await newProperty();
  since = "-infinity";
  const ses = await newProvider(scenario, "ses", SES);
  await scenario.crowd(2);
  const { sends } = await campaign();
  const SubscribeURL = "https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription&Token=t";
  const asking = aws.post({ Type: "SubscriptionConfirmation", Message: "x", Token: "t", SubscribeURL });
  const bounce = (send: { id: string }, bounceType: string) => ({
    eventType: "Bounce",
    mail: { messageId: `v-${send.id}`, tags: { send_id: [send.id] } },
    bounce: { bounceType, bouncedRecipients: [{ emailAddress: "p1@example.com", status: "5.1.1" }] },
  });
  const answers = [
    await post(asking, ses, "ses"),
    await post(aws.event(bounce(sends[0]!, "Permanent"), "1"), ses, "ses"),
    await post(aws.event(bounce(sends[1]!, "Transient"), "2"), ses, "ses"),
    await post(aws.post({ Message: "x", TopicArn: TOPIC.replace("feedback", "other") }), ses, "ses"),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 401]);
  await scenario.work({ only: "receive_notices" });
  expect(confirmed).toBe(1);
  expect((await row(sends[0]!.id)).bounce_type).toBe("hard");
  expect((await row(sends[1]!.id)).bounce_type).toBe("soft");
});

test("a callback whose signature cannot be checked now is not believed, and is asked for again", async () => {
  await own();
  const ses = await newProvider(scenario, "ses", SES);
  const SigningCertURL = CERTIFICATE_URL.replace("abc123", "away");
  server.use(http.get(SigningCertURL, () => new HttpResponse(null, { status: 503 }), { once: true }));
  const complaint = {
    ...{ eventType: "Complaint", mail: { messageId: "elsewhere" } },
    complaint: { complainedRecipients: [{ emailAddress: "stranger@example.com" }] },
  };
  const told = aws.post({ Message: JSON.stringify(complaint), SigningCertURL });
  const answer = await post(told, ses, "ses");
  expect([answer.status, answer.headers.get("Retry-After")]).toEqual([503, "60"]);
  expect([await suppressions(), await waiting()]).toEqual([[], []]);
  server.use(http.get(SigningCertURL, () => HttpResponse.text(aws.certificate)));
  expect((await post(told, ses, "ses")).status).toBe(200);
  expect((await suppressions()).map(({ reason }) => reason)).toEqual(["complaint"]);
});

test("a flood of wrong signatures is cut off, and takes no other provider's feedback from the same address with it", async () => {
  const { sends } = await inShared(1);
  const other = await scenario.call("create_message_provider", {
    channel: "email",
    kind: "sendgrid",
    name: "misconfigured",
    credentials: { api_key: "SG" },
  });
  const wrong = { body: "[]", headers: { "content-type": "application/json" } };
  // Another process has refused nearly as many as a minute allows, in this minute and in the next.
  const bucket = `callbacks:127.0.0.1:${other.id}`;
  const minute = Math.floor(Date.now() / 60_000) * 60;
  await service.database.db.asSystem(
    (sql) => sql`
      insert into rate_windows (bucket, window_start, used)
      values (${bucket}, ${minute}, 590), (${bucket}, ${minute + 60}, 590)`,
  );
  const seen = new Set<number>();
  // Twice what a minute allows, if the other process were not heard.
  for (let round = 0; round < 62 && !seen.has(429); round += 1) {
    const flood = await Promise.all(Array.from({ length: 20 }, () => post(wrong, other.id)));
    for (const { status } of flood) seen.add(status);
  }
  expect(seen).toEqual(new Set([401, 429]));
  await tell(event("delivered", sends[0]!));
  expect((await row(sends[0]!.id)).status).toBe("delivered");
});

test("feedback that came while the database said nothing is taken when it comes again, however often it was told", async () => {
  const { sends } = await inShared(1);
  const told = grid.post([event("unsubscribe", sends[0]!)]);
  const admin = postgres(service.database.url, { max: 1, onnotice: () => {} });
  await admin.begin(async (sql) => {
    await sql`lock table message_providers in access exclusive mode`;
    const answers = await Promise.all([post(told), post(told), post(told)]);
    expect(answers.map(({ status }) => status)).toEqual([503, 503, 503]);
    // None of them counts against the next.
    const left = answers.map(({ headers }) => headers.get("X-RateLimit-Remaining"));
    expect(left).toEqual(["600", "600", "600"]);
  });
  await admin.end();
  expect((await post(told)).status).toBe(200);
  expect(await suppressions()).toHaveLength(1);
});
