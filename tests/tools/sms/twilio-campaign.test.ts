import { HttpResponse, http, passthrough } from "msw";
import { setupServer } from "msw/node";
import twilio from "twilio";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startService, type TestService } from "../../support/service.ts";
import { type SmsScenario, smsScenarioIn } from "./scenario.ts";

const SID = `AC${"0a".repeat(16)}`;
const OPTED_OUT = "+17025550199";

let service: TestService;
let scenario: SmsScenario;
let given: { to: string; from: string; callback: string | null }[];

/** Twilio, as far as we ask it: it keeps one number's STOP. */
const server = setupServer(
  http.all("http://127.0.0.1*", passthrough),
  http.post(`https://api.twilio.com/2010-04-01/Accounts/${SID}/Messages.json`, async ({ request }) => {
    const form = new URLSearchParams(await request.text());
    const to = form.get("To")!;
    given.push({ to, from: form.get("From")!, callback: form.get("StatusCallback") });
    if (to !== OPTED_OUT) return HttpResponse.json({ sid: `SM${to}`, status: "queued" }, { status: 201 });
    return HttpResponse.json({ code: 21610, message: `${to} is unsubscribed`, status: 400 }, { status: 400 });
  }),
);

beforeAll(async () => {
  server.listen({ onUnhandledFrame: "error" });
  service = await startService({ baseUrl: "https://casino.example" });
});
afterAll(async () => {
  server.close();
  await service?.stop();
});
beforeEach(async () => {
  given = [];
  service.tenant = await service.newTenant();
  scenario = smsScenarioIn(service);
});

const provider = (more: object = {}, at = scenario) =>
  at.call("create_message_provider", {
    channel: "sms",
    kind: "twilio",
    name: "Twilio",
    from_address: "+18005550000",
    credentials: { account_sid: SID, auth_token: "secret" },
    allows_gaming: true,
    ...more,
  });

test("a campaign goes by Twilio, and a STOP that Twilio keeps becomes ours", async () => {
  const { id: providerId } = await provider();
  await scenario.player("ana", "+17025550101");
  const stopped = await scenario.player("stopped", OPTED_OUT);
  const id = await scenario.campaign("Double points!");
  await scenario.send(id);
  await service.idle();
  expect(await scenario.outcomes(id)).toEqual({ ana: "sent", stopped: "opted_out" });
  const { body: sends } = await scenario.get("/api/campaign_sends?order=status.desc");
  expect(given.sort((a, b) => (a.to < b.to ? -1 : 1))).toEqual(
    ["+17025550101", OPTED_OUT].map((to) => ({
      to,
      from: "+18005550000",
      callback: expect.stringMatching(
        new RegExp(`^https://casino\\.example/api/callbacks/twilio/${providerId}\\?send_id=`),
      ),
    })),
  );
  expect(sends[0]).toMatchObject({ provider: "twilio", provider_message_id: "SM+17025550101", segments: 1 });

  const about = { propertyId: service.tenant.id, channel: "sms", playerId: stopped };
  expect((await scenario.call("compliance_check", about)).reasons).toEqual(["no_consent", "suppressed"]);
  const { body: ledger } = await scenario.get(
    `/api/consent_records?player_id.eq=${stopped}&action.eq=revoked`,
  );
  expect(ledger.map(({ channel }: { channel: string }) => channel).sort()).toEqual(["sms", "voice"]);
  const again = await scenario.campaign("Once more!");
  await scenario.send(again);
  await service.idle();
  expect(given.filter(({ to }) => to === OPTED_OUT)).toHaveLength(1);
});

test("HELP is answered by the provider that brought it", async () => {
  await provider();
  await scenario.call("receive_sms", {
    propertyId: service.tenant.id,
    from: "+17025550101",
    to: "+18005551111",
    text: "HELP",
  });
  await service.idle();
  expect(given).toEqual([{ to: "+17025550101", from: "+18005550000", callback: expect.any(String) }]);
  expect((await scenario.get("/api/inbound_messages")).body[0].reply_status).toBe("sent");
});

test("without a contract that allows gaming nothing is sent, and with one the carriers' rules are told", async () => {
  await scenario.player("ana", "+17025550101");
  const { id: providerId } = await provider({ allows_gaming: false });
  const id = await scenario.campaign("Double points! https://casino.example");
  const about = { campaignId: id, propertyId: service.tenant.id };
  const before = await scenario.call("preflight_campaign", about);
  expect(before).toMatchObject({ ok: false, errors: [{ field: "provider_id" }] });
  expect((await scenario.post("/api/functions/send-sms-campaign", about)).status).toBe(400);
  await scenario.call("update_message_provider", { id: providerId, allows_gaming: true });
  const after = await scenario.call("preflight_campaign", about);
  expect(after.ok).toBe(true);
  expect(after.warnings).toEqual([
    expect.stringContaining("most US carriers, and Twilio's own policy, forbid gambling content"),
    expect.stringContaining("the cost is not known"),
  ]);
  await scenario.call("update_campaign", { id, body_text: "Double points! http://casino.example" });
  const plain = "body_text: a link is not https: http://casino.example";
  expect((await scenario.post("/api/functions/send-sms-campaign", about)).body.error).toBe(plain);
});

