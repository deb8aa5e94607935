import { createServer, get, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { HttpResponse, http, passthrough } from "msw";
import { setupServer } from "msw/node";
import postgres from "postgres";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import { ConnectionLost } from "#db/connection/open.ts";
import { relayToken } from "#runtime/channels/voice/relay-callbacks.ts";
import { Fault } from "#runtime/faults.ts";
import { rateLimiter } from "#runtime/limits/rate-limit.ts";
import { callbackLimits } from "#transports/http/callback-limits.ts";
import { serveCalls } from "#transports/voice/relay.ts";
import { shifted } from "../../support/database.ts";
import { lockWaits, lockWaitsSeen, openTransaction } from "../../support/postgres/blocking.ts";
import {
  BASE_URL,
  type Carrier,
  CREDENTIALS,
  carrierApis,
  type Phone,
  type Placed,
  pickUp,
  report,
} from "../../support/servers/carrier.ts";
import { startService, type TestService } from "../../support/service.ts";
import { type CallScenario, callScenario, SCRIPT } from "./scenario.ts";

let service: TestService;
let scenario: CallScenario;
const placed: Placed[] = [];
let refusal: (() => Response) | undefined;
const ONE_TURN = {
  voice_script: { callback_number: "+18005550100", turns: [{ id: "only", say: "You have free play." }] },
};
const pace = { secondMs: 1, listenMs: 400 };
const apis = setupServer(
  http.all("http://127.0.0.1*", passthrough),
  ...carrierApis(placed, () => refusal?.()),
);

beforeAll(async () => {
  apis.listen({ onUnhandledFrame: "error" });
  service = await startService({ baseUrl: BASE_URL }, { callPace: pace });
  waiting = {
    twilio: await callsOf("twilio", 30),
    telnyx: await callsOf("telnyx", 5),
    "one turn": await callsOf("twilio", 5, ONE_TURN),
  };
});
afterAll(async () => {
  apis.close();
  await service?.stop();
});
beforeEach(async () => {
  placed.length = 0;
  refusal = undefined;
  pace.secondMs = 1;
});

/** A call that rings at a player who has agreed, and its property. */
interface Ringing {
  scenario: CallScenario;
  provider: { id: string; kind: string };
  playerId: string;
  campaign: string;
  call: Placed;
}

/** Calls of one campaign for each carrier, and of a campaign of one turn. A test that changes no more than its call takes one. */
let waiting: Record<Carrier | "one turn", Ringing[]>;

/** Places the calls of one campaign in a property of its own. */
async function callsOf(carrier: Carrier, people: number, fields: object = {}): Promise<Ringing[]> {
  placed.length = 0;
  scenario = await callScenario(service);
  const provider = await scenario.call("create_message_provider", {
    channel: "voice",
    kind: "conversation-relay",
    name: carrier,
    from_address: "+18005550199",
    credentials: CREDENTIALS[carrier],
    allows_gaming: true,
    unit_price: 0.1,
    price_currency: "USD",
  });
  const players = await scenario.callers(people);
  const campaign = await scenario.voiceCampaign(fields);
  await scenario.send(campaign);
  await service.idle();
  const calls: { player_id: string; send_id: string }[] = await scenario.calls();
  return players.map((playerId) => {
    const sendId = calls.find(({ player_id }) => player_id === playerId)?.send_id ?? "none";
    // A carrier may have refused it.
    const one = placed.find(({ callback }) => callback.includes(sendId))!;
    return { scenario, provider, playerId, campaign, call: one };
  });
}

/** The player of the test's call. */
let called: string;

/** The only call of a new property. */
async function call(carrier: Carrier = "twilio", fields: object = {}): Promise<Ringing> {
  const [ringing] = await callsOf(carrier, 1, fields);
  called = ringing!.playerId;
  return ringing!;
}

/** One of the calls that wait. */
function nextCall(from: Carrier | "one turn" = "twilio"): Ringing {
  const ringing = waiting[from].shift()!;
  ({ scenario, playerId: called } = ringing);
  return ringing;
}

const row = async () => (await scenario.calls({ "player_id.eq": called }))[0];
const status = async (campaign: string) => {
  const [send] = await scenario.query(
    (sql) => sql`
      select status, error_code, skip_reasons from campaign_sends
      where property_id = ${scenario.id} and campaign_id = ${campaign} and player_id = ${called}`,
  );
  return send;
};

/** Whether no rule but `others` bars a call to the player. */
const isAllowed = async (playerId: string, others: string[] = []) => {
  const { reasons } = await scenario.call("compliance_check", {
    propertyId: scenario.id,
    channel: "voice",
    playerId,
  });
  return reasons.every((reason: string) => others.includes(reason));
};

/** A server for calls alone, in whose time no minute ends. */
async function ownServer(db = service.internals.db) {
  const { log } = service.internals;
  const now = Date.now();
  const limiter = rateLimiter({ db, now: () => now, log });
  const control = { ...service.internals, limiter, metadataUrl: "", trustProxy: 0 };
  const server = createServer();
  const endCalls = serveCalls(server, { ...service.internals, db }, control, pace);
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return {
    here: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    control,
    endCalls,
    stop: async () => {
      server.close();
      await limiter.close();
    },
  };
}

function refusedHandshake(here: string, address: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(
      address.replace(BASE_URL.replace("https", "wss"), here.replace("http", "ws")),
    );
    socket.once("unexpected-response", (_, answer) => resolve(answer.resume()));
    socket.once("error", reject);
  });
}

