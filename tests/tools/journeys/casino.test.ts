import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { startService, type TestService } from "../../support/service.ts";
import { type JourneyClock, journeyClock } from "./clock.ts";

// Eight journeys of a casino, each lived through by people who do what people do meanwhile.

const HOUR = 60;
const DAY = 24 * HOUR;

let service: TestService;
let clock: JourneyClock;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());
beforeEach(async () => {
  clock = await journeyClock(service, { timezone: "America/New_York" });
});

const node = (id: string, type: string, config: object = {}) => ({ id, type, config });
const mail = (id: string, more: object = {}) =>
  node(id, "message", { channel: "email", subject: id, body_html: "<p>Hi</p>", ...more });
const rest = (id: string, amount: number, unit = "days") =>
  node(id, "delay", { by: "duration", duration: { amount, unit } });
const wait = (id: string, name: string, amount: number, unit = "days") =>
  node(id, "wait_until", { event: { name }, timeout: { amount, unit } });
const eq = (field: string, value: unknown) => [{ field, operator: "eq", value }];
/** Edges such as "a > b" and "a yes > b". */
const edges = (...lines: string[]) =>
  lines.map((line) => {
    const [, from, label, to] = /^(\S+)(?: (\S+))? > (\S+)$/.exec(line)!;
    return { from: from!, to: to!, ...(label && { label }) };
  });

const call = (operation: string, input: object) => clock.scenario.call(operation, input);
const about = (playerId: string) => ({ propertyId: clock.scenario.id, playerId });
const person = (name: string, fields: object = {}, consent = true) =>
  clock.scenario.player({ player_id: name, email: `${name}@example.com`, ...fields }, consent);
const refuses = (player: string) =>
  call("consent_revoke", { ...about(player), channel: "email", method: "agent" });
const excludes = (player: string) => call("create_self_exclusion", { player_id: player });

/** Time passes in parts of so many minutes; messages leave and people move. */
async function live(journey: string, minutes: number, part = 6 * HOUR): Promise<void> {
  for (let passed = 0; passed < minutes; passed += part) {
    await clock.pass(Math.min(part, minutes - passed), journey);
    if (await clock.deliver()) await clock.pass(0, journey);
  }
}

/** Each player's messages, in the order of their sending. */
async function got(): Promise<Record<string, string[]>> {
  const mails = await clock.scenario.query(
    (sql) => sql<{ recipient: string; subject: string }[]>`
      select recipient, subject from mailbox_messages where property_id = ${clock.scenario.id} order by created_at, id`,
  );
  const all: Record<string, string[]> = {};
  for (const { recipient, subject } of mails) {
    const name = recipient.split("@")[0]!;
    all[name] = [...(all[name] ?? []), subject];
  }
  return all;
}

async function ends(journey: string): Promise<Record<string, string[]>> {
  const all: Record<string, string[]> = {};
  for (const { player, exit_reason, node: at } of await clock.entries(journey)) {
    all[player] = [...(all[player] ?? []), exit_reason ?? `at ${at}`];
  }
  return all;
}

/** The figures add up, agree with the paths, and each message's with those of its campaign and the mailbox. */
async function agrees(journey: string): Promise<void> {
  const { figures, nodes } = await clock.report(journey);
  const { entered, inside, completed, exited, failed, reasons } = figures;
  expect(entered).toBe(inside + completed + exited + failed);
  const left = Object.values(reasons as Record<string, number>).reduce((sum, one) => sum + one, 0);
  expect(left).toBe(entered - inside);
  for (const one of nodes) {
    expect({ ...one, entered: one.left + one.here }).toEqual(one);
    if (!one.campaign_id) continue;
    const stats = await call("campaign_stats", {
      campaignId: one.campaign_id,
      propertyId: clock.scenario.id,
    });
    const mails = Object.values(await got())
      .flat()
      .filter((subject) => subject === one.node);
    expect({ node: one.node, sent: stats.sent }).toEqual({ node: one.node, sent: mails.length });
  }
  expect(await clock.verify(journey)).toMatchObject({ ok: true, differences: [] });
}