describe("a text that Twilio brings", () => {
  /** As Twilio posts it, signed with the token. */
  const bring = (
    providerId: string,
    form: Record<string, string>,
    { token = "secret", to = service }: { token?: string; to?: TestService } = {},
  ) => {
    const path = `/api/callbacks/twilio/${providerId}`;
    return fetch(`${to.baseUrl}${path}`, {
      method: "POST",
      headers: {
        "content-type": "application/x-www-form-urlencoded",
        "x-twilio-signature": twilio.getExpectedTwilioSignature(token, `https://casino.example${path}`, form),
      },
      body: new URLSearchParams(form),
    });
  };
  const text = (Body: string, more: object = {}) => ({
    MessageSid: "SM900",
    SmsStatus: "received",
    From: "+17025550101",
    To: "+18005551111",
    Body,
    ...more,
  });
  const reasons = async () => {
    const about = { propertyId: service.tenant.id, channel: "sms", phone: "+17025550101" };
    return (await scenario.call("compliance_check", about)).reasons;
  };

  test("is taken in once, does what it says, and is answered from the number that was written to", async () => {
    const { id } = await provider();
    await scenario.player("ana", "+17025550101");
    const answers = await Promise.all([1, 2, 3].map(() => bring(id, text("Stop."))));
    expect(await answers[0]!.text()).toBe("<Response/>");
    expect(answers.map(({ status, headers }) => [status, headers.get("content-type")])).toEqual(
      Array(3).fill([200, "text/xml"]),
    );
    await service.idle();
    expect(await reasons()).toEqual(["no_consent", "suppressed"]);
    expect(given).toMatchObject([{ to: "+17025550101", from: "+18005551111" }]);
    expect((await scenario.get("/api/inbound_messages")).body).toMatchObject([
      { action: "stop", provider: "twilio", provider_message_id: "SM900", reply_status: "sent" },
    ]);
  });

  test("that says STOP has stopped everything when Twilio has its answer, also behind other jobs", async () => {
    const busy = await startService({ role: "web", baseUrl: "https://casino.example" });
    try {
      const there = smsScenarioIn(busy);
      const twilioThere = await provider({}, there);
      await there.player("ana", "+17025550101");
      const id = await there.campaign("Double points!");
      await there.send(id);
      expect((await bring(twilioThere.id, text("Stop."), { to: busy })).status).toBe(200);
      const about = { propertyId: busy.tenant.id, channel: "sms", phone: "+17025550101" };
      expect((await there.call("compliance_check", about)).reasons).toEqual(["no_consent", "suppressed"]);
    } finally {
      await busy.stop();
    }
  });

  test("is not answered where Twilio has answered, and START lifts what Twilio has lifted", async () => {
    const { id } = await provider();
    await scenario.player("ana", "+17025550101");
    await bring(id, text("arrete", { OptOutType: "STOP" }));
    await service.idle();
    expect(await reasons()).toContain("suppressed");
    await bring(id, text("START", { MessageSid: "SM901", OptOutType: "START" }));
    await service.idle();
    expect(await reasons()).toEqual([]);
    expect(given).toEqual([]);
  });

  test("is refused without Twilio's signature, and changes nothing", async () => {
    const { id } = await provider();
    await scenario.player("ana", "+17025550101");
    expect((await bring(id, text("STOP"), { token: "a guess" })).status).toBe(401);
    await service.idle();
    expect(await reasons()).toEqual([]);
  });

  test("settles a send whose own answer was lost", async () => {
    const { id: providerId } = await provider();
    await scenario.player("ana", "+17025550101");
    const id = await scenario.campaign("Double points!");
    await scenario.send(id);
    await service.idle();
    const { searchParams } = new URL(given[0]!.callback!);
    const path = `/api/callbacks/twilio/${providerId}?send_id=${searchParams.get("send_id")}`;
    const form = { MessageSid: "SM+17025550101", MessageStatus: "delivered", To: "+17025550101" };
    const signature = twilio.getExpectedTwilioSignature("secret", `https://casino.example${path}`, form);
    const answer = await fetch(`${service.baseUrl}${path}`, {
      method: "POST",
      headers: { "x-twilio-signature": signature },
      body: new URLSearchParams(form),
    });
    expect(answer.status).toBe(200);
    await service.idle();
    expect(await scenario.outcomes(id)).toEqual({ ana: "delivered" });
  });
});
