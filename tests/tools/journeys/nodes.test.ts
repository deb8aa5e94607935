import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startService, type TestService } from "../../support/service.ts";
import { chain, type JourneyClock, journeyClock, type PlainNode } from "./clock.ts";

let service: TestService;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());

const DAY = 24 * 60;
const delay = (id: string, amount: number, unit = "hours") => ({
  id,
  type: "delay",
  config: { by: "duration", duration: { amount, unit } },
});
const goal = { id: "goal", type: "goal", config: {} };
const end = (id = "end", reason = "completed") => ({ id, type: "exit", config: { reason } });

async function crowd(clock: JourneyClock, players: object[]): Promise<string[]> {
  const ids: string[] = [];
  for (const [index, fields] of players.entries()) {
    const { id } = await clock.scenario.call("create_player", {
      player_id: `P${String(index).padStart(3, "0")}`,
      email: `p${index}@example.com`,
      ...fields,
    });
    ids.push(id);
  }
  return ids;
}

describe("a delay", () => {
  test("lasts its span: nobody moves before, everybody at its end", async () => {
    const clock = await journeyClock(service);
    const ids = await crowd(clock, [{}, {}]);
    const journey = await clock.published(chain([delay("rest", 2), end()]));
    await clock.enroll(journey, ids);
    await clock.pass(1, journey);
    await clock.pass(119, journey);
    expect((await clock.entries(journey)).map(({ node }) => node)).toEqual(["rest", "rest"]);
    await clock.pass(1, journey);
    expect(await clock.entries(journey)).toEqual([
      expect.objectContaining({ status: "completed", path: ["in", "rest", "end"] }),
      expect.objectContaining({ status: "completed", path: ["in", "rest", "end"] }),
    ]);
  });

  test("until an hour follows each player's own clock", async () => {
    const clock = await journeyClock(service);
    const ids = await crowd(clock, [{ timezone: "Asia/Tokyo" }, { timezone: "America/New_York" }]);
    const journey = await clock.published(
      chain([{ id: "ten", type: "delay", config: { by: "until_local_time", time: "10:00" } }, end()]),
    );
    await clock.enroll(journey, ids);
    await clock.pass(1, journey);
    const hourIn = (zone: string, at: string) =>
      new Date(at).toLocaleTimeString("en-GB", { timeZone: zone, hour: "2-digit", minute: "2-digit" });
    const [tokyo, york] = await clock.entries(journey);
    expect(hourIn("Asia/Tokyo", tokyo!.wake_at!)).toBe("10:00");
    expect(hourIn("America/New_York", york!.wake_at!)).toBe("10:00");
    await clock.pass(DAY, journey);
    expect((await clock.entries(journey)).map(({ status }) => status)).toEqual(["completed", "completed"]);
  });

  test("until a missing date ends the journey, or is skipped, and a past date delays nobody", async () => {
    const clock = await journeyClock(service);
    await clock.scenario.call("create_custom_field", { key: "stay", label: "Stay", type: "date" });
    const ids = await crowd(clock, [
      {},
      { custom: { stay: "2020-01-01" } },
      { custom: { stay: "2099-01-01" } },
    ]);
    const until = (if_missing: string) => ({
      id: "stay",
      type: "delay",
      config: { by: "until_field", field: "custom.stay", if_missing },
    });
    const strict = await clock.published(chain([until("exit"), end()]), { name: "strict" });
    await clock.enroll(strict, ids);
    await clock.pass(1, strict);
    expect((await clock.entries(strict)).map(({ status, exit_reason }) => [status, exit_reason])).toEqual([
      ["exited", "missing_date"],
      ["completed", "completed"],
      ["active", null],
    ]);
    const lenient = await clock.published(chain([until("skip"), end()]), { name: "lenient" });
    await clock.enroll(lenient, ids.slice(0, 1));
    await clock.pass(1, lenient);
    expect((await clock.entries(lenient))[0]).toMatchObject({ status: "completed" });
  });
});