test("a welcome series: gone with the first deposit, silent behind a refusal or an exclusion", async () => {
  const journey = await clock.published({
    nodes: [
      node("signup", "trigger", { on: "event", event: "signup" }),
      mail("hello"),
      wait("first", "deposit", 2),
      mail("thanks"),
      node("hours", "time_window", { from: "09:00", to: "18:00" }),
      mail("reminder"),
      node("seen", "wait_until", {
        conditions: eq("message.reminder.opened", true),
        timeout: { amount: 3, unit: "days" },
      }),
      mail("last"),
      node("done", "goal"),
      node("quiet", "exit", { reason: "not_interested" }),
    ],
    edges: edges(
      "signup > hello",
      "hello > first",
      "first yes > thanks",
      "thanks > done",
      "first timed_out > hours",
      "hours > reminder",
      "reminder > seen",
      "seen yes > quiet",
      "seen timed_out > last",
      "last > quiet",
    ),
  });
  const signup = (player_id: string) => call("create_player_event", { player_id, name: "signup" });
  const [dan, eve, fay, gus, hal] = [
    await person("dan"),
    await person("eve"),
    await person("fay"),
    await person("gus"),
    await person("hal", {}, false),
  ];
  for (const player of [dan, eve, fay, gus, hal]) await signup(player);
  await signup(dan);
  await live(journey, 6 * HOUR, HOUR);
  await clock.happens(dan, "deposit", { amount: 20 });
  await live(journey, 6 * HOUR, HOUR);
  await refuses(fay);
  await live(journey, 3 * DAY);
  await excludes(gus);
  await live(journey, 5 * DAY);
  // A player who has had the welcome comes to it once.
  await signup(eve);
  await live(journey, DAY);
  expect(await got()).toEqual({
    dan: ["hello", "thanks"],
    eve: ["hello", "reminder", "last"],
    fay: ["hello"],
    gus: ["hello", "reminder"],
  });
  expect(await ends(journey)).toEqual({
    dan: ["goal_reached"],
    eve: ["not_interested"],
    fay: ["consent_revoked"],
    gus: ["self_excluded"],
    hal: ["not_interested"],
  });
  await agrees(journey);
});

test("a win-back by a segment with a holdout: once a stay in the segment, nothing to those held out", async () => {
  const { id: segment } = await call("create_segment", {
    name: "Lapsed",
    conditions: [{ field: "tags", operator: "has_any", value: ["lapsed"] }],
  });
  const journey = await clock.published(
    {
      nodes: [
        node("lapsed", "trigger", { on: "segment_enter", segment_id: segment }),
        node("split", "random_split", {
          splits: [
            { label: "invited", percent: 50 },
            { label: "held", percent: 50 },
          ],
        }),
        mail("invitation"),
        wait("back", "visit", 10),
        mail("second"),
        node("won", "goal"),
        node("held_out", "exit", { reason: "held_out" }),
        node("lost", "exit", { reason: "lost" }),
      ],
      edges: edges(
        "lapsed > split",
        "split invited > invitation",
        "split held > held_out",
        "invitation > back",
        "back yes > won",
        "back timed_out > second",
        "second > lost",
      ),
    },
    { goal: { event: { name: "visit" } }, reentry: { mode: "after_exit", cooldown_hours: 0 } },
  );
  const people = new Map<string, string>();
  for (let n = 0; n < 12; n += 1) people.set(`p${n}`, await person(`p${n}`, { tags: ["lapsed"] }));
  await clock.refresh(segment);
  await clock.refresh(segment);
  await live(journey, DAY);
  const invited = Object.keys(await got());
  expect(invited.length).toBeGreaterThan(0);
  expect(invited.length).toBeLessThan(12);
  const [visitor] = invited;
  await clock.happens(people.get(visitor!)!, "visit");
  await live(journey, 11 * DAY, DAY);
  expect(await got()).toEqual(
    Object.fromEntries(
      invited.map((name) => [name, name === visitor ? ["invitation"] : ["invitation", "second"]]),
    ),
  );
  const reasons = Object.entries(await ends(journey));
  expect(reasons.filter(([, [one]]) => one === "held_out")).toHaveLength(12 - invited.length);
  expect(reasons.filter(([, [one]]) => one === "goal_reached").map(([name]) => name)).toEqual([visitor]);
  await agrees(journey);
});

