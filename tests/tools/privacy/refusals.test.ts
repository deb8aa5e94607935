import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type Fragment, sql } from "#db/sql.ts";
import { type Scenario, scenarioIn } from "../../support/scenario.ts";
import { startService, type TestService } from "../../support/service.ts";

// A refusal is the address's: it outlives the record of the person who refused.

const X = "+17752025501";
const Y = "+17752025502";

let service: TestService;
let scenario: Scenario & { id: string; headers: Record<string, string> };

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service?.stop());
beforeEach(async () => {
  const { id, key } = await service.newTenant();
  scenario = { ...scenarioIn(service, id), headers: { "X-Api-Key": key } };
});

const rows = (statement: Fragment): Promise<Record<string, unknown>[]> =>
  scenario.query((run) => run`${statement}`);
const erase = (playerId: string) => scenario.call("data_deletion", { propertyId: scenario.id, playerId });
const consent = (playerId: string, channel: string) =>
  scenario.call("consent_record", {
    propertyId: scenario.id,
    playerId,
    channel,
    consentGiven: true,
    consentSource: "desk",
    consentVersion: "1",
    occurredAt: new Date().toISOString(),
  });

async function reasons(channel: string, address: string): Promise<string[]> {
  const about = channel === "email" ? { email: address } : { phone: address };
  return (await scenario.call("compliance_check", { propertyId: scenario.id, channel, ...about })).reasons;
}

async function importAgain(csv: string, channel: string): Promise<void> {
  const job = await service.post(
    "/api/import_jobs",
    { csv, consent: { channel: [channel], consentSource: "an old list" } },
    scenario.headers,
  );
  await service.idle();
  const done = (await service.get(`/api/import_jobs/${job.body.id}`, scenario.headers)).body;
  expect(done).toMatchObject({ status: "completed", created_count: 1 });
}

test("a STOP from a number that the player had before outlives the erasure, without a name", async () => {
  const player = await scenario.player({ player_id: "ana", email: "ana@example.com", phone: X });
  await consent(player, "sms");
  await scenario.call("receive_sms", { propertyId: scenario.id, from: X, text: "STOP" });
  await scenario.call("update_player", { id: player, phone: Y });
  await scenario.call("receive_sms", { propertyId: scenario.id, from: Y, text: "STOP" });
  await erase(player);
  const stops = await rows(
    sql`select channel, address, player_id, source, lifted_at from suppressions where reason = 'stop_keyword'`,
  );
  expect(stops).toHaveLength(4);
  for (const stop of stops)
    expect(stop).toMatchObject({ address: null, player_id: null, source: null, lifted_at: null });
  await importAgain(`player_id,phone\nnew,${X}\n`, "sms");
  expect(await reasons("sms", X)).toContain("suppressed");
  expect(await reasons("sms", Y)).toContain("erased");
});

test("an address that the erased player had before is not written to, until its holder opts in", async () => {
  const player = await scenario.player({ player_id: "ana", email: "old@example.com", phone: X });
  await consent(player, "sms");
  await scenario.call("update_player", { id: player, email: "new@example.com", phone: Y });
  await erase(player);
  await importAgain("player_id,email\ne,old@example.com\n", "email");
  await importAgain(`player_id,phone\np,${X}\n`, "sms");
  expect(await reasons("email", "old@example.com")).toEqual(["suppressed"]);
  expect(await reasons("sms", X)).toEqual(["suppressed"]);
  const [owner] = await rows(sql`select id from players where player_id = 'p'`);
  await consent(owner!.id as string, "sms");
  expect(await reasons("sms", X)).toEqual([]);
  expect(await reasons("voice", X)).toContain("suppressed");
});

/** Where the unsubscribe link in the only mail leads. */
async function linkIn(email: string): Promise<string> {
  await scenario.send(await scenario.campaign());
  await service.idle();
  const message = (await scenario.mailbox()).find(({ recipient }) => recipient === email);
  return new URL(/<(.+)>/.exec(message!.headers["List-Unsubscribe"]!)![1]!).pathname;
}

async function visit(path: string, body?: URLSearchParams) {
  const response = await fetch(`${service.baseUrl}${path}`, { ...(body && { method: "POST", body }) });
  return { status: response.status, html: await response.text() };
}
const ONE_CLICK = new URLSearchParams({ "List-Unsubscribe": "One-Click" });

test("a link in an erased person's mail does not claim to have done what it cannot do", async () => {
  const player = await scenario.player({ email: "gone@example.com" });
  const link = await linkIn("gone@example.com");
  await erase(player);
  for (const page of [await visit(link), await visit(link, ONE_CLICK)]) {
    expect(page.status).toBe(200);
    expect(page.html).toContain("The data about this message was erased");
    expect(page.html).not.toContain("You are unsubscribed");
  }
  expect(await rows(sql`select unsubscribed_at, address_hash from campaign_sends`)).toEqual([
    { unsubscribed_at: null, address_hash: null },
  ]);
  expect(await reasons("email", "gone@example.com")).toContain("erased");
});

test("a link in an erased person's mail takes off the present holder of the address", async () => {
  const ana = await scenario.player({ email: "desk@example.com" });
  const link = await linkIn("desk@example.com");
  await scenario.call("update_player", { id: ana, email: "ana@example.com" });
  const bob = await scenario.player({ email: "desk@example.com" });
  await erase(ana);
  expect(await reasons("email", "desk@example.com")).toEqual([]);
  expect((await visit(link)).html).toContain("Stop these emails?");
  expect((await visit(link, ONE_CLICK)).html).toContain("You are unsubscribed");
  expect(await reasons("email", "desk@example.com")).toEqual(["no_consent", "suppressed"]);
  expect((await visit(link)).html).toContain("You are unsubscribed");
  const refusals = sql`
    select address, player_id from suppressions where reason = 'unsubscribed' and address is not null`;
  expect(await rows(refusals)).toMatchObject([{ address: "desk@example.com" }]);
  await erase(bob);
  expect(await rows(sql`select from campaign_sends where address_hash is not null`)).toEqual([]);
  expect(await rows(refusals)).toEqual([]);
});
