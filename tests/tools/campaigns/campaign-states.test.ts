import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { STATUSES } from "#tools/campaigns/campaign.ts";
import { type House, startHouse } from "../../support/house.ts";
import { type Casino, casino } from "./casino.ts";

let house: House;
let place: Casino & { id: string };
let segment: string;

beforeAll(async () => {
  house = await startHouse({ role: "web" });
});
afterAll(() => house?.stop());
beforeEach(async () => {
  const { id } = await house.newTenant();
  place = { ...casino(house, id), id };
  segment = (
    await place.call("create_segment", {
      name: "Everyone",
      conditions: [{ field: "status", operator: "eq", value: "active" }],
    })
  ).id;
});

const TOMORROW = new Date(Date.now() + 86_400_000).toISOString();
const schedule = (id: string, fields: object = {}) =>
  place.call("schedule_campaign", {
    campaign_id: id,
    scheduled_at: TOMORROW,
    segment_id: segment,
    ...fields,
  });
const put = (id: string, status: string) =>
  place.query(
    (sql) => sql`update campaigns set status = ${status} where property_id = ${place.id} and id = ${id}`,
  );
const makeDue = async (id: string) => {
  await place.query(
    (sql) => sql`
    update campaigns set scheduled_at = now() - interval '1 second' where property_id = ${place.id} and id = ${id}`,
  );
  await house.service.db.asSystem(
    (sql) => sql`update queue set run_at = now() where property_id = ${place.id}`,
  );
};

