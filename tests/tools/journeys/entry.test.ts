import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startService, type TestService } from "../../support/service.ts";
import { type JourneyClock, journeyClock } from "./clock.ts";

let service: TestService;
let clock: JourneyClock;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());
beforeEach(async () => {
  clock = await journeyClock(service, { timezone: "America/New_York" });
});

const rest = { id: "rest", type: "delay", config: { by: "duration", duration: { amount: 1, unit: "days" } } };
const end = { id: "end", type: "exit", config: {} };

/** A day's rest behind triggers of these configs, in1, in2 and so on. */
function behind(...configs: object[]) {
  const triggers = configs.map((config, index) => ({ id: `in${index + 1}`, type: "trigger", config }));
  return {
    nodes: [...triggers, rest, end],
    edges: [...triggers.map(({ id }) => ({ from: id, to: "rest" })), { from: "rest", to: "end" }],
  };
}

const player = async (player_id: string, fields: object = {}): Promise<string> => {
  const { id } = await clock.scenario.call("create_player", { player_id, ...fields });
  return id;
};
const event = (player_id: string, name: string, more: object = {}) =>
  clock.scenario.call("create_player_event", { player_id, name, ...more });
const players = async (journey: string) => (await clock.entries(journey)).map((entry) => entry.player);
const figures = async (journey: string) => (await clock.report(journey)).figures;
const jobs = () => clock.jobs();

describe("an event", () => {
  test("opens the journey if its properties fit, and only the journey that names it", async () => {
    const journey = await clock.published(
      behind({
        on: "event",
        event: "deposit",
        properties: [{ property: "amount", operator: "gte", value: 100 }],
      }),
    );
    const [ana, ben, cora] = [await player("ana"), await player("ben"), await player("cora")];
    await event(ana, "deposit", { properties: { amount: 100 } });
    await event(ben, "deposit", { properties: { amount: 99.5 } });
    await event(cora, "visit", { properties: { amount: 500 } });
    expect(await players(journey)).toEqual(["ana"]);
  });

  test("whose property has another value, of any type, or none fits `neq`", async () => {
    const journey = await clock.published(
      behind({
        on: "event",
        event: "play",
        properties: [{ property: "table", operator: "neq", value: "A" }],
      }),
    );
    const named = [await player("ana"), await player("ben"), await player("cora"), await player("dora")];
    for (const [index, properties] of [{ table: "A" }, { table: "B" }, { table: 7 }, {}].entries()) {
      await event(named[index]!, "play", { properties });
    }
    expect(await players(journey)).toEqual(["ben", "cora", "dora"]);
  });

  test("is stored if and only if its player has entered: a failed request leaves neither", async () => {
    const journey = await clock.published(behind({ on: "event", event: "signup" }));
    const ana = await player("ana");
    const records = [
      { player_id: ana, name: "signup" },
      { player_id: "00000000-0000-7000-8000-000000000000", name: "signup" },
    ];
    await expect(clock.many("create_player_event", records)).rejects.toThrow();
    expect(await players(journey)).toEqual([]);
    expect(await clock.scenario.call("list_player_events", {})).toEqual([]);
    await clock.many("create_player_event", records.slice(0, 1));
    expect(await players(journey)).toEqual(["ana"]);
  });

  test("of one external_id enters nobody twice; players of one request each enter once", async () => {
    const journey = await clock.published(behind({ on: "event", event: "signup" }), {
      reentry: { mode: "always" },
    });
    const [ana, ben] = [await player("ana"), await player("ben")];
    await event(ana, "signup", { external_id: "e1" });
    await clock.leave(journey);
    await event(ana, "signup", { external_id: "e1" }).catch(() => {});
    expect(await players(journey)).toEqual(["ana"]);
    await clock.many("create_player_event", [
      { player_id: ben, name: "signup" },
      { player_id: ben, name: "signup" },
    ]);
    expect(await players(journey)).toEqual(["ana", "ben"]);
  });

  test("with an entry key lets a player in once for each value", async () => {
    const journey = await clock.published(behind({ on: "event", event: "booked", entry_key: "booking" }));
    const ana = await player("ana");
    for (const booking of ["b1", "b2", "b1"]) await event(ana, "booked", { properties: { booking } });
    expect(await players(journey)).toEqual(["ana", "ana"]);
    expect(await figures(journey)).toMatchObject({ entered: 2, people: 1, ignored_inside: 1 });
  });

  test("tells long values of an entry key apart that differ in their last character alone", async () => {
    const journey = await clock.published(behind({ on: "event", event: "booked", entry_key: "booking" }));
    const ana = await player("ana");
    const long = "b".repeat(200);
    for (const booking of [long, `${long}1`, `${long}2`, `${long}1`]) {
      await event(ana, "booked", { properties: { booking } });
    }
    expect(await figures(journey)).toMatchObject({ entered: 3, people: 1, ignored_inside: 1 });
    const rows = await clock.scenario.call("list_journey_enrollments", {});
    expect(rows.map((row: { entry_key: string }) => row.entry_key.length)).toEqual([200, 200, 200]);
  });
});