describe.each(["twilio", "telnyx"] as const)("a call by %s", (carrier) => {
  test("rings, is heard to its end, and is a delivered message", async () => {
    const { campaign, call: one } = await call(carrier);
    expect(one.fields).toMatchObject({ To: one.to, From: "+18005550199" });
    expect(Number(one.fields.Timeout)).toBeGreaterThanOrEqual(15);
    expect(await status(campaign)).toMatchObject({ status: "sent" });
    await report(service.baseUrl, one, { CallStatus: "ringing" });
    expect(await row()).toMatchObject({ status: "ringing", simulated: false });
    const phone = await pickUp(service.baseUrl, one);
    const [first, second, third] = await phone.heard(3);
    expect(first).toBe("Hello. This is an automated call from Casino LLC, by an AI voice.");
    expect(second).toBe("To stop these calls, press 9 or say stop at any time.");
    expect(third).toContain("Hello Ana");
    phone.say("Well, yes please");
    const all = await phone.heard(6);
    expect(all.at(-1)).toBe("You can call us at 800 555 0100. Goodbye.");
    await phone.ended;
    expect(await row()).toMatchObject({ status: "ended", cost: 0.1 });
    // The carrier knows the true length.
    await report(service.baseUrl, one, { CallStatus: "completed", CallDuration: "61" });
    expect(await row()).toMatchObject({
      status: "ended",
      seconds: 61,
      outcome: "completed",
      answered_by: "human",
      provider_call_id: one.sid,
      cost: 0.2,
      cost_currency: "USD",
    });
    expect(await status(campaign)).toMatchObject({ status: "delivered" });
    expect((await scenario.stats(campaign)).calls).toMatchObject({
      placed: 1,
      answered: 1,
      abandoned: 0,
      minutes: 2,
      cost: 0.2,
    });
  });

  test.each([
    ["a key", "voice_keypress", (phone: Awaited<ReturnType<typeof pickUp>>) => phone.press("9")],
    [
      "words",
      "voice_speech",
      (phone: Awaited<ReturnType<typeof pickUp>>) => phone.say("Please stop calling me!"),
    ],
  ])("ends at once by %s, behind the revocation with its evidence", async (_, method, stop) => {
    const { campaign, playerId, call: one } = nextCall(carrier);
    const phone = await pickUp(service.baseUrl, one);
    await phone.heard(3);
    const before = await scenario.stats(campaign);
    stop(phone);
    await phone.ended;
    // In force before the end was said.
    const [consent] = await scenario.query(
      (
        sql,
      ) => sql`select action, collection_method, consent_source, consent_text, actor_type from consent_records
        where property_id = ${scenario.id} and player_id = ${playerId} and channel = 'voice' order by id desc limit 1`,
    );
    expect(consent).toMatchObject({
      action: "revoked",
      collection_method: method,
      consent_source: "voice_call",
      actor_type: "player",
    });
    expect(consent!.consent_text).toMatch(/^Call .+, line 3: /);
    expect(phone.said).toHaveLength(3);
    expect(await row()).toMatchObject({ status: "ended", outcome: "opted_out" });
    const asked = { propertyId: scenario.id, channel: "voice", playerId };
    expect((await scenario.call("compliance_check", asked)).reasons).toEqual(["no_consent", "suppressed"]);
    expect(await scenario.stats(campaign)).toMatchObject({ unsubscribed: before.unsubscribed + 1 });
  });
});

test("silence repeats the turn once, then says the number and ends", async () => {
  const { call: one } = nextCall();
  const phone = await pickUp(service.baseUrl, one);
  await phone.ended;
  expect(phone.said.slice(2)).toEqual([
    expect.stringContaining("Hello Ana"),
    expect.stringContaining("Hello Ana"),
    expect.stringContaining("Goodbye"),
  ]);
  expect(await row()).toMatchObject({ outcome: "completed" });
});

