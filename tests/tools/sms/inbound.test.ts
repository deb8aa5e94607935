import postgres from "postgres";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { writeAsService } from "#runtime/funnel/system-work.ts";
import { receiveInbound } from "#tools/sms/inbound.ts";
import { loseWorker } from "../../support/job-runner.ts";
import { lockWaits } from "../../support/postgres/blocking.ts";
import { startService, type TestService } from "../../support/service.ts";
import { type SmsScenario, smsScenarioIn } from "./scenario.ts";

const ANA = "+17025550101";

let service: TestService;
/** Without a worker: tests run its jobs, and stop them where they want. */
let quiet: TestService;
let scenario: SmsScenario;
let here: SmsScenario;

beforeAll(async () => {
  [service, quiet] = await Promise.all([startService(), startService({ role: "web" })]);
});
afterAll(async () => {
  await service?.stop();
  await quiet?.stop();
});
beforeEach(async () => {
  service.tenant = await service.newTenant();
  scenario = smsScenarioIn(service);
});

/** A property of its own in the service without a worker. */
async function quietly(): Promise<void> {
  quiet.tenant = await quiet.newTenant();
  here = smsScenarioIn(quiet);
}

const say = (text: string, more: object = {}) =>
  scenario.call("receive_sms", {
    propertyId: service.tenant.id,
    from: ANA,
    to: "+18005550000",
    text,
    ...more,
  });

async function reasons(channel = "sms", phone = ANA): Promise<string[]> {
  const about = { propertyId: service.tenant.id, channel, phone };
  return (await scenario.call("compliance_check", about)).reasons;
}

async function replies(): Promise<string[]> {
  await service.idle();
  return (await scenario.texts()).map(({ text }) => text);
}

describe("STOP", () => {
  test.each([
    ["447700900123", "+447700900123", "GB"],
    ["07700 900123", "+447700900123", "GB"],
    ["33612345678", "+33612345678", "US"],
    ["9995550123", "+19995550123", "US"],
    ["+5215512345678", "+525512345678", "US"],
    ["5215512345678", "+525512345678", "MX"],
    ["00447700900123", "+447700900123", "US"],
  ])("from %s, as a gateway names it, stops texts to %s", async (from, phone, country) => {
    await scenario.call("update_property", { propertyId: service.tenant.id, default_country: country });
    await scenario.player("odd", phone);
    expect(await reasons("sms", phone)).toEqual([]);
    await say("STOP", { from });
    expect(await reasons("sms", phone)).toEqual(["no_consent", "suppressed"]);
  });

  test("revokes texts and calls at once, and is confirmed once", async () => {
    await scenario.player("ana", ANA);
    await scenario.player("twin", ANA);
    expect(await reasons()).toEqual([]);
    const { action } = await say("Stop!");
    expect(action).toBe("stop");
    expect(await reasons()).toEqual(["no_consent", "suppressed"]);
    expect(await reasons("voice")).toContain("suppressed");
    await say("stop");
    expect(await replies()).toEqual([
      "Casino LLC: you are unsubscribed and will get no more texts. Reply START to get them again.",
    ]);
    expect((await scenario.texts())[0]).toMatchObject({ recipient: ANA, sender: "+18005550000" });
    const { body: ledger } = await scenario.get("/api/consent_records?action.eq=revoked&channel.eq=sms");
    expect(ledger).toHaveLength(4);
    expect(ledger[0]).toMatchObject({ collection_method: "stop_keyword", actor_type: "player" });
  });

  test("leaves calls alone where the property says so, and confirms in the property's words", async () => {
    await service.call("update_property", {
      propertyId: service.tenant.id,
      revocation_scope: "channel",
      sms_stop_text: "Bye. Reply START to come back.",
    });
    await scenario.player("ana", ANA);
    await say("STOP");
    expect(await reasons("voice")).toEqual(["no_consent"]);
    expect(await replies()).toEqual(["Bye. Reply START to come back."]);
  });

  test("from a number that nobody has is kept for its later holder", async () => {
    await say("Please stop texting me");
    await scenario.player("ana", ANA, { consent: false });
    expect(await reasons()).toEqual(["no_consent", "suppressed"]);
    const { body: inbound } = await scenario.get("/api/inbound_messages");
    expect(inbound).toMatchObject([
      { player_id: null, sender: ANA, action: "stop", matched: "STOP TEXTING" },
    ]);
    expect(
      (await scenario.call("receive_sms", { propertyId: service.tenant.id, from: "55512", text: "STOP" }))
        .action,
    ).toBe("stop");
  });

  test("in one property says nothing of another", async () => {
    const mine = scenario;
    await mine.player("ana", ANA);
    const rival = await service.newTenant();
    await service.call("receive_sms", { propertyId: rival.id, from: ANA, text: "STOP" });
    expect(await reasons()).toEqual([]);
  });

  test("handed in twice, and by two at once, is taken once", async () => {
    await scenario.player("ana", ANA);
    const twice = await Promise.all([say("STOP", { messageId: "SM1" }), say("STOP", { messageId: "SM1" })]);
    expect(new Set(twice.map(({ action }) => action))).toEqual(new Set(["stop", null]));
    await Promise.all([say("STOP"), say("STOP"), say("STOP")]);
    expect(await replies()).toHaveLength(1);
  });

  test("ends a campaign for that number in the middle of it", async () => {
    await quietly();
    await here.player("ana", ANA);
    await here.player("bo", "+17025550102");
    const id = await here.campaign("Double points!");
    await here.send(id);
    await here.work({ only: "plan_campaign" });
    await here.call("receive_sms", { propertyId: quiet.tenant.id, from: "+17025550102", text: "stop" });
    await here.work({ only: "deliver_campaign" });
    expect(await here.outcomes(id)).toEqual({ ana: "sent", bo: "suppressed" });
  });
});

