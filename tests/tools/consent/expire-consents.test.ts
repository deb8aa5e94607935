import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { newScenario, type Scenario } from "../../support/scenario.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
let scenario: Scenario;

beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());
beforeEach(async () => {
  scenario = await newScenario(service);
  await scenario.call("create_webhook_endpoint", { url: "https://receiver.example/hook", events: ["*"] });
});

const ago = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();

const consent = (playerId: string, input: object = {}) =>
  scenario.call("consent_record", {
    propertyId: scenario.id,
    playerId,
    channel: "email",
    consentGiven: true,
    ...input,
  });
const ledger = (playerId: string) =>
  scenario.query(
    (sql) => sql<{ action: string; jurisdiction: string; occurred_at: string }[]>`
      select action, jurisdiction, occurred_at from consent_records
      where property_id = ${scenario.id} and player_id = ${playerId} order by occurred_at, id`,
  );
const expiredEvents = () =>
  scenario.query(
    (sql) => sql`select data from outbox where property_id = ${scenario.id} and type = 'consent.expired'`,
  );
const waiting = () =>
  service.internals.db.asSystem(
    (sql) => sql`select run_at from queue where name = 'expire_consents' and property_id = ${scenario.id}`,
  );

test("a consent that has ended is written down as expired, once, told of, and still the gate's own reason", async () => {
  const { id, email } = await scenario.call("create_player", { email: "ana@example.com", state: "NV" });
  const end = ago(1);
  await consent(id, { occurredAt: ago(48), expiresAt: end });
  await scenario.work({ only: "expire_consents" });
  const rows = await ledger(id);
  expect(rows.map(({ action, jurisdiction }) => [action, jurisdiction])).toEqual([
    ["granted", "US-NV"],
    ["expired", "US-NV"],
  ]);
  expect(new Date(rows[1]!.occurred_at).toISOString()).toBe(end);
  expect(await expiredEvents()).toMatchObject([
    { data: { object: { player_id: id, channel: "email", action: "expired" } } },
  ]);
  const ask = async () =>
    (
      await scenario.call("compliance_check", {
        propertyId: scenario.id,
        channel: "email",
        email,
        purpose: "marketing",
      })
    ).reasons;
  expect(await ask()).toEqual(["consent_expired", "no_consent"]);
  const other = await scenario.call("create_player", { email: "bo@example.com" });
  await consent(other.id, { occurredAt: ago(48), expiresAt: ago(2) });
  await scenario.work({ only: "expire_consents" });
  expect(await ledger(id)).toHaveLength(2);
  expect(await expiredEvents()).toHaveLength(2);
  expect((await ledger(other.id))[1]).toMatchObject({ action: "expired", jurisdiction: "US" });
  // An answer about another channel reads the ledger anew: an end is no refusal.
  await consent(id, { channel: "push" });
  expect(await ask()).toEqual(["consent_expired", "no_consent"]);
  expect((await scenario.call("get_player", { id })).consents).toEqual({ email: true, push: true });
  await consent(id);
  expect(await ask()).toEqual([]);
});

test("a consent that was refused or given anew meanwhile does not expire", async () => {
  const players = [];
  for (const email of ["ana@example.com", "bo@example.com"])
    players.push((await scenario.call("create_player", { email })).id);
  for (const id of players) await consent(id, { occurredAt: ago(48), expiresAt: ago(1) });
  await consent(players[0], { consentGiven: false });
  await consent(players[1]);
  await scenario.work({ only: "expire_consents" });
  expect(await expiredEvents()).toEqual([]);
  for (const id of players) expect(await ledger(id)).toHaveLength(2);
});

test("all that ends within an hour is written down by one job, at its end", async () => {
  const { id } = await scenario.call("create_player", { email: "ana@example.com" });
  for (const minute of ["01", "30", "59"]) await consent(id, { expiresAt: `2099-01-01T10:${minute}:00Z` });
  const jobs = await waiting();
  expect(jobs.map(({ run_at }) => new Date(run_at).toISOString())).toEqual(["2099-01-01T11:00:00.000Z"]);
});

test("of calls the consent in force expires: a plain one beside a written one is not told of, and the written one is", async () => {
  const written = { channel: "voice", consentSource: "desk", consentText: "I agree to calls." };
  const plain = { channel: "voice", consentLevel: "express" };
  const [ana, bo] = await Promise.all(
    ["+17025550101", "+17025550102"].map((phone) => scenario.call("create_player", { phone })),
  );
  await consent(ana.id, { ...written, occurredAt: ago(72) });
  await consent(ana.id, { ...plain, occurredAt: ago(48), expiresAt: ago(1) });
  await consent(bo.id, { ...written, occurredAt: ago(72), expiresAt: ago(1) });
  await consent(bo.id, { ...plain, occurredAt: ago(48) });
  await scenario.work({ only: "expire_consents" });
  await scenario.work({ only: "expire_consents" });
  expect((await ledger(ana.id)).map(({ action }) => action)).toEqual(["granted", "granted"]);
  expect((await ledger(bo.id)).map(({ action }) => action)).toEqual(["granted", "granted", "expired"]);
  const reasons = async (playerId: string) =>
    (await scenario.call("compliance_check", { propertyId: scenario.id, channel: "voice", playerId }))
      .reasons;
  expect(await reasons(ana.id)).toEqual([]);
  expect(await reasons(bo.id)).toEqual(["consent_expired", "no_consent"]);
});
