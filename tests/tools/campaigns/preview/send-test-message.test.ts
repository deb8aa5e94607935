import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { loseWorker, vendor } from "../../../support/job-runner.ts";
import { newScenario, type Scenario } from "../../../support/scenario.ts";
import { startService, type TestService } from "../../../support/service.ts";

let service: TestService;
let scenario: Scenario;
let staff: string;

beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());
beforeEach(async () => {
  scenario = await newScenario(service);
  staff = `host-${scenario.id.slice(-8)}@example.com`;
  const user = await service.call("create_user", { email: staff, password: "correct horse battery" });
  await service.call("grant_membership", { property_id: scenario.id, user_id: user.id, role: "analyst" });
});

const send = (campaignId: string, whom: object): Promise<{ send_id: string }> =>
  scenario.call("send_test_message", { campaignId, propertyId: scenario.id, ...whom });
const row = async (id: string) =>
  (
    await scenario.query(
      (sql) => sql`select * from campaign_sends where property_id = ${scenario.id} and id = ${id}`,
    )
  )[0]!;

test("a user of the property gets the message filled with samples, marked as a test, and no figure counts it", async () => {
  const id = await scenario.campaign({ audience: null });
  const tried: unknown = await send(id, { to: staff, dry_run: true });
  expect(tried).toEqual({ success: true, to: expect.stringContaining("***"), dry_run: true });
  const { send_id } = await send(id, { to: staff.toUpperCase() });
  const { sender, given } = vendor();
  await scenario.work({ open: () => sender });
  expect(given.map(({ to, subject }) => [to, subject])).toEqual([[staff, "[Test] Hello sample"]]);
  expect(given[0]!.headers["List-Unsubscribe"]).toMatch(/\/u\//);
  expect(await row(send_id)).toMatchObject({
    status: "sent",
    campaign_id: null,
    test_of: id,
    player_id: null,
  });
  expect(await scenario.stats(id)).toMatchObject({ audience: 0, sent: 0 });
  expect(await scenario.get(id)).toMatchObject({ status: "draft", audience_count: 0 });
});

test("a sender's name of several lines is one line, as no vendor takes a line break in a header", async () => {
  const id = await scenario.campaign({ from_name: "River Casino\r\nBcc: all@example.com" });
  await send(id, { to: staff });
  const { sender, given } = vendor();
  await scenario.work({ open: () => sender });
  expect(given.map(({ from }) => from.name)).toEqual(["River Casino Bcc: all@example.com"]);
});

test("a player gets it when the gate lets them pass, and a user may see it filled for a player", async () => {
  const ana = await scenario.player({ email: "ana@example.com", first_name: "Ana" });
  const id = await scenario.campaign();
  await send(id, { playerId: ana });
  await send(id, { to: "ana@example.com" });
  await send(id, { to: staff, playerId: ana });
  const { sender, given } = vendor();
  await scenario.work({ open: () => sender });
  expect(given.map(({ to, subject }) => [to, subject])).toEqual([
    ["ana@example.com", "[Test] Hello Ana"],
    ["ana@example.com", "[Test] Hello Ana"],
    [staff, "[Test] Hello Ana"],
  ]);
  // The campaign itself still goes to everybody.
  await scenario.send(id);
  given.splice(0);
  await scenario.work({ open: () => sender });
  expect(given.map(({ to, subject }) => [to, subject])).toEqual([["ana@example.com", "Hello Ana"]]);
});

test("a test that is on its way is known to be from its claim on, and starts within a second of it", async () => {
  const playerId = await scenario.player({ email: "ana@example.com" });
  const { send_id } = await send(await scenario.campaign(), { playerId });
  const { sender, given } = vendor();
  const handOver: typeof sender.send = async (messages, options) => {
    const { status, claimed_at, updated_at } = await row(send_id);
    // A call that bars the player waits for a second from then on.
    expect([status, updated_at]).toEqual(["sending", claimed_at]);
    expect(options.startBy! - performance.now()).toBeLessThan(1_000);
    return sender.send(messages, options);
  };
  await scenario.work({ open: () => ({ ...sender, send: handOver }) });
  expect(given).toHaveLength(1);
});

test("a platform admin, who works in every property, gets a test in each", async () => {
  const { email } = await service.signIn({ role: null, platformAdmin: true });
  expect(await send(await scenario.campaign(), { to: email })).toMatchObject({ success: true });
});

test("nobody is tested on whom the gate stops, or who is neither a user here nor a player", async () => {
  const eva = await scenario.player({ email: "eva@example.com" }, false);
  const ana = await scenario.player({ email: "ana@example.com" });
  const id = await scenario.campaign();
  await expect(send(id, { playerId: eva })).rejects.toThrow(/no_consent/);
  await expect(send(id, { to: "eva@example.com" })).rejects.toThrow(/no_consent/);
  await expect(send(id, { to: "stranger@example.com" })).rejects.toThrow(/neither/);
  await expect(send(id, { to: "eva@example.com", playerId: ana })).rejects.toThrow(/neither/);
  const elsewhere = await service.signIn();
  await expect(send(id, { to: elsewhere.email })).rejects.toThrow(/neither/);
  await expect(send(id, {})).rejects.toThrow(/give to/);
  await scenario.call("create_suppression", { channel: "email", address: staff });
  await expect(send(id, { to: staff })).rejects.toThrow(/suppressed/);
  const rival = await service.newTenant();
  const theirs = await service.call("create_player", { email: "x@example.com" }, rival.id);
  await expect(send(id, { playerId: theirs.id })).rejects.toThrow(/No player/);
  expect(
    await scenario.query((sql) => sql`select 1 from campaign_sends where property_id = ${scenario.id}`),
  ).toEqual([]);
});

test("a player who says stop between the asking and the sending gets none", async () => {
  const ana = await scenario.player({ email: "ana@example.com" });
  const { send_id } = await send(await scenario.campaign(), { playerId: ana });
  await scenario.call("consent_revoke", { propertyId: scenario.id, email: "ana@example.com" });
  const { sender, given } = vendor();
  await scenario.work({ open: () => sender });
  expect(given).toEqual([]);
  expect((await row(send_id)).status).toMatch(/cancelled|skipped/);
});

test("a test is sent at most once, also by a process that is killed, and its trouble is reported", async () => {
  const id = await scenario.campaign();
  const { send_id } = await send(id, { to: staff });
  const dying = vendor({
    answer: () => {
      throw new Error("killed");
    },
  });
  await expect(scenario.work({ open: () => dying.sender })).rejects.toThrow("killed");
  await loseWorker(service, scenario.id);
  const { sender, given } = vendor();
  await scenario.work({ open: () => sender });
  expect(given).toEqual([]);
  expect(await row(send_id)).toMatchObject({ status: "unknown", error_code: "interrupted" });
  const busy = await send(id, { to: staff });
  const refusing = vendor({
    answer: (message) => ({ id: message.id, status: "retry", code: "smtp_451", message: "busy" }),
  });
  await scenario.work({ open: () => refusing.sender });
  expect(await row(busy.send_id)).toMatchObject({ status: "failed", error_code: "smtp_451" });
});

test("an obstacle to sending is an obstacle to a test", async () => {
  await expect(send(await scenario.campaign({ subject: null }), { to: staff })).rejects.toThrow(/subject/);
  const inbox = await scenario.call("create_campaign", {
    name: "Inbox",
    channel: "inbox",
    audience: "all",
    body_text: "Hi",
  });
  await expect(send(inbox.id, { to: staff })).rejects.toThrow(/email, sms, voice and push/);
});