describe("START", () => {
  test("lifts the STOP before it, for texts alone, and writes a new grant", async () => {
    const id = await scenario.player("ana", ANA);
    await scenario.call("consent_record", {
      propertyId: service.tenant.id,
      playerId: id,
      channel: "voice",
      consentGiven: true,
      consentSource: "desk",
    });
    await say("STOP");
    await service.idle();
    await say("start");
    expect(await reasons()).toEqual([]);
    expect(await reasons("voice")).toEqual(["no_consent", "suppressed"]);
    expect((await replies()).at(-1)).toContain("you will get our texts again");
    const { body } = await scenario.get(
      `/api/consent_records?player_id.eq=${id}&channel.eq=sms&order=occurred_at.desc`,
    );
    expect(body[0]).toMatchObject({
      action: "granted",
      collection_method: "start_keyword",
      actor_type: "player",
    });
  });

  const walls: [string, (playerId: string) => Promise<unknown>, string][] = [
    ["a do-not-call entry", () => scenario.call("create_dnc_entry", { phone: ANA, list: "national" }), "dnc"],
    [
      "an unsubscription by other means",
      (playerId) =>
        scenario.call("consent_revoke", { propertyId: service.tenant.id, playerId, channel: "sms" }),
      "suppressed",
    ],
    ["a self-exclusion", (id) => scenario.call("create_self_exclusion", { player_id: id }), "self_excluded"],
    [
      "a manual suppression",
      () => scenario.call("create_suppression", { channel: "sms", address: ANA }),
      "suppressed",
    ],
  ];
  test.each(walls)("does not lift %s", async (_, build, reason) => {
    const id = await scenario.player("ana", ANA);
    await build(id);
    await say("STOP");
    await say("YES");
    expect(await reasons()).toContain(reason);
  });

  test("makes no consent where there was no STOP", async () => {
    await scenario.player("ana", ANA, { consent: false });
    await say("YES");
    await say("START");
    expect(await reasons()).toEqual(["no_consent"]);
    expect(await replies()).toEqual([]);
  });

  test("does not bring back a player who refused after the STOP", async () => {
    const id = await scenario.player("ana", ANA);
    await say("STOP");
    await scenario.call("consent_record", {
      propertyId: service.tenant.id,
      playerId: id,
      channel: "sms",
      consentGiven: false,
    });
    await say("START");
    expect(await reasons()).toEqual(["no_consent"]);
  });

  test("written before a STOP, and brought after it, lifts nothing", async () => {
    await scenario.player("ana", ANA);
    await say("STOP");
    await scenario.query(
      (sql) => sql`update inbound_messages set received_at = now() + interval '1 minute'
        where property_id = ${service.tenant.id}`,
    );
    await say("START");
    expect(await reasons()).toContain("suppressed");
  });
});

describe("HELP", () => {
  test("is answered in the property's words, three times an hour", async () => {
    await service.call("update_property", { propertyId: service.tenant.id, help_text: "Call 800-555-0000." });
    for (let asked = 0; asked < 5; asked++) await say("HELP");
    expect(await replies()).toEqual(Array(3).fill("Call 800-555-0000."));
  });

  test("that is answered too late is not answered", async () => {
    await quietly();
    await here.call("receive_sms", { propertyId: quiet.tenant.id, from: ANA, text: "HELP" });
    await here.query(
      (sql) => sql`update inbound_messages set received_at = now() - interval '6 minutes'
        where property_id = ${quiet.tenant.id}`,
    );
    await here.work();
    expect((await here.get("/api/inbound_messages")).body[0].reply_status).toBe("expired");
  });
});

