import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { assignments } from "#db/sql.ts";
import { BLOCK_REASONS } from "#tools/compliance/gate.ts";
import { DEFER_REASONS } from "#tools/compliance/hours.ts";
import { type Scenario, scenarioIn } from "../../support/scenario.ts";
import { startService, type Tenant, type TestService } from "../../support/service.ts";

let service: TestService;
let rival: Tenant;
let scenario: Scenario;
let ana: { id: string; email: string; phone: string };

// Without a worker: the tests run its jobs.
beforeAll(async () => {
  service = await startService({ role: "web" });
  rival = await service.newTenant();
});
afterAll(() => service?.stop());
beforeEach(async () => {
  service.tenant = await service.newTenant();
  const { id } = service.tenant;
  scenario = scenarioIn(service, id);
  ana = await newPlayer("ana");
  for (const channel of ["email", "sms"]) await consent(ana.id, channel);
});

let made = 0;
async function newPlayer(player_id: string, fields: object = {}) {
  const phone = `+1702555${String(++made).padStart(4, "0")}`;
  return scenario.call("create_player", { player_id, email: `${player_id}@example.com`, phone, ...fields });
}
const consent = (playerId: string, channel: string, more: object = {}) =>
  scenario.call("consent_record", {
    propertyId: scenario.id,
    playerId,
    channel,
    consentGiven: true,
    consentSource: "desk",
    ...more,
  });

interface Step {
  rule: string;
  result: string;
  records: { table: string; id: string; what: string | null; since: string | null; until: string | null }[];
}

async function explain(channel = "sms", more: object = {}) {
  const given = { propertyId: scenario.id, playerId: ana.id, channel, ...more };
  const { status, body } = await service.post("/api/functions/explain-eligibility", given, {
    "X-Api-Key": service.tenant.key,
  });
  expect([status, body.error]).toEqual([200, undefined]);
  const steps = new Map((body.rules as Step[]).map((step) => [step.rule, step]));
  return { ...body, step: (rule: string) => steps.get(rule)! };
}
const set = (fields: object) =>
  scenario.query(
    (sql) =>
      sql`update players set ${assignments(fields)} where property_id = ${scenario.id} and id = ${ana.id}`,
  );
const list = (reason: string, channel: string) =>
  scenario.query(
    (sql) => sql`
      insert into suppressions (property_id, channel, address_hash, reason)
      select property_id, ${channel}, phone_hash, ${reason} from players
      where property_id = ${scenario.id} and id = ${ana.id} returning 1`,
  );

test("of a player who may be contacted every rule is named, and consent with the record that gave it", async () => {
  const { allowed, reasons, defer, rules, step, send } = await explain();
  expect([allowed, reasons, defer, send]).toEqual([true, [], undefined, null]);
  const expected = [...Object.keys({ ...BLOCK_REASONS, ...DEFER_REASONS }), "holdout", "not_in_audience"];
  expect(rules.map(({ rule }: Step) => rule)).toEqual(expected.sort());
  expect(new Set(rules.map(({ result }: Step) => result))).toEqual(new Set(["passes", "not_applicable"]));
  const [given] = await scenario.query(
    (sql) => sql`select id from consent_records where property_id = ${scenario.id} and channel = 'sms'`,
  );
  expect(step("no_consent").records).toMatchObject([
    { table: "consent_records", id: given!.id, what: "granted", since: expect.any(String) },
  ]);
});