test("a birthday: once a year, also where the day runs twice, and not for the barred", async () => {
  const journey = await clock.published(
    {
      nodes: [
        node("in1", "trigger", { on: "date_field", field: "birth_date", offset_days: -1 }),
        node("ten", "delay", { by: "until_local_time", time: "10:00" }),
        mail("gift"),
        node("end", "exit"),
      ],
      edges: edges("in1 > ten", "ten > gift", "gift > end"),
    },
    { reentry: { mode: "always" } },
  );
  // In 1980, February has 29 days as well.
  const at = Date.now() - 60_000;
  const born = (days: number) =>
    `1980${new Date(at + days * 86_400_000).toLocaleDateString("en-CA", { timeZone: "America/New_York" }).slice(4)}`;
  await person("ivy", { birth_date: born(1), timezone: "America/Los_Angeles" });
  await person("jon", { birth_date: born(2) });
  const kim = await person("kim", { birth_date: born(1) });
  await call("set_player_status", { ...about(kim), status: "banned" });
  await clock.enterAt(new Date(at).toISOString());
  await live(journey, 2 * DAY);
  await clock.enterAt(new Date(at).toISOString());
  await live(journey, 2 * DAY);
  expect(await got()).toEqual({ ivy: ["gift"] });
  expect((await ends(journey)).ivy).toEqual(["completed"]);
  await agrees(journey);
});

test("an escalation of losses to hosts: a tag, a webhook at its rate, no message", async () => {
  const journey = await clock.published({
    nodes: [
      node("loss", "trigger", {
        on: "event",
        event: "loss",
        properties: [{ property: "amount", operator: "gte", value: 1000 }],
      }),
      node("tier", "branch", { branches: [{ label: "vip", conditions: eq("tier", "Gold") }] }),
      node("mark", "update_player", { add_tags: ["watch"] }),
      node("line", "rate_limit", { most: 2, per: "hour" }),
      node("host", "webhook", { name: "call" }),
      node("end", "exit"),
    ],
    edges: edges(
      "loss > tier",
      "tier vip > mark",
      "tier otherwise > end",
      "mark > line",
      "line > host",
      "host > end",
    ),
  });
  const players: string[] = [];
  for (let n = 0; n < 5; n += 1) players.push(await person(`v${n}`, { tier: n === 4 ? "Silver" : "Gold" }));
  for (const player_id of players)
    await call("create_player_event", { player_id, name: "loss", properties: { amount: 1000 } });
  await clock.pass(1, journey);
  await call("pause_journey", { journeyId: journey, propertyId: clock.scenario.id });
  clock.put(9 * HOUR);
  await excludes(players[3]!);
  await call("resume_journey", { journeyId: journey, propertyId: clock.scenario.id });
  const through: number[] = [];
  for (let part = 0; part < 4; part += 1) {
    await clock.pass(part === 0 ? 0 : 30, journey);
    const counts = await clock.entries(journey);
    through.push(counts.filter(({ path }) => path.includes("host")).length);
  }
  expect(through).toEqual([2, 3, 3, 3]);
  expect(await ends(journey)).toMatchObject({ v3: ["self_excluded"], v4: ["completed"] });
  expect(await got()).toEqual({});
  await agrees(journey);
});

test("an abandoned deposit: one reminder a deposit, none where it was completed", async () => {
  const journey = await clock.published(
    {
      nodes: [
        node("begun", "trigger", { on: "event", event: "deposit_begun", entry_key: "deposit" }),
        wait("completed", "deposit_done", 30, "minutes"),
        mail("reminder"),
        node("done", "exit", { reason: "deposited" }),
        node("reminded", "exit", { reason: "reminded" }),
      ],
      edges: edges(
        "begun > completed",
        "completed yes > done",
        "completed timed_out > reminder",
        "reminder > reminded",
      ),
    },
    { reentry: { mode: "always" } },
  );
  const [lea, max] = [await person("lea"), await person("max")];
  const begins = (player_id: string, deposit: string, external_id: string) =>
    call("create_player_event", {
      ...{ player_id, name: "deposit_begun", properties: { deposit } },
      external_id,
    });
  await begins(lea, "A", "1");
  await begins(lea, "A", "1").catch(() => undefined);
  await begins(lea, "A", "2");
  await begins(max, "B", "3");
  await clock.pass(1, journey);
  await clock.happens(max, "deposit_done");
  await live(journey, 2 * HOUR, 10);
  expect(await got()).toEqual({ lea: ["reminder"] });
  expect(await ends(journey)).toEqual({ lea: ["reminded"], max: ["deposited"] });
  await agrees(journey);
});

