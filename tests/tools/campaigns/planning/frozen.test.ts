import postgres from "postgres";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { SendOutcome } from "#runtime/channels/provider/channel.ts";
import { accepted, Killed, loseWorker, vendor } from "../../../support/job-runner.ts";
import { lockWaits } from "../../../support/postgres/blocking.ts";
import { newScenario, type Scenario } from "../../../support/scenario.ts";
import { startService, type TestService } from "../../../support/service.ts";

let service: TestService;
let scenario: Scenario;

// Without a worker: the tests run its jobs, and stop them where they want.
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());
beforeEach(async () => {
  scenario = await newScenario(service);
});

const template = (name: string) =>
  scenario.call("create_template", { name, subject: "Hello", html: "<p>First text</p>" });
const edit = (id: string, fields: object) => scenario.call("update_template", { id, ...fields });

test("one campaign is of one audience though its segment changes while it is planned and the worker is killed", async () => {
  await scenario.crowd(10_020);
  const { id: inner } = await scenario.call("create_segment", {
    name: "Inner",
    conditions: [{ field: "first_name", operator: "eq", value: "Ana" }],
  });
  const { id: segment_id } = await scenario.call("create_segment", {
    name: "Outer",
    conditions: [{ field: `segment.${inner}`, operator: "in_segment" }],
  });
  const id = await scenario.campaign({ audience: null, segment_id });
  await scenario.send(id);
  await expect(scenario.work({ only: "plan_campaign", killedAfter: { left: 1 } })).rejects.toThrow(Killed);
  expect(await scenario.get(id)).toMatchObject({ audience_count: 10_000 });
  await scenario.call("update_segment", {
    id: inner,
    conditions: [{ field: "first_name", operator: "eq", value: "Nobody" }],
  });
  await loseWorker(service, scenario.id);
  await scenario.work({ only: "plan_campaign" });
  expect(await scenario.get(id)).toMatchObject({ status: "sending", audience_count: 10_020 });
  expect(await scenario.stats(id)).toMatchObject({ audience: 10_020, pending: 10_020 });
});

test("nobody is planned or written to twice though members, addresses and consents change between two chunks of a plan", async () => {
  await scenario.crowd(10_020);
  const { id: segment_id } = await scenario.call("create_segment", { name: "Club", type: "static" });
  const [early, late] = await scenario.query(async (sql) => {
    const rows = await sql<{ id: string; email: string }[]>`
      select id, email from players where property_id = ${scenario.id} order by id`;
    const chosen = [rows.slice(0, 6), rows.slice(-5)] as const;
    const ids = chosen.flat().map((row) => row.id);
    await sql`update players set consents = '{}' where property_id = ${scenario.id} and id <> all(${ids}::uuid[])`;
    // The last of the first ones joins when the plan is past it.
    await sql`
      insert into segment_members (property_id, segment_id, player_id)
      select property_id, ${segment_id}, id from players where property_id = ${scenario.id} and id <> ${rows[5]!.id} returning 1`;
    return chosen;
  });
  await scenario.work({ only: "refresh_segment" });
  const join = (player_id: string) => scenario.call("create_segment_member", { segment_id, player_id });
  const leave = (player: string) =>
    scenario.query(
      (sql) => sql`
        delete from segment_members
        where property_id = ${scenario.id} and segment_id = ${segment_id} and player_id = ${player}`,
    );
  const revoke = (playerId: string) =>
    scenario.call("consent_revoke", { propertyId: scenario.id, playerId, channel: "email" });
  const move = (id: string, email: string) => scenario.call("update_player", { id, email });
  const id = await scenario.campaign({ audience: null, segment_id });
  await scenario.send(id);
  await expect(scenario.work({ only: "plan_campaign", killedAfter: { left: 1 } })).rejects.toThrow(Killed);
  expect(await scenario.get(id)).toMatchObject({ audience_count: 10_000 });

  await revoke(early[1]!.id);
  await move(early[2]!.id, "moved@example.com");
  await move(late[0]!.id, early[2]!.email);
  await leave(early[3]!.id);
  await scenario.call("delete_player", { id: early[4]!.id });
  const again = await scenario.player({ player_id: "again", email: early[4]!.email });
  await join(again);
  await join(early[5]!.id);
  await leave(late[1]!.id);
  await move(late[2]!.id, early[0]!.email);
  await revoke(late[3]!.id);
  const joined = await scenario.player({ player_id: "joined", email: "joined@example.com" });
  await join(joined);

  await loseWorker(service, scenario.id);
  const { sender, given } = vendor();
  await scenario.work({ open: () => sender });
  const rows = await scenario.query(
    (sql) => sql<{ player_id: string; status: string; skip_reasons: string[] }[]>`
      select player_id, status, skip_reasons from campaign_sends
      where property_id = ${scenario.id} and campaign_id = ${id}`,
  );
  expect(new Set(rows.map((row) => row.player_id)).size).toBe(rows.length);
  const became = (player: string) => {
    const row = rows.find((one) => one.player_id === player);
    return row && [row.status, ...row.skip_reasons].join(" ");
  };
  expect(early.map((one) => became(one.id))).toEqual([
    "sent",
    "cancelled suppressed",
    "skipped address_changed",
    "sent",
    "skipped deleted",
    undefined,
  ]);
  expect(late.map((one) => became(one.id))).toEqual([
    "skipped duplicate_address",
    undefined,
    "skipped duplicate_address",
    "skipped no_consent suppressed",
    "sent",
  ]);
  expect([became(again), became(joined)]).toEqual(["skipped duplicate_address", "sent"]);
  expect(given.map(({ to }) => to).sort()).toEqual(
    [early[0]!.email, early[3]!.email, late[4]!.email, "joined@example.com"].sort(),
  );
  expect((await scenario.get(id)).status).toBe("sent");
});

