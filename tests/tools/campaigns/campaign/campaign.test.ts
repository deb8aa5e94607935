import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { CAMPAIGN_STATUSES } from "#tools/statuses/campaigns.ts";
import { newScenario, type Scenario } from "../../../support/scenario.ts";
import { startService, type TestService } from "../../../support/service.ts";

let service: TestService;
let scenario: Scenario;
let segment: string;

beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());
beforeEach(async () => {
  scenario = await newScenario(service);
  segment = (
    await scenario.call("create_segment", {
      name: "Everyone",
      conditions: [{ field: "status", operator: "eq", value: "active" }],
    })
  ).id;
});

const TOMORROW = new Date(Date.now() + 86_400_000).toISOString();
const schedule = (id: string, fields: object = {}) =>
  scenario.call("schedule_campaign", {
    campaign_id: id,
    scheduled_at: TOMORROW,
    segment_id: segment,
    ...fields,
  });
const put = (id: string, status: string) =>
  scenario.query(
    (sql) => sql`update campaigns set status = ${status} where property_id = ${scenario.id} and id = ${id}`,
  );
const makeDue = async (id: string) => {
  await scenario.query(
    (sql) => sql`
    update campaigns set scheduled_at = now() - interval '1 second' where property_id = ${scenario.id} and id = ${id}`,
  );
  await service.internals.db.asSystem(
    (sql) => sql`update queue set run_at = now() where property_id = ${scenario.id}`,
  );
};

describe("the states of a campaign", () => {
  const about = (id: string) => ({ campaignId: id, propertyId: scenario.id });
  const actions: [string, string[], string, (id: string) => Promise<unknown>][] = [
    ["send_campaign", ["draft", "scheduled", "failed"], "queued", (id) => scenario.send(id)],
    ["schedule_campaign", ["draft", "scheduled"], "scheduled", (id) => schedule(id)],
    ["unschedule_campaign", ["scheduled"], "draft", (id) => scenario.call("unschedule_campaign", about(id))],
    ["pause_campaign", ["sending"], "paused", (id) => scenario.pause(id)],
    ["resume_campaign", ["paused"], "sending", (id) => scenario.resume(id)],
    [
      "cancel_campaign",
      ["scheduled", "queued", "sending", "paused"],
      "cancelled",
      (id) => scenario.cancel(id),
    ],
  ];

  test.each(actions)("%s is allowed while it is %j and makes it %s", async (_, from, to, run) => {
    for (const status of CAMPAIGN_STATUSES) {
      const id = await scenario.campaign();
      await put(id, status);
      if (from.includes(status)) {
        await run(id);
        expect((await scenario.get(id)).status).toBe(to);
      } else {
        await expect(run(id)).rejects.toMatchObject({
          code: "conflict",
          message: expect.stringContaining(`is ${status}`),
        });
        expect((await scenario.get(id)).status).toBe(status);
      }
    }
  });

  test.each([
    ["scheduled", "unschedule_campaign makes it a draft again"],
    ["queued", "cancel_campaign ends it"],
    ["sent", "cannot be called back"],
  ])("a campaign that is %s is not paused, and the refusal says what to do", async (status, told) => {
    const id = await scenario.campaign();
    await put(id, status);
    const message = expect.stringContaining(told);
    await expect(scenario.pause(id)).rejects.toMatchObject({ code: "conflict", message });
  });

  test.each([
    ["subject", "New", ["draft", "scheduled", "paused"]],
    ["audience", "all", ["draft", "scheduled"]],
    ["name", "New", CAMPAIGN_STATUSES],
    ["archived_at", "2026-01-02T03:04:05+00:00", ["draft", "sent", "cancelled", "failed"]],
  ])("%s can be edited only while that is of use and reaches everyone", async (field, value, allowed) => {
    for (const status of CAMPAIGN_STATUSES) {
      const id = await scenario.campaign(field === "audience" ? { audience: null } : {});
      await put(id, status);
      const edit = scenario.call("update_campaign", { id, [field]: value });
      if ((allowed as string[]).includes(status))
        expect(await edit).toMatchObject({ [field]: value, version: 2, status });
      else
        await expect(edit).rejects.toMatchObject({
          code: "conflict",
          message: expect.stringContaining(status),
        });
    }
  });

  test("a campaign that is queued or sending cannot be deleted", async () => {
    for (const status of CAMPAIGN_STATUSES) {
      const id = await scenario.campaign();
      await put(id, status);
      const removal = scenario.call("delete_campaign", { id });
      if (status === "queued" || status === "sending")
        await expect(removal).rejects.toMatchObject({ code: "conflict" });
      else expect(await removal).toEqual({ success: true });
    }
  });
});