describe("a segment", () => {
  const gold = async (): Promise<string> => {
    const { id } = await clock.scenario.call("create_segment", {
      name: "Gold",
      type: "dynamic",
      conditions: [{ field: "tier", operator: "eq", value: "Gold" }],
    });
    return id;
  };
  const tier = (id: string, value: string) => clock.scenario.call("update_player", { id, tier: value });

  test("lets in who comes, not who was there; who leaves and returns comes again by the rule", async () => {
    await player("ana", { tier: "Gold" });
    const ben = await player("ben", { tier: "Silver" });
    const segment_id = await gold();
    await clock.refresh(segment_id);
    const journey = await clock.published(behind({ on: "segment_enter", segment_id }), {
      reentry: { mode: "after_exit" },
    });
    await clock.refresh(segment_id);
    expect(await players(journey)).toEqual([]);
    await tier(ben, "Gold");
    await clock.refresh(segment_id);
    expect(await players(journey)).toEqual(["ben"]);
    await tier(ben, "Silver");
    await clock.refresh(segment_id);
    await tier(ben, "Gold");
    await clock.refresh(segment_id);
    expect(await figures(journey)).toMatchObject({ entered: 1, ignored_inside: 1 });
    await clock.leaveAgo(journey, 1);
    await tier(ben, "Silver");
    await clock.refresh(segment_id);
    await tier(ben, "Gold");
    await clock.refresh(segment_id);
    expect(await figures(journey)).toMatchObject({ entered: 2, people: 1 });
  });

  test("lets in who comes right after the publishing, before its members were ever counted", async () => {
    await player("ana", { tier: "Gold" });
    const ben = await player("ben", { tier: "Silver" });
    const segment_id = await gold();
    const journey = await clock.published(behind({ on: "segment_enter", segment_id }));
    await tier(ben, "Gold");
    await clock.refresh(segment_id);
    expect(await players(journey)).toEqual(["ben"]);
  });

  test("lets in nobody who came or left before the publishing, where its members were last counted before that", async () => {
    const [ana, ben] = [await player("ana", { tier: "Gold" }), await player("ben", { tier: "Silver" })];
    const segment_id = await gold();
    const [enter, exit] = [
      { on: "segment_enter", segment_id },
      { on: "segment_exit", segment_id },
    ];
    const first = await clock.published(behind(enter, exit));
    await clock.refresh(segment_id);
    await tier(ana, "Silver");
    await tier(ben, "Gold");
    const second = await clock.published(behind(enter, exit), { name: "Second" });
    await clock.refresh(segment_id);
    expect(await players(second)).toEqual([]);
    // They came and left while the first journey was open.
    const entries = await clock.entries(first);
    expect(entries.map((entry) => [entry.player, entry.path[0]])).toEqual([
      ["ana", "in2"],
      ["ben", "in1"],
    ]);
    await tier(ben, "Silver");
    await clock.refresh(segment_id);
    expect(await players(second)).toEqual(["ben"]);
  });

  test("lets in who leaves it; one refresh may open both ways of one journey", async () => {
    const [ana, ben] = [await player("ana", { tier: "Gold" }), await player("ben", { tier: "Silver" })];
    const segment_id = await gold();
    await clock.refresh(segment_id);
    const journey = await clock.published(
      behind({ on: "segment_exit", segment_id }, { on: "segment_enter", segment_id }),
    );
    await clock.refresh(segment_id);
    await tier(ana, "Silver");
    await tier(ben, "Gold");
    await clock.refresh(segment_id);
    const entries = await clock.entries(journey);
    expect(entries.map((entry) => [entry.player, entry.path[0]])).toEqual([
      ["ana", "in1"],
      ["ben", "in2"],
    ]);
  });

  test("with backfill lets in who is there, as the preview has said", async () => {
    for (const name of ["ana", "ben", "cora"])
      await player(name, { tier: name === "cora" ? "Silver" : "Gold" });
    const segment_id = await gold();
    await clock.refresh(segment_id);
    const { id } = await clock.scenario.call("create_journey", {
      name: "B",
      draft_definition: behind({ on: "segment_enter", segment_id }),
      reentry: { mode: "always" },
    });
    await clock.scenario.call("publish_journey", {
      journeyId: id,
      propertyId: clock.scenario.id,
      backfill: true,
    });
    const again = await clock.queue(
      (sql) =>
        sql`select input::text as at from queue where name = 'enter_journey' and property_id = ${clock.scenario.id}`,
    );
    await jobs();
    expect(await players(id)).toEqual(["ana", "ben"]);

    // The same job again, whose worker was lost before it could tell that it is done.
    await clock.scenario.query(
      (sql) => sql`
        update journey_enrollments set status = 'completed', ended_at = now() where property_id = ${clock.scenario.id}`,
    );
    await clock.queue(
      (sql) => sql`
        insert into queue (id, name, property_id, input, max_attempts)
        values (uuid_v7(), 'enter_journey', ${clock.scenario.id}, ${JSON.parse(again[0]!)}::jsonb, 5) returning null as at`,
    );
    await jobs();
    expect(await players(id)).toEqual(["ana", "ben"]);
  });
});

