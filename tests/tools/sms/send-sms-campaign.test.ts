import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startService, type TestService } from "../../support/service.ts";
import { type SmsScenario, smsScenarioIn } from "./scenario.ts";

let service: TestService;
let scenario: SmsScenario;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service?.stop());
beforeEach(async () => {
  service.tenant = await service.newTenant();
  scenario = smsScenarioIn(service);
});

test("an SMS campaign reaches each number that may be texted once, over REST", async () => {
  await scenario.player("ana", "+17025550101");
  await scenario.player("bo", "(702) 555-0102");
  await scenario.player("no-consent", "+17025550103", { consent: false });
  await scenario.player("no-phone", null);
  await scenario.player("twin", "+17025550101");
  await scenario.player("on-the-list", "+17025550104");
  await scenario.call("create_dnc_entry", { phone: "+17025550104", list: "national" });
  await scenario.player("suppressed", "+17025550105");
  await scenario.call("create_suppression", { channel: "sms", address: "+17025550105" });
  const stopped = await scenario.player("stopped", "+17025550106");
  await scenario.call("consent_revoke", {
    propertyId: service.tenant.id,
    playerId: stopped,
    channel: "voice",
  });

  const { body: campaign } = await scenario.post("/api/campaigns", {
    name: "Weekend",
    channel: "sms",
    audience: "all",
    body_text: 'Hi {{ first_name | default: "there" }}, double points till Sunday!',
  });
  const answer = await scenario.post("/api/functions/send-sms-campaign", {
    campaignId: campaign.id,
    propertyId: service.tenant.id,
  });
  expect(answer.status).toBe(200);
  expect(answer.body).toMatchObject({ success: true, campaign: { status: "queued" } });
  await service.idle();

  const { body: texts } = await scenario.get("/api/mailbox_messages?channel.eq=sms&order=recipient.asc");
  expect(texts.map(({ recipient }: { recipient: string }) => recipient)).toEqual([
    "+17025550101",
    "+17025550102",
  ]);
  expect(texts[0]).toMatchObject({
    text: "Hi ana, double points till Sunday!\nReply STOP to opt out",
    subject: null,
    html: null,
  });
  expect(await scenario.outcomes(campaign.id)).toEqual({
    ana: "sent",
    bo: "sent",
    "no-consent": "no_consent",
    "no-phone": "invalid_address,no_consent",
    "on-the-list": "dnc",
    stopped: "no_consent,suppressed",
    suppressed: "suppressed",
    twin: "duplicate_address",
  });
  const { body: sends } = await scenario.get("/api/campaign_sends?status.eq=sent");
  expect(sends[0]).toMatchObject({
    channel: "sms",
    segments: 1,
    address_masked: expect.stringMatching(/^\+1•+010\d$/),
  });
  expect((await scenario.get(`/api/campaigns/${campaign.id}`)).body.status).toBe("sent");
});

describe("sending is refused", () => {
  const send = async (operation: string, fields: object) => {
    const { body } = await scenario.post("/api/campaigns", { name: "C", audience: "all", ...fields });
    return scenario.post(`/api/functions/${operation}`, {
      campaignId: body.id,
      propertyId: service.tenant.id,
    });
  };

  test.each([
    [
      "an email campaign as SMS",
      "send-sms-campaign",
      { subject: "Hi", body_text: "Hi" },
      "channel: is email",
    ],
    ["an SMS campaign as email", "send-campaign", { channel: "sms", body_text: "Hi" }, "send_sms_campaign"],
    ["a text that is HTML only", "send-sms-campaign", { channel: "sms", body_html: "<p>Hi" }, "body_text"],
    [
      "without an audience",
      "send-sms-campaign",
      { channel: "sms", body_text: "Hi", audience: null },
      "audience",
    ],
    [
      "an unknown variable",
      "send-sms-campaign",
      { channel: "sms", body_text: "{{ shoe_size }}" },
      "shoe_size",
    ],
    [
      "a link that unsubscribes from email",
      "send-sms-campaign",
      { channel: "sms", body_text: "{{ unsubscribe_url }}" },
      "unsubscribe_url",
    ],
    [
      "eleven segments",
      "send-sms-campaign",
      { channel: "sms", body_text: "word ".repeat(320) },
      "11 segments",
    ],
  ])("for %s", async (_, operation, fields, words) => {
    const answer = await send(operation, fields);
    expect(answer.status).toBe(400);
    expect(answer.body.error).toContain(words);
  });

  test("twice, and for a campaign of another property", async () => {
    const { body } = await scenario.post("/api/campaigns", {
      name: "C",
      channel: "sms",
      audience: "all",
      body_text: "Hi",
    });
    const about = { campaignId: body.id, propertyId: service.tenant.id };
    const answers = await Promise.all(
      [1, 2].map(() => scenario.post("/api/functions/send-sms-campaign", about)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    const rival = await service.newTenant();
    const foreign = await service.post(
      "/api/functions/send-sms-campaign",
      { ...about, propertyId: rival.id },
      { "X-Api-Key": rival.key },
    );
    expect(foreign.status).toBe(404);
  });

  test("by the scheduler, which knows email and the loyalty inbox", async () => {
    const { body } = await scenario.post("/api/campaigns", { name: "C", channel: "sms", body_text: "Hi" });
    const segment = await scenario.post("/api/segments", { name: "S", conditions: [] });
    const answer = await scenario.post("/api/functions/schedule-campaign", {
      campaign_id: body.id,
      scheduled_at: "2099-01-01T00:00:00Z",
      segment_id: segment.body.id,
    });
    expect(answer.status).toBe(400);
  });
});

test("a text that is empty for one player fails alone", async () => {
  await scenario.player("ana", "+17025550101");
  await scenario.player("bo", "+17025550102", { first_name: null });
  const id = await scenario.campaign("{% if first_name %}Hi {{ first_name }}{% endif %}");
  await scenario.send(id);
  await service.idle();
  expect(await scenario.outcomes(id)).toEqual({ ana: "sent", bo: "template_error" });
});

test("a template's text is sent where the campaign has none, with the words that the property chose", async () => {
  await service.call("update_property", {
    propertyId: service.tenant.id,
    sms_opt_out_text: "Stop anytime: reply STOP",
  });
  await scenario.player("ana", "+17025550101");
  const template = await scenario.call("create_template", {
    name: "T",
    channel: "sms",
    text: "Points, {{ first_name }}",
  });
  const id = await scenario.campaign(null, { template_id: template.id });
  await scenario.send(id);
  await service.idle();
  expect((await scenario.texts()).map(({ text }) => text)).toEqual(["Points, ana\nStop anytime: reply STOP"]);
});

test("the preflight counts segments and names what makes them costly", async () => {
  await scenario.player("ana", "+17025550101");
  await scenario.player("bo", "+17025550102");
  const id = await scenario.campaign(
    "It’s on: double points for {{ first_name }} all weekend long, from Friday. Reply STOP to opt out",
  );
  const preflight = await scenario.call("preflight_campaign", {
    campaignId: id,
    propertyId: service.tenant.id,
  });
  expect(preflight).toMatchObject({ ok: true, allowed: 2, segments: 4 });
  expect(preflight.warnings).toContainEqual(expect.stringContaining("because of: ’"));
  expect(preflight.sample_renders[0]).toMatchObject({
    to: "+1•••••0101",
    subject: null,
    segments: 2,
    encoding: "UCS-2",
  });
});