test("a person who talks over us is heard, one who hangs up in the first second is gone, and strange frames change nothing", async () => {
  const { call: one } = nextCall();
  const phone = await pickUp(service.baseUrl, one);
  phone.send(interrupt("Hello. This is"));
  phone.send({ type: "a new kind" });
  phone.say("sto", false);
  phone.say("Who is this?");
  expect((await phone.heard(5))[3]).toContain("Casino LLC");
  await phone.hangUp();
  await expect.poll(row).toMatchObject({ status: "ended", outcome: "hung_up" });
});

test("a line that breaks in mid-turn is a dropped call, as the carrier's news ends it", async () => {
  const { campaign, call: one } = nextCall();
  const phone = await pickUp(service.baseUrl, one);
  await phone.heard(3);
  phone.drop();
  await expect.poll(row).toMatchObject({ status: "in_progress", error_code: "relay_closed" });
  await report(service.baseUrl, one, { CallStatus: "completed", CallDuration: "12" });
  expect(await row()).toMatchObject({ status: "ended", outcome: "dropped" });
  expect(await status(campaign)).toMatchObject({ status: "delivered" });
});

test("a frame that is too long closes the line with a code, and the call ends as a dropped one", async () => {
  const { call: one } = nextCall();
  const phone = await pickUp(service.baseUrl, one);
  await phone.heard(3);
  phone.say("a".repeat(20_000));
  expect(await phone.closed).toBe(1009);
  await expect.poll(row).toMatchObject({ status: "in_progress", error_code: "relay_closed" });
  await report(service.baseUrl, one, { CallStatus: "completed", CallDuration: "3" });
  expect(await row()).toMatchObject({ status: "ended", outcome: "dropped", seconds: 3 });
});

test.each(["twilio", "telnyx"] as const)(
  "the address of a WebSocket of %s leads one call once, and only for its time",
  async (carrier) => {
    const { playerId, call: one } = nextCall(carrier);
    const [path, expiry] = /^(.+\/)(\d+)\./.exec(one.address)!.slice(1);
    const sendId = path!.split("/").at(-2)!;
    // A call rings, takes its longest time, and may have been queued before.
    expect(Number(expiry) - Date.now() / 1000).toBeLessThan(20 + 300 + 605);
    const old = { ...one, address: path + relayToken(CREDENTIALS[carrier], sendId, 1_700_000_000) };
    await expect(pickUp(service.baseUrl, old)).rejects.toThrow("401");
    const prolonged = { ...one, address: one.address.replace(expiry!, "9999999999") };
    await expect(pickUp(service.baseUrl, prolonged)).rejects.toThrow("401");
    const phone = await pickUp(service.baseUrl, one);
    await phone.heard(3);
    const intruder = async () => {
      const again = await pickUp(service.baseUrl, one);
      again.say("Stop calling me");
      again.press("9");
      expect(await again.closed).toBe(1008);
      expect(again.said).toEqual([]);
    };
    await intruder();
    expect(await row()).toMatchObject({ status: "in_progress", outcome: null });
    phone.press("2");
    await phone.ended;
    await intruder();
    expect(await row()).toMatchObject({ status: "ended", outcome: "completed" });
    expect(await isAllowed(playerId, ["frequency_capped"])).toBe(true);
  },
);

const interrupt = (utteranceUntilInterrupt: string) => {
  return { type: "interrupt", utteranceUntilInterrupt, durationUntilInterruptMs: 300 };
};

test("last words over which a person speaks are said once more, and then the call ends", async () => {
  const { call: one } = nextCall("one turn");
  pace.secondMs = 60;
  const phone = await pickUp(service.baseUrl, one);
  await phone.heard(4);
  phone.send(interrupt("You can call us at"));
  phone.say("What was that?");
  expect((await phone.heard(5)).at(-1)).toBe("You can call us at 800 555 0100. Goodbye.");
  await phone.ended;
  expect(phone.said).toHaveLength(5);
  const { outcome, transcript } = await row();
  expect(outcome).toBe("completed");
  expect(transcript.map(({ text }: { text: string }) => text).slice(4)).toEqual([
    "(spoke over us)",
    "What was that?",
    "You can call us at 800 555 0100. Goodbye.",
  ]);
});

test("a person who hangs up in the first second of a call without answers has hung up", async () => {
  const { call: one } = nextCall("one turn");
  pace.secondMs = 60_000;
  const phone = await pickUp(service.baseUrl, one);
  await phone.heard(4);
  await phone.hangUp();
  await expect.poll(row).toMatchObject({ status: "ended", outcome: "hung_up" });
});