test("deleting a campaign that was still to be sent tells that it is cancelled", async () => {
  await scenario.call("create_webhook_endpoint", {
    url: "https://receiver.example/hook",
    events: ["campaign.cancelled"],
  });
  for (const status of ["draft", "paused", "sent"]) {
    const id = await scenario.campaign();
    await put(id, status);
    await scenario.call("delete_campaign", { id });
  }
  const told = await scenario.query(
    (sql) => sql<{ object: Record<string, unknown> }[]>`
      select data -> 'object' as object from outbox where property_id = ${scenario.id}`,
  );
  expect(told).toEqual([
    { object: expect.objectContaining({ status: "cancelled", finished_at: expect.any(String) }) },
  ]);
});

describe("scheduling", () => {
  test("fires when it is due, against the segment as it is then", async () => {
    const id = await scenario.campaign();
    await scenario.player({ player_id: "early", email: "early@example.com" });
    expect(await schedule(id)).toMatchObject({
      success: true,
      campaign: { status: "scheduled", audience: null },
      warnings: [],
    });
    await scenario.player({ player_id: "late", email: "late@example.com" });
    await scenario.work();
    expect((await scenario.get(id)).status).toBe("scheduled");
    await makeDue(id);
    await scenario.work();
    expect((await scenario.get(id)).status).toBe("sent");
    expect((await scenario.sends(id)).map(({ player, status }) => [player, status])).toEqual([
      ["early", "sent"],
      ["late", "sent"],
    ]);
  });

  test("anew takes the old time back: its job finds nothing due", async () => {
    const id = await scenario.campaign();
    await schedule(id);
    await schedule(id, { scheduled_at: new Date(Date.now() + 2 * 86_400_000).toISOString() });
    await service.internals.db.asSystem(
      (sql) => sql`update queue set run_at = now() where property_id = ${scenario.id}`,
    );
    await scenario.work();
    expect((await scenario.get(id)).status).toBe("scheduled");
  });

  test("twice for one time fires once", async () => {
    await scenario.player({ player_id: "ana", email: "ana@example.com" });
    const id = await scenario.campaign();
    await schedule(id);
    await schedule(id);
    await makeDue(id);
    await scenario.work();
    expect(await scenario.sends(id)).toHaveLength(1);
  });

  test("is taken back by a null in scheduled_at", async () => {
    const id = await scenario.campaign();
    await schedule(id);
    expect(await scenario.call("update_campaign", { id, scheduled_at: null })).toMatchObject({
      status: "draft",
      scheduled_at: null,
    });
    await expect(scenario.call("update_campaign", { id, scheduled_at: TOMORROW })).rejects.toMatchObject({
      code: "invalid",
    });
  });

  test.each([
    ["2031-03-09T02:30", "skips this time"],
    ["2031-11-02T01:30", "shows this time twice"],
  ])("does not guess at a time that the property's clock shows never or twice: %s", async (time, why) => {
    const id = await scenario.campaign();
    const input = { campaign_id: id, segment_id: null, scheduled_at: time };
    await expect(scenario.call("schedule_campaign", input)).rejects.toMatchObject({
      code: "invalid",
      message: expect.stringContaining(why),
    });
    const { campaign } = await scenario.call("schedule_campaign", {
      ...input,
      scheduled_at: `${time}-05:00`,
    });
    expect(campaign.status).toBe("scheduled");
  });

  test("refuses a time of the property's clock that is in the year 10000 in UTC", async () => {
    const late = schedule(await scenario.campaign(), { scheduled_at: "9999-12-31T23:59:59" });
    await expect(late).rejects.toMatchObject({ code: "invalid", details: [{ field: "scheduled_at" }] });
  });

  test("refuses a date alone, as every field of a time does, and says how to write the hour", async () => {
    const id = await scenario.campaign();
    await expect(schedule(id, { scheduled_at: "2031-07-04" })).rejects.toMatchObject({
      code: "invalid",
      details: [
        { field: "scheduled_at", message: expect.stringContaining("write such as 2031-07-04T10:00") },
      ],
    });
  });

  test("takes a time as people write it, and without an offset by the property's own clock", async () => {
    for (const [written, at] of [
      ["2031-01-31T18:00:00-0500", "2031-01-31T23:00:00.000Z"],
      ["2031-01-31t23:00z", "2031-01-31T23:00:00.000Z"],
    ]) {
      const { campaign } = await schedule(await scenario.campaign(), { scheduled_at: written });
      expect(new Date(campaign.scheduled_at).toISOString()).toBe(at);
    }
    const eastern = await newScenario(service, { timezone: "America/New_York" });
    const { id: segment_id } = await eastern.call("create_segment", {
      name: "All",
      conditions: [{ field: "status", operator: "eq", value: "active" }],
    });
    const { campaign } = await eastern.call("schedule_campaign", {
      campaign_id: await eastern.campaign(),
      scheduled_at: "2031-07-04 10:00",
      segment_id,
    });
    expect(new Date(campaign.scheduled_at).toISOString()).toBe("2031-07-04T14:00:00.000Z");
    const other = eastern.call("compliance_check", {
      ...{ propertyId: eastern.id, channel: "sms", phone: "+17025550100", at: "2031-07-04T10:00:00" },
    });
    await expect(other).rejects.toMatchObject({
      code: "invalid",
      message: expect.stringContaining("at: says no offset: write 2031-07-04T10:00:00-05:00"),
    });
  });

  test("is refused for the past, and for what is not in the property", async () => {
    const id = await scenario.campaign();
    const missing = "00000000-0000-7000-8000-000000000000";
    await expect(schedule(id, { scheduled_at: "2020-01-01T00:00:00Z" })).rejects.toMatchObject({
      code: "invalid",
    });
    await expect(schedule(missing)).rejects.toMatchObject({ code: "not_found" });
    await expect(schedule(id, { segment_id: missing })).rejects.toMatchObject({ code: "not_found" });
    await expect(schedule(id, { property_id: service.tenant.id })).rejects.toMatchObject({
      code: "wrong_property",
    });
  });

  test("of what cannot be delivered when the time comes fails, and says why", async () => {
    const untitled = await scenario.campaign({ channel: "loyaltyvip", subject: null });
    const empty = await scenario.campaign({ body_html: null });
    await schedule(untitled);
    expect((await schedule(empty)).warnings).toEqual([expect.stringContaining("body_html")]);
    await makeDue(untitled);
    await makeDue(empty);
    await scenario.work();
    expect(await scenario.get(untitled)).toMatchObject({
      status: "failed",
      status_reason: expect.stringContaining("subject"),
    });
    expect(await scenario.get(empty)).toMatchObject({
      status: "failed",
      status_reason: expect.stringContaining("body_html"),
    });
  });

  test("against a segment that is gone when the time comes fails", async () => {
    const id = await scenario.campaign();
    await schedule(id);
    await scenario.query(
      (sql) => sql`update segments set deleted_at = now() where property_id = ${scenario.id}`,
    );
    await makeDue(id);
    await scenario.work();
    expect(await scenario.get(id)).toMatchObject({
      status: "failed",
      status_reason: expect.stringContaining(segment),
    });
  });
});

