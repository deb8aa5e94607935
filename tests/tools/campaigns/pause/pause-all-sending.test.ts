import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { CATALOG } from "#tools/catalog.ts";
import { onceOverMcp } from "../../../support/operation-calls.ts";
import { newScenario, type Scenario } from "../../../support/scenario.ts";
import { startService, type TestService } from "../../../support/service.ts";

let service: TestService;
let scenario: Scenario;
let about: { propertyId: string };
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());
beforeEach(async () => {
  scenario = await newScenario(service);
  about = { propertyId: scenario.id };
});

const pause = (reason?: string) =>
  scenario.call("pause_all_sending", { ...about, ...(reason && { reason }) });
const resume = () => scenario.call("resume_all_sending", about);

/** A campaign that is due tomorrow. */
async function scheduled(): Promise<string> {
  const id = await scenario.campaign({ name: "Tomorrow" });
  const segment = await scenario.call("create_segment", {
    name: "All",
    conditions: [{ field: "email", operator: "is_set" }],
  });
  await scenario.call("schedule_campaign", {
    campaign_id: id,
    segment_id: segment.id,
    scheduled_at: new Date(Date.now() + 86_400_000).toISOString(),
  });
  return id;
}

test("a campaign that is queued or sending stops at once, with the reason, and goes on where it stopped", async () => {
  const sending = await scenario.planned(3);
  const queued = await scenario.campaign();
  await scenario.send(queued);
  expect(await pause("A wrong offer")).toMatchObject({ success: true, paused: 2, scheduled: 0 });
  for (const id of [sending, queued]) {
    expect(await scenario.get(id)).toMatchObject({
      status: "paused",
      status_reason: "all sending is paused: A wrong offer",
    });
  }
  await scenario.work();
  expect(await scenario.tally(sending)).toEqual({ pending: 3 });
  expect(await resume()).toMatchObject({ resumed: 2, held: 0, due: 0 });
  await scenario.work();
  expect(await scenario.tally(sending)).toEqual({ sent: 3 });
  expect(await scenario.tally(queued)).toEqual({ sent: 3 });
});

test("a campaign that comes due meanwhile waits, and starts with the end of the pause", async () => {
  await scenario.crowd(2);
  const id = await scheduled();
  expect(await pause()).toMatchObject({ paused: 0, scheduled: 1 });
  await scenario.comeDue(id);
  await scenario.work();
  expect((await scenario.get(id)).status).toBe("scheduled");
  expect(await resume()).toMatchObject({ resumed: 0, due: 1 });
  await scenario.work();
  expect(await scenario.tally(id)).toEqual({ sent: 2 });
});

test("nothing is sent, resumed or tested meanwhile, and a preflight says why", async () => {
  await scenario.crowd(1);
  const [draft, other] = [await scenario.campaign(), await scenario.campaign()];
  await scenario.send(other);
  await pause("Audit");
  const words = /All sending of the property is paused since .+ \(Audit\); resume_all_sending ends that/;
  await expect(scenario.send(draft)).rejects.toThrow(words);
  await expect(scenario.resume(other)).rejects.toThrow(words);
  await expect(
    scenario.call("send_test_message", { ...about, campaignId: draft, to: "p1@example.com" }),
  ).rejects.toThrow(words);
  expect((await scenario.preflight(draft)).errors).toContainEqual({
    field: "status",
    message: expect.stringMatching(words),
    stops_sending: true,
  });
});

test("a second pause changes nothing, and there is none to end before the first and after the last", async () => {
  await expect(resume()).rejects.toThrow("Sending is not paused");
  const { since } = await pause("One");
  expect(await pause("Two")).toMatchObject({ paused: 0, since });
  await resume();
  await expect(resume()).rejects.toThrow("Sending is not paused");
  expect((await pause()).since > since).toBe(true);
});