test("unfinished words that can only be a stop end the call at once, and the finished ones add nothing", async () => {
  const { playerId, call: one } = nextCall();
  const phone = await pickUp(service.baseUrl, one);
  await phone.heard(3);
  phone.say("please stop calling", false);
  await phone.ended;
  phone.say("please stop calling my phone");
  const { outcome, transcript } = await row();
  expect(outcome).toBe("opted_out");
  expect(transcript.at(-1)).toMatchObject({ n: 3, by: "them", text: "please stop calling" });
  expect(await isAllowed(playerId)).toBe(false);
});

test("unfinished words that may be a stop wait for the rest of the sentence", async () => {
  const { playerId, call: one } = nextCall();
  const phone = await pickUp(service.baseUrl, one);
  await phone.heard(3);
  phone.say("no more", false);
  phone.say("no more than two, yes");
  await phone.heard(6);
  await phone.hangUp();
  await expect.poll(row).toMatchObject({ status: "ended" });
  expect(await isAllowed(playerId, ["frequency_capped"])).toBe(true);
});

test.each<[string, (phone: Phone) => unknown]>([
  ["hangs up", (phone) => phone.hangUp()],
  ["is cut off by the network", (phone) => phone.drop()],
  ["says nothing more", () => {}],
])("a person who says an unfinished stop and then %s has stopped the calls", async (_, then) => {
  const { playerId, call: one } = nextCall();
  const phone = await pickUp(service.baseUrl, one);
  await phone.heard(3);
  phone.say("no more", false);
  await then(phone);
  await expect.poll(row).toMatchObject({ status: "ended", outcome: "opted_out" });
  expect(await isAllowed(playerId)).toBe(false);
});

test("an answering machine gets the whole message with the toll-free number, or nothing", async () => {
  const { call: one } = nextCall();
  const phone = await pickUp(service.baseUrl, one);
  await phone.heard(3);
  await report(service.baseUrl, one, { AnsweredBy: "machine_start" });
  await phone.ended;
  expect(phone.said.slice(-3)).toEqual([
    expect.stringContaining("Casino LLC"),
    SCRIPT.on_voicemail,
    expect.stringContaining("toll-free at 800 555 0100"),
  ]);
  expect(await row()).toMatchObject({ outcome: "voicemail_left", answered_by: "machine" });
});

test("a gate that closes before the pick-up says nothing", async () => {
  const { campaign, playerId, call: one } = nextCall();
  const before = (await scenario.stats(campaign)).calls;
  await scenario.call("consent_revoke", { propertyId: scenario.id, playerId, channel: "voice" });
  const phone = await pickUp(service.baseUrl, one);
  await phone.ended;
  expect(phone.said).toEqual([]);
  expect(await row()).toMatchObject({ outcome: "barred" });
  // The person picked up and heard nothing: by law that call is abandoned.
  const { answered, barred, abandoned, abandoned_share: share } = before;
  expect((await scenario.stats(campaign)).calls).toMatchObject({
    answered,
    barred: barred + 1,
    abandoned: abandoned + 1,
    abandoned_share: { answered: share.answered + 1, abandoned: share.abandoned + 1 },
  });
});

test("a number that is the player's no more at the pick-up hears nothing", async () => {
  const { playerId, call: one } = nextCall();
  await scenario.call("update_player", { id: playerId, phone: "+17025559001" });
  const phone = await pickUp(service.baseUrl, one);
  await phone.ended;
  expect(phone.said).toEqual([]);
  expect(await row()).toMatchObject({ outcome: "barred" });
});

test("a person who heard nothing is an abandoned call, and too many pause the campaign", async () => {
  const { campaign, call: one } = await call();
  await report(service.baseUrl, one, { CallStatus: "in-progress" });
  await report(service.baseUrl, one, { CallStatus: "completed", CallDuration: "4" });
  expect(await row()).toMatchObject({ outcome: "abandoned", answered_by: "human" });
  expect(await status(campaign)).toMatchObject({ status: "failed", error_code: "abandoned" });
  const { calls } = await scenario.stats(campaign);
  expect(calls.abandoned_share).toMatchObject({ days: 30, abandoned: 1, percent: 100, most_percent: 3 });
});

test("a provider makes no more calls at once than it may", async () => {
  const { campaign, provider, call: one } = await call();
  await scenario.call("update_message_provider", { id: provider.id, max_concurrent: 2 });
  await scenario.callers(4);
  const next = await scenario.voiceCampaign();
  await scenario.send(next);
  await expect.poll(() => placed.length).toBe(2);
  // One call too many would have been claimed together with the first.
  await expect.poll(() => scenario.tally(next)).toMatchObject({ sent: 1, pending: 3 });
  await report(service.baseUrl, one, { CallStatus: "busy" });
  expect(await status(campaign)).toMatchObject({ error_code: "busy" });
  await expect.poll(() => placed.length).toBe(3);
  await expect.poll(() => scenario.tally(next)).toMatchObject({ sent: 2, pending: 2 });
  await scenario.cancel(next);
});