describe("a campaign is refused", () => {
  test.each<[string, Record<string, unknown>, string, string]>([
    ["with Liquid that does not parse", { body_html: "{% if %}" }, "invalid", "body_html"],
    [
      "with two audiences",
      { conditions: [{ field: "tier", operator: "eq", value: "Gold" }] },
      "invalid",
      "audience",
    ],
    [
      "with a rule on a field that is none",
      { audience: null, conditions: [{ field: "shoes", operator: "eq", value: 1 }] },
      "invalid",
      "shoes",
    ],
    [
      "with a segment of nowhere",
      { audience: null, segment_id: "00000000-0000-7000-8000-000000000000" },
      "not_found",
      "segment",
    ],
    [
      "with a template of nowhere",
      { template_id: "00000000-0000-7000-8000-000000000000" },
      "not_found",
      "template",
    ],
    ["with a time of its own", { scheduled_at: TOMORROW }, "invalid", "schedule_campaign"],
  ])("%s", async (_, fields, code, words) => {
    await expect(scenario.campaign(fields)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(words),
    });
  });
});

test("a template's content is sent unless the campaign has its own, and cannot be deleted while it waits", async () => {
  await scenario.player({ player_id: "ana", email: "ana@example.com" });
  const template = await scenario.call("create_template", {
    name: "Base",
    subject: "From the template",
    html: "<p>Shared</p>",
  });
  await expect(scenario.call("create_template", { name: "Bad", html: "{{ oops" })).rejects.toMatchObject({
    code: "invalid",
  });
  const id = await scenario.campaign({ template_id: template.id, subject: null, body_html: null });
  const { preflight } = await scenario.call("send_campaign", {
    campaignId: id,
    propertyId: scenario.id,
    dry_run: true,
  });
  expect(preflight.sample_renders[0]).toMatchObject({
    subject: "From the template",
    html: expect.stringContaining("Shared"),
  });
  await schedule(id);
  await expect(scenario.call("delete_template", { id: template.id })).rejects.toMatchObject({
    code: "conflict",
  });
});

