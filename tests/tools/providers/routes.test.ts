import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { EmailMessage, SendOutcome } from "#runtime/channels/provider/channel.ts";
import { PARALLEL_BATCHES } from "#tools/campaigns/delivery/shift.ts";
import type { Candidate } from "#tools/providers/choose.ts";
import { openRoutes } from "#tools/providers/routes.ts";
import { shifted } from "../../support/database.ts";
import { Killed, loseWorker, vendor } from "../../support/job-runner.ts";
import { newScenario, type Scenario } from "../../support/scenario.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
let scenario: Scenario;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());
beforeEach(async () => {
  scenario = await newScenario(service, { from_email: "offers@casino.example" });
});

const KEY: Record<string, object> = { resend: { api_key: "re" }, sendgrid: { api_key: "SG" }, mailbox: {} };
const provider = (kind: string, changes: object = {}): Promise<{ id: string }> =>
  scenario.call("create_message_provider", {
    channel: "email",
    kind,
    name: kind,
    credentials: KEY[kind],
    allows_gaming: true,
    ...changes,
  });

const sent = ({ id }: EmailMessage): SendOutcome => ({ id, status: "sent", providerMessageId: `v-${id}` });
const refused = ({ id }: EmailMessage): SendOutcome => ({
  id,
  status: "retry",
  code: "provider_auth",
  message: "bad key",
  fatal: true,
});
const down = ({ id }: EmailMessage): SendOutcome => ({
  id,
  status: "retry",
  code: "http_503",
  message: "down",
});
const unclear = ({ id }: EmailMessage): SendOutcome => ({
  id,
  status: "unknown",
  code: "http_500",
  message: "?",
});

/** Vendors by kind, and what each was given. */
function vendors(answers: Record<string, (message: EmailMessage) => SendOutcome>, options: object = {}) {
  const all = Object.fromEntries(
    Object.entries(answers).map(([kind, answer]) => [kind, vendor({ answer, ...options })]),
  );
  return {
    open: (_keep: unknown, { name }: { name: string }) => all[name]!.sender,
    given: (kind: string) => all[kind]!.given,
  };
}

const health = async () =>
  Object.fromEntries(
    (
      await scenario.query(
        (sql) =>
          sql`select kind, health, last_error from message_providers where property_id = ${scenario.id}`,
      )
    ).map(({ kind, ...rest }) => [kind, rest]),
  );

test("a campaign goes by the provider that it names, else by the default, and says which it was", async () => {
  await provider("sendgrid", { is_default: true, from_address: "sg@casino.example" });
  const { id: resend } = await provider("resend", { priority: 1, from_address: "re@casino.example" });
  const both = vendors({ sendgrid: sent, resend: sent });
  const id = await scenario.planned(3);
  await scenario.work(both);
  expect(both.given("sendgrid").map(({ from }) => from.email)).toEqual(Array(3).fill("sg@casino.example"));
  const named = await scenario.campaign({ provider_id: resend });
  await scenario.send(named);
  await scenario.work(both);
  expect(both.given("resend").map(({ from }) => from.email)).toEqual(Array(3).fill("re@casino.example"));
  const rows = await scenario.query(
    (sql) => sql`
      select distinct campaign_id, provider, provider_id from campaign_sends where property_id = ${scenario.id}`,
  );
  expect(rows).toHaveLength(2);
  expect(rows.find(({ campaign_id }) => campaign_id === named)).toMatchObject({
    provider: "resend",
    provider_id: resend,
  });
  expect(rows.find(({ campaign_id }) => campaign_id === id)).toMatchObject({ provider: "sendgrid" });
});

test("another provider takes over from one that is down or refuses us, and nobody is sent to twice", async () => {
  for (const trouble of [down, refused]) {
    scenario = await newScenario(service, { from_email: "offers@casino.example" });
    await provider("sendgrid", { is_default: true });
    await provider("resend");
    let taken = 0;
    const answers = {
      sendgrid: (message: EmailMessage) => (++taken <= 5 ? sent(message) : trouble(message)),
      resend: sent,
    };
    // In batches of five: of one that it takes in part, the rest is tried with it again.
    const both = vendors(answers, { concurrency: 5 * PARALLEL_BATCHES });
    const id = await scenario.planned(40);
    await scenario.work(both);
    expect(await scenario.tally(id)).toEqual({ sent: 40 });
    const arrived = [...both.given("sendgrid").slice(0, 5), ...both.given("resend")].map(({ to }) => to);
    expect(arrived.length).toBe(40);
    expect(new Set(arrived).size).toBe(40);
    expect((await health()).sendgrid).toMatchObject({ health: trouble === down ? "failing" : "refused" });
    expect((await health()).resend).toEqual({ health: "ok", last_error: null });
  }
});

