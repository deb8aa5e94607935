import postgres from "postgres";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { shifted } from "../../support/database.ts";
import { runNext } from "../../support/job-runner.ts";
import { startService, type TestService } from "../../support/service.ts";
import { chain, type JourneyClock, journeyClock } from "./clock.ts";

const HOUR = 60;

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
const hello = {
  id: "hello",
  type: "message",
  config: { channel: "email", subject: "Hi", body_html: "<p>Hi</p>" },
};
const end = { id: "end", type: "exit", config: {} };
const about = (journeyId: string) => ({ journeyId, propertyId: clock.scenario.id });
const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();
const ended = async (journey: string) =>
  (await clock.entries(journey)).map(({ status, exit_reason }) => exit_reason ?? status);

/** Makes this number of players who may be emailed. */
async function crowd(count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) {
    ids.push(await clock.scenario.player({ player_id: `p${index}`, email: `p${index}@example.com` }));
  }
  return ids;
}

describe("the end of a journey", () => {
  test("is the published one: a draft's end ends it for nobody, until it is published, and then for all", async () => {
    const [ana] = await crowd(1);
    const journey = await clock.published(chain([rest(1), { ...rest(1), id: "more" }, end]));
    await clock.enroll(journey, [ana!]);
    await clock.pass(1, journey);
    await clock.scenario.call("update_journey", { id: journey, ends_at: inHours(0.5) });
    await clock.pass(HOUR, journey);
    expect(await ended(journey)).toEqual(["active"]);
    await clock.scenario.call("publish_journey", about(journey));
    await clock.pass(HOUR, journey);
    expect(await ended(journey)).toEqual(["journey_ended"]);
  });

  test("lets nobody in any more: events, calls and dates pass by", async () => {
    const { scenario } = clock;
    const [ana] = await crowd(1);
    const nodes = [
      { id: "in", type: "trigger", config: { on: "event", event: "deposit" } },
      { id: "yearly", type: "trigger", config: { on: "date_field", field: "birth_date" } },
      end,
    ];
    const edges = [
      { from: "in", to: "end" },
      { from: "yearly", to: "end" },
    ];
    const journey = await clock.published({ nodes, edges }, { ends_at: inHours(1) });
    // A version cannot be changed by the service; the clock of the triggers is the database's.
    const admin = postgres(service.database.url, { max: 1 });
    await admin`update journey_versions set ends_at = now() - interval '1 minute' where journey_id = ${journey}`;
    await admin`update journey_triggers set ends_at = now() - interval '1 minute' where journey_id = ${journey}`;
    await admin.end();
    await scenario.call("create_player_event", { player_id: ana, name: "deposit" });
    await expect(clock.enroll(journey, [ana!])).rejects.toThrow("The journey ended at");
    await clock.enterAt(new Date().toISOString(), "yearly");
    expect(await clock.entries(journey)).toEqual([]);
    expect(await clock.nextEntries()).toEqual([]);
  });

  test("by archiving leaves no time of a trigger on the queue", async () => {
    const nodes = [{ id: "in1", type: "trigger", config: { on: "date_field", field: "birth_date" } }, end];
    const journey = await clock.published({ nodes, edges: [{ from: "in1", to: "end" }] });
    expect(await clock.nextEntries()).toHaveLength(1);
    await clock.scenario.call("archive_journey", about(journey));
    await clock.enterAt(new Date().toISOString());
    expect(await clock.nextEntries()).toEqual([]);
  });
});