describe("a reason that blocks is named with the record that decided", () => {
  const mine = (table: string, what: string | null) => ({ table, what });
  const cases: [reason: string, { table: string; what: string | null }, () => Promise<unknown>][] = [
    ["banned", mine("players", "status"), () => set({ status: "banned" })],
    [
      "consent_expired",
      mine("consent_records", "granted"),
      async () => {
        const times = { occurredAt: "2020-01-01T00:00:00Z", expiresAt: "2020-02-01T00:00:00Z" };
        await scenario.query(
          (sql) => sql`update players set consents = '{}' where property_id = ${scenario.id}`,
        );
        ana = await newPlayer("expired");
        await consent(ana.id, "sms", times);
      },
    ],
    ["deceased", mine("players", "status"), () => set({ status: "deceased" })],
    ["deleted", mine("players", "deleted_at"), () => scenario.call("delete_player", { id: ana.id })],
    ["dnc", mine("dnc_entries", "internal"), () => scenario.call("create_dnc_entry", { phone: ana.phone })],
    ["erased", mine("suppressions", "erased"), () => list("erased", "all")],
    ["invalid_address", mine("players", "phone"), () => set({ phone: null, phone_hash: null })],
    ["needs_review", mine("suppressions", "needs_review"), () => list("needs_review", "sms")],
    ["no_consent", mine("consent_records", "denied"), () => consent(ana.id, "sms", { consentGiven: false })],
    [
      "reassigned_number",
      mine("dnc_entries", "reassigned"),
      () => scenario.call("create_dnc_entry", { phone: ana.phone, list: "reassigned" }),
    ],
    [
      "self_excluded",
      mine("self_exclusions", "state list"),
      () => scenario.call("create_self_exclusion", { playerId: ana.id, program: "state list" }),
    ],
    [
      "shared_address",
      mine("players", "banned"),
      async () => {
        const other = await newPlayer("other", { phone: ana.phone });
        await scenario.call("set_player_status", {
          propertyId: scenario.id,
          playerId: other.id,
          status: "banned",
        });
      },
    ],
    [
      "suppressed",
      mine("suppressions", "manual"),
      () => scenario.call("create_suppression", { channel: "sms", address: ana.phone }),
    ],
    ["underage", mine("players", "birth_date"), () => set({ birth_date: "2020-01-01" })],
    ["vip_hold", mine("players", "status"), () => set({ status: "vip_hold" })],
  ];

  test("each of the gate's reasons is among these", () => {
    expect(cases.map(([reason]) => reason)).toEqual(Object.keys(BLOCK_REASONS).sort());
  });

  test.each(cases)("%s", async (reason, record, happens) => {
    await happens();
    const { allowed, reasons, step } = await explain();
    expect(allowed).toBe(false);
    expect(reasons).toContain(reason);
    expect(step(reason)).toMatchObject({ result: "blocks", meaning: BLOCK_REASONS[reason as "dnc"] });
    expect(step(reason).records).toContainEqual(
      expect.objectContaining({ ...record, id: expect.any(String) }),
    );
    const rest = { propertyId: scenario.id, playerId: ana.id, channel: "sms" };
    if (reason !== "deleted")
      expect((await scenario.call("compliance_check", rest)).reasons).toEqual(reasons);
  });
});

test("a reason to wait is named with the rule that decided, and until when", async () => {
  const closed = await scenario.call("create_quiet_hours_rule", {
    channel: ["sms"],
    days: [(new Date().getUTCDay() + 3) % 7],
    open_local: "08:00",
    close_local: "21:00",
    effective_from: "2020-01-01",
  });
  const cap = await scenario.call("create_frequency_rule", {
    channel: "sms",
    max_sends: 1,
    window_unit: "day",
  });
  expect((await explain()).step("frequency_capped")).toMatchObject({ result: "passes", records: [] });
  await scenario.query(
    (sql) => sql`
      insert into campaign_sends (property_id, player_id, channel, status, dedupe_key, claimed_at)
      values (${scenario.id}, ${ana.id}, 'sms', 'sent', '1', now())`,
  );
  const { allowed, defer, step } = await explain();
  expect([allowed, defer.reasons]).toEqual([true, ["frequency_capped", "quiet_hours"]]);
  expect(Date.parse(defer.retry_at)).toBeGreaterThan(Date.now() + 86_400_000);
  expect(step("frequency_capped")).toMatchObject({
    result: "waits",
    records: [{ table: "frequency_rules", id: cap.id, what: "1 in 1 day", until: expect.any(String) }],
  });
  expect(step("quiet_hours")).toMatchObject({
    result: "waits",
    records: [{ table: "quiet_hours_rules", id: closed.id, what: "defer", since: "2020-01-01" }],
  });
  const { defer: same } = await scenario.call("compliance_check", {
    propertyId: scenario.id,
    playerId: ana.id,
    channel: "sms",
  });
  expect(same).toEqual(defer);
  const urgent = await scenario.campaign({ channel: "sms", body_text: "Hello", ignore_frequency_cap: true });
  const exempt = await explain("sms", { campaignId: urgent });
  expect(exempt.step("frequency_capped").result).toBe("not_applicable");
  expect(exempt.defer.reasons).toEqual(["quiet_hours"]);
});