test("a message that a provider may have taken goes to no other, and the provider is left alone for a while", async () => {
  await provider("sendgrid", { is_default: true });
  await provider("resend");
  const both = vendors({ sendgrid: unclear, resend: sent });
  const id = await scenario.planned(40);
  await scenario.work(both);
  const unsure = both.given("sendgrid").length;
  expect(await scenario.tally(id)).toEqual({ unknown: unsure, sent: 40 - unsure });
  const again = both
    .given("resend")
    .filter(({ id: send }) => both.given("sendgrid").some((one) => one.id === send));
  expect(again).toEqual([]);
});

test("a provider that took nothing is asked with one message at a time, until it takes one", async () => {
  await provider("sendgrid", { is_default: true });
  let isDown = true;
  const one = vendors({ sendgrid: (message) => (isDown ? unclear(message) : sent(message)) });
  const id = await scenario.planned(60);
  const hurry = () =>
    service.internals.db.asSystem(
      (sql) => sql`update queue set run_at = now() where property_id = ${scenario.id}`,
    );
  await scenario.work(one);
  const unsure = one.given("sendgrid").length;
  for (const more of [1, 2, 3]) {
    await hurry();
    await scenario.work(one);
    expect(one.given("sendgrid")).toHaveLength(unsure + more);
    expect((await scenario.get(id)).status_reason).toMatch(/takes no messages \(http_500\)/);
  }
  isDown = false;
  await hurry();
  await scenario.work(one);
  expect(await scenario.tally(id)).toEqual({ unknown: unsure + 3, sent: 57 - unsure });
});

test("a provider that took nothing is asked with one message at a time behind another one and behind blocked players too", async () => {
  const { id: silent } = await provider("sendgrid");
  await provider("resend", { is_default: true });
  const both = vendors({ sendgrid: unclear, resend: unclear }, { concurrency: 60 });
  const given = () => both.given("sendgrid").length;
  await scenario.crowd(200);
  await scenario.send(await scenario.campaign({ provider_id: silent }));
  await scenario.work(both);
  const id = await scenario.campaign();
  await scenario.send(id);
  let before = given();
  await scenario.work(both);
  expect(both.given("resend").length).toBeGreaterThan(PARALLEL_BATCHES);
  expect(given() - before).toBeLessThanOrEqual(PARALLEL_BATCHES);
  await scenario.query(
    (sql) => sql`
      update players set status = 'banned' where property_id = ${scenario.id} and id in (
        select player_id from campaign_sends where property_id = ${scenario.id} and campaign_id = ${id}
          and status = 'pending' order by id limit 20)`,
  );
  before = given() + both.given("resend").length;
  await service.internals.db.asSystem(
    (sql) => sql`update queue set run_at = now() where property_id = ${scenario.id}`,
  );
  await scenario.work(both);
  expect(await scenario.tally(id)).toMatchObject({ skipped: 20 });
  // Each of the two by this campaign, and one by the campaign before it.
  expect(given() + both.given("resend").length - before).toBe(3);
});

test("a provider that refuses us goes last from then on, until its credentials are written again", async () => {
  const { id: bad } = await provider("sendgrid", { is_default: true });
  await provider("resend");
  const both = vendors({ sendgrid: refused, resend: sent });
  await scenario.planned(2);
  await scenario.work(both);
  const tried = both.given("sendgrid").length;
  expect(tried).toBeGreaterThan(0);
  await scenario.send(await scenario.campaign());
  await scenario.work(both);
  expect(both.given("sendgrid")).toHaveLength(tried);
  await scenario.call("update_message_provider", { id: bad, credentials: { api_key: "SG.new" } });
  expect((await health()).sendgrid).toEqual({ health: "unknown", last_error: null });
});

test("a provider that refuses us is asked before one that was silent a moment ago: its refusal keeps no message", () => {
  const candidate = (id: string, health: string): Candidate => ({
    ...{ id, health, name: "resend", settings: {}, trusted: false, revision: null },
    ...{ fromAddress: null, limits: null, maxConcurrent: null },
  });
  const silent = candidate("silent", "failing");
  const candidates = [silent, candidate("well", "ok"), candidate("refusing", "refused")];
  const runtime = { open: () => vendor().sender } as never;
  const nothing = { runtime, transact: null as never, log: service.internals.log };
  const open = () => openRoutes(nothing, "email", candidates, null as never);
  const { all, note } = open();
  expect(all.map(({ candidate: { id } }) => id)).toEqual(["silent", "well", "refusing"]);
  note(all[0]!, "failing", []);
  expect(open().all.map(({ candidate: { id } }) => id)).toEqual(["well", "refusing", "silent"]);
});

