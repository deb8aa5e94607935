import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { step } from "#tools/journeys/steps/step.ts";
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

const hello = (subject: string) => ({
  id: "hello",
  type: "message",
  config: { channel: "email", subject, body_html: "<p>Hi</p>" },
});
const rest = {
  id: "rest",
  type: "delay",
  config: { by: "duration", duration: { amount: 30, unit: "minutes" } },
};
const end = { id: "end", type: "exit", config: {} };

const player = (player_id: string): Promise<string> =>
  clock.scenario.player({ player_id, email: `${player_id}@example.com` });

test("a message under way when a version moves its people goes once, and its player moves on", async () => {
  const ana = await player("ana");
  const journey = await clock.published(chain([hello("Old"), rest, end]));
  await clock.enroll(journey, [ana]);
  await clock.pass(1, journey);
  expect(await clock.entries(journey)).toMatchObject([{ node: "hello", phase: "sending" }]);
  await clock.republish(journey, chain([hello("New"), rest, end]), { onPublish: "move_matching_nodes" });
  await clock.pass(1, journey);
  await clock.deliver();
  await clock.pass(1, journey);
  expect(await clock.entries(journey)).toMatchObject([{ node: "rest", version: 2, status: "active" }]);
  await clock.pass(30, journey);
  expect(await clock.entries(journey)).toMatchObject([{ status: "completed" }]);
  expect(await clock.scenario.mailbox()).toHaveLength(1);
  expect(await clock.verify(journey)).toMatchObject({ ok: true, enrollments: 1 });
});

test("a worker whose clock is ten minutes late moves nobody back, and nobody twice", async () => {
  const ids = [await player("ana"), await player("ben")];
  const limit = { id: "slow", type: "rate_limit", config: { most: 2, per: "hour" } };
  const journey = await clock.published(chain([limit, rest, end]));
  await clock.enroll(journey, ids);
  for (let minute = 0; minute < 100; minute += 10) {
    await clock.pass(10, journey);
    const before = await clock.entries(journey);
    const late = new Date(Date.parse(clock.at()) - 10 * 60_000).toISOString();
    expect(await clock.work((context) => step(context, journey, late))).toBe(0);
    expect(await clock.entries(journey)).toEqual(before);
  }
  expect((await clock.entries(journey)).map(({ status, path }) => [status, path])).toEqual([
    ["completed", ["in", "slow", "rest", "end"]],
    ["completed", ["in", "slow", "rest", "end"]],
  ]);
  expect(await clock.verify(journey)).toMatchObject({ ok: true, enrollments: 2 });
});

test("a goal of conditions ends the journey within its window, and not behind it", async () => {
  const ids = [await player("ana"), await player("ben")];
  const journey = await clock.published(chain([rest, { ...rest, id: "more" }, end]), {
    goal: {
      conditions: [{ field: "tags", operator: "has_any", value: ["won"] }],
      window_hours: 1,
      exit_on_goal: true,
    },
  });
  await clock.enroll(journey, ids);
  await clock.pass(1, journey);
  await clock.scenario.call("update_player", { id: ids[0], tags: ["won"] });
  await clock.pass(30, journey);
  await clock.scenario.call("update_player", { id: ids[1], tags: ["won"] });
  await clock.pass(30, journey);
  expect((await clock.entries(journey)).map(({ exit_reason, goal }) => [exit_reason, goal])).toEqual([
    ["goal_reached", true],
    ["completed", false],
  ]);
  expect(await clock.verify(journey)).toMatchObject({ ok: true, enrollments: 2 });
});

test("two events of one request let a player in once, and the second is counted", async () => {
  const ana = await player("ana");
  const journey = await clock.published({
    nodes: [{ id: "in", type: "trigger", config: { on: "event", event: "signup" } }, rest, end],
    edges: [
      { from: "in", to: "rest" },
      { from: "rest", to: "end" },
    ],
  });
  const signup = { player_id: ana, name: "signup" };
  await clock.many("create_player_event", [signup, signup]);
  expect((await clock.report(journey)).figures).toMatchObject({ entered: 1, ignored_inside: 1 });
  expect(await clock.verify(journey)).toMatchObject({ ok: true, enrollments: 1 });
});