describe("a wait", () => {
  const wait = (config: object) => ({ id: "wait", type: "wait_until", config });
  const ways = [
    { from: "wait", to: "goal", label: "yes" },
    { from: "wait", to: "end", label: "timed_out" },
  ];

  test("ends with the event, and with its time; an event after the deadline changes nothing", async () => {
    const clock = await journeyClock(service);
    const ids = await crowd(clock, [{}, {}, {}]);
    const journey = await clock.published(
      chain(
        [
          wait({
            event: { name: "visit", properties: [{ property: "spend", operator: "gte", value: 100 }] },
            timeout: { amount: 2, unit: "hours" },
          }),
          goal,
          end("end", "not_seen"),
        ],
        ways,
      ),
    );
    await clock.enroll(journey, ids);
    await clock.pass(1, journey);
    await clock.happens(ids[0]!, "visit", { spend: 250 });
    await clock.happens(ids[1]!, "visit", { spend: 20 });
    await clock.pass(30, journey);
    expect((await clock.entries(journey)).map(({ status, exit_reason }) => [status, exit_reason])).toEqual([
      ["completed", "goal_reached"],
      ["active", null],
      ["active", null],
    ]);
    await clock.pass(90, journey);
    await clock.happens(ids[2]!, "visit", { spend: 500 });
    await clock.pass(5, journey);
    expect((await clock.entries(journey)).map(({ exit_reason }) => exit_reason)).toEqual([
      "goal_reached",
      "not_seen",
      "not_seen",
    ]);
    expect(await clock.verify(journey)).toMatchObject({ ok: true, enrollments: 3 });
  });

  test("ends in the event's own transaction, also in a version that is not published any more", async () => {
    const clock = await journeyClock(service);
    const ids = await crowd(clock, [{}, {}]);
    const rich = { name: "visit", properties: [{ property: "spend", operator: "gte", value: 100 }] };
    const waiting = (event: object) =>
      chain([wait({ event, timeout: { amount: 2, unit: "hours" } }), goal, end("end", "not_seen")], ways);
    const journey = await clock.published(waiting(rich));
    await clock.enroll(journey, ids);
    // The job has just looked at those who wait; the next look is a minute away.
    await clock.job(journey);
    await clock.republish(journey, waiting({ name: "deposit" }));
    await clock.republish(journey, waiting({ name: "call" }));
    const visits = (spend: number) =>
      clock.scenario.call("create_player_event", { player_id: ids[0], name: "visit", properties: { spend } });
    const states = async () => (await clock.entries(journey)).map(({ node, phase }) => `${node} ${phase}`);
    await visits(20);
    expect(await states()).toEqual(["wait waiting", "wait waiting"]);
    await visits(250);
    await visits(300);
    expect(await states()).toEqual(["wait ready", "wait waiting"]);
    await clock.job(journey);
    expect(await states()).toEqual(["goal ready", "wait waiting"]);
    const triggers = await clock.scenario.query(
      (sql) => sql`
        select version, name from journey_triggers where property_id = ${clock.scenario.id} order by version`,
    );
    expect(triggers).toEqual([
      { version: 1, name: "visit" },
      { version: 3, name: "call" },
    ]);
    expect(await clock.verify(journey)).toMatchObject({ ok: true, enrollments: 2 });
  });

  test("counts an event before its deadline also where the step comes late", async () => {
    const clock = await journeyClock(service);
    const [id] = await crowd(clock, [{}]);
    const journey = await clock.published(
      chain([wait({ event: { name: "visit" }, timeout: { amount: 1, unit: "hours" } }), goal, end()], ways),
    );
    await clock.enroll(journey, [id!]);
    await clock.pass(1, journey);
    // Nobody steps for a day.
    await clock.scenario.query(
      (sql) => sql`
        insert into player_events (property_id, player_id, name, occurred_at)
        values (${clock.scenario.id}, ${id!}, 'visit', ${clock.at()}::timestamptz + interval '59 minutes')`,
    );
    await clock.pass(DAY, journey);
    expect((await clock.entries(journey))[0]).toMatchObject({ exit_reason: "goal_reached" });
  });

  test("for conditions looks at all who wait", async () => {
    const clock = await journeyClock(service);
    const ids = await crowd(clock, [{ tier: "Silver" }, { tier: "Silver" }]);
    const conditions = [{ field: "tier", operator: "eq", value: "Gold" }];
    const journey = await clock.published(
      chain([wait({ conditions, timeout: { amount: 5, unit: "days" } }), goal, end()], ways),
    );
    await clock.enroll(journey, ids);
    await clock.pass(1, journey);
    await clock.scenario.call("update_player", { id: ids[1], tier: "Gold" });
    await clock.pass(2, journey);
    expect((await clock.entries(journey)).map(({ node }) => node)).toEqual(["wait", "goal"]);
  });
});