test("a named provider has no stand-in, and its refusal fails the campaign", async () => {
  const { id: named } = await provider("sendgrid");
  await provider("resend", { is_default: true });
  const both = vendors({ sendgrid: refused, resend: sent });
  const id = await scenario.planned(2, { provider_id: named });
  await scenario.work(both);
  expect(await scenario.get(id)).toMatchObject({
    status: "failed",
    status_reason: expect.stringMatching(/provider_auth/),
  });
  expect(both.given("resend")).toEqual([]);
});

test("a message that a repeatable provider was given when the process died goes to it again, and to no other", async () => {
  const { id: resend } = await provider("resend", { is_default: true });
  const all = vendors({ resend: sent, sendgrid: sent }, { repeatable: true });
  const id = await scenario.planned(4);
  await expect(scenario.work({ ...all, killedAfter: { left: 3 } })).rejects.toBeInstanceOf(Killed);
  const before = all.given("resend").length;
  expect(before).toBeGreaterThan(0);
  await loseWorker(service, scenario.id);
  const other = await provider("sendgrid", { priority: 500 });
  await scenario.work(all);
  // Another could have taken over meanwhile, so nothing is repeated.
  expect((await scenario.tally(id)).unknown).toBe(before);
  expect(new Set(all.given("sendgrid").map((one) => one.id)).size).toBe(all.given("sendgrid").length);

  await scenario.call("update_message_provider", { id: other.id, is_active: false });
  const alone = await scenario.campaign({ provider_id: resend });
  await scenario.send(alone);
  await scenario.work({ only: "plan_campaign" });
  all.given("resend").splice(0);
  await expect(scenario.work({ ...all, killedAfter: { left: 3 } })).rejects.toBeInstanceOf(Killed);
  await loseWorker(service, scenario.id);
  await scenario.work(all);
  expect(await scenario.tally(alone)).toEqual({ sent: 4 });
});

test("a message that a provider may have had is not given to it again once it has forgotten it, after any wait", async () => {
  await provider("resend", { is_default: true });
  const one = vendors({ resend: sent }, { repeatable: true });
  const id = await scenario.planned(12);
  await expect(scenario.work({ ...one, killedAfter: { left: 3 } })).rejects.toBeInstanceOf(Killed);
  const before = one.given("resend").map((message) => message.id);
  expect(before.length).toBeGreaterThan(0);
  await loseWorker(service, scenario.id);
  const otherDay = (new Date().getUTCDay() + 3) % 7;
  const hours = { channel: ["email"], days: [otherDay], open_local: "08:00", close_local: "21:00" };
  const rule = await scenario.call("create_quiet_hours_rule", hours);
  await scenario.work(one);
  expect(await scenario.tally(id)).toEqual({ deferred: 12 });

  await scenario.call("delete_quiet_hours_rule", { id: rule.id });
  await scenario.query(
    (sql) => sql`
      update campaign_sends set claimed_at = ${shifted("claimed_at", "-30 hours")}, scheduled_for = now()
      where property_id = ${scenario.id}`,
  );
  await service.internals.db.asSystem(
    (sql) => sql`update queue set run_at = now() where property_id = ${scenario.id}`,
  );
  await scenario.work(one);
  const after = one.given("resend").map((message) => message.id);
  expect(new Set(after).size).toBe(after.length);
  expect(await scenario.tally(id)).toEqual({ unknown: before.length, sent: 12 - before.length });
});

test("the only provider of a channel is not deleted while a campaign would go on without one", async () => {
  const { id: only } = await provider("sendgrid");
  const id = await scenario.planned(2);
  const deleting = () => scenario.call("delete_message_provider", { id: only });
  await expect(deleting()).rejects.toThrow(/is sending and has no other email provider/);
  const { id: other } = await provider("resend");
  await deleting();
  const both = vendors({ resend: sent });
  await scenario.work(both);
  expect(both.given("resend")).toHaveLength(2);
  expect(await scenario.get(id)).toMatchObject({ status: "sent" });
  await scenario.call("delete_message_provider", { id: other });
});