describe("the states of a campaign", () => {
  const about = (id: string) => ({ campaignId: id, propertyId: place.id });
  const actions: [string, string[], string, (id: string) => Promise<unknown>][] = [
    ["send_campaign", ["draft", "scheduled", "failed"], "queued", (id) => place.send(id)],
    ["schedule_campaign", ["draft", "scheduled"], "scheduled", (id) => schedule(id)],
    ["unschedule_campaign", ["scheduled"], "draft", (id) => place.call("unschedule_campaign", about(id))],
    ["pause_campaign", ["sending"], "paused", (id) => place.pause(id)],
    ["resume_campaign", ["paused"], "sending", (id) => place.resume(id)],
    ["cancel_campaign", ["scheduled", "queued", "sending", "paused"], "cancelled", (id) => place.cancel(id)],
  ];

  test.each(actions)("%s is allowed while it is %j and makes it %s", async (_, from, to, run) => {
    for (const status of STATUSES) {
      const id = await place.campaign();
      await put(id, status);
      if (from.includes(status)) {
        await run(id);
        expect((await place.get(id)).status).toBe(to);
      } else {
        await expect(run(id)).rejects.toMatchObject({
          code: "conflict",
          message: expect.stringContaining(`is ${status}`),
        });
        expect((await place.get(id)).status).toBe(status);
      }
    }
  });

  test.each([
    ["subject", "New", ["draft", "scheduled", "paused"]],
    ["audience", "all", ["draft", "scheduled"]],
    ["name", "New", STATUSES],
    ["archived_at", "2026-01-02T03:04:05+00:00", ["draft", "sent", "cancelled", "failed"]],
  ])("%s can be edited only while that is of use and reaches everyone", async (field, value, allowed) => {
    for (const status of STATUSES) {
      const id = await place.campaign();
      await put(id, status);
      const edit = place.call("update_campaign", { id, [field]: value });
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
    for (const status of STATUSES) {
      const id = await place.campaign();
      await put(id, status);
      const removal = place.call("delete_campaign", { id });
      if (status === "queued" || status === "sending")
        await expect(removal).rejects.toMatchObject({ code: "conflict" });
      else expect(await removal).toEqual({ success: true });
    }
  });
});

test("deleting a campaign that was still to be sent tells that it is cancelled", async () => {
  await place.call("create_webhook_endpoint", {
    url: "https://receiver.example/hook",
    events: ["campaign.cancelled"],
  });
  for (const status of ["draft", "paused", "sent"]) {
    const id = await place.campaign();
    await put(id, status);
    await place.call("delete_campaign", { id });
  }
  const told = await place.query(
    (sql) => sql<{ object: Record<string, unknown> }[]>`
      select data -> 'object' as object from outbox where property_id = ${place.id}`,
  );
  expect(told).toEqual([
    { object: expect.objectContaining({ status: "cancelled", finished_at: expect.any(String) }) },
  ]);
});

describe("scheduling", () => {
  test("fires when it is due, against the segment as it is then", async () => {
    const id = await place.campaign();
    await place.player({ player_id: "early", email: "early@example.com" });
    expect(await schedule(id)).toMatchObject({
      success: true,
      campaign: { status: "scheduled", audience: null },
      warnings: [],
    });
    await place.player({ player_id: "late", email: "late@example.com" });
    await place.work();
    expect((await place.get(id)).status).toBe("scheduled");
    await makeDue(id);
    await place.work();
    expect((await place.get(id)).status).toBe("sent");
    expect((await place.sends(id)).map(({ player, status }) => [player, status])).toEqual([
      ["early", "sent"],
      ["late", "sent"],
    ]);
  });

  test("anew takes the old time back: its job finds nothing due", async () => {
    const id = await place.campaign();
    await schedule(id);
    await schedule(id, { scheduled_at: new Date(Date.now() + 2 * 86_400_000).toISOString() });
    await house.service.db.asSystem(
      (sql) => sql`update queue set run_at = now() where property_id = ${place.id}`,
    );
    await place.work();
    expect((await place.get(id)).status).toBe("scheduled");
  });

  test("twice for one time fires once", async () => {
    await place.player({ player_id: "ana", email: "ana@example.com" });
    const id = await place.campaign();
    await schedule(id);
    await schedule(id);
    await makeDue(id);
    await place.work();
    expect(await place.sends(id)).toHaveLength(1);
  });

  test("is taken back by a null in scheduled_at", async () => {
    const id = await place.campaign();
    await schedule(id);
    expect(await place.call("update_campaign", { id, scheduled_at: null })).toMatchObject({
      status: "draft",
      scheduled_at: null,
    });
    await expect(place.call("update_campaign", { id, scheduled_at: TOMORROW })).rejects.toMatchObject({
      code: "invalid",
    });
  });

  test("is refused for the past, another channel, and what is not in the property", async () => {
    const id = await place.campaign();
    const sms = await place.campaign({ channel: "sms" });
    const missing = "00000000-0000-7000-8000-000000000000";
    await expect(schedule(id, { scheduled_at: "2020-01-01T00:00:00Z" })).rejects.toMatchObject({
      code: "invalid",
    });
    await expect(schedule(sms)).rejects.toMatchObject({ code: "invalid" });
    await expect(schedule(missing)).rejects.toMatchObject({ code: "not_found" });
    await expect(schedule(id, { segment_id: missing })).rejects.toMatchObject({ code: "not_found" });
    await expect(schedule(id, { property_id: house.tenant.id })).rejects.toMatchObject({
      code: "wrong_property",
    });
  });

  test("of what cannot be delivered when the time comes fails, and says why", async () => {
    const untitled = await place.campaign({ channel: "loyaltyvip", subject: null });
    const empty = await place.campaign({ body_html: null });
    await schedule(untitled);
    expect((await schedule(empty)).warnings).toEqual([expect.stringContaining("body_html")]);
    await makeDue(untitled);
    await makeDue(empty);
    await place.work();
    expect(await place.get(untitled)).toMatchObject({
      status: "failed",
      status_reason: expect.stringContaining("subject"),
    });
    expect(await place.get(empty)).toMatchObject({
      status: "failed",
      status_reason: expect.stringContaining("body_html"),
    });
  });

  test("against a segment that is gone when the time comes fails", async () => {
    const id = await place.campaign();
    await schedule(id);
    await place.query((sql) => sql`update segments set deleted_at = now() where property_id = ${place.id}`);
    await makeDue(id);
    await place.work();
    expect(await place.get(id)).toMatchObject({
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
    await expect(place.campaign(fields)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(words),
    });
  });
});

test("a template's content is sent unless the campaign has its own, and cannot be deleted while it waits", async () => {
  await place.player({ player_id: "ana", email: "ana@example.com" });
  const template = await place.call("create_template", {
    name: "Base",
    subject: "From the template",
    html: "<p>Shared</p>",
  });
  await expect(place.call("create_template", { name: "Bad", html: "{{ oops" })).rejects.toMatchObject({
    code: "invalid",
  });
  const id = await place.campaign({ template_id: template.id, subject: null, body_html: null });
  const { preflight } = await place.call("send_campaign", {
    campaignId: id,
    propertyId: place.id,
    dry_run: true,
  });
  expect(preflight.sample_renders[0]).toMatchObject({
    subject: "From the template",
    html: expect.stringContaining("Shared"),
  });
  await schedule(id);
  await expect(place.call("delete_template", { id: template.id })).rejects.toMatchObject({
    code: "conflict",
  });
});

test("scheduling and resuming can be tried: whom it would reach is said, and the campaign stays as it is", async () => {
  await place.player({ player_id: "ana", first_name: "Ana", email: "ana@example.com" });
  const id = await place.campaign();
  const tried = await schedule(id, { dry_run: true });
  expect(tried).toMatchObject({
    dry_run: true,
    campaign: { status: "scheduled" },
    preflight: { ok: true, audience: 1, allowed: 1 },
  });
  expect(await place.get(id)).toMatchObject({ status: "draft", scheduled_at: null });
  await place.send(id);
  await place.work({ only: "plan_campaign" });
  await put(id, "paused");
  const resumed = await place.call("resume_campaign", {
    campaignId: id,
    propertyId: place.id,
    dry_run: true,
  });
  expect(resumed).toMatchObject({ dry_run: true, remaining: 1 });
  expect((await place.get(id)).status).toBe("paused");
});

test("a copy is a draft with the same content and audience", async () => {
  const id = await place.campaign({
    tags: ["spring"],
    conditions: [{ field: "tier", operator: "eq", value: "Gold" }],
    audience: null,
  });
  await put(id, "sent");
  const { campaign } = await place.call("duplicate_campaign", { campaignId: id, propertyId: place.id });
  expect(campaign).toMatchObject({
    name: "Weekend (copy)",
    status: "draft",
    version: 1,
    tags: ["spring"],
    scheduled_at: null,
  });
  expect(campaign.conditions).toEqual([{ field: "tier", operator: "eq", value: "Gold" }]);
});