test("news out of order, twice, late or of nobody's call settles each call once", async () => {
  const { campaign, call: one } = await call();
  await report(service.baseUrl, one, { CallStatus: "no-answer" });
  await report(service.baseUrl, one, { CallStatus: "ringing" });
  await report(service.baseUrl, one, { CallStatus: "no-answer" });
  await report(service.baseUrl, one, { CallStatus: "completed", CallDuration: "9" });
  expect(await row()).toMatchObject({ status: "ended", outcome: "no_answer" });
  expect(await status(campaign)).toMatchObject({ status: "failed", error_code: "no_answer" });
  const strange = {
    ...one,
    callback: one.callback.replace(/send_id=.*/, "send_id=00000000-0000-7000-8000-000000000000"),
  };
  expect(await report(service.baseUrl, strange, { CallStatus: "completed" })).toBe(200);
  const foreign = { ...one, sid: "CA-x", callback: one.callback.replace(/send_id=.*/, "send_id=order-5") };
  expect(await report(service.baseUrl, foreign, { CallStatus: "completed" })).toBe(200);
  // A call that rang is a call: the number rests for a day.
  const next = await scenario.voiceCampaign();
  await scenario.send(next);
  await service.idle();
  expect(await status(next)).toMatchObject({ status: "deferred", skip_reasons: ["frequency_capped"] });
});

test("news of an answer that comes after the end makes no answered call, and the end alone tells a length", async () => {
  const { call: one } = nextCall();
  await report(service.baseUrl, one, { CallStatus: "no-answer", CallDuration: "0" });
  await report(service.baseUrl, one, { CallStatus: "in-progress", AnsweredBy: "human" });
  await report(service.baseUrl, one, { CallStatus: "completed", CallDuration: "9" });
  expect(await row()).toMatchObject({
    outcome: "no_answer",
    started_at: null,
    answered_by: null,
    cost: null,
  });
  const { call: other } = nextCall();
  await report(service.baseUrl, other, { CallStatus: "completed", CallDuration: "70" });
  const ended = await row();
  expect(ended).toMatchObject({ seconds: 70, cost: 0.2 });
  expect(Date.parse(ended.started_at)).toBeLessThanOrEqual(Date.parse(ended.ended_at) - 69_000);
  await report(service.baseUrl, other, { CallStatus: "in-progress" });
  expect((await row()).started_at).toBe(ended.started_at);
});

test("forged callbacks and handshakes are refused, and change nothing", async () => {
  const { call: one } = nextCall();
  const before = await row();
  expect(
    await report(service.baseUrl, one, { CallStatus: "completed" }, { "x-twilio-signature": "AAAA" }),
  ).toBe(401);
  expect(await report(service.baseUrl, one, { CallStatus: "completed" }, {})).toBe(401);
  await expect(pickUp(service.baseUrl, one, {})).rejects.toThrow("401");
  await expect(pickUp(service.baseUrl, one, { "x-twilio-signature": "AAAA" })).rejects.toThrow("401");
  const guessed = { ...one, address: one.address.replace(/[^.]+$/, "A".repeat(43)) };
  await expect(pickUp(service.baseUrl, guessed)).rejects.toThrow("401");
  const nowhere = { ...one, address: `${BASE_URL.replace("https", "wss")}/api/nothing` };
  await expect(pickUp(service.baseUrl, nowhere)).rejects.toThrow("404");
  // Any other request to change the protocol is an ordinary request.
  const { status: healthy } = await new Promise<{ status: number | undefined }>((resolve) => {
    const headers = {
      connection: "Upgrade, HTTP2-Settings",
      upgrade: "h2c",
      "http2-settings": "AAMAAABkAAQAAP__",
    };
    get(`${service.baseUrl}/healthz`, { headers }, (answer) => {
      answer.resume();
      resolve({ status: answer.statusCode });
    });
  });
  expect(healthy).toBe(200);
  expect(await row()).toEqual(before);
});

