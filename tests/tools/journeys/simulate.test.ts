import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { identifier, sql } from "#db/sql.ts";
import { CATALOG } from "#tools/catalog.ts";
import { findJourney } from "#tools/journeys/journey/journey.ts";
import { simulate } from "#tools/journeys/simulation/simulate.ts";
import { startService, type TestService } from "../../support/service.ts";
import { chain, type JourneyClock, journeyClock } from "./clock.ts";

let service: TestService;
let clock: JourneyClock;
let ids: string[];
let shared: [JourneyClock, string[]];
beforeAll(async () => {
  service = await startService({ role: "web" });
  await own();
  shared = [clock, ids];
});
beforeEach(() => {
  [clock, ids] = shared;
});
afterAll(() => service?.stop());

/** A property of the test's own: others simulate in one that they share, because a simulation changes nothing. */
async function own(): Promise<void> {
  clock = await journeyClock(service, { timezone: "Europe/Berlin" });
  ids = [];
  for (let index = 0; index < 6; index += 1) {
    const player = { player_id: `P${index}`, email: `p${index}@example.com`, timezone: "Europe/Berlin" };
    ids.push(await clock.scenario.player(player, index < 4));
  }
}

const HELLO = {
  id: "hello",
  type: "message",
  config: { channel: "email", subject: "Hi", body_html: "<p>Hi</p>" },
};
const days = (id: string, amount: number) => ({
  id,
  type: "delay",
  config: { by: "duration", duration: { amount, unit: "days" } },
});
const END = { id: "end", type: "exit", config: {} };
const WELCOME = chain([HELLO, days("rest", 2), { ...HELLO, id: "again" }, END]);

/** Eight in the morning of a day to come, in Berlin's winter. */
const MORNING = `${new Date().getUTCFullYear() + 1}-01-12T07:00:00.000Z`;

const simulated = (fields: object = {}) =>
  clock.scenario.call("simulate_journey", {
    propertyId: clock.scenario.id,
    definition: WELCOME,
    playerIds: ids,
    from: MORNING,
    days: 5,
    ...fields,
  });

describe("the answer", () => {
  test("has the ways, messages and ends by day, and they add up", async () => {
    const answer = await simulated();
    expect(answer).toMatchObject({
      from: MORNING,
      entered: 6,
      barred: 0,
      figures: { entered: 6, inside: 0, completed: 6, reasons: { completed: 6 } },
      sends: [
        { day: MORNING.slice(0, 10), node: "hello", channel: "email", messages: 4 },
        { day: MORNING.slice(0, 10).replace("12", "14"), node: "again", channel: "email", messages: 4 },
      ],
      not_sent: [
        { node: "again", reason: "no_consent", messages: 2 },
        { node: "hello", reason: "no_consent", messages: 2 },
      ],
      ends: [{ node: "end", reason: "completed", people: 6 }],
      cost: [
        { node: "again", amount: 0, units: 4 },
        { node: "hello", amount: 0, units: 4 },
      ],
      peaks: [{ channel: "email", messages: 4, a_minute: 1, provider_a_minute: null }],
    });
    for (const { node, entered, left, here } of answer.nodes)
      expect({ node, entered }).toEqual({ node, entered: left + here });
    expect(answer.timelines[0].steps.map(({ node }: { node: string }) => node)).toEqual([
      "in",
      "hello",
      "rest",
      "again",
      "end",
    ]);
    expect(answer.mermaid).toContain('n1 -->|"6"| n2');
  });

  test("counts messages that wait for open hours, or for a frequency rule", async () => {
    await own();
    const { scenario } = clock;
    await scenario.call("create_quiet_hours_rule", {
      channel: ["email"],
      open_local: "10:00",
      close_local: "20:00",
    });
    await scenario.call("create_frequency_rule", {
      channel: "email",
      max_sends: 1,
      window_count: 3,
      window_unit: "day",
    });
    const { deferred, sends, timelines } = await simulated();
    expect(deferred).toEqual([
      { node: "again", reason: "frequency_capped", messages: 4 },
      { node: "hello", reason: "quiet_hours", messages: 4 },
    ]);
    expect(sends.map(({ day, node }: { day: string; node: string }) => [day.slice(8), node])).toEqual([
      ["12", "hello"],
      ["15", "again"],
    ]);
    const hello = timelines[0].steps.find(({ node }: { node: string }) => node === "rest");
    expect(new Date(hello.at).toISOString()).toBe(MORNING.replace("07:00", "09:00"));
  });

  test("drops messages at closed hours where the given setting says so", async () => {
    await own();
    await clock.scenario.call("create_quiet_hours_rule", {
      channel: ["email"],
      open_local: "10:00",
      close_local: "20:00",
    });
    const { not_sent, deferred, sends } = await simulated({ quiet_hours: "skip" });
    expect({ deferred, sends }).toEqual({ deferred: [], sends: [] });
    expect(not_sent).toContainEqual({ node: "hello", reason: "quiet_hours", messages: 4 });
  });

  test("names scheduled campaigns that meet the same players on the same day", async () => {
    await own();
    const { scenario } = clock;
    const { id: segment_id } = await scenario.call("create_segment", {
      name: "All",
      type: "dynamic",
      conditions: [{ field: "email", operator: "is_set" }],
    });
    const id = await scenario.campaign({ name: "Winter", audience: null, segment_id });
    await scenario.call("schedule_campaign", {
      campaign_id: id,
      segment_id,
      scheduled_at: MORNING.replace("07:00", "15:00"),
    });
    expect((await simulated()).collisions).toMatchObject([{ campaign_id: id, name: "Winter", people: 4 }]);
  });
});

