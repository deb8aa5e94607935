import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { comingJourneys } from "#tools/journeys/forecast/coming.ts";
import { comingMessages } from "#tools/journeys/forecast/messages.ts";
import { startService, type TestService } from "../../support/service.ts";
import { type JourneyClock, journeyClock } from "./clock.ts";

const DAY = 86_400_000;

let service: TestService;
let clock: JourneyClock;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());
beforeEach(async () => {
  clock = await journeyClock(service, { timezone: "UTC" });
});

const forecast = (days?: number) =>
  clock.scenario.call("forecast_sending", { propertyId: clock.scenario.id, ...(days && { days }) });
const inDays = (days: number) => new Date(Date.now() + days * DAY).toISOString();

test("a scheduled campaign is named with its audience; a draft and one behind the span are not", async () => {
  const { scenario } = clock;
  for (const name of ["ana", "ben"]) await scenario.player({ email: `${name}@example.com` });
  const schedule = async (name: string, at: string) => {
    const id = await scenario.campaign({ name });
    await scenario.call("schedule_campaign", { campaign_id: id, segment_id: null, scheduled_at: at });
    return id;
  };
  const soon = await schedule("Soon", inDays(3));
  await schedule("Late", inDays(20));
  await scenario.campaign({ name: "Draft" });
  const { campaigns, messages, journeys, warnings } = await forecast();
  expect(campaigns).toEqual([
    expect.objectContaining({ id: soon, name: "Soon", status: "scheduled", audience: 2, allowed: 2 }),
  ]);
  expect(Date.parse(campaigns[0]!.at!)).toBeGreaterThan(Date.now());
  expect({ messages, journeys, warnings }).toEqual({ messages: [], journeys: [], warnings: [] });
  expect((await forecast(31)).campaigns.map((one: { name: string }) => one.name)).toEqual(["Soon", "Late"]);
});

test("a campaign in the players' own time starts where the day begins first", async () => {
  const { scenario } = clock;
  await scenario.player({ email: "ana@example.com", country: "JP", timezone: "Asia/Tokyo" });
  const id = await scenario.campaign({ send_in_player_timezone: true });
  await scenario.call("schedule_campaign", { campaign_id: id, segment_id: null, scheduled_at: inDays(3) });
  const [row] = await scenario.query(
    (sql) => sql<{ fires_at: string; scheduled_at: string }[]>`
      select fires_at, scheduled_at from campaigns where property_id = ${scenario.id} and id = ${id}`,
  );
  expect(Date.parse(row!.fires_at)).toBeLessThan(Date.parse(row!.scheduled_at));
  const { campaigns } = await forecast();
  expect(Date.parse(campaigns[0]!.at!)).toBe(Date.parse(row!.fires_at));
});

test("a campaign whose segment is gone has no count, and the reason in words", async () => {
  const { scenario } = clock;
  const { id: segment_id } = await scenario.call("create_segment", {
    name: "Gold",
    type: "dynamic",
    conditions: [{ field: "tier", operator: "eq", value: "Gold" }],
  });
  const campaign_id = await scenario.campaign({ name: "Golden\nweek" });
  await scenario.call("schedule_campaign", { campaign_id, segment_id, scheduled_at: inDays(3) });
  await scenario.query(
    (sql) => sql`
      update segments set deleted_at = now() where property_id = ${scenario.id} and id = ${segment_id}`,
  );
  const { campaigns, warnings } = await forecast();
  expect(campaigns).toMatchObject([{ id: campaign_id, audience: null, allowed: null }]);
  expect(warnings).toEqual([
    expect.stringMatching(/^the audience of "Golden\\nweek" cannot be counted: .*segment/),
  ]);
});

test("messages are read a page at a time, as long as there is time, and those not counted are named", async () => {
  const { scenario } = clock;
  const names = ["Five", "Four"];
  for (const [index, name] of names.entries()) {
    await scenario.crowd(5 - index, `${name}-`);
    const id = await scenario.campaign({ name });
    await scenario.send(id);
    await scenario.work({ only: "plan_campaign" });
  }
  const count = (countUntil: number) =>
    clock.work((context) => {
      const from = Date.now();
      return comingMessages(context, { from, until: from + DAY, countUntil }, 2);
    });
  expect(await count(Number.POSITIVE_INFINITY)).toMatchObject({
    messages: [
      { name: "Five", messages: 5 },
      { name: "Four", messages: 9 },
    ],
    uncounted: [],
  });
  expect(await count(performance.now() - 1)).toEqual({
    messages: [],
    uncounted: [
      'the time for counting was over: the messages of "Five", "Four" are not counted, or only in part',
    ],
  });
});