test("a template that a campaign is sending keeps its content until the campaign is through", async () => {
  await scenario.crowd(30);
  const { id: template_id } = await template("Offer");
  const { id: other } = await template("Other");
  const id = await scenario.campaign({ template_id, body_html: null, subject: null });
  await edit(template_id, { html: "<p>Second text</p>" });
  await scenario.send(id);
  const refusals: unknown[] = [];
  const refused = async (fields: object) =>
    refusals.push(await edit(template_id, fields).catch((error) => error));
  await refused({ html: "<p>Third text</p>" });
  const { sender, given } = vendor({
    concurrency: 4,
    answer: async (message): Promise<SendOutcome> => {
      await refused({ subject: "Third" });
      return accepted(message);
    },
  });
  await scenario.work({ only: "plan_campaign" });
  await scenario.pause(id);
  await refused({ engine: "mjml", mjml: "<mjml><mj-body></mj-body></mjml>" });
  await scenario.resume(id);
  await scenario.work({ open: () => sender });
  expect(refusals).toHaveLength(32);
  for (const refusal of refusals) expect(refusal).toMatchObject({ code: "conflict" });
  expect(new Set(given.map(({ html }) => html?.includes("Second text")))).toEqual(new Set([true]));
  expect(await edit(other, { html: "<p>Free</p>" })).toMatchObject({ version: 2 });
  expect(await edit(template_id, { name: "Renamed", html: "<p>Third text</p>" })).toMatchObject({
    name: "Renamed",
  });
});

test("a campaign that is queued while its template is being edited waits, and sends what the template then says", async () => {
  await scenario.crowd(2);
  const { id: template_id } = await template("Offer");
  const id = await scenario.campaign({ template_id, body_html: null, subject: null });
  const edited = Promise.withResolvers<void>();
  const commit = Promise.withResolvers<void>();
  const editing = scenario.query(async (sql) => {
    await sql`select from templates where property_id = ${scenario.id} and id = ${template_id} for update`;
    await sql`update templates set html = '<p>Edited</p>' where property_id = ${scenario.id} and id = ${template_id}`;
    edited.resolve();
    await commit.promise;
  });
  await edited.promise;
  const sending = scenario.send(id);
  const admin = postgres(service.database.url, { max: 1, onnotice: () => {} });
  await lockWaits(admin, 1);
  await admin.end();
  commit.resolve();
  await editing;
  await sending;
  const { sender, given } = vendor();
  await scenario.work({ open: () => sender });
  expect(given.map(({ html }) => html?.includes("Edited"))).toEqual([true, true]);
});