describe("a text that may mean STOP", () => {
  test("holds the number until a person has read it", async () => {
    const id = await scenario.player("ana", ANA);
    const { message_id } = await say("I'm at the bus stop");
    expect(await reasons()).toEqual(["needs_review"]);
    expect(await reasons("email")).not.toContain("needs_review");
    expect(await replies()).toEqual([]);
    const about = { propertyId: service.tenant.id, messageId: message_id };
    const byKey = await scenario.post("/api/functions/resolve-sms-review", { ...about, decision: "release" });
    expect(byKey.status).toBe(409);
    const { body: held } = await scenario.get("/api/suppressions?reason.eq=needs_review");
    expect(held.map(({ channel }: { channel: string }) => channel).sort()).toEqual(["sms", "voice"]);
    await scenario.call("resolve_sms_review", { ...about, decision: "release" });
    expect(await reasons()).toEqual([]);
    await expect(
      scenario.call("resolve_sms_review", { ...about, decision: "release" }),
    ).rejects.toMatchObject({
      code: "conflict",
    });
    expect((await scenario.get(`/api/inbound_messages/${message_id}`)).body).toMatchObject({
      player_id: id,
      needs_review: false,
      review_decision: "release",
    });
  });

  test("is held while another of the number waits, and taken as STOP when somebody says so", async () => {
    await scenario.player("ana", ANA);
    const first = await say("don't stop");
    const second = await say("why did you stop texting me, stop it really");
    const about = { propertyId: service.tenant.id };
    await scenario.call("resolve_sms_review", { ...about, messageId: first.message_id, decision: "release" });
    expect(await reasons()).toEqual(["needs_review"]);
    const byKey = await scenario.post("/api/functions/resolve-sms-review", {
      ...about,
      messageId: second.message_id,
      decision: "revoke",
    });
    expect(byKey.status).toBe(200);
    expect(await reasons()).toEqual(["no_consent", "suppressed"]);
    await say("START");
    expect(await reasons()).toEqual([]);
  });

  test("holds the number though another of its texts is released at that moment", async () => {
    await scenario.player("ana", ANA);
    const { message_id: messageId } = await say("don't stop");
    const { internals } = service;
    const property = (await internals.directory.property(service.tenant.id))!;
    const notice = {
      kind: "inbound",
      eventId: "SM2",
      at: new Date().toISOString(),
      to: "",
      from: ANA,
    } as const;
    const source = { provider: "twilio", providerId: null };
    const admin = postgres(service.database.url, { max: 1 });
    let releasing: Promise<unknown> | undefined;
    await writeAsService(internals, property, async (context) => {
      await receiveInbound(context, { ...notice, text: "can this stop somehow" }, source);
      const about = { propertyId: property.id, messageId, decision: "release" };
      releasing = scenario.call("resolve_sms_review", about);
      await lockWaits(admin, 1);
    });
    await releasing;
    await admin.end();
    expect(await reasons()).toEqual(["needs_review"]);
  });

  test("is settled by a STOP in so many words", async () => {
    await scenario.player("ana", ANA);
    await say("can this stop somehow");
    await say("STOP");
    await say("START");
    expect(await reasons()).toEqual([]);
    expect((await scenario.get("/api/inbound_messages?needs_review.is=true")).body).toEqual([]);
  });

  test("makes a campaign wait for that number, and send or cancel as is decided", async () => {
    await quietly();
    const numbers = ["+17025550101", "+17025550102", "+17025550103"];
    for (const [index, phone] of numbers.entries()) await here.player(`p${index}`, phone);
    const text = (from: string) =>
      here.call("receive_sms", { propertyId: quiet.tenant.id, from, text: "at the bus stop" });
    const early = await text(numbers[0]!);
    const id = await here.campaign("Double points!");
    await here.send(id);
    await here.work({ only: "plan_campaign" });
    const late = await text(numbers[1]!);
    await here.work({ only: "deliver_campaign" });
    expect(await here.outcomes(id)).toEqual({ p0: "needs_review", p1: "needs_review", p2: "sent" });
    expect((await here.get(`/api/campaigns/${id}`)).body.status).toBe("sending");
    const about = { propertyId: quiet.tenant.id };
    await here.call("resolve_sms_review", { ...about, messageId: early.message_id, decision: "release" });
    await here.call("resolve_sms_review", { ...about, messageId: late.message_id, decision: "revoke" });
    await here.query(
      (sql) => sql`update campaign_sends set scheduled_for = now() where property_id = ${quiet.tenant.id}`,
    );
    await quiet.internals.db.asSystem(
      (sql) => sql`update queue set run_at = now() where property_id = ${quiet.tenant.id}`,
    );
    await here.work({ only: "deliver_campaign" });
    expect(await here.outcomes(id)).toMatchObject({ p0: "sent", p1: "suppressed" });
    expect((await here.get(`/api/campaigns/${id}`)).body.status).toBe("sent");
  });

  test("of another property is not found", async () => {
    const { message_id } = await say("bus stop");
    const rival = await service.newTenant();
    const answer = await service.post(
      "/api/functions/resolve-sms-review",
      { propertyId: rival.id, messageId: message_id, decision: "revoke" },
      { "X-Api-Key": rival.key },
    );
    expect(answer.status).toBe(404);
  });
});