test("scheduling and resuming can be tried: whom it would reach is said, and the campaign stays as it is", async () => {
  await scenario.player({ player_id: "ana", first_name: "Ana", email: "ana@example.com" });
  const id = await scenario.campaign();
  const tried = await schedule(id, { dry_run: true });
  expect(tried).toMatchObject({
    dry_run: true,
    campaign: { status: "scheduled" },
    preflight: { ok: true, audience: 1, allowed: 1 },
  });
  expect(await scenario.get(id)).toMatchObject({ status: "draft", scheduled_at: null });
  await scenario.send(id);
  await scenario.work({ only: "plan_campaign" });
  await put(id, "paused");
  const resumed = await scenario.call("resume_campaign", {
    campaignId: id,
    propertyId: scenario.id,
    dry_run: true,
  });
  expect(resumed).toMatchObject({ dry_run: true, remaining: 1 });
  expect((await scenario.get(id)).status).toBe("paused");
});

test("a copy is a draft with the same content, audience and settings", async () => {
  const same = {
    channel: "email",
    subject: "Come in",
    preheader: "Free play",
    from_name: "House",
    from_email: "house@example.com",
    reply_to: "help@example.com",
    body_html: "<p>Come</p>",
    body_text: "Come",
    tags: ["spring"],
    conditions: [{ field: "tier", operator: "eq", value: "Gold" }],
    logic: "or",
    audience: null,
    exclude_segment_ids: [segment],
    send_in_player_timezone: true,
    throttle_per_minute: 7,
    max_send_errors: 8,
    ignore_frequency_cap: true,
    is_transactional: true,
    holdout_percent: 9,
    priority: 10,
    utm: { source: "house" },
    goal: { event: "deposit", window_hours: 11 },
  };
  const id = await scenario.campaign(same);
  await scenario.call("update_campaign", { id, archived_at: "2026-01-01T00:00:00Z" });
  await put(id, "sent");
  const { campaign } = await scenario.call("duplicate_campaign", { campaignId: id, propertyId: scenario.id });
  expect(campaign).toMatchObject({
    name: "Weekend (copy)",
    status: "draft",
    version: 1,
    scheduled_at: null,
    archived_at: null,
    ...same,
  });
});