test("one message in the player's language, and the house's language for the others", async () => {
  const languages = ["es", "fr"].map((label) => ({ label, conditions: eq("language", label) }));
  const journey = await clock.published({
    nodes: [
      node("in", "trigger", { on: "api" }),
      node("by", "branch", { branches: languages }),
      mail("hola"),
      mail("bonjour"),
      mail("hello"),
      rest("rest", 1),
      mail("bye"),
      node("end", "exit"),
    ],
    edges: edges(
      "in > by",
      "by es > hola",
      "by fr > bonjour",
      "by otherwise > hello",
      "hola > rest",
      "bonjour > rest",
      "hello > rest",
      "rest > bye",
      "bye > end",
    ),
  });
  const ids = [
    await person("ana", { language: "es" }),
    await person("bob", { language: "fr" }),
    await person("cho", { language: "zh" }),
    await person("dee"),
  ];
  await clock.enroll(journey, ids);
  await clock.enroll(journey, ids);
  await live(journey, 2 * DAY);
  expect(await got()).toEqual({
    ana: ["hola", "bye"],
    bob: ["bonjour", "bye"],
    cho: ["hello", "bye"],
    dee: ["hello", "bye"],
  });
  await agrees(journey);
});

test("a split of two messages keeps each player to one, also at the second entry", async () => {
  const journey = await clock.published(
    {
      nodes: [
        node("in", "trigger", { on: "api" }),
        node("by", "random_split", {
          splits: [
            { label: "a", percent: 50 },
            { label: "b", percent: 50 },
          ],
        }),
        mail("one"),
        mail("two"),
        wait("back", "visit", 2),
        node("won", "goal"),
        node("lost", "exit", { reason: "lost" }),
      ],
      edges: edges(
        "in > by",
        "by a > one",
        "by b > two",
        "one > back",
        "two > back",
        "back yes > won",
        "back timed_out > lost",
      ),
    },
    { reentry: { mode: "always" } },
  );
  const ids: string[] = [];
  for (let n = 0; n < 10; n += 1) ids.push(await person(`s${n}`));
  await clock.enroll(journey, ids);
  await live(journey, HOUR, HOUR);
  await clock.happens(ids[0]!, "visit");
  await clock.happens(ids[0]!, "visit");
  await live(journey, 3 * DAY, DAY);
  await clock.enroll(journey, ids);
  await live(journey, 3 * DAY, DAY);
  const messages = await got();
  expect(Object.keys(messages)).toHaveLength(10);
  for (const [first, second, ...more] of Object.values(messages)) {
    expect([second, more]).toEqual([first, []]);
  }
  expect((await ends(journey)).s0).toEqual(["goal_reached", "lost"]);
  await agrees(journey);
});

test("a weekly loop ends with the visit, with the stop in the middle of a rest, and with a changed mind", async () => {
  const journey = await clock.published(
    {
      nodes: [
        node("in", "trigger", { on: "api" }),
        mail("offer"),
        rest("week", 7),
        node("came", "branch", {
          branches: [
            {
              label: "yes",
              conditions: [
                { field: "event.visit.count", operator: "is", value: { op: "gte", n: 1, within_days: 7 } },
              ],
            },
          ],
        }),
        node("won", "goal"),
      ],
      edges: edges("in > offer", "offer > week", "week > came", "came yes > won", "came otherwise > offer"),
    },
    { exit_conditions: { conditions: [{ field: "tags", operator: "has_any", value: ["no_offers"] }] } },
  );
  const [uma, vic, wes, xia] = [
    await person("uma"),
    await person("vic"),
    await person("wes"),
    await person("xia"),
  ];
  await clock.enroll(journey, [uma, vic, wes, xia]);
  await live(journey, 8 * DAY, DAY);
  await clock.happens(uma, "visit");
  await refuses(vic);
  await call("update_player", { id: wes, tags: ["no_offers"] });
  await live(journey, 8 * DAY, DAY);
  await excludes(xia);
  await live(journey, 8 * DAY, DAY);
  expect(await got()).toEqual({
    uma: ["offer", "offer"],
    vic: ["offer", "offer"],
    wes: ["offer", "offer"],
    xia: ["offer", "offer", "offer"],
  });
  expect(await ends(journey)).toEqual({
    uma: ["goal_reached"],
    vic: ["consent_revoked"],
    wes: ["exit_condition"],
    xia: ["self_excluded"],
  });
  await agrees(journey);
});