describe("assumed events", () => {
  const waiting = chain(
    [
      {
        id: "visit",
        type: "wait_until",
        config: { event: { name: "visit" }, timeout: { amount: 6, unit: "days" } },
      },
      END,
    ],
    [{ from: "visit", to: "end" }],
  );
  const edges = async (fields: object) => {
    const { nodes, events } = await simulated({ definition: waiting, days: 8, ...fields });
    const { edges: ways } = nodes.find(({ node }: { node: string }) => node === "visit");
    return {
      events,
      ways: Object.fromEntries(ways.map((way: { label: string; people: number }) => [way.label, way.people])),
    };
  };

  test("by default there are none, and every wait times out", async () => {
    expect(await edges({})).toEqual({ events: 0, ways: { timed_out: 6 } });
  });

  test("as before: each player does again what the days before had", async () => {
    const { scenario } = clock;
    await scenario.query(
      (transaction) => transaction`
        insert into player_events (property_id, player_id, name, occurred_at)
        select ${scenario.id}, id, 'visit', ${MORNING}::timestamptz - interval '3 days'
        from unnest(${ids.slice(0, 2)}::uuid[]) w(id) returning 1`,
    );
    expect(await edges({ assume: { by: "as_before", days: 5 } })).toEqual({
      events: 2,
      ways: { timed_out: 4, yes: 2 },
    });
  });

  test("by chances: the same seed gives the same answer, and a certain event comes to all", async () => {
    const chances = (per_day: number, seed: string) =>
      simulated({
        definition: waiting,
        days: 8,
        seed,
        assume: { by: "chances", events: [{ name: "visit", per_day }] },
      });
    const [one, same, other] = [await chances(0.3, "a"), await chances(0.3, "a"), await chances(0.3, "b")];
    expect(same).toEqual(one);
    expect(other).not.toEqual(one);
    const { figures, nodes } = await chances(1, "a");
    expect(figures.reasons).toEqual({ completed: 6 });
    expect(nodes[1].edges).toEqual([{ label: "yes", to: "end", people: 6 }]);
  });
});