test("a provider that may not carry gaming content stops the campaign before anything is sent", async () => {
  const { id } = await provider("sendgrid", { allows_gaming: false });
  await scenario.crowd(1);
  const campaign = await scenario.campaign();
  const told = await scenario.preflight(campaign);
  expect(told).toMatchObject({ ok: false });
  expect(told.errors).toMatchObject([
    { field: "provider_id", message: expect.stringMatching(/does not allow gaming/) },
  ]);
  await expect(scenario.send(campaign)).rejects.toThrow(/gaming/);
  await scenario.call("update_message_provider", { id, allows_gaming: true, is_active: false });
  // Put out of use, it is not replaced by the service's own.
  expect((await scenario.preflight(campaign)).errors).toMatchObject([
    { field: "provider_id", message: expect.stringMatching(/is not active/) },
  ]);
  await scenario.call("update_message_provider", { id, is_active: true });
  expect((await scenario.preflight(campaign)).ok).toBe(true);
});

// Its deletion is refused while a campaign or a journey would go on without one.
test("a campaign whose only provider is switched off names two ways, and both lead on", async () => {
  const { id } = await provider("sendgrid");
  await scenario.planned(1);
  await scenario.call("update_message_provider", { id, is_active: false });
  const campaign = await scenario.campaign();
  await expect(scenario.send(campaign)).rejects.toThrow(
    /is not active; activate it with update_message_provider, or add another with create_message_provider$/,
  );
  await expect(scenario.call("delete_message_provider", { id })).rejects.toThrow(/no other email provider/);
  const { id: other } = await provider("resend");
  expect((await scenario.preflight(campaign)).ok).toBe(true);
  await scenario.call("delete_message_provider", { id: other });
  await scenario.call("update_message_provider", { id, is_active: true });
  expect((await scenario.preflight(campaign)).ok).toBe(true);
});

test("the day's limit holds against all campaigns, and the rest goes out on another day", async () => {
  await provider("sendgrid", { daily_limit: 5 });
  const one = vendors({ sendgrid: sent });
  const id = await scenario.planned(8);
  const second = await scenario.campaign();
  await scenario.send(second);
  await scenario.work(one);
  expect(one.given("sendgrid")).toHaveLength(5);
  expect([(await scenario.get(id)).status, (await scenario.get(second)).status]).toEqual([
    "sending",
    "sending",
  ]);
  const waiting = await service.internals.db.asSystem(
    (sql) => sql`
      select extract(epoch from run_at - (date_trunc('day', now() at time zone 'utc') + interval '1 day')
        at time zone 'utc')::int as late
      from queue where property_id = ${scenario.id} and name = 'deliver_campaign'`,
  );
  expect(waiting.map(({ late }) => Math.abs(late) < 5)).toEqual([true, true]);
  await scenario.query(
    (sql) => sql`update provider_usage set day = day - 1 where property_id = ${scenario.id}`,
  );
  await service.internals.db.asSystem(
    (sql) => sql`update queue set run_at = now() where property_id = ${scenario.id}`,
  );
  await scenario.work(one);
  expect(one.given("sendgrid")).toHaveLength(10);
  expect(new Set(one.given("sendgrid").map(({ id: send }) => send)).size).toBe(10);
});

test("a message that cannot be rendered takes nothing of the day's limit", async () => {
  await provider("sendgrid", { daily_limit: 2 });
  const one = vendors({ sendgrid: sent });
  await scenario.player({ player_id: "nameless", email: "nameless@example.com" });
  await scenario.crowd(2);
  const id = await scenario.campaign({ subject: "Hello {{ first_name }}" });
  await scenario.send(id);
  await scenario.work(one);
  // A delivery that saw the whole limit taken waits for another day.
  await service.internals.db.asSystem(
    (sql) => sql`update queue set run_at = now() where property_id = ${scenario.id}`,
  );
  await scenario.work(one);
  expect(await scenario.tally(id)).toEqual({ failed: 1, sent: 2 });
});

test("a provider is given no more in a second than it takes", async () => {
  await provider("sendgrid", { rate_per_second: 20 });
  const at: number[] = [];
  const one = vendors({
    sendgrid: (message) => {
      at.push(performance.now());
      return sent(message);
    },
  });
  const id = await scenario.planned(45);
  await scenario.work(one);
  expect(await scenario.tally(id)).toEqual({ sent: 45 });
  // A full bucket, and then 20 a second.
  for (const start of at) {
    expect(at.filter((time) => time >= start && time < start + 900).length).toBeLessThanOrEqual(41);
  }
  expect(at.at(-1)! - at[0]!).toBeGreaterThan(1_000);
});