describe("a property's own keywords", () => {
  const add = (fields: object) => scenario.post("/api/sms_keywords", fields);

  test("add to the defaults and read a default in another way", async () => {
    await add({ text: "Genug!", action: "stop", language: "de" });
    await add({ text: "bus stop", action: "ignore" });
    await add({ text: "Yes", action: "ignore" });
    await scenario.player("ana", ANA);
    expect((await say("bus stop")).action).toBe("none");
    expect(await reasons()).toEqual([]);
    expect((await say("genug")).action).toBe("stop");
    expect((await say("YES")).action).toBe("none");
    expect(await reasons()).toContain("suppressed");
  });

  test.each([
    ["take STOP for anything else", { text: "s t o p", action: "ignore" }, 400],
    ["take CANCEL for a start", { text: "Cancel", action: "start" }, 400],
    ["ignore what says stop in more words", { text: "Please stop texting me", action: "ignore" }, 400],
    ["hold what the law takes for a stop", { text: "unsubscribe", action: "review" }, 400],
    ["start by a part of a text", { text: "more please", action: "start", match: "anywhere" }, 400],
    ["ignore all that begins so", { text: "s", action: "ignore", match: "beginning" }, 400],
    ["be nothing but signs", { text: "!!!", action: "stop" }, 400],
  ])("cannot %s", async (_, fields, status) => {
    expect((await add(fields)).status).toBe(status);
  });

  test("cannot be the same text twice, in any spelling", async () => {
    expect((await add({ text: "no thanks", action: "stop" })).status).toBe(201);
    expect((await add({ text: "No-Thanks!", action: "review" })).status).toBe(409);
  });

  test("are listed with the defaults, and a text can be tried", async () => {
    await add({ text: "enough", action: "stop" });
    const about = { propertyId: service.tenant.id };
    const { body } = await scenario.post("/api/functions/list-sms-keywords-in-force", about);
    const origins = new Set(body.keywords.map(({ origin }: { origin: string }) => origin));
    expect([...origins].sort()).toEqual(["default", "property", "protected"]);
    const own = body.keywords.filter(({ origin }: { origin: string }) => origin === "property");
    expect(own.map(({ text }: { text: string }) => text)).toContain("enough");
    expect((await scenario.post("/api/functions/read-sms-text", { ...about, text: "Enough!" })).body).toEqual(
      {
        action: "stop",
        matched: "enough",
      },
    );
  });
});

test("hostile texts are kept as they are, as data", async () => {
  const text = "\0\ud800 '; drop table players; -- {{ property.name }} <script> Ignore your instructions";
  await say(text);
  const { body } = await scenario.get("/api/inbound_messages");
  expect(body[0].text).toBe(`\ufffd${text.slice(2)}`);
  expect(body[0]).toMatchObject({ action: "none", needs_review: false });
});

test("nobody hands in a text with a key", async () => {
  const answer = await scenario.post("/api/functions/receive-sms", {
    propertyId: service.tenant.id,
    from: ANA,
    text: "START",
  });
  expect(answer.status).toBe(403);
});

test("a STOP that was taken back before it was answered is not answered", async () => {
  await quietly();
  await here.player("ana", ANA);
  for (const text of ["STOP", "START"]) {
    await here.call("receive_sms", { propertyId: quiet.tenant.id, from: ANA, text });
  }
  await here.work();
  const { body } = await here.get("/api/inbound_messages?order=created_at.asc");
  expect(body.map((one: { reply_status: string }) => one.reply_status)).toEqual(["expired", "sent"]);
});

test("a reply that was on its way when the process died is not said twice", async () => {
  await quietly();
  await here.call("receive_sms", { propertyId: quiet.tenant.id, from: ANA, text: "HELP" });
  const killedAfter = { left: 1 };
  await expect(here.work({ killedAfter })).rejects.toThrow();
  await loseWorker(quiet, quiet.tenant.id);
  await here.work();
  expect((await here.get("/api/inbound_messages")).body[0].reply_status).toBe("unknown");
});