test("a rule that drops a message makes it wait for nothing, and the check of many agrees", async () => {
  await scenario.call("create_quiet_hours_rule", {
    channel: ["sms"],
    days: [(new Date().getUTCDay() + 3) % 7],
    open_local: "08:00",
    close_local: "21:00",
    action: "skip",
  });
  const { allowed, defer, step } = await explain();
  expect({ allowed, defer }).toMatchObject({
    allowed: true,
    defer: { reasons: ["quiet_hours"], dropped: true },
  });
  expect(step("quiet_hours").result).toBe("drops");
  const about = { propertyId: scenario.id, playerId: ana.id, channel: "sms" };
  expect((await scenario.call("compliance_check", about)).defer).toEqual(defer);
  const campaignId = await scenario.campaign({ channel: "sms", body_text: "Hello" });
  const meant = await explain("sms", { campaignId });
  expect([meant.reasons, meant.step("quiet_hours").result]).toEqual([["quiet_hours"], "blocks"]);
});

test("of a campaign it says whether the player is meant, or held out, and what became of their message", async () => {
  const gold = [{ field: "tier", operator: "eq", value: "Gold" }];
  const meant = await scenario.campaign();
  const other = await scenario.campaign({ audience: null, conditions: gold });
  const drawn = await scenario.campaign({ holdout_percent: 50, audience: null, conditions: gold });
  const aboutEmail = (campaignId: string) => explain("email", { campaignId });
  expect(await aboutEmail(meant)).toMatchObject({ allowed: true, send: null });
  const outside = await aboutEmail(other);
  expect([outside.allowed, outside.reasons]).toEqual([false, ["not_in_audience"]]);
  expect(outside.step("not_in_audience").records).toMatchObject([{ table: "campaigns", id: other }]);
  // Chance leaves out the same player as the plan does.
  const players = await Promise.all(
    Array.from({ length: 12 }, (_, n) => newPlayer(`g${n}`, { tier: "Gold" })),
  );
  for (const { id } of players) await consent(id, "email");
  const told = new Map<string, string[]>();
  for (const { id } of players)
    told.set(id, (await explain("email", { campaignId: drawn, playerId: id })).reasons);
  await scenario.send(meant);
  await scenario.send(drawn);
  await scenario.work();
  const sends = await scenario.query(
    (sql) => sql<{ player_id: string; skip_reasons: string[] }[]>`
      select player_id, skip_reasons from campaign_sends where property_id = ${scenario.id} and campaign_id = ${drawn}`,
  );
  expect(new Map(sends.map((send) => [send.player_id, send.skip_reasons]))).toEqual(told);
  const { send } = await aboutEmail(meant);
  expect(send).toEqual({ id: expect.any(String), status: "sent", skip_reasons: [], error_code: null });
});

test("a player or campaign that is a rival's is not there, and a campaign of another channel is refused", async () => {
  const ask = (more: object, key = service.tenant.key, propertyId = scenario.id) =>
    service.post(
      "/api/functions/explain-eligibility",
      { propertyId, playerId: ana.id, channel: "email", ...more },
      { "X-Api-Key": key },
    );
  const campaignId = await scenario.campaign();
  expect((await ask({ campaignId })).status).toBe(200);
  expect((await ask({}, rival.key, rival.id)).status).toBe(404);
  expect((await ask({}, rival.key)).status).toBe(403);
  expect((await ask({ playerId: randomUUID() })).status).toBe(404);
  const theirs = await service.call("create_player", { player_id: "x", email: "x@example.com" }, rival.id);
  expect((await ask({ playerId: theirs.id, campaignId }, rival.key, rival.id)).status).toBe(404);
  const refused = await ask({ channel: "sms", campaignId });
  expect([refused.status, refused.body.error]).toEqual([400, "channel: is sms, and the campaign's is email"]);
  expect((await ask({ channel: "fax" })).status).toBe(400);
});