describe("a time", () => {
  const scheduledForGold = async () => {
    const { id: segment_id } = await clock.scenario.call("create_segment", {
      name: "Gold",
      type: "dynamic",
      conditions: [{ field: "tier", operator: "eq", value: "Gold" }],
    });
    return clock.published(behind({ on: "schedule", cron: "30 10 * * *", segment_id }), {
      reentry: { mode: "always" },
    });
  };

  test("of a schedule lets in the players of its segment, by the property's clock", async () => {
    await player("ana", { tier: "Gold" });
    const journey = await scheduledForGold();
    expect(await clock.nextEntries()).toEqual([expect.stringMatching(/T1[45]:30:00Z$/)]);
    await clock.enterAt(new Date().toISOString());
    expect(await players(journey)).toEqual(["ana"]);
    expect(await clock.nextEntries()).toEqual([expect.stringMatching(/T1[45]:30:00Z$/)]);
  });

  test("lets in nobody twice where its job runs again, although they have left", async () => {
    await player("ana", { tier: "Gold" });
    const journey = await scheduledForGold();
    const at = new Date().toISOString();
    await clock.enterAt(at);
    await clock.leave(journey);
    // The clock of the test moves rows; here time stands still.
    await clock.scenario.query(
      (sql) => sql`
        update journey_enrollments set entered_at = now(), ended_at = now() where property_id = ${clock.scenario.id}`,
    );
    await clock.enterAt(at);
    expect(await players(journey)).toEqual(["ana"]);
    await clock.enterAt(new Date(Date.now() + 60_000).toISOString());
    expect(await players(journey)).toEqual(["ana", "ana"]);
  });

  test("of a birthday lets in each year's people, those of a leap day on February 28", async () => {
    await player("leap", { birth_date: "1988-02-29" });
    await player("day28", { birth_date: "1990-02-28" });
    await player("march", { birth_date: "1990-03-01" });
    const journey = await clock.published(behind({ on: "date_field", field: "birth_date", time: "09:00" }), {
      reentry: { mode: "after_exit" },
    });
    await clock.enterAt("2027-02-28T14:00:00.000Z");
    expect(await players(journey)).toEqual(["day28", "leap"]);
    await clock.enterAt("2027-03-01T14:00:00.000Z");
    expect(await players(journey)).toEqual(["day28", "leap", "march"]);
    // The next day, by the property's clock; two weeks later its clocks have changed.
    expect(await clock.nextEntries()).toEqual(["2027-03-02T14:00:00Z"]);
    await clock.enterAt("2027-03-13T14:00:00.000Z");
    expect(await clock.nextEntries()).toEqual(["2027-03-14T13:00:00Z"]);
  });

  test("of a custom date lets in its people from the date itself on, and nobody in the years before it", async () => {
    await clock.scenario.call("create_custom_field", { key: "stay_from", label: "Stay", type: "date" });
    for (const year of [2025, 2027, 2028]) {
      await player(`stay${year}`, { custom: { stay_from: `${year}-03-08` } });
    }
    await player("none");
    const trigger = { on: "date_field", field: "custom.stay_from", offset_days: -7 };
    const journey = await clock.published(behind(trigger), { reentry: { mode: "after_exit" } });
    await clock.enterAt("2027-03-01T14:00:00.000Z");
    expect(await players(journey)).toEqual(["stay2025", "stay2027"]);
  });

  test.each([
    ["skip", "02:30", ["2027-03-13T07:30:00Z", "2027-03-14T07:00:00Z", "2027-03-15T06:30:00Z"]],
    ["repeat", "01:30", ["2027-11-06T05:30:00Z", "2027-11-07T05:30:00Z", "2027-11-08T06:30:00Z"]],
  ])(
    "of an hour that the property's clocks %s comes once that day",
    async (_, time, [before, day, after]) => {
      await player("ana", { birth_date: `1990-${day!.slice(5, 10)}` });
      const journey = await clock.published(behind({ on: "date_field", field: "birth_date", time }));
      await clock.enterAt(before!);
      expect(await clock.nextEntries()).toEqual([day]);
      expect(await players(journey)).toEqual([]);
      await clock.enterAt(day!);
      expect(await clock.nextEntries()).toEqual([after]);
      expect(await players(journey)).toEqual(["ana"]);
    },
  );

  test("of a birthday in a leap year is the leap day itself; an offset moves it over the turn of a year", async () => {
    await player("leap", { birth_date: "1988-02-29" });
    await player("newyear", { birth_date: "1990-01-01" });
    const journey = await clock.published(
      behind(
        { on: "date_field", field: "birth_date" },
        { on: "date_field", field: "birth_date", offset_days: -2 },
      ),
    );
    await clock.enterAt("2028-02-28T14:00:00.000Z", "in1");
    expect(await players(journey)).toEqual([]);
    await clock.enterAt("2028-02-29T14:00:00.000Z", "in1");
    expect(await players(journey)).toEqual(["leap"]);
    await clock.enterAt("2028-12-30T14:00:00.000Z", "in2");
    expect(await players(journey)).toEqual(["leap", "newyear"]);
  });
});

