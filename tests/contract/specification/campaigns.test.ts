import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { NOWHERE } from "../../support/operation-calls.ts";
import { scenarioIn } from "../../support/scenario.ts";
import { startService, type TestService } from "../../support/service.ts";
import { consenting } from "./fields.ts";

let service: TestService;
let segment: string;

beforeAll(async () => {
  service = await startService();
  const players = {
    allowed: "ok@example.com",
    suppressed: "suppressed@example.com",
    excluded: "excluded@example.com",
    erased: "erased@example.com",
  };
  const ids: Record<string, string> = {};
  for (const [name, email] of Object.entries(players)) {
    ids[name] = await consenting(service, { player_id: name, email, tier: "Spec" });
  }
  await service.post("/api/players", { player_id: "silent", email: "silent@example.com", tier: "Spec" });
  await service.post("/api/suppressions", { channel: "email", address: players.suppressed });
  await service.call("create_self_exclusion", { player_id: ids.excluded }, service.tenant.id);
  const { body } = await service.post("/api/segments", {
    name: "Spec",
    conditions: [{ field: "tier", operator: "eq", value: "Spec" }],
  });
  segment = body.id;
});
afterAll(() => service?.stop());

const fn = (name: string, input: object, headers?: Record<string, string | null>) =>
  service.post(`/api/functions/${name}`, input, headers);

const draft = async (input: object = {}) =>
  (
    await service.post("/api/campaigns", {
      name: "Offer",
      subject: "Come by",
      body_html: "<p>Come by</p>",
      segment_id: segment,
      ...input,
    })
  ).body.id as string;

const tomorrow = () => new Date(Date.now() + 86_400_000).toISOString();

const sends = async (campaignId: string) => {
  const { body } = await service.get(`/api/campaign_sends?campaign_id.eq=${campaignId}`);
  return body as { status: string; skip_reasons: string[]; address_masked: string | null }[];
};

describe("send-campaign", () => {
  test("campaignId is required, and propertyId of who has several; 401 without a credential; a write", async () => {
    const campaignId = await draft();
    expect((await fn("send-campaign", { propertyId: service.tenant.id })).status).toBe(400);
    const input = { campaignId, propertyId: service.tenant.id };
    expect((await fn("send-campaign", input, { "X-Api-Key": null })).status).toBe(401);
    expect((await fn("send-campaign", input, { "X-Api-Key": service.tenant.readKey })).status).toBe(403);
  });

  test("queues for asynchronous delivery; every recipient passes the check: suppression, do-not-call, active consent", async () => {
    const campaignId = await draft();
    const { status, body } = await fn("send-campaign", { campaignId, propertyId: service.tenant.id });
    expect([status, body.success]).toEqual([200, true]);
    await expect
      .poll(async () => (await service.get(`/api/campaigns/${campaignId}`)).body.status)
      .toBe("sent");
    const rows = await sends(campaignId);
    const blocked = rows.filter(({ status }) => status === "skipped").flatMap((row) => row.skip_reasons);
    expect(blocked).toEqual(expect.arrayContaining(["suppressed", "no_consent", "self_excluded"]));
    const { body: mailed } = await service.get("/api/mailbox_messages?subject.eq=Come by");
    expect(mailed.map(({ recipient }: { recipient: string }) => recipient).sort()).toEqual([
      "erased@example.com",
      "ok@example.com",
    ]);
  });

  test("a replayed Idempotency-Key sends nothing again", async () => {
    const campaignId = await draft({ subject: "Only once" });
    const input = { campaignId, propertyId: service.tenant.id };
    const headers = { "Idempotency-Key": "send-once" };
    await fn("send-campaign", input, headers);
    const again = await fn("send-campaign", input, headers);
    expect([again.status, again.headers.get("Idempotency-Replayed")]).toEqual([200, "true"]);
    await service.idle();
    expect(
      (await service.get("/api/mailbox_messages?subject.eq=Only once&recipient.eq=ok@example.com")).body,
    ).toHaveLength(1);
  });
});