describe("a message that waits", () => {
  test("is taken back from a player who has reached the goal, or fits the exit conditions", async () => {
    const { scenario } = clock;
    const ids = await crowd(3);
    const journey = await clock.published(chain([hello, rest(1), end]), {
      goal: { event: { name: "visit" } },
      exit_conditions: { conditions: [{ field: "tags", operator: "has_any", value: ["vip"] }] },
    });
    await clock.enroll(journey, ids);
    await clock.pass(1, journey);
    await clock.happens(ids[0]!, "visit");
    await scenario.call("update_player", { id: ids[1], tags: ["vip"] });
    await clock.pass(2, journey);
    expect(await ended(journey)).toEqual(["goal_reached", "exit_condition", "active"]);
    await clock.deliver();
    expect((await scenario.mailbox()).map(({ recipient }) => recipient)).toEqual(["p2@example.com"]);
    expect(await clock.verify(journey)).toMatchObject({ ok: true });
  });

  test("that is under way at the provider is not: the player leaves behind it", async () => {
    const [ana] = await crowd(1);
    const journey = await clock.published(chain([hello, rest(1), end]), {
      goal: { event: { name: "visit" } },
    });
    await clock.enroll(journey, [ana!]);
    await clock.pass(1, journey);
    await clock.scenario.query(
      (sql) => sql`update campaign_sends set status = 'sending' where property_id = ${clock.scenario.id}`,
    );
    await clock.happens(ana!, "visit");
    await clock.pass(2, journey);
    expect(await ended(journey)).toEqual(["active"]);
    await clock.scenario.query(
      (sql) => sql`update campaign_sends set status = 'sent' where property_id = ${clock.scenario.id}`,
    );
    await clock.pass(2, journey);
    expect(await ended(journey)).toEqual(["goal_reached"]);
  });
});

test("a ban and a death end journeys in their own transaction", async () => {
  const [ana, ben] = await crowd(2);
  const journey = await clock.published(chain([rest(5), end]));
  await clock.enroll(journey, [ana!, ben!]);
  await clock.pass(1, journey);
  for (const [playerId, status] of [
    [ana, "banned"],
    [ben, "deceased"],
  ]) {
    await clock.scenario.call("set_player_status", { propertyId: clock.scenario.id, playerId, status });
  }
  expect(await ended(journey)).toEqual(["banned", "deceased"]);
});

test("an event that is reported after its wait has timed out changes nothing, and the explanation shows it", async () => {
  const [ana, ben] = await crowd(2);
  const wait = {
    id: "back",
    type: "wait_until",
    config: {
      event: { name: "visit", properties: [{ property: "spend", operator: "gte", value: 10 }] },
      timeout: { amount: 2, unit: "hours" },
    },
  };
  const goal = { id: "won", type: "goal", config: {} };
  const journey = await clock.published(
    chain(
      [wait, goal, end],
      [
        { from: "back", to: "won", label: "yes" },
        { from: "back", to: "end", label: "timed_out" },
      ],
    ),
  );
  await clock.enroll(journey, [ana!, ben!]);
  await clock.pass(1, journey);
  await clock.pass(3 * HOUR, journey);
  // The whole wait lies some hours ago now; the report comes today.
  await clock.scenario.query(
    (sql) => sql`
      update journey_enrollments set path_at = array(select ${shifted("t", "-9 hours")} from unnest(path_at) t),
        ended_at = ${shifted("ended_at", "-9 hours")}
      where property_id = ${clock.scenario.id}`,
  );
  const [{ at }] = await clock.scenario.query(
    (sql) => sql<[{ at: string }]>`
      select to_json(path_at[2] + interval '1 hour') #>> '{}' as at from journey_enrollments
      where property_id = ${clock.scenario.id} and player_id = ${ana!}`,
  );
  const report = (player_id: string, spend: number, occurred_at: string) =>
    clock.scenario.call("create_player_event", {
      player_id,
      name: "visit",
      occurred_at,
      properties: { spend },
    });
  await report(ana!, 50, at);
  await report(ana!, 5, at);
  await report(ben!, 50, new Date(Date.parse(at) + 2 * 3_600_000).toISOString());
  expect(await ended(journey)).toEqual(["completed", "completed"]);
  const explained = (playerId: string) =>
    clock.scenario.call("explain_enrollment", { ...about(journey), playerId });
  expect((await explained(ana!)).late_events).toMatchObject([{ node: "back", event: "visit" }]);
  expect((await explained(ben!)).late_events).toEqual([]);
});

test("another rate limit holds at once for those who wait at it, and lets no more through in the meantime", async () => {
  const ids = await crowd(4);
  const limit = (most: number) => ({ id: "pace", type: "rate_limit", config: { most, per: "day" } });
  const journey = await clock.published(chain([limit(1), end]));
  await clock.enroll(journey, ids);
  await clock.pass(1, journey);
  expect((await clock.entries(journey)).filter(({ status }) => status === "completed")).toHaveLength(1);
  await clock.republish(journey, chain([limit(24), end]), { onPublish: "move_matching_nodes" });
  await clock.pass(1, journey);
  expect((await clock.entries(journey)).filter(({ status }) => status === "completed")).toHaveLength(1);
  for (const left of [2, 3, 4]) {
    await clock.pass(HOUR, journey);
    expect((await clock.entries(journey)).filter(({ status }) => status === "completed")).toHaveLength(left);
  }
  expect(await clock.verify(journey)).toMatchObject({ ok: true });
});