test("a flood of forged handshakes is cut off in the API's form, and takes no other provider's calls with it", async () => {
  const { call: one } = nextCall();
  const other = await scenario.call("create_message_provider", {
    channel: "voice",
    kind: "conversation-relay",
    name: "misconfigured",
    from_address: "+18005550198",
    credentials: CREDENTIALS.telnyx,
  });
  const { here, control, stop } = await ownServer();
  const address = one.address.replace(/(?<=conversation-relay\/)[^/]+/, other.id);
  const incoming = { headers: {}, socket: { remoteAddress: "127.0.0.1" } } as IncomingMessage;
  // Refused callbacks and handshakes count together.
  for (let refused = 0; refused < 599; refused += 1) {
    callbackLimits(control, incoming, other.id).refused(new Fault("invalid_credential"));
  }
  const last = await refusedHandshake(here, address);
  expect(last.statusCode).toBe(401);
  expect(last.headers).toMatchObject({
    "content-type": "application/json",
    "x-ratelimit-limit": "600",
    "x-ratelimit-remaining": "0",
    "www-authenticate": expect.stringMatching(/^Bearer /),
  });
  const beyond = await refusedHandshake(here, address);
  expect([beyond.statusCode, Number(beyond.headers["retry-after"]) > 0]).toEqual([429, true]);
  const phone = await pickUp(here, one);
  await phone.heard(1);
  await phone.hangUp();
  await stop();
});

test("a carrier that refuses a number fails that call alone, and one that is silent or shows a gateway's page is never asked again", async () => {
  refusal = () => HttpResponse.json({ code: 21211, message: "not a number", status: 400 }, { status: 400 });
  const { campaign } = await call();
  expect(await status(campaign)).toMatchObject({ status: "failed", error_code: "twilio_21211" });
  refusal = () => new HttpResponse("gateway", { status: 502 });
  const next = await scenario.voiceCampaign({ is_transactional: true });
  await scenario.caller();
  await scenario.send(next);
  await service.idle();
  const unknown = async (id: string) => (await scenario.sends(id)).filter((one) => one.status === "unknown");
  const silent = await unknown(next);
  expect(silent).not.toEqual([]);
  refusal = () => new HttpResponse("<html>Welcome</html>", { status: 200 });
  const last = await scenario.voiceCampaign({ is_transactional: true });
  await scenario.caller();
  await scenario.send(last);
  await service.idle();
  expect(new Set((await unknown(last)).map((one) => one.error_code))).toEqual(new Set(["http_200"]));
  expect(await unknown(next)).toEqual(silent);
  expect(placed).toHaveLength(0);
});

test("a test calls the player by the carrier, is marked as one, and its number rests for a day", async () => {
  const { campaign, provider } = await call();
  expect(provider.kind).toBe("conversation-relay");
  const playerId = await scenario.caller();
  const asked = { campaignId: campaign, propertyId: scenario.id, playerId };
  await scenario.call("send_test_message", asked);
  await service.idle();
  expect(placed).toHaveLength(2);
  const phone = await pickUp(service.baseUrl, placed[1]!);
  expect((await phone.heard(2))[1]).toContain("press 9");
  phone.press("9");
  await phone.ended;
  const calls = await scenario.calls({ "player_id.eq": playerId });
  expect(calls).toMatchObject([{ campaign_id: null, simulated: false, outcome: "opted_out" }]);
  expect((await scenario.stats(campaign)).calls).toMatchObject({ placed: 1, open: 1, opted_out: 0 });
  await expect(scenario.call("send_test_message", asked)).rejects.toThrow(/frequency_capped|no_consent/);
});

test.each(["twilio", "telnyx"] as const)("a call that %s never reported is asked for", async (carrier) => {
  const { playerId, call: one } = nextCall(carrier);
  const record = {
    twilio: { sid: one.sid, status: "no-answer", duration: "0", price: null, answered_by: null },
    telnyx: { sid: one.sid, status: "completed", duration: "12", price: "0.004", price_unit: "USD" },
  }[carrier];
  apis.use(
    http.get(new RegExp(`^https://api\\.(twilio|telnyx)\\.com/.*/Calls/${one.sid}(\\.json)?$`), () =>
      HttpResponse.json(record),
    ),
  );
  await scenario.query(
    (
      sql,
    ) => sql`update voice_calls set created_at = ${shifted("created_at", "-1 hour")}, updated_at = ${shifted("updated_at", "-1 hour")}
      where property_id = ${scenario.id} and player_id = ${playerId}`,
  );
  await service.internals.db.asSystem(
    (sql) =>
      sql`update queue set run_at = now() where property_id = ${scenario.id} and name = 'settle_calls'`,
  );
  service.internals.wake();
  await service.idle();
  const ends = {
    twilio: { outcome: "no_answer", cost: null },
    telnyx: { outcome: "abandoned", cost: 0.004 },
  };
  expect(await row()).toMatchObject({ status: "ended", ...ends[carrier] });
});

