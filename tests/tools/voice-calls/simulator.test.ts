import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { startService, type TestService } from "../../support/service.ts";
import { type CallScenario, callScenario } from "./scenario.ts";

let service: TestService;
let scenario: CallScenario;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service?.stop());
beforeEach(async () => {
  scenario = await callScenario(service);
});

test("a voice campaign runs in the simulator, is listed with transcripts, and counts as no contact", async () => {
  await scenario.callers(12);
  const campaign = await scenario.voiceCampaign();
  const checked = await scenario.preflight(campaign);
  expect(checked).toMatchObject({
    ok: true,
    allowed: 12,
    minutes: 12,
    estimated_cost: { amount: 0, unit: "minute" },
  });
  expect(checked.sample_renders[0].text).toContain(
    "Hello. This is an automated call from Casino LLC, by an AI voice.",
  );
  expect(checked.warnings.join()).toContain("nobody is called");
  await scenario.send(campaign);
  await service.idle();
  expect((await scenario.get(campaign)).status).toBe("sent");
  const calls = await scenario.calls();
  expect(calls).toHaveLength(12);
  for (const call of calls) {
    expect(call).toMatchObject({ simulated: true, provider: "simulator", status: "ended", cost: null });
    const said = call.transcript.filter(({ by }: { by: string }) => by === "us");
    if (said.length > 0) expect(said[0].fixed).toBe("identification");
  }
  const stats = await scenario.stats(campaign);
  expect(stats).toMatchObject({
    audience: 12,
    skipped: { simulated: 12 },
    sent: 0,
    delivered: 0,
    converted: 0,
  });
  expect(stats.calls).toMatchObject({ placed: 0, answered: 0, simulated: { placed: 12 } });
  // A made-up stop is nobody's.
  const [revoked] = await scenario.query(
    (sql) =>
      sql`select count(*)::int as count from consent_records where property_id = ${scenario.id} and action = 'revoked'`,
  );
  expect(revoked).toEqual({ count: 0 });
});

test("no number is called twice in a day, also by a campaign with exemptions", async () => {
  await scenario.caller();
  const first = await scenario.voiceCampaign();
  await scenario.send(first);
  await service.idle();
  const second = await scenario.voiceCampaign({ is_transactional: true, ignore_frequency_cap: true });
  await scenario.send(second);
  await service.idle();
  expect(await scenario.sends(second)).toMatchObject([
    { status: "deferred", skip_reasons: ["frequency_capped"] },
  ]);
});

test("a pause between calls of more than a month is kept to its end", async () => {
  await scenario.caller();
  const { id } = (
    await scenario.call("list_voice_laws", { filters: { "kind.eq": "hours_between_calls" } })
  )[0];
  await scenario.call("update_voice_law", { id, amount: 1000 });
  const first = await scenario.voiceCampaign();
  await scenario.send(first);
  await service.idle();
  const calledAgain = async (days: number) => {
    await scenario.query(
      (sql) => sql`
        update campaign_sends set claimed_at = now() - make_interval(days => ${days})
        where property_id = ${scenario.id} and campaign_id = ${first}`,
    );
    const next = await scenario.voiceCampaign();
    await scenario.send(next);
    await service.idle();
    return (await scenario.sends(next))[0]!.status;
  };
  expect(await calledAgain(41)).toBe("deferred");
  expect(await calledAgain(42)).toBe("skipped");
});

test("a call needs a written consent with its evidence", async () => {
  const { id } = await scenario.call("create_player", { player_id: "w", phone: "+17025559901" });
  const record = (more: object) =>
    scenario.call("consent_record", {
      propertyId: scenario.id,
      playerId: id,
      channel: "voice",
      consentGiven: true,
      ...more,
    });
  const check = () =>
    scenario.call("compliance_check", { propertyId: scenario.id, channel: "voice", playerId: id });
  await record({});
  expect(await check()).toMatchObject({ allowed: false, reasons: ["no_consent"] });
  await expect(record({ consentLevel: "express_written" })).rejects.toThrow(/evidence/);
  await record({
    consentLevel: "express_written",
    consentSource: "desk",
    consentText: "I agree to automated calls.",
  });
  expect(await check()).toMatchObject({ allowed: true });
  expect((await scenario.call("get_player", { id })).consent_levels).toEqual({ voice: "express_written" });
  // A plain consent takes no written one back.
  await record({ consentLevel: "express", consentSource: "desk", consentVersion: "2" });
  await record({});
  expect(await check()).toMatchObject({ allowed: true });
  await record({ consentGiven: false });
  expect(await check()).toMatchObject({ allowed: false, reasons: ["no_consent"] });
  const later = { consentSource: "desk", occurredAt: new Date().toISOString() };
  await record({ ...later, consentLevel: "express", consentVersion: "2" });
  // The refusal has ended the written consent for good.
  expect(await check()).toMatchObject({ allowed: false, reasons: ["no_consent"] });
  // The specification's own fields name no level.
  await record({ consentSource: "desk", consentText: "I agree to automated calls." });
  expect(await check()).toMatchObject({ allowed: true });
});