test("planned messages that wait are counted by day, and a pause of all sending is a warning", async () => {
  const { scenario } = clock;
  const campaign = await scenario.planned(3);
  const today = new Date().toISOString().slice(0, 10);
  expect((await forecast()).messages).toEqual([
    expect.objectContaining({ day: today, campaign_id: campaign, status: "sending", messages: 3 }),
  ]);
  await scenario.call("pause_all_sending", { propertyId: scenario.id, reason: "storm" });
  const { campaigns, warnings } = await forecast();
  expect(campaigns).toMatchObject([{ id: campaign, status: "paused", at: null, audience: 3 }]);
  expect(warnings).toEqual([expect.stringContaining("storm")]);
});

test("a throttled campaign's messages stand on the days on which its pace lets them go", async () => {
  const { scenario } = clock;
  const campaign = await scenario.planned(3, { throttle_per_minute: 1 });
  const midnight = Math.ceil(Date.now() / DAY) * DAY;
  const left = Math.ceil((midnight - Date.now()) / 60_000);
  await scenario.query(
    (sql) => sql`
      insert into campaign_sends (property_id, id, campaign_id, player_id, channel, status, dedupe_key)
      select s.property_id, uuid_v7(), s.campaign_id, s.player_id, s.channel, s.status, convert_to('more ' || n, 'UTF8')
      from (select * from campaign_sends where property_id = ${scenario.id} and campaign_id = ${campaign} limit 1) s
        cross join generate_series(1, ${left + 1_500}::int) n
      returning 1`,
  );
  const { messages } = await forecast(5);
  const [today, tomorrow, later] = messages.map((one: { messages: number }) => one.messages);
  expect(Math.abs(today! - left)).toBeLessThanOrEqual(2);
  expect(tomorrow).toBe(1_440);
  expect(today! + tomorrow! + later!).toBe(left + 1_503);
});

test("an active journey shows when players enter, how many fit, and who moves on", async () => {
  const { scenario } = clock;
  const birthday = inDays(2).slice(5, 10);
  const ana = await scenario.player({ email: "ana@example.com", birth_date: `1980-${birthday}` });
  await scenario.player({ email: "ben@example.com", birth_date: "1980-02-29" });
  const day = {
    id: "day",
    type: "trigger",
    config: { on: "date_field", field: "birth_date", time: "09:00" },
  };
  const call = { id: "call", type: "trigger", config: { on: "api" } };
  const rest = {
    id: "rest",
    type: "delay",
    config: { by: "duration", duration: { amount: 3, unit: "days" } },
  };
  const hello = {
    id: "hello",
    type: "message",
    config: { channel: "email", subject: "Hi", body_html: "<p>Hi</p>" },
  };
  const edges = [
    { from: "day", to: "rest" },
    { from: "call", to: "rest" },
    { from: "rest", to: "hello" },
    { from: "hello", to: "end" },
  ];
  const nodes = [day, call, rest, hello, { id: "end", type: "exit", config: {} }];
  const journey = await clock.published({ nodes, edges });
  await clock.enroll(journey, [ana]);
  await clock.pass(1, journey);
  const { journeys } = await forecast(5);
  expect(journeys).toMatchObject([
    { id: journey, messages: ["hello (email)"], any_time: ["api"], waking: 1 },
  ]);
  const { entries } = journeys[0]!;
  expect(entries.length).toBeGreaterThanOrEqual(5);
  expect(
    entries.flatMap((one: { at: string; players: number }) =>
      one.players === 1 ? [one.at.slice(5, 16)] : [],
    ),
  ).toEqual([`${birthday}T09:00`]);
  expect((await forecast(1)).journeys[0]!.waking).toBe(0);
});

test("the players inside a journey are read a page at a time, as long as there is time", async () => {
  const players: string[] = [];
  for (let n = 0; n < 5; n += 1)
    players.push(await clock.scenario.player({ email: `inside${n}@example.com` }));
  const journey = await clock.published({
    nodes: [
      { id: "call", type: "trigger", config: { on: "api" } },
      { id: "rest", type: "delay", config: { by: "duration", duration: { amount: 3, unit: "hours" } } },
      { id: "end", type: "exit", config: {} },
    ],
    edges: [
      { from: "call", to: "rest" },
      { from: "rest", to: "end" },
    ],
  });
  await clock.enroll(journey, players);
  await clock.pass(1, journey);
  const waking = (countUntil: number) =>
    clock.work(async (context) => {
      const from = Date.now();
      const { journeys } = await comingJourneys(context, { from, until: from + DAY, countUntil }, 2);
      return journeys.map((one) => one.waking);
    });
  expect(await waking(Number.POSITIVE_INFINITY)).toEqual([5]);
  expect(await waking(performance.now() - 1)).toEqual([null]);
});