describe("the journey's own messages as conditions", () => {
  const mail = { channel: "email", subject: "Hi", body_html: "<p>Hi</p>" };
  const message = (id: string, config: object = mail) => ({ id, type: "message", config });
  const seen = (fact: string, value: unknown = true) => [{ field: fact, operator: "eq", value }];
  const wait = (id: string, fact: string) => ({
    id,
    type: "wait_until",
    config: { conditions: seen(fact), timeout: { amount: 3, unit: "days" } },
  });
  const people = async (clock: JourneyClock) => {
    const ids: string[] = [];
    for (const name of ["p0", "p1"]) {
      ids.push(await clock.scenario.player({ player_id: name, email: `${name}@example.com` }));
    }
    return ids;
  };
  /** As tracking notes it at the last message that the player has. */
  const opens = (clock: JourneyClock, player: string) =>
    clock.scenario.query(
      (sql) => sql`
        update campaign_sends set opened_at = now() where property_id = ${clock.scenario.id} and id = (
          select id from campaign_sends where property_id = ${clock.scenario.id} and player_id = ${player}
          order by id desc limit 1)`,
    );
  const settle = async (clock: JourneyClock, journey: string, minutes: number) => {
    await clock.pass(minutes, journey);
    await clock.deliver();
    await clock.pass(1, journey);
  };

  test("part those who have opened a message in time from the others", async () => {
    const clock = await journeyClock(service);
    const ids = await people(clock);
    const journey = await clock.published(
      chain(
        [
          message("hello"),
          wait("seen", "message.hello.opened"),
          goal,
          message("again"),
          end("end", "reminded"),
        ],
        [
          { from: "seen", to: "goal", label: "yes" },
          { from: "seen", to: "again", label: "timed_out" },
        ],
      ),
    );
    await clock.enroll(journey, ids);
    await settle(clock, journey, 1);
    await settle(clock, journey, 60);
    expect((await clock.entries(journey)).map(({ node }) => node)).toEqual(["seen", "seen"]);
    await opens(clock, ids[0]!);
    await settle(clock, journey, 60);
    expect((await clock.entries(journey)).map(({ node }) => node)).toEqual(["goal", "seen"]);
    await settle(clock, journey, 3 * DAY);
    expect((await clock.entries(journey)).map(({ exit_reason }) => exit_reason)).toEqual([
      "goal_reached",
      "reminded",
    ]);
    expect(await clock.verify(journey)).toMatchObject({ ok: true });
    const simulated = await clock.scenario.call("simulate_journey", {
      ...{ propertyId: clock.scenario.id, journeyId: journey, playerIds: ids, days: 10 },
    });
    expect(simulated).toMatchObject({ entered: 2, figures: { reasons: { reminded: 2 } } });
  });

  test("in a round are those of its own message, and of the player's own entry", async () => {
    const clock = await journeyClock(service);
    const ids = await people(clock);
    const split = (id: string, field: string) => ({
      id,
      type: "branch",
      config: { branches: [{ label: "no", conditions: seen(field, false) }] },
    });
    // Those who have not opened the last message get it again after a day.
    const journey = await clock.published(
      {
        nodes: [
          { id: "in", type: "trigger", config: { on: "api" } },
          message("offer-1"),
          delay("rest", 24),
          split("by", "message.offer-1.opened"),
          end(),
        ],
        edges: [
          { from: "in", to: "by" },
          { from: "offer-1", to: "rest" },
          { from: "rest", to: "by" },
          { from: "by", to: "offer-1", label: "no" },
          { from: "by", to: "end", label: "otherwise" },
        ],
      },
      { reentry: { mode: "always" } },
    );
    await clock.enroll(journey, ids);
    await settle(clock, journey, 1);
    await opens(clock, ids[0]!);
    await settle(clock, journey, DAY);
    expect((await clock.entries(journey)).map(({ status }) => status)).toEqual(["completed", "active"]);
    await opens(clock, ids[1]!);
    // The first player's second entry knows nothing of the first one.
    await clock.enroll(journey, ids.slice(0, 1));
    await settle(clock, journey, DAY + 1);
    await settle(clock, journey, DAY + 1);
    expect((await clock.entries(journey)).map(({ status, path }) => [status, path.length])).toEqual([
      ["completed", 6],
      ["active", 7],
      ["completed", 9],
    ]);
  });

  test("are named where they can never hold, and belong to journeys alone", async () => {
    const clock = await journeyClock(service);
    const text = { channel: "sms", body_text: "Hi" };
    const draft = chain([
      message("hello"),
      message("text", text),
      wait("a", "message.hello.opened"),
      wait("b", "message.text.opened"),
      wait("c", "message.nobody.sent"),
      wait("d", "message.text.sent"),
      end(),
    ]);
    const { id } = await clock.scenario.call("create_journey", { name: "J", draft_definition: draft });
    const { errors } = await clock.scenario.call("validate_journey", {
      ...{ journeyId: id, propertyId: clock.scenario.id },
    });
    const conditions = errors.filter(({ node }: { node: string }) => node.length === 1);
    expect(conditions).toMatchObject([
      { node: "b", message: expect.stringContaining("can never hold: nobody counts who has opened") },
      { node: "c", message: expect.stringContaining("names no message of this journey; it has hello, text") },
    ]);
    await expect(
      clock.scenario.call("create_segment", { name: "S", conditions: seen("message.hello.opened") }),
    ).rejects.toThrow("is not a field");
  });
});