test("a person who speaks over the opening hears it once more, and not for ever", async () => {
  const { call: one } = nextCall("telnyx");
  const phone = await pickUp(service.baseUrl, one);
  await phone.heard(3);
  phone.send(interrupt("Hello. This is"));
  expect((await phone.heard(6)).slice(3)).toEqual(phone.said.slice(0, 3));
  phone.send(interrupt("Hello. This is"));
  await phone.heard(9);
  phone.send(interrupt("Hello. This is"));
  phone.press("9");
  await phone.ended;
  expect(phone.said).toHaveLength(9);
});

const STOPS: [string, (phone: Phone) => void][] = [
  ["the key 9", (phone) => phone.press("9")],
  ["words", (phone) => phone.say("Stop calling me")],
];

test.each(STOPS)("a person whom the carrier takes for a machine stops the calls by %s", async (_, stop) => {
  const { playerId, call: one } = nextCall();
  const phone = await pickUp(service.baseUrl, one);
  await phone.heard(3);
  await report(service.baseUrl, one, { AnsweredBy: "machine_start" });
  stop(phone);
  await phone.ended;
  expect(phone.said).toHaveLength(3);
  expect(await row()).toMatchObject({ outcome: "opted_out", answered_by: "human" });
  expect(await isAllowed(playerId)).toBe(false);
});

test.each(STOPS)("a stop by %s is taken while the last words of a call are spoken", async (_, stop) => {
  const { playerId, campaign, call: one } = nextCall("one turn");
  const before = await scenario.stats(campaign);
  // No test waits for the end of these words.
  pace.secondMs = 60_000;
  const phone = await pickUp(service.baseUrl, one);
  expect((await phone.heard(4)).at(-1)).toContain("Goodbye");
  phone.say("How nice");
  stop(phone);
  await phone.ended;
  expect(phone.said).toHaveLength(4);
  const call_ = await row();
  expect(call_).toMatchObject({ status: "ended", outcome: "opted_out" });
  expect(call_.transcript.at(-1)).toMatchObject({ n: 5, by: "them" });
  expect(await isAllowed(playerId)).toBe(false);
  expect(await scenario.stats(campaign)).toMatchObject({
    delivered: before.delivered + 1,
    unsubscribed: before.unsubscribed + 1,
  });
});

test("a stop is taken while the end of the call is stored", async () => {
  const { playerId, call: one } = nextCall("one turn");
  // The end comes behind some twelve seconds of words.
  pace.secondMs = 200;
  const phone = await pickUp(service.baseUrl, one);
  await phone.heard(4);
  const admin = postgres(service.database.url, { max: 2, onnotice: () => {} });
  const release = await openTransaction(
    admin,
    (sql) => sql`select from players where property_id = ${scenario.id} and id = ${playerId} for update`,
  );
  await lockWaits(admin, 1);
  phone.say("Stop calling me");
  await release();
  await phone.ended;
  await expect.poll(() => isAllowed(playerId)).toBe(false);
  expect(await row()).toMatchObject({ status: "ended", outcome: "opted_out" });
  await admin.end();
});

test("a call that would pass its longest time says the number and ends", async () => {
  const { playerId, call: one } = nextCall();
  const phone = await pickUp(service.baseUrl, one);
  await phone.heard(3);
  await scenario.query(
    (sql) =>
      sql`update voice_calls set started_at = ${shifted("started_at", "-290 seconds")}
        where property_id = ${scenario.id} and player_id = ${playerId}`,
  );
  phone.say("tell me more");
  await phone.ended;
  expect(phone.said.slice(3)).toEqual(["You can call us at 800 555 0100. Goodbye."]);
  expect(await row()).toMatchObject({ outcome: "time_up" });
});

test("a line that its carrier closes without a code is a person who hung up", async () => {
  const { call: one } = nextCall();
  const phone = await pickUp(service.baseUrl, one);
  await phone.heard(3);
  await phone.hangUp(null);
  await expect.poll(row).toMatchObject({ status: "ended", outcome: "hung_up" });
});

test("a carrier's late news changes no length, no cost and no person of a call that is over", async () => {
  const { call: one } = nextCall();
  const phone = await pickUp(service.baseUrl, one);
  await phone.heard(3);
  phone.press("2");
  await phone.ended;
  await report(service.baseUrl, one, { CallStatus: "completed", CallDuration: "61" });
  for (const CallStatus of ["busy", "no-answer", "ringing"])
    await report(service.baseUrl, one, { CallStatus, CallDuration: "0" });
  await report(service.baseUrl, one, { CallStatus: "canceled" });
  await report(service.baseUrl, one, { CallStatus: "completed", Other: "kind" });
  // The person has talked with us.
  await report(service.baseUrl, one, { AnsweredBy: "machine_start" });
  expect(await row()).toMatchObject({
    outcome: "completed",
    seconds: 61,
    cost: 0.2,
    answered_by: "human",
  });
});

