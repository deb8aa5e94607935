import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { step } from "#tools/journeys/steps/step.ts";
import { Killed, loseWorker, runNext, vendor } from "../../support/job-runner.ts";
import { dying } from "../../support/postgres/dying.ts";
import { isFull } from "../../support/proof-size.ts";
import { startService, type TestService } from "../../support/service.ts";
import { type JourneyClock, journeyClock } from "./clock.ts";

const PLAYERS = 8;
const QUARTERS = Array<number>(PLAYERS - 3).fill(15);
const PARTS_OF_DAYS = Array<number>(6).fill(6 * 60);
/**
 * Minutes between the steps, enough of them for everybody to leave: the rate limit lets one player through at a step
 * that comes late, and the window is open at one of four hours of a day at least.
 */
const STEPS = [1, 10, 60, 60, ...QUARTERS, ...PARTS_OF_DAYS];

/** Statements from one death to the next; each round begins at another one. */
const EACH = isFull ? 1 : 3;

let service: TestService;
let clock: JourneyClock;
let ids: string[];
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());
beforeEach(async () => {
  clock = await journeyClock(service);
  const { scenario } = clock;
  ids = [];
  for (let index = 0; index < PLAYERS; index += 1) {
    const player = {
      player_id: `p${index}`,
      email: `p${index}@example.com`,
      tier: index % 2 ? "Gold" : "Silver",
    };
    ids.push(await scenario.player(player, index !== 3));
  }
});

const minutes = (amount: number) => ({ amount, unit: "minutes" });

/** A journey with every type of node. */
async function everything() {
  const { id: segment_id } = await clock.scenario.call("create_segment", {
    name: `List ${Math.random()}`,
    type: "static",
  });
  const gold = { conditions: [{ field: "tier", operator: "eq", value: "Gold" }] };
  const halves = [
    { label: "a", percent: 50 },
    { label: "b", percent: 50 },
  ];
  const nodes = [
    { id: "in", type: "trigger", config: { on: "api" } },
    { id: "split", type: "random_split", config: { splits: halves } },
    { id: "tag", type: "update_player", config: { add_tags: ["seen"] } },
    { id: "list", type: "add_to_segment", config: { segment_id } },
    { id: "hello", type: "message", config: { channel: "email", subject: "Hi", body_html: "<p>Hi</p>" } },
    { id: "call", type: "webhook", config: { name: "step" } },
    { id: "slow", type: "rate_limit", config: { most: 4, per: "hour" } },
    { id: "gold", type: "branch", config: { branches: [{ label: "gold", ...gold }] } },
    { id: "wait", type: "wait_until", config: { event: { name: "visit" }, timeout: minutes(90) } },
    { id: "open", type: "time_window", config: { from: "09:00", to: "21:00" } },
    { id: "rest", type: "delay", config: { by: "duration", duration: minutes(30) } },
    { id: "won", type: "goal", config: {} },
    { id: "end", type: "exit", config: {} },
  ];
  const edges = [
    { from: "in", to: "split" },
    { from: "split", to: "tag", label: "a" },
    { from: "split", to: "hello", label: "b" },
    { from: "tag", to: "list" },
    { from: "list", to: "hello" },
    { from: "hello", to: "call" },
    { from: "call", to: "slow" },
    { from: "slow", to: "gold" },
    { from: "gold", to: "wait", label: "gold" },
    { from: "gold", to: "open", label: "otherwise" },
    { from: "wait", to: "won", label: "yes" },
    { from: "wait", to: "rest", label: "timed_out" },
    { from: "open", to: "rest" },
    { from: "rest", to: "end" },
  ];
  return clock.published({ nodes, edges }, { name: `J ${Math.random()}` });
}

/** Everything that a step writes, without ids and times of its own. */
async function rowsOf(journeyId: string) {
  const { scenario } = clock;
  return scenario.query(async (sql) => ({
    entries: await sql`
      select p.player_id, e.status, e.exit_reason, e.node, e.phase, e.path, e.wake_at is null as still
      from journey_enrollments e join players p on p.property_id = ${scenario.id} and p.id = e.player_id
      where e.property_id = ${scenario.id} and e.journey_id = ${journeyId} order by p.player_id`,
    counts: await sql`
      select from_node, edge, to_node, status, people::int from journey_counts
      where property_id = ${scenario.id} and journey_id = ${journeyId} order by 1, 2, 3, 4`,
    sends: await sql`
      select p.player_id, s.status, s.skip_reasons from campaign_sends s
        join campaigns c on c.property_id = ${scenario.id} and c.id = s.campaign_id and c.journey_id = ${journeyId}
        join players p on p.property_id = ${scenario.id} and p.id = s.player_id
      where s.property_id = ${scenario.id} order by 1, 2`,
  }));
}