test("one that was paused by itself stays paused, and so does one that was changed meanwhile", async () => {
  const own = await scenario.planned(1);
  const changed = await scenario.campaign();
  await scenario.send(changed);
  await scenario.pause(own);
  await pause();
  await scenario.query(
    (sql) =>
      sql`update campaigns set subject = 'Evil' where property_id = ${scenario.id} and id = ${changed}`,
  );
  expect(await resume()).toMatchObject({ resumed: 0, held: 1 });
  expect((await scenario.get(own)).status).toBe("paused");
  expect(await scenario.get(changed)).toMatchObject({
    status: "paused",
    status_reason: "changed since it was approved: the subject",
  });
});

test("an agent pauses at once, and asks before it resumes, by the names of what goes on", async () => {
  const id = await scenario.planned(2, { name: "Double points" });
  const { api_key: key } = await service.call("create_api_key", { property_id: scenario.id, name: "agent" });
  const agent = (name: string, input = {}) =>
    onceOverMcp(service, CATALOG.operations.get(name)!, input, { "X-Api-Key": key });
  expect((await agent("pause_all_sending")).data).toMatchObject({ success: true, paused: 1 });
  const asked = await agent("resume_all_sending");
  expect(asked.data).toMatchObject({ confirmation_required: true });
  expect(asked.data.message).toContain('"Double points" goes on: 2 messages wait.');
  expect((await scenario.get(id)).status).toBe("paused");
  const { confirm_token } = asked.data;
  expect((await agent("resume_all_sending", { confirm_token })).data).toMatchObject({ resumed: 1 });
});

test("the messages of a journey are counted apart from the campaigns, as a list of campaigns leaves them out", async () => {
  const nodes = [
    { id: "in", type: "trigger", config: { on: "api" } },
    { id: "mail", type: "message", config: { channel: "email", subject: "Hi", body_html: "<p>Hi</p>" } },
    { id: "end", type: "exit", config: { reason: "done" } },
  ];
  const edges = [
    { from: "in", to: "mail" },
    { from: "mail", to: "end" },
  ];
  const { id: journeyId } = await scenario.call("create_journey", {
    ...{ name: "Welcome", draft_definition: { nodes, edges } },
  });
  await scenario.call("publish_journey", { ...about, journeyId });
  const sending = (filters: object) => scenario.call("list_campaigns", { filters });
  expect(await sending({ "status.eq": "sending" })).toEqual([]);
  expect(await pause()).toMatchObject({ paused: 0, journey_messages: 1 });
  expect(await scenario.call("get_sending_state", about)).toMatchObject({
    campaigns: 0,
    journey_messages: 1,
  });
  const messages = { "status.eq": "paused", "journey_id.eq": journeyId };
  expect(await sending(messages)).toHaveLength(1);
  expect(await resume()).toMatchObject({ resumed: 0, journey_messages: 1 });
});

test("another property sends on", async () => {
  await pause();
  const rival = await newScenario(service);
  await rival.crowd(1);
  const id = await rival.campaign();
  await rival.send(id);
  await rival.work();
  expect(await rival.tally(id)).toEqual({ sent: 1 });
});

test("a service that sends nothing says so, and so does the preflight", async () => {
  const campaignId = await scenario.campaign();
  const state = () => scenario.call("get_sending_state", about);
  const warnings = async () => (await scenario.preflight(campaignId)).warnings.join("\n");
  expect(await state()).toMatchObject({ paused: false, service: "open" });
  expect(await warnings()).not.toContain("SENDING");
  const { config } = service.internals;
  config.sending = false;
  try {
    expect(await state()).toMatchObject({ paused: false, service: "off" });
    expect(await warnings()).toContain("SENDING=off: nothing is sent");
  } finally {
    config.sending = true;
  }
});

test("a database that was restored says that its sending is held", async () => {
  const { db } = service.internals;
  const campaignId = await scenario.campaign();
  await db.asSystem((sql) => sql`update installation set identity = 'another'`);
  try {
    expect(await scenario.call("get_sending_state", about)).toMatchObject({ service: "held" });
    expect((await scenario.preflight(campaignId)).warnings.join("\n")).toContain("release_sending");
  } finally {
    await db.asSystem((sql) => sql`update installation set identity = database_identity()`);
  }
});
