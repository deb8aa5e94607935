import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startService, type TestService } from "../../support/service.ts";
import { type JourneyClock, journeyClock } from "../journeys/clock.ts";

let service: TestService;
let clock: JourneyClock;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());
beforeEach(async () => {
  clock = await journeyClock(service);
});

const DAY = 24 * 60;
const ENTRY = {
  nodes: [
    { id: "in", type: "trigger", config: { on: "api" } },
    { id: "rest", type: "delay", config: { by: "duration", duration: { amount: 1, unit: "days" } } },
    { id: "end", type: "exit", config: {} },
  ],
  edges: [
    { from: "in", to: "rest" },
    { from: "rest", to: "end" },
  ],
};

const people = async () => {
  const ids = [];
  for (const player_id of ["kept", "other"]) {
    ids.push((await clock.scenario.call("create_player", { player_id })).id as string);
  }
  return ids as [string, string];
};
const merge = (playerId: string, duplicateId: string) =>
  clock.scenario.call("merge_players", { propertyId: clock.scenario.id, playerId, duplicateId });
const stands = async (journey: string) =>
  (await clock.entries(journey)).map(({ status, exit_reason }) => [status, exit_reason].join(" ").trim());

describe("an entry that the other record's past keeps out ends with the merge:", () => {
  test.each([
    ["the duplicate's, behind one of the kept player", true],
    ["the kept player's, behind one of the duplicate", false],
  ])("%s", async (_, isKeptFirst) => {
    const journey = await clock.published(ENTRY);
    const [kept, other] = await people();
    const [first, second] = isKeptFirst ? [kept, other] : [other, kept];
    await clock.enroll(journey, [first]);
    await clock.pass(1, journey);
    await clock.pass(DAY + 1, journey);
    await clock.enroll(journey, [second]);
    await merge(kept, other);
    expect((await stands(journey)).sort()).toEqual(["completed completed", "exited manual"]);
  });

  test.each([
    [{ mode: "always" }, "active"],
    [{ mode: "never" }, "exited manual"],
    [{ mode: "always", max_entries: 1 }, "exited manual"],
    [{ mode: "after_exit", cooldown_hours: 1 }, "exited manual"],
  ])("by the rule %j", async (reentry, second) => {
    const journey = await clock.published(ENTRY, { reentry });
    const [kept, other] = await people();
    await clock.enroll(journey, [kept]);
    const { id } = clock.scenario;
    await clock.scenario.query(
      (sql) => sql`
        update journey_enrollments set status = 'completed', ended_at = entered_at where property_id = ${id}`,
    );
    await clock.enroll(journey, [other]);
    await merge(kept, other);
    expect((await stands(journey)).sort()).toEqual([second, "completed"].sort());
  });
});

test("of two entries under way the earlier goes on, also that of the duplicate", async () => {
  const journey = await clock.published(ENTRY);
  const [kept, other] = await people();
  await clock.enroll(journey, [other]);
  await clock.pass(1, journey);
  await clock.enroll(journey, [kept]);
  await merge(kept, other);
  const [gone, goes] = (await clock.entries(journey)).sort((a, b) => b.status.localeCompare(a.status));
  expect(gone).toMatchObject({ player: "kept", status: "exited", node: "in" });
  expect(goes).toMatchObject({ player: "kept", status: "active", node: "rest" });
});

describe("of two entries under way, after messages,", () => {
  const message = (id: string) => ({
    id,
    type: "message",
    config: { channel: "email", subject: id, body_html: `<p>${id}</p>` },
  });
  const tiers = [{ label: "gold", conditions: [{ field: "tier", operator: "eq", value: "Gold" }] }];
  const HELLO = {
    nodes: [
      ...ENTRY.nodes,
      { id: "by", type: "branch", config: { branches: tiers } },
      ...[message("hello"), message("gold")],
    ],
    edges: [
      { from: "in", to: "by" },
      { from: "by", to: "gold", label: "gold" },
      { from: "by", to: "hello", label: "otherwise" },
      ...["hello", "gold"].flatMap((from) => [
        { from, to: "rest", label: "sent" },
        { from, to: "rest", label: "not_sent" },
      ]),
      { from: "rest", to: "end" },
    ],
  };

  /** Both are inside, and the messages of some have left. Answers the entries behind the merge, the kept player's first. */
  async function merged(tier: string | undefined, ...left: ("kept" | "other")[]) {
    const { scenario } = clock;
    const journey = await clock.published(HELLO);
    const kept = await scenario.player({ email: "kept@example.com", player_id: "kept" });
    const other = await scenario.player({
      email: "other@example.com",
      player_id: "other",
      ...(tier && { tier }),
    });
    for (const player of [kept, other]) {
      await clock.enroll(journey, [player]);
      await clock.pass(1, journey);
    }
    await scenario.query(
      (sql) => sql`
        update campaign_sends set status = 'sending', claimed_at = now() - interval '1 minute',
          updated_at = now() - interval '1 minute'
        where property_id = ${scenario.id}
          and player_id = any(${left.map((one) => ({ kept, other })[one])}::uuid[])`,
    );
    await merge(kept, other);
    const entries = await clock.entries(journey);
    const sends = await scenario.query(
      (sql) => sql<{ status: string }[]>`
        select s.status from campaign_sends s
          join journey_enrollments e on e.property_id = ${scenario.id} and e.id = s.enrollment_id
        where s.property_id = ${scenario.id} order by e.entered_at, e.id`,
    );
    return [entries.map(({ status }) => status), sends.map(({ status }) => status)];
  }

  test("the one goes on that has sent what the other has not", async () => {
    expect(await merged(undefined, "other")).toEqual([
      ["exited", "active"],
      ["cancelled", "sending"],
    ]);
  });

  test("the earlier goes on, where both have sent the same", async () => {
    expect(await merged(undefined, "kept", "other")).toEqual([
      ["active", "exited"],
      ["sending", "sending"],
    ]);
  });

  test("none goes on, where each has sent what the other has not", async () => {
    expect(await merged("Gold", "kept", "other")).toEqual([
      ["exited", "exited"],
      ["sending", "sending"],
    ]);
  });
});