async function deliver(): Promise<void> {
  const open = () => vendor({ repeatable: true }).sender;
  while (await runNext(service, clock.scenario.id, { only: "deliver_campaign", open })) {}
}

test("a worker that dies before or behind any statement of a step loses nobody, and doubles nothing", async () => {
  await clock.scenario.call("create_webhook_endpoint", {
    url: "https://example.com/hook",
    events: ["player.*"],
  });
  const [journey, calm] = [await everything(), await everything()];
  await clock.enroll(journey, ids);
  await clock.enroll(calm, ids);
  let points = 0;
  let round = 0;
  for (const amount of STEPS) {
    clock.put(amount);
    // The calm one first: both see the same events, and tags that are there already.
    const moved: number[] = [];
    do moved.push(await clock.work((context) => step(context, calm, clock.at())));
    while (moved.at(-1)! > 0);
    for (let moves = 1; moves > 0; ) {
      // Where nobody moves, nothing can be lost or doubled.
      if (moved.shift() === 0) {
        moves = await clock.work((context) => step(context, journey, clock.at()));
        continue;
      }
      const before = await rowsOf(journey);
      round += 1;
      for (let last = round % EACH; ; last += EACH) {
        const work = clock.work((context) =>
          step({ ...context, sql: dying(context.sql, last) }, journey, clock.at()),
        );
        const done = await work.then(
          (count) => ({ count }),
          (error: unknown) => ({ error: error as Error & { cause?: unknown } }),
        );
        if ("count" in done) {
          moves = done.count;
          break;
        }
        const cause = done.error instanceof Killed ? done.error : done.error.cause;
        expect(cause, `killed behind statement ${last}`).toBeInstanceOf(Killed);
        points += 1;
        expect(await rowsOf(journey), `killed behind statement ${last}`).toEqual(before);
      }
    }
    await clock.happens(ids[1]!, "visit");
    await deliver();
  }
  expect(points).toBeGreaterThan(120 / EACH);
  const [found, wanted] = [await rowsOf(journey), await rowsOf(calm)];
  expect(found.entries.map(({ status }) => status)).toEqual(wanted.entries.map(({ status }) => status));
  expect(found.entries.every(({ status }) => status === "completed")).toBe(true);
  expect(found.sends).toEqual(wanted.sends);
  expect(await clock.verify(journey)).toMatchObject({ ok: true, enrollments: PLAYERS });
});

test("a worker that dies behind any transaction of a journey's jobs sends nothing twice and loses nobody", async () => {
  const journey = await everything();
  await clock.enroll(journey, ids);
  const mail = vendor({ repeatable: true });
  const open = () => mail.sender;
  for (let transactions = 0; transactions < 12; transactions += 1) {
    for (const only of ["step_journey", "deliver_campaign"]) {
      const run = runNext(service, clock.scenario.id, { only, open, killedAfter: { left: transactions } });
      await run.catch((error: unknown) => expect(error).toBeInstanceOf(Killed));
      await loseWorker(service, clock.scenario.id);
    }
  }
  for (let more = true; more; ) {
    const [moved, sent] = [
      await runNext(service, clock.scenario.id, { only: "step_journey", open }),
      await runNext(service, clock.scenario.id, { only: "deliver_campaign", open }),
    ];
    more = moved || sent;
  }
  const { sends } = await rowsOf(journey);
  expect(sends.filter(({ status }) => status === "sent")).toHaveLength(PLAYERS - 1);
  expect(new Set(mail.given.map(({ id }) => id)).size).toBe(PLAYERS - 1);
  const { entries } = await rowsOf(journey);
  expect(entries).toHaveLength(PLAYERS);
  // The clock stands still, so that everybody is at a wait.
  const waits = ["slow", "wait", "open", "rest"];
  expect(entries.filter(({ node }) => !waits.includes(node))).toEqual([]);
  expect(await clock.verify(journey)).toMatchObject({ ok: true, enrollments: PLAYERS });
});

test("two workers at once move nobody twice", async () => {
  const journey = await everything();
  await clock.enroll(journey, ids);
  for (const amount of STEPS) {
    clock.put(amount);
    const worker = async () => {
      for (let moves = 1; moves > 0; )
        moves = await clock.work((context) => step(context, journey, clock.at()));
    };
    await Promise.all([worker(), worker(), worker()]);
    await deliver();
  }
  await clock.pass(1, journey);
  const { entries, sends } = await rowsOf(journey);
  expect(entries.every(({ status }) => status === "completed")).toBe(true);
  expect(entries.every(({ path }) => new Set(path).size === path.length)).toBe(true);
  expect(sends).toHaveLength(PLAYERS);
  expect(await clock.verify(journey)).toMatchObject({ ok: true, enrollments: PLAYERS });
});