describe("a simulation", () => {
  test("writes nothing: every table has the rows that it had", async () => {
    const { scenario } = clock;
    const counts = () =>
      scenario.query(async (transaction) => {
        const rows: Record<string, unknown> = {};
        for (const { name } of CATALOG.tables.values()) {
          const [row] = await transaction`
            select count(*)::int as count, max(t.xmin::text::bigint)::text as last from ${identifier(name)} t
            where t.property_id = ${scenario.id}`;
          rows[name] = row;
        }
        return rows;
      });
    await scenario.call("create_webhook_endpoint", { url: "https://example.com/hook", events: ["*"] });
    const before = await counts();
    const definition = chain([
      HELLO,
      { id: "tag", type: "update_player", config: { add_tags: ["seen"] } },
      { id: "call", type: "webhook", config: { name: "step" } },
      END,
    ]);
    expect((await simulated({ definition })).figures.completed).toBe(6);
    expect(await counts()).toEqual(before);
  });

  test("can write nothing: PostgreSQL refuses it", async () => {
    const { scenario } = clock;
    const { id } = await scenario.call("create_journey", { name: "J", draft_definition: WELCOME });
    const work = clock.work(async (context) => {
      await simulate(context, {
        draft: await findJourney(context, id),
        players: sql`select unnest(${ids}::uuid[]) as id`,
        period: { from: MORNING, days: 1, seed: "1" },
        assume: { by: "nothing" },
      });
      await context.sql`update public.players set tier = 'Gold' where property_id = ${scenario.id}`;
    });
    await expect(work).rejects.toMatchObject({ code: "25006" });
  });

  test("of a crowd gives its tables up for new ones on the way: nobody is lost, and other writes stay refused", async () => {
    await own();
    const { scenario } = clock;
    await scenario.crowd(600);
    const rests = Array.from({ length: 12 }, (_, index) => days(`r${index}`, 1));
    const { id } = await scenario.call("create_journey", {
      name: "J",
      draft_definition: chain([...rests, END]),
    });
    const figures: object[] = [];
    const work = clock.work(async (context) => {
      const { outcome } = await simulate(context, {
        draft: await findJourney(context, id),
        players: sql`select id from public.players where property_id = ${scenario.id}::uuid`,
        period: { from: MORNING, days: 20, seed: "1" },
        assume: { by: "nothing" },
      });
      figures.push(...outcome.ends.map(({ node, reason, people }) => ({ node, reason, people })));
      await context.sql`update public.players set tier = 'Gold' where property_id = ${scenario.id}`;
    });
    await expect(work).rejects.toMatchObject({ code: "25006" });
    expect(figures).toEqual([{ node: "end", reason: "completed", people: 606 }]);
  });

  test("runs the draft of a journey, also while its published version has people", async () => {
    await own();
    const journey = await clock.published(WELCOME);
    await clock.enroll(journey, ids);
    await clock.pass(1, journey);
    await clock.scenario.call("update_journey", {
      id: journey,
      draft_definition: chain([days("rest", 1), END]),
    });
    const answer = await simulated({ definition: undefined, journeyId: journey });
    expect(answer.nodes.map(({ node }: { node: string }) => node)).toEqual(["in", "rest", "end"]);
    expect(answer.figures).toMatchObject({ entered: 6, completed: 6 });
    expect((await clock.report(journey)).figures).toMatchObject({ entered: 6, inside: 6 });
  });

  test("takes the players of a segment", async () => {
    const { scenario } = clock;
    const { id } = await scenario.call("create_segment", {
      name: "Two",
      type: "dynamic",
      conditions: [{ field: "player_id", operator: "in", value: ["P1", "P2"] }],
    });
    expect(await simulated({ playerIds: undefined, segmentId: id })).toMatchObject({
      entered: 2,
      left_out: 0,
    });
  });

  test.each([
    ["without players", { playerIds: undefined }, "playerIds: or segmentId: give one of them"],
    ["without a definition", { definition: undefined }, "journeyId: or definition: give one of them"],
    [
      "of a journey with a setting beside it",
      { definition: undefined, journeyId: "00000000-0000-4000-8000-000000000000", quiet_hours: "skip" },
      "quiet_hours: goes with definition; a journey has its own",
    ],
    ["in the past", { from: "2020-01-01T00:00:00Z" }, "from: has passed; give a time to come"],
    [
      "of a broken draft",
      { definition: chain([{ ...HELLO, config: { channel: "email" } }, END]) },
      "hello: subject",
    ],
  ])("%s is refused in words", async (_, fields, words) => {
    await expect(simulated(fields)).rejects.toThrow(words);
  });

  test("waits for no other: while one runs, the next is asked to come back", async () => {
    const turn = clock.scenario.query(async (transaction) => {
      await transaction`select pg_advisory_xact_lock(hashtext('simulate_journey'))`;
      await expect(simulated()).rejects.toThrow("Another simulation is running");
    });
    await turn;
    expect((await simulated()).entered).toBe(6);
  });
});
