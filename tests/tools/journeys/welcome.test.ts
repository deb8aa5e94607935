import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { newScenario } from "../../support/scenario.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service?.stop());

const WELCOME = {
  nodes: [
    { id: "start", type: "trigger", config: { on: "event", event: "signup" } },
    {
      id: "hello",
      type: "message",
      config: {
        channel: "email",
        subject: "Welcome {{ first_name | default: 'friend' }}",
        body_html: "<p>Hello.</p>",
      },
    },
    { id: "tag", type: "update_player", config: { add_tags: ["welcomed"] } },
    {
      id: "visited",
      type: "wait_until",
      config: { event: { name: "visit" }, timeout: { amount: 7, unit: "days" } },
    },
    { id: "won", type: "goal" },
    { id: "lost", type: "exit", config: { reason: "not_seen" } },
  ],
  edges: [
    { from: "start", to: "hello" },
    { from: "hello", to: "tag" },
    { from: "tag", to: "visited" },
    { from: "visited", to: "won", label: "yes" },
    { from: "visited", to: "lost", label: "timed_out" },
  ],
};

test("a player who signs up gets the welcome, is tagged, and reaches the goal by a visit", async () => {
  const scenario = await newScenario(service);
  const ana = await scenario.player({ email: "ana@example.com" });
  const journey = await scenario.call("create_journey", { name: "Welcome", draft_definition: WELCOME });
  const about = { journeyId: journey.id, propertyId: scenario.id };
  expect(await scenario.call("validate_journey", about)).toMatchObject({ ok: true, errors: [] });
  const published = await scenario.call("publish_journey", about);
  expect(published).toMatchObject({ version: 1, journey: { status: "active", current_version: 1 } });

  await scenario.call("create_player_event", { player_id: ana, name: "signup" });
  const where = async () =>
    (
      await scenario.query(
        (sql) => sql`
      select node, phase, path, status, exit_reason from journey_enrollments where property_id = ${scenario.id}`,
      )
    )[0];
  await vi.waitFor(
    async () => expect(await where()).toMatchObject({ node: "visited", phase: "waiting" }),
    10_000,
  );
  expect((await scenario.mailbox()).map(({ subject }) => subject)).toEqual(["Welcome friend"]);
  const sends = { filters: { "journey_id.eq": journey.id } };
  expect(await scenario.call("list_campaign_sends", sends)).toMatchObject([
    { journey_id: journey.id, node_id: "hello", player_id: ana },
  ]);
  const [version] = await scenario.call("list_journey_versions", sends);
  expect(version.published_at).toBe(version.created_at);
  expect(await scenario.call("get_player", { id: ana })).toMatchObject({ tags: ["welcomed"] });
  expect(await scenario.call("explain_enrollment", { ...about, playerId: ana })).toMatchObject({
    why: expect.stringContaining('waits for the event "visit"'),
  });

  await scenario.call("create_player_event", { player_id: ana, name: "visit" });
  await scenario.query(
    (sql) => sql`
    update journey_nodes set looked_at = null where property_id = ${scenario.id}`,
  );
  await service.internals.db.asSystem(
    (sql) => sql`update queue set run_at = now() where name = 'step_journey'`,
  );
  service.internals.wake();
  await vi.waitFor(
    async () => expect(await where()).toMatchObject({ status: "completed", exit_reason: "goal_reached" }),
    10_000,
  );
  expect((await where())!.path).toEqual(["start", "hello", "tag", "visited", "won"]);
  const report = await scenario.call("journey_report", about);
  expect(report.figures).toMatchObject({ entered: 1, people: 1, inside: 0, completed: 1, goal_reached: 1 });
  expect(await scenario.call("verify_journey", about)).toMatchObject({ ok: true, differences: [] });
});