/** A node whose ways each end the journey, with the way as the reason. */
function fork(node: PlainNode, ways: readonly string[]) {
  const API = { id: "in", type: "trigger", config: { on: "api" } };
  return {
    nodes: [API, node, ...ways.map((way) => end(way, way))],
    edges: [{ from: "in", to: node.id }, ...ways.map((way) => ({ from: node.id, to: way, label: way }))],
  };
}

describe("ways that part", () => {
  test("a branch takes the first that holds, else otherwise", async () => {
    const clock = await journeyClock(service);
    const ids = await crowd(clock, [
      { tier: "Gold", adt: 500 },
      { tier: "Gold", adt: 5 },
      { tier: "Silver" },
      {},
    ]);
    const branches = [
      { label: "rich", conditions: [{ field: "adt", operator: "gt", value: 100 }] },
      { label: "gold", conditions: [{ field: "tier", operator: "eq", value: "Gold" }] },
    ];
    const by = { id: "by", type: "branch", config: { branches } };
    const journey = await clock.published(fork(by, ["rich", "gold", "otherwise"]));
    await clock.enroll(journey, ids);
    await clock.pass(1, journey);
    const reasons = (await clock.entries(journey)).map(({ exit_reason }) => exit_reason);
    expect(reasons).toEqual(["rich", "gold", "otherwise", "otherwise"]);
  });

  test("a split is by share, and the same for a player at every entry", async () => {
    const clock = await journeyClock(service);
    await clock.scenario.crowd(400);
    const ids = (
      await clock.scenario.query(
        (sql) =>
          sql<{ id: string }[]>`select id from players where property_id = ${clock.scenario.id} order by id`,
      )
    ).map(({ id }) => id);
    const splits = [
      { label: "a", percent: 75 },
      { label: "b", percent: 25 },
    ];
    const journey = await clock.published(
      fork({ id: "by", type: "random_split", config: { splits } }, ["a", "b"]),
      {
        reentry: { mode: "always" },
      },
    );
    await clock.enroll(journey, ids);
    await clock.pass(1, journey);
    const entries = await clock.entries(journey);
    const first = entries.map(({ exit_reason }) => exit_reason);
    // The share that is told is that of the hashes: two bytes of each, of which a quarter is in the last quarter.
    const people = await clock.scenario.query(
      (sql) => sql<{ id: string; player: string }[]>`
        select id, player_id as player from players where property_id = ${clock.scenario.id}`,
    );
    const drawn = new Map(
      people.map(({ id, player }) => {
        const bytes = Buffer.from(id.replaceAll("-", ""), "hex");
        const draw = createHash("sha256").update(`${journey}|by|`).update(bytes).digest().readUInt16BE();
        return [player, draw < 0.75 * 65_536 ? "a" : "b"];
      }),
    );
    expect(first).toEqual(entries.map(({ player }) => drawn.get(player)));
    // Seven standard deviations to either side of 100.
    const taken = first.filter((reason) => reason === "b").length;
    expect(taken).toBeGreaterThan(39);
    expect(taken).toBeLessThan(161);
    await clock.enroll(journey, ids);
    await clock.pass(1, journey);
    const both = await clock.entries(journey);
    expect(both.filter((_, index) => index % 2 === 1).map(({ exit_reason }) => exit_reason)).toEqual(first);
    expect(await clock.report(journey)).toMatchObject({
      figures: { entered: 800, people: 400, completed: 800 },
    });
  });
});

