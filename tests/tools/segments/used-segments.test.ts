import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { newScenario, type Scenario } from "../../support/scenario.ts";
import { startService, type TestService } from "../../support/service.ts";
import { arcadeIn } from "../games/arcade.ts";

let service: TestService;
let scenario: Scenario;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());
beforeEach(async () => {
  scenario = await newScenario(service);
});

const active = [{ field: "status", operator: "eq", value: "active" }];
const segment = async (name: string, fields: object = { conditions: active }): Promise<string> =>
  (await scenario.call("create_segment", { name, ...fields })).id;
const tomorrow = () => new Date(Date.now() + 86_400_000).toISOString();
const schedule = (campaign_id: string, segment_id: string | null) =>
  scenario.call("schedule_campaign", { campaign_id, segment_id, scheduled_at: tomorrow() });
const remove = (id: string) => scenario.call("delete_segment", { id });

describe("a segment that is used cannot be deleted", () => {
  test("by a scheduled campaign, whose audience it is, that leaves it out, or whose rules name it", async () => {
    const [own, out, named] = [await segment("Own"), await segment("Out"), await segment("Named")];
    await schedule(await scenario.campaign({ name: "A", audience: null }), own);
    await schedule(await scenario.campaign({ name: "B", exclude_segment_ids: [out] }), null);
    const conditions = [{ field: `segment.${named.toUpperCase()}`, operator: "in_segment" }];
    const last = await scenario.campaign({ name: "C", audience: null, conditions });
    await schedule(last, null);
    for (const [id, name] of [
      [own, "A"],
      [out, "B"],
      [named, "C"],
    ] as const) {
      await expect(remove(id)).rejects.toMatchObject({
        code: "conflict",
        message: expect.stringContaining(`campaign "${name}", which is scheduled, uses this segment`),
      });
    }
    await scenario.cancel(last);
    await expect(remove(named)).resolves.toMatchObject({ success: true });
  });

  test("by a campaign that is paused", async () => {
    const own = await segment("Own");
    await scenario.player({ email: "p@example.com" });
    const id = await scenario.campaign({ name: "Rests", audience: null, segment_id: own });
    await scenario.send(id);
    await scenario.work({ only: "plan_campaign" });
    await scenario.pause(id);
    await expect(remove(own)).rejects.toMatchObject({
      message: /campaign "Rests", which is paused, uses this segment/,
    });
  });

  test("by a game that is played", async () => {
    const own = await segment("Players");
    const place = arcadeIn(scenario);
    const game = await place.game([{ label: "Dinner" }], { segment_id: own });
    await expect(remove(own)).rejects.toMatchObject({ code: "conflict", message: /which is active, uses/ });
    await place.on("pause_game", game);
    await expect(remove(own)).rejects.toMatchObject({ code: "conflict", message: /End it first/ });
    await place.on("end_game", game);
    await remove(own);
  });

  test("by another segment", async () => {
    const [inner, out] = [await segment("Inner"), await segment("Out")];
    const outer = await segment("Outer", {
      conditions: [{ field: `segment.${inner}`, operator: "in_segment" }],
      exclude_segment_ids: [out],
    });
    for (const id of [inner, out]) {
      await expect(remove(id)).rejects.toMatchObject({ code: "conflict", message: /segment "Outer" uses/ });
    }
    await remove(outer);
    for (const id of [inner, out]) await remove(id);
  });
});

test("a custom field that a scheduled campaign asks for cannot be deleted", async () => {
  const field = await scenario.call("create_custom_field", { key: "level", type: "number" });
  const conditions = [{ field: "custom.level", operator: "gt", value: 1 }];
  const id = await scenario.campaign({ name: "Levels", audience: null, conditions });
  await schedule(id, null);
  const removal = () => scenario.call("delete_custom_field", { id: field.id });
  await expect(removal()).rejects.toMatchObject({
    code: "conflict",
    message: /campaign "Levels", which is scheduled, uses this custom field/,
  });
  await scenario.call("unschedule_campaign", { campaignId: id, propertyId: scenario.id });
  await removal();
});

describe("a campaign is scheduled", () => {
  test("against its own audience, and by text message too", async () => {
    for (const fields of [{}, { channel: "sms", subject: null, body_html: null, body_text: "Hi" }]) {
      const id = await scenario.campaign(fields);
      expect((await schedule(id, null)).campaign).toMatchObject({ status: "scheduled", audience: "all" });
    }
  });

  test("by nobody without an audience", async () => {
    const none = await scenario.campaign({ audience: null });
    await expect(schedule(none, null)).rejects.toMatchObject({ message: /segment_id: is needed/ });
  });
});