test("a text that contains the words lets its sender in", async () => {
  await player("ana", { phone: "+17025550101" });
  await player("ben", { phone: "+17025550102" });
  const journey = await clock.published(behind({ on: "inbound_sms", contains: "dinner" }));
  for (const [from, text] of [
    ["+17025550101", "I want that DINNER"],
    ["+17025550102", "hello"],
  ]) {
    await clock.scenario.call("receive_sms", {
      propertyId: clock.scenario.id,
      from,
      to: "+18005550000",
      text,
    });
  }
  expect(await players(journey)).toEqual(["ana"]);
});

describe("coming again", () => {
  const definition = behind({ on: "api" });

  test("never: once left, never in; the figures tell", async () => {
    const ana = await player("ana");
    const journey = await clock.published(definition);
    await clock.enroll(journey, [ana]);
    expect(await clock.enroll(journey, [ana])).toMatchObject({ entered: 0, ignored_inside: 1 });
    await clock.leave(journey);
    expect(await clock.enroll(journey, [ana])).toMatchObject({ entered: 0, ignored_reentry: 1 });
    expect(await figures(journey)).toMatchObject({ entered: 1, ignored_inside: 1, ignored_reentry: 1 });
    expect(await clock.verify(journey)).toMatchObject({ ok: true });
  });

  test("after an exit: with a cooldown, and at most so often", async () => {
    const ana = await player("ana");
    const journey = await clock.published(definition, {
      reentry: { mode: "after_exit", cooldown_hours: 5, max_entries: 2 },
    });
    await clock.enroll(journey, [ana]);
    await clock.leaveAgo(journey, 4);
    expect(await clock.enroll(journey, [ana])).toMatchObject({ entered: 0, ignored_reentry: 1 });
    await clock.leaveAgo(journey, 6);
    expect(await clock.enroll(journey, [ana])).toMatchObject({ entered: 1 });
    await clock.leaveAgo(journey, 6);
    expect(await clock.enroll(journey, [ana])).toMatchObject({ entered: 0, ignored_reentry: 1 });
  });

  test("always: at once after the exit, but not twice inside", async () => {
    const ana = await player("ana");
    const journey = await clock.published(definition, { reentry: { mode: "always" } });
    await clock.enroll(journey, [ana]);
    expect(await clock.enroll(journey, [ana])).toMatchObject({ entered: 0, ignored_inside: 1 });
    await clock.leave(journey);
    expect(await clock.enroll(journey, [ana])).toMatchObject({ entered: 1 });
  });
});

test.each(["self_excluded", "banned", "deceased"])("a player who is %s never enters", async (status) => {
  const [ana, ben] = [await player("ana"), await player("ben")];
  await clock.scenario.query(
    (sql) =>
      sql`update players set status = ${status} where property_id = ${clock.scenario.id} and id = ${ana}`,
  );
  const journey = await clock.published(behind({ on: "api" }, { on: "event", event: "signup" }));
  expect(await clock.enroll(journey, [ana, ben])).toMatchObject({ entered: 1, barred: 1 });
  await event(ana, "signup").catch(() => {});
  expect(await players(journey)).toEqual(["ben"]);
});

test("two requests at once let a player in once", async () => {
  const ids = await Promise.all(["a", "b", "c"].map((name) => player(name)));
  const journey = await clock.published(behind({ on: "api" }));
  const answers = await Promise.all([1, 2, 3, 4].map(() => clock.enroll(journey, ids)));
  const entered = answers.reduce((sum, answer) => sum + answer.entered, 0);
  expect(entered).toBe(3);
  expect(await players(journey)).toEqual(["a", "b", "c"]);
});