describe("actions", () => {
  test("change tags, tier and fields of the players who pass, once", async () => {
    const clock = await journeyClock(service, { tiers: ["Silver", "Gold"] });
    await clock.scenario.call("create_custom_field", { key: "stage", label: "Stage", type: "text" });
    const ids = await crowd(clock, [
      { tier: "Silver", tags: ["old", "kept"] },
      { tier: "Gold", tags: ["new"] },
    ]);
    const change = {
      id: "change",
      type: "update_player",
      config: { tier: "Gold", add_tags: ["new"], remove_tags: ["old"], custom: { stage: "second" } },
    };
    const journey = await clock.published(chain([change, end()]));
    await clock.enroll(journey, ids);
    await clock.pass(1, journey);
    for (const [index, tags] of [["kept", "new"], ["new"]].entries()) {
      expect(await clock.scenario.call("get_player", { id: ids[index] })).toMatchObject({
        tier: "Gold",
        tags,
        custom: { stage: "second" },
      });
    }
  });

  test("give no value to a field that takes none any more: the journey pauses, and says so", async () => {
    const clock = await journeyClock(service);
    const { id } = await clock.scenario.call("create_custom_field", {
      key: "stage",
      label: "Stage",
      type: "text",
    });
    const ids = await crowd(clock, [{}]);
    const change = { id: "change", type: "update_player", config: { custom: { stage: "second" } } };
    const journey = await clock.published(chain([change, end()]), { name: "Stages" });
    await expect(clock.scenario.call("delete_custom_field", { id })).rejects.toThrow(
      'The journey "Stages", which is active, uses this custom field',
    );
    // As no operation does while the journey needs it.
    await clock.scenario.query(
      (sql) => sql`
        update custom_fields set archived_at = now() where property_id = ${clock.scenario.id} and id = ${id}`,
    );
    await clock.enroll(journey, ids);
    await clock.job(journey);
    expect(await clock.scenario.call("get_journey", { id: journey })).toMatchObject({
      status: "paused",
      status_reason: expect.stringContaining("The node change: custom.stage: is an archived field"),
    });
    expect(await clock.entries(journey)).toMatchObject([{ status: "active", node: "in" }]);
    expect((await clock.scenario.call("get_player", { id: ids[0] })).custom).toEqual({});
  });

  test("keep their fields as long as somebody is in a version that gives them values", async () => {
    const clock = await journeyClock(service);
    const { id } = await clock.scenario.call("create_custom_field", { key: "stage", type: "text" });
    const ids = await crowd(clock, [{}]);
    const wait = {
      id: "wait",
      type: "delay",
      config: { by: "duration", duration: { amount: 1, unit: "hours" } },
    };
    const change = { id: "change", type: "update_player", config: { custom: { stage: "second" } } };
    const journey = await clock.published(chain([wait, change, end()]), { name: "Stages" });
    await clock.enroll(journey, ids);
    await clock.pass(1, journey);
    await clock.scenario.call("update_journey", { id: journey, draft_definition: chain([wait, end()]) });
    const about = { journeyId: journey, propertyId: clock.scenario.id };
    await clock.scenario.call("publish_journey", { ...about, onPublish: "finish_old" });
    const gone = () => clock.scenario.call("delete_custom_field", { id });
    await expect(gone()).rejects.toThrow('The journey "Stages", which is active, uses this custom field');
    await clock.scenario.call("exit_players", { ...about, playerIds: ids });
    await gone();
  });

  test("put players on a static list, and refuse a dynamic one", async () => {
    const clock = await journeyClock(service);
    const ids = await crowd(clock, [{}, {}]);
    const list = await clock.scenario.call("create_segment", { name: "Guests", type: "static" });
    const rules = await clock.scenario.call("create_segment", {
      name: "Rules",
      conditions: [{ field: "tier", operator: "eq", value: "Gold" }],
    });
    const add = (segment_id: string) => ({ id: "add", type: "add_to_segment", config: { segment_id } });
    await expect(clock.published(chain([add(rules.id), end()]), { name: "wrong" })).rejects.toThrow(
      "only a static one has a list",
    );
    await clock.scenario.call("create_webhook_endpoint", {
      url: "https://example.com/hook",
      events: ["player.segment_entered"],
    });
    const journey = await clock.published(chain([add(list.id), end()]), { reentry: { mode: "always" } });
    for (const _ of ["", "again"]) {
      await clock.enroll(journey, ids);
      await clock.pass(1, journey);
    }
    const members = await clock.scenario.query(
      (sql) =>
        sql`select source from segment_members where property_id = ${clock.scenario.id} and segment_id = ${list.id}`,
    );
    expect(members).toEqual([{ source: "journey" }, { source: "journey" }]);
    const told = await clock.scenario.query(
      (sql) => sql`
        select data -> 'object' ->> 'player_id' as player from outbox
        where property_id = ${clock.scenario.id} and type = 'player.segment_entered'`,
    );
    expect(told.map(({ player }) => player).toSorted()).toEqual(ids.toSorted());
  });

  test("emit an event to the property's endpoints", async () => {
    const clock = await journeyClock(service);
    const ids = await crowd(clock, [{}]);
    await clock.scenario.call("create_webhook_endpoint", {
      url: "https://example.com/hook",
      events: ["player.journey_webhook", "player.journey_entered", "player.journey_exited"],
    });
    const journey = await clock.published(
      chain([{ id: "tell", type: "webhook", config: { name: "host" } }, end()]),
    );
    await clock.enroll(journey, ids, { context: { booking: 7 } });
    await clock.pass(1, journey);
    const events = await clock.scenario.query(
      (sql) => sql`select type, data -> 'object' ->> 'name' as name, data -> 'object' -> 'context' as context,
        data -> 'object' ->> 'exit_reason' as reason, data -> 'object' ->> 'node' as node,
        data -> 'object' ->> 'current_node_id' as stands, data -> 'object' ->> 'node_id' as tells from outbox where property_id = ${clock.scenario.id} order by id`,
    );
    const NOTHING = { name: null, context: null, reason: null, node: null, stands: null, tells: null };
    expect(events).toEqual([
      { ...NOTHING, type: "player.journey_entered", stands: "tell" },
      { ...NOTHING, type: "player.journey_webhook", name: "host", context: { booking: 7 }, tells: "tell" },
      { ...NOTHING, type: "player.journey_exited", reason: "completed", stands: "end" },
    ]);
  });
});