/** A person who says stop in a call while another writer holds their row, until `release`. */
async function stopBesideWriter() {
  const { playerId, campaign, call: one } = nextCall();
  const phone = await pickUp(service.baseUrl, one);
  await phone.heard(3);
  const admin = postgres(service.database.url, { max: 2, onnotice: () => {} });
  const release = await openTransaction(
    admin,
    (sql) => sql`select from players where property_id = ${scenario.id} and id = ${playerId} for update`,
  );
  phone.say("stop calling me");
  return { playerId, campaign, phone, admin, release };
}

test("a stop is stored though another writer holds the player for longer than a lock is waited for", async () => {
  const { playerId, phone, admin, release } = await stopBesideWriter();
  await lockWaitsSeen(admin, 2);
  await release();
  await phone.ended;
  expect(await row()).toMatchObject({ status: "ended", outcome: "opted_out" });
  expect(await isAllowed(playerId)).toBe(false);
  await admin.end();
});

test("a stop is in force and ends the call while another writer holds the player for as long as it likes", async () => {
  const { playerId, campaign, phone, admin, release } = await stopBesideWriter();
  await phone.ended;
  expect(await isAllowed(playerId)).toBe(false);
  await release();
  await service.idle();
  const revoked = () =>
    scenario.query(
      (sql) => sql`
        select channel, collection_method from consent_records
        where property_id = ${scenario.id} and player_id = ${playerId} and action = 'revoked' and channel = 'voice'`,
    );
  await vi.waitFor(async () => expect(await revoked()).toHaveLength(1), { timeout: 30_000 });
  expect(await revoked()).toEqual([{ channel: "voice", collection_method: "voice_speech" }]);
  expect(await row()).toMatchObject({ status: "ended", outcome: "opted_out" });
  expect((await row()).transcript.at(-1)).toMatchObject({ n: 3, by: "them", text: "stop calling me" });
  expect(await status(campaign)).toMatchObject({ status: "delivered" });
  await admin.end();
});

test("a step whose commit is not answered is heard once, and answered all the same", async () => {
  const { playerId, call: one } = nextCall();
  let toLose = 0;
  const { db } = service.internals;
  const asProperty: typeof db.asProperty = async (...given) => {
    const value = await db.asProperty(...given);
    toLose -= 1;
    if (toLose >= 0) throw new ConnectionLost();
    return value;
  };
  const { here, endCalls, stop } = await ownServer({ ...db, asProperty });
  toLose = 1;
  const phone = await pickUp(here, one);
  await phone.heard(3);
  toLose = 1;
  phone.say("Who is calling?");
  await phone.heard(4);
  toLose = 1;
  phone.say("stop calling me");
  await phone.ended;
  await service.idle();
  const { transcript, outcome } = await row();
  expect(
    transcript.filter(({ by }: { by: string }) => by === "them").map(({ text }: { text: string }) => text),
  ).toEqual(["Who is calling?", "stop calling me"]);
  expect(outcome).toBe("opted_out");
  const revoked = await scenario.query(
    (sql) => sql`
      select from consent_records
      where property_id = ${scenario.id} and player_id = ${playerId} and action = 'revoked' and channel = 'voice'`,
  );
  expect(revoked).toHaveLength(1);
  await endCalls();
  await stop();
});

test("a provider is not deleted while its calls are under way", async () => {
  const { campaign, provider, call: one } = await call();
  const deleting = () => scenario.call("delete_message_provider", { id: provider.id });
  expect(await scenario.get(campaign)).toMatchObject({ status: "sent" });
  await expect(deleting()).rejects.toThrow(/1 of this provider's calls is under way/);
  await report(service.baseUrl, one, { CallStatus: "no-answer" });
  await deleting();
});

test("words that were heard before the service stops are stored before the calls' WebSockets are given up", async () => {
  const { playerId, call: one } = nextCall();
  const { here, endCalls, stop } = await ownServer();
  const phone = await pickUp(here, one);
  await phone.heard(3);
  const admin = postgres(service.database.url, { max: 2, onnotice: () => {} });
  const release = await openTransaction(admin, (sql) => sql`lock table voice_calls`);
  phone.say("stop calling me");
  await lockWaits(admin, 1);
  let ended = false;
  const ending = Promise.resolve(endCalls()).then(() => {
    ended = true;
  });
  await phone.closed;
  await nextTurn();
  expect(ended).toBe(false);
  await release();
  await ending;
  expect(await isAllowed(playerId)).toBe(false);
  await Promise.all([admin.end(), stop()]);
});