describe("send-sms-campaign", () => {
  test("sends by SMS; blocks suppressed and do-not-call numbers", async () => {
    for (const [id, phone] of [
      ["sms-ok", "+17025550171"],
      ["sms-dnc", "+17025550172"],
      ["sms-suppressed", "+17025550173"],
    ] as const) {
      await consenting(service, { player_id: id, phone, tier: "Texted", timezone: "UTC" }, "sms");
    }
    await service.post("/api/dnc_entries", { phone: "+17025550172" });
    await service.post("/api/suppressions", { channel: "sms", address: "+17025550173" });
    const { body: campaign } = await service.post("/api/campaigns", {
      name: "Text",
      channel: "sms",
      body_text: "Come by tonight",
      conditions: [{ field: "tier", operator: "eq", value: "Texted" }],
    });
    const input = { campaignId: campaign.id, propertyId: service.tenant.id };
    expect((await fn("send-sms-campaign", { propertyId: service.tenant.id })).status).toBe(400);
    const { status, body } = await fn("send-sms-campaign", input);
    expect([status, body.success]).toEqual([200, true]);
    await expect.poll(() => sends(campaign.id)).toHaveLength(3);
    const rows = await sends(campaign.id);
    expect(rows.flatMap((row) => (row.status === "skipped" ? row.skip_reasons : [])).sort()).toEqual([
      "dnc",
      "suppressed",
    ]);
  });
});

describe("schedule-campaign", () => {
  const schedule = (input: object, headers?: Record<string, string | null>) =>
    fn("schedule-campaign", input, headers);

  test("200 SuccessResponse for an email or a loyaltyvip campaign at a future time against a saved segment", async () => {
    for (const channel of ["email", "loyaltyvip"]) {
      const campaign_id = await draft({ channel });
      const { status, body } = await schedule({ campaign_id, scheduled_at: tomorrow(), segment_id: segment });
      expect([status, body.success], channel).toEqual([200, true]);
    }
  });

  test("400 for missing fields", async () => {
    const whole: Record<string, unknown> = {
      campaign_id: await draft(),
      scheduled_at: tomorrow(),
      segment_id: segment,
    };
    for (const name of Object.keys(whole)) {
      const { [name]: _, ...rest } = whole;
      expect((await schedule(rest)).status, name).toBe(400);
    }
  });

  test("400 for a time in the past", async () => {
    const campaign_id = await draft();
    const scheduled_at = new Date(Date.now() - 60_000).toISOString();
    expect((await schedule({ campaign_id, scheduled_at, segment_id: segment })).status).toBe(400);
  });

  test("400 for an unsupported channel", async () => {
    // Every channel that a campaign can have can be scheduled, so an unsupported one is refused at its creation.
    const { status } = await service.post("/api/campaigns", { name: "Fax", channel: "fax" });
    expect(status).toBe(400);
  });

  test("401; 403 when not authorized for the campaign's property; 404 when the campaign or segment is not found", async () => {
    const campaign_id = await draft();
    const input = { campaign_id, scheduled_at: tomorrow(), segment_id: segment };
    expect((await schedule(input, { "X-Api-Key": null })).status).toBe(401);
    const elsewhere = { "X-Property-Id": (await service.newTenant()).id };
    expect((await schedule(input, elsewhere)).status).toBe(403);
    expect((await schedule({ ...input, campaign_id: NOWHERE })).status).toBe(404);
    expect((await schedule({ ...input, segment_id: NOWHERE })).status).toBe(404);
  });

  test("409 when the campaign's current status does not allow scheduling", async () => {
    const campaign_id = await draft();
    await fn("send-campaign", { campaignId: campaign_id, propertyId: service.tenant.id });
    expect((await schedule({ campaign_id, scheduled_at: tomorrow(), segment_id: segment })).status).toBe(409);
  });

  test("the audience is re-resolved at fire time and passes the full check: suppression, DNC, self-exclusion, erasure", async () => {
    const campaign_id = await draft({ subject: "At its time" });
    expect((await schedule({ campaign_id, scheduled_at: tomorrow(), segment_id: segment })).status).toBe(200);
    await consenting(service, { player_id: "late", email: "late@example.com", tier: "Spec" });
    const { body: erased } = await service.get("/api/players?player_id.eq=erased");
    await fn("data-deletion", { propertyId: service.tenant.id, playerId: erased[0].id });
    await scenarioIn(service).comeDue(campaign_id);
    await expect
      .poll(async () => (await service.get(`/api/campaigns/${campaign_id}`)).body.status)
      .toBe("sent");
    const { body: mailed } = await service.get("/api/mailbox_messages?subject.eq=At its time");
    expect(mailed.map(({ recipient }: { recipient: string }) => recipient).sort()).toEqual([
      "late@example.com",
      "ok@example.com",
    ]);
  });
});

describe("GET, POST /api/campaigns", () => {
  test("a campaign is created and listed", async () => {
    const id = await draft({ name: "Listed" });
    const { body } = await service.get("/api/campaigns?name.eq=Listed");
    expect(body).toHaveLength(1);
    expect(body[0]).toMatchObject({ id, status: "draft" });
  });
});