describe("limits", () => {
  test("a rate limit lets people through evenly, in the order of their coming", async () => {
    const clock = await journeyClock(service);
    const ids = await crowd(clock, [{}, {}, {}, {}]);
    const limit = { id: "slow", type: "rate_limit", config: { most: 2, per: "hour" } };
    const journey = await clock.published(chain([limit, end()]));
    await clock.enroll(journey, ids.slice(0, 3));
    await clock.pass(1, journey);
    const through = async () =>
      (await clock.entries(journey)).filter(({ status }) => status === "completed").length;
    expect(await through()).toBe(1);
    await clock.enroll(journey, ids.slice(3));
    for (const expected of [2, 3, 4]) {
      await clock.pass(30, journey);
      expect(await through()).toBe(expected);
    }
  });

  test("a rate limit lets late people through evenly too, and nobody passes anybody", async () => {
    const clock = await journeyClock(service);
    const [first, ...ids] = await crowd(clock, [{}, {}, {}, {}, {}]);
    const limit = { id: "slow", type: "rate_limit", config: { most: 2, per: "hour" } };
    const journey = await clock.published(chain([limit, end()]));
    await clock.enroll(journey, ids.slice(0, 3));
    await clock.pass(1, journey);
    // The last in the line is the first by its id.
    await clock.enroll(journey, [first!]);
    await clock.pass(1, journey);
    // Nobody steps for ten hours.
    clock.put(10 * 60);
    await clock.enroll(journey, ids.slice(3));
    const through = async () =>
      (await clock.entries(journey)).flatMap(({ player, status }) => (status === "completed" ? player : []));
    await clock.pass(0, journey);
    const passed = ["P001", "P002"];
    for (const next of ["P003", "P000", "P004"]) {
      expect(await through()).toEqual(passed);
      await clock.pass(28, journey);
      expect(await through()).toEqual(passed);
      await clock.pass(2, journey);
      passed.push(next);
      passed.sort();
    }
    expect(await through()).toEqual(passed);
    expect(await clock.verify(journey)).toMatchObject({ ok: true });
  });

  test("a rate limit holds where one person comes late and the next comes behind", async () => {
    const clock = await journeyClock(service);
    const ids = await crowd(clock, [{}, {}, {}]);
    const limit = { id: "slow", type: "rate_limit", config: { most: 1, per: "hour" } };
    const journey = await clock.published(chain([limit, end()]));
    await clock.enroll(journey, ids.slice(0, 2));
    await clock.pass(1, journey);
    await clock.pass(10 * 60, journey);
    await clock.enroll(journey, ids.slice(2));
    await clock.pass(1, journey);
    const statuses = async () => (await clock.entries(journey)).map(({ status }) => status);
    expect(await statuses()).toEqual(["completed", "completed", "active"]);
    // A minute before the hour is over, no second person may pass.
    await clock.pass(58, journey);
    expect(await statuses()).toEqual(["completed", "completed", "active"]);
    await clock.pass(1, journey);
    expect(await statuses()).toEqual(["completed", "completed", "completed"]);
  });

  test("a window that opens and closes while nobody steps lets nobody through before it opens again", async () => {
    const clock = await journeyClock(service);
    const ids = await crowd(clock, [{ timezone: "Etc/UTC" }]);
    const opensAt = Math.floor(Date.now() / 3_600_000 + 2) * 3_600_000;
    const local = (at: number) => new Date(at).toISOString().slice(11, 16);
    const to = local(opensAt + 3_600_000);
    const open = { id: "open", type: "time_window", config: { from: local(opensAt), to } };
    const journey = await clock.published(chain([open, end()]));
    await clock.enroll(journey, ids);
    await clock.pass(1, journey);
    await clock.pass(5 * 60, journey);
    const [waiting] = await clock.entries(journey);
    expect(waiting).toMatchObject({ node: "open", status: "active", phase: "waiting" });
    expect(Date.parse(waiting!.wake_at!)).toBe(opensAt + DAY * 60_000);
    await clock.pass(DAY, journey);
    expect(await clock.entries(journey)).toMatchObject([{ node: "open", status: "active" }]);
    clock.put((opensAt + 2 * DAY * 60_000 - Date.parse(clock.at())) / 60_000);
    await clock.pass(0, journey);
    expect(await clock.entries(journey)).toMatchObject([
      { status: "completed", path: ["in", "open", "end"] },
    ]);
    expect(await clock.verify(journey)).toMatchObject({ ok: true });
  });

  test("a window whose times the clock skips in spring opens on the next day", async () => {
    const clock = await journeyClock(service);
    const ids = await crowd(clock, [{ timezone: "America/New_York" }]);
    const skipped = nextSkippedHour("America/New_York");
    const open = { id: "open", type: "time_window", config: { from: "02:15", to: "02:45" } };
    const journey = await clock.published(chain([open, end()]));
    clock.put((skipped - Date.parse(clock.at())) / 60_000 - 30);
    await clock.enroll(journey, ids);
    await clock.pass(1, journey);
    await clock.pass(120, journey);
    const [waiting] = await clock.entries(journey);
    expect(waiting).toMatchObject({ node: "open", status: "active", phase: "waiting" });
    const opensAt = skipped + DAY * 60_000 - 45 * 60_000;
    expect(Date.parse(waiting!.wake_at!)).toBe(opensAt);
    clock.put((opensAt - Date.parse(clock.at())) / 60_000);
    await clock.pass(0, journey);
    expect(await clock.entries(journey)).toMatchObject([{ status: "completed" }]);
    expect(await clock.verify(journey)).toMatchObject({ ok: true });
  });

  test("a window lets people on only while it is open by their clock", async () => {
    const clock = await journeyClock(service);
    // About noon there, so that the window ends before midnight.
    const ahead = 12 - new Date().getUTCHours();
    const ids = await crowd(clock, [{ timezone: `Etc/GMT${ahead > 0 ? "-" : "+"}${Math.abs(ahead)}` }]);
    const opensAt = Math.floor(Date.now() / 60_000 + 30) * 60_000;
    const local = (at: number) => new Date(at + ahead * 3_600_000).toISOString().slice(11, 16);
    const [from, to] = [local(opensAt), local(opensAt + 3_600_000)];
    const open = { id: "open", type: "time_window", config: { from, to } };
    const journey = await clock.published(chain([open, end()]));
    await clock.enroll(journey, ids);
    await clock.pass(1, journey);
    const [waiting] = await clock.entries(journey);
    expect(waiting).toMatchObject({ node: "open", phase: "waiting" });
    expect(Date.parse(waiting!.wake_at!)).toBe(opensAt);
    await clock.pass(60, journey);
    expect((await clock.entries(journey))[0]).toMatchObject({ status: "completed" });
  });

  test("a person who comes to one node a hundred times leaves", async () => {
    const clock = await journeyClock(service);
    const ids = await crowd(clock, [{}]);
    const rest = delay("rest", 1, "minutes");
    const journey = await clock.published({
      nodes: [{ id: "in", type: "trigger", config: { on: "api" } }, rest, delay("more", 1, "minutes")],
      edges: [
        { from: "in", to: "rest" },
        { from: "rest", to: "more" },
        { from: "more", to: "rest" },
      ],
    });
    await clock.enroll(journey, ids);
    for (let minute = 0; minute < 202; minute += 1) await clock.pass(1, journey);
    expect((await clock.entries(journey))[0]).toMatchObject({ status: "failed", exit_reason: "loop_limit" });
    expect(await clock.verify(journey)).toMatchObject({ ok: true });
  });
});