/** Players who have completed a journey, each with their version. */
const through = async (journey: string) =>
  (await clock.entries(journey)).flatMap(({ player, version, status }) =>
    status === "completed" ? [`${player}/${version}`] : [],
  );
const pace = (most: number) => ({ id: "pace", type: "rate_limit", config: { most, per: "day" } });

test("a rate limit is one line over the versions of a journey: a new version lets nobody through beside it", async () => {
  const ids = await crowd(4);
  const journey = await clock.published(chain([pace(24), end]));
  await clock.enroll(journey, ids.slice(0, 2));
  await clock.pass(1, journey);
  await clock.republish(journey, chain([pace(24), end]));
  await clock.enroll(journey, ids.slice(2));
  await clock.pass(1, journey);
  for (const [count, last] of [
    [1, "1"],
    [2, "1"],
    [3, "2"],
    [4, "2"],
  ] as const) {
    const left = await through(journey);
    expect(left).toHaveLength(count);
    expect(left.filter((one) => one.endsWith(last))).toHaveLength(count > 2 ? count - 2 : count);
    await clock.pass(HOUR, journey);
  }
  expect(await clock.verify(journey)).toMatchObject({ ok: true });
});

test("a line at a rate limit that everybody has left holds nobody up", async () => {
  const ids = await crowd(4);
  const journey = await clock.published(chain([pace(1), end]));
  await clock.enroll(journey, ids.slice(0, 3));
  await clock.pass(1, journey);
  await clock.republish(journey, chain([pace(1), end]), { onPublish: "exit_old" });
  await clock.enroll(journey, ids.slice(3));
  await clock.pass(1, journey);
  expect(await through(journey)).toEqual(["p0/1"]);
  await clock.pass(24 * HOUR, journey);
  expect(await through(journey)).toEqual(["p0/1", "p3/2"]);
});

test("a journey whose job is lost gets another one, and its players go on", async () => {
  const { scenario } = clock;
  const [ana] = await crowd(1);
  const journey = await clock.published(chain([end]));
  await clock.enroll(journey, [ana!]);
  const jobs = () =>
    clock.queue(
      (sql) => sql<{ at: string }[]>`
        select id as at from queue where name = 'step_journey' and input ->> 'journeyId' = ${journey}`,
    );
  await clock.queue(
    (sql) => sql`delete from queue where name = 'step_journey' and input ->> 'journeyId' = ${journey}`,
  );
  for (const found of [1, 1]) {
    await clock.queue(
      (sql) => sql`
        insert into queue (id, name, input, max_attempts, property_id)
        values (uuid_v7(), 'sweep_journeys', '{}', 1, ${scenario.id}) returning id as at`,
    );
    await runNext(service, scenario.id, { only: "sweep_journeys" });
    expect(await jobs()).toHaveLength(found);
  }
  await runNext(service, scenario.id, { only: "step_journey" });
  expect(await ended(journey)).toEqual(["completed"]);
});

test("segments ask for the state of a player's last entry", async () => {
  const { scenario } = clock;
  const [ana, ben] = await crowd(3);
  const journey = await clock.published(chain([rest(5), end]));
  await clock.enroll(journey, [ana!, ben!]);
  await clock.scenario.call("exit_players", { ...about(journey), playerIds: [ben] });
  const found = async (operator: string, value?: string) => {
    const condition = { field: `journey.${journey}.status`, operator, ...(value && { value }) };
    const { sample } = await scenario.call("segment_preview", { conditions: [condition] });
    return sample.map(({ player_id }: { player_id: string }) => player_id).toSorted();
  };
  expect(await found("eq", "active")).toEqual(["p0"]);
  expect(await found("eq", "exited")).toEqual(["p1"]);
  expect(await found("is_not_set")).toEqual(["p2"]);
});
