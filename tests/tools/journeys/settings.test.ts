import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { startService, type TestService } from "../../support/service.ts";
import { chain, type JourneyClock, journeyClock } from "./clock.ts";

let service: TestService;
let clock: JourneyClock;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());
beforeEach(async () => {
  clock = await journeyClock(service);
});

const rest = (amount: number) => ({
  id: "rest",
  type: "delay",
  config: { by: "duration", duration: { amount, unit: "hours" } },
});
const message = {
  id: "hello",
  type: "message",
  config: { channel: "email", subject: "Hi", body_html: "<p>Hi</p>" },
};
const end = { id: "end", type: "exit", config: {} };

test("an enrollment answers its current_node_id and its history, and a filter finds who stands at a node", async () => {
  const { scenario } = clock;
  const player = await scenario.player({ email: "ana@example.com" });
  const journey = await clock.published(chain([rest(10), end]));
  await clock.enroll(journey, [player]);
  await clock.pass(1, journey);
  const at = { "journey_id.eq": journey, "current_node_id.eq": "rest" };
  const [entry, ...more] = await scenario.call("list_journey_enrollments", { filters: at });
  expect(more).toEqual([]);
  expect(entry).toMatchObject({
    player_id: player,
    status: "active",
    current_node_id: "rest",
    history: [
      { node_id: "in", at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) },
      { node_id: "rest", at: entry!.arrived_at },
    ],
  });
  expect(Object.keys(entry!)).not.toEqual(expect.arrayContaining(["node", "path", "path_at"]));
});

test("a journey's own on_publish decides where publish_journey names nothing", async () => {
  const { scenario } = clock;
  const player = await scenario.player({ email: "ana@example.com" });
  const journey = await clock.published(chain([rest(10), end]), { on_publish: "exit_old" });
  await clock.enroll(journey, [player]);
  await clock.pass(1, journey);
  const named = { journeyId: journey, propertyId: scenario.id, dry_run: true };
  const kept = await scenario.call("publish_journey", { ...named, onPublish: "move_matching_nodes" });
  expect(kept.inside).toEqual({ finish: 0, move: 1, exit: 0 });
  const { inside } = await clock.republish(journey, chain([rest(5), end]));
  expect(inside).toEqual({ finish: 0, move: 0, exit: 1 });
});

test("quiet_hours skip drops a message that comes at closed hours, and defer lets it wait", async () => {
  const { scenario } = clock;
  await scenario.call("create_quiet_hours_rule", {
    channel: ["email"],
    // Closed today, by every clock.
    days: [(new Date().getUTCDay() + 3) % 7],
    open_local: "09:00",
    close_local: "20:00",
  });
  const player = await scenario.player({ email: "late@example.com" });
  const outcome = async (more: object) => {
    const journey = await clock.published(chain([message, end]), more);
    await clock.enroll(journey, [player]);
    await clock.pass(1, journey);
    await clock.deliver();
    const [send] = await scenario.call("list_campaign_sends", { filters: { "journey_id.eq": journey } });
    const about = { playerId: player, channel: "email", campaignId: send!.campaign_id };
    const told = await scenario.call("explain_eligibility", { propertyId: scenario.id, ...about });
    const { result } = told.rules.find(({ rule }: { rule: string }) => rule === "quiet_hours");
    expect(told.reasons.includes("quiet_hours")).toBe(result === "blocks");
    return { status: send!.status, reasons: send!.skip_reasons, told: result };
  };
  expect(await outcome({ name: "Waits" })).toEqual({
    status: "deferred",
    reasons: ["quiet_hours"],
    told: "waits",
  });
  expect(await outcome({ name: "Drops", quiet_hours: "skip" })).toEqual({
    status: "skipped",
    reasons: ["quiet_hours"],
    told: "blocks",
  });
});