describe("leaving early", () => {
  test("by goal, by condition, by status, each before the next node acts", async () => {
    const clock = await journeyClock(service);
    const ids = await crowd(clock, [{}, {}, {}, {}, {}]);
    const journey = await clock.published(
      chain([delay("rest", 1), { id: "tag", type: "update_player", config: { add_tags: ["late"] } }, end()]),
      {
        goal: { event: { name: "deposit" } },
        exit_conditions: { conditions: [{ field: "tags", operator: "has_any", value: ["vip"] }] },
      },
    );
    await clock.enroll(journey, ids);
    await clock.pass(1, journey);
    await clock.happens(ids[0]!, "deposit");
    await clock.scenario.call("update_player", { id: ids[1], tags: ["vip"] });
    await clock.scenario.call("set_player_status", {
      playerId: ids[2],
      propertyId: clock.scenario.id,
      status: "banned",
    });
    await clock.scenario.call("delete_player", { id: ids[3] });
    await clock.pass(60, journey);
    const left = await clock.entries(journey);
    expect(left.map(({ exit_reason }) => exit_reason).toSorted()).toEqual([
      "banned",
      "completed",
      "deleted",
      "exit_condition",
      "goal_reached",
    ]);
    expect(left.filter(({ goal }) => goal).length).toBe(1);
    expect((await clock.scenario.call("get_player", { id: ids[1] })).tags).toEqual(["vip"]);
    expect((await clock.report(journey)).figures).toMatchObject({
      entered: 5,
      inside: 0,
      completed: 2,
      exited: 3,
      goal_reached: 1,
    });
    expect(await clock.verify(journey)).toMatchObject({ ok: true });
  });

  test("self-exclusion and erasure end it in their own transaction", async () => {
    const clock = await journeyClock(service);
    const ids = await crowd(clock, [{}, {}]);
    const journey = await clock.published(chain([delay("rest", 1), end()]));
    await clock.enroll(journey, ids);
    await clock.pass(1, journey);
    await clock.scenario.call("create_self_exclusion", { player_id: ids[0] });
    await clock.scenario.call("data_deletion", { playerId: ids[1], propertyId: clock.scenario.id });
    const left = await clock.scenario.query(
      (sql) => sql`
        select player_id is null as anonymous, exit_reason from journey_enrollments
        where property_id = ${clock.scenario.id} order by exit_reason`,
    );
    expect(left).toEqual([
      { anonymous: true, exit_reason: "erased" },
      { anonymous: false, exit_reason: "self_excluded" },
    ]);
    expect(await clock.verify(journey)).toMatchObject({ ok: true });
  });
});

/** When the zone's clock skips an hour next: it shows 03:00 then, where it would have shown 02:00. */
function nextSkippedHour(zone: string): number {
  const hour = new Intl.DateTimeFormat("en-US", { timeZone: zone, hour: "numeric", hourCycle: "h23" });
  const shown = (at: number) => Number(hour.format(at));
  let at = Math.ceil(Date.now() / 3_600_000) * 3_600_000;
  while (shown(at) !== 3 || shown(at - 3_600_000) !== 1) at += 3_600_000;
  return at;
}
