import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeFields } from "#tools/segments/rules/compile.ts";
import { ago, CLOCK, openSegments, row, ZONE } from "./scenario.ts";

let segments: Awaited<ReturnType<typeof openSegments>>;

beforeAll(async () => {
  segments = await openSegments();
  const admin = postgres(segments.url, { max: 1, onnotice: () => {} });
  await admin.unsafe(CLOCK);
  await admin.end();
});

afterAll(() => segments.drop());

describe("every operator", () => {
  let property: string;
  const host = randomUUID();

  // ann has everything, bob has other values, nil has nothing that can be missing.
  beforeAll(async () => {
    const people = [
      {
        player_id: "ann",
        first_name: "Ann 50%_\\",
        tier: "Gold",
        adt: 100.5,
        birth_date: "1980-02-29",
        last_visit_at: ago(3),
        host_id: host,
        legal_hold: true,
        tags: ["vip", "golf"],
        consents: { sms: true, email: false },
        custom: {
          game: "Slots",
          kind: "New",
          points: 7,
          member: true,
          likes: ["a", "b"],
          born: "2026-05-31",
          since: "2026-05-31",
          zero: "",
        },
      },
      {
        player_id: "bob",
        first_name: "bob",
        tier: "Silver",
        adt: 20,
        birth_date: "1991-07-04",
        last_visit_at: ago(40),
        host_id: randomUUID(),
        tags: ["golf"],
        consents: { sms: false, email: true },
        custom: {
          game: "slots",
          points: "7",
          member: "true",
          likes: ["c"],
          born: "2026-06-01",
          since: "2026-05-31T23:00:00-04:00",
        },
      },
      { player_id: "nil", custom: { game: null } },
    ];
    property = await segments.propertyWith(people, ZONE, {
      game: "text",
      kind: "enum",
      points: "number",
      member: "boolean",
      likes: "text_list",
      born: "date",
      since: "datetime",
      zero: "text",
    });
  });

  const cases: [field: string, operator: string, value: unknown, matches: string][] = [
    ["tier", "eq", "Gold", "ann"],
    ["tier", "eq", "gold", ""],
    ["tier", "neq", "Gold", "bob nil"],
    ["tier", "in", ["Gold", "Silver"], "ann bob"],
    ["tier", "not_in", ["Gold"], "bob nil"],
    ["tier", "gt", "Silver", "ann"],
    ["tier", "gte", "Silver", "ann bob"],
    ["tier", "lt", "Gold", "bob"],
    ["tier", "lte", "Diamond", "ann bob"],
    ["tier", "between", ["Bronze", "Silver"], "bob"],
    ["tier", "not_between", ["Bronze", "Silver"], "ann nil"],
    ["first_name", "gt", "Ann", "ann bob"],
    ["tier", "is", null, "nil"],
    ["tier", "is", "not_null", "ann bob"],
    ["tier", "is_set", undefined, "ann bob"],
    ["tier", "is_not_set", undefined, "nil"],
    ["tier", "is_empty", undefined, "nil"],
    ["tier", "not", null, "ann bob"],
    ["tier", "not", { operator: "eq", value: "Gold" }, "bob nil"],
    ["tier", "not", "Gold", "bob nil"],
    ["tier", "not", { operator: "is", value: null }, "ann bob"],
    ["first_name", "like", "Ann*", "ann"],
    ["first_name", "like", "%o%", "bob"],
    ["first_name", "like", "ann*", ""],
    ["first_name", "like", "b_b", "bob"],
    ["first_name", "like", "*\\%\\_\\\\", "ann"],
    ["first_name", "like", "*_\\", "ann"],
    ["first_name", "ilike", "ANN*", "ann"],
    ["first_name", "contains", "OB", "bob"],
    ["first_name", "contains", "%", "ann"],
    ["first_name", "contains", "_\\", "ann"],
    ["first_name", "contains", "*", ""],
    ["first_name", "not_contains", "OB", "ann nil"],
    ["first_name", "starts_with", "ANN", "ann"],
    ["first_name", "ends_with", "_\\", "ann"],
    ["adt", "eq", 20, "bob"],
    ["adt", "neq", 20, "ann nil"],
    ["adt", "gt", 20, "ann"],
    ["adt", "gte", 20, "ann bob"],
    ["adt", "lt", 100.5, "bob"],
    ["adt", "lte", 100.5, "ann bob"],
    ["adt", "in", [20, 21], "bob"],
    ["adt", "not_in", [20], "ann nil"],
    ["adt", "between", [20, 100], "bob"],
    ["adt", "not_between", [20, 100], "ann nil"],
    ["adt", "is_not_set", undefined, "nil"],
    ["legal_hold", "eq", true, "ann"],
    ["legal_hold", "neq", true, "bob nil"],
    ["legal_hold", "is", false, "bob nil"],
    ["legal_hold", "not", true, "bob nil"],
    ["host_id", "eq", host, "ann"],
    ["host_id", "eq", host.toUpperCase(), "ann"],
    ["host_id", "neq", host, "bob nil"],
    ["host_id", "in", [host], "ann"],
    ["host_id", "not_in", [host], "bob nil"],
    ["birth_date", "eq", "1980-02-29", "ann"],
    ["birth_date", "neq", "1980-02-29", "bob nil"],
    ["birth_date", "before", "1991-07-04", "ann"],
    ["birth_date", "after", "1980-02-29", "bob"],
    ["birth_date", "in", ["1991-07-04"], "bob"],
    ["birth_date", "between", ["1980-01-01", "1980-12-31"], "ann"],
    ["birth_date", "not_between", ["1980-01-01", "1980-12-31"], "bob nil"],
    ["birth_date", "on_day", "1991-07-04", "bob"],
    ["birth_date", "in_last_days", 36500, "ann bob"],
    ["birth_date", "not_in_last_days", 30, "ann bob nil"],
    ["birth_date", "anniversary_in_next_days", 366, "ann bob"],
    ["last_visit_at", "in_last_days", 7, "ann"],
    ["last_visit_at", "not_in_last_days", 7, "bob nil"],
    ["last_visit_at", "in_next_days", 7, ""],
    ["last_visit_at", "before", ago(10), "bob"],
    ["last_visit_at", "after", ago(10), "ann"],
    ["last_visit_at", "gte", "2000-01-01", "ann bob"],
    ["last_visit_at", "between", [ago(50), ago(10)], "bob"],
    ["last_visit_at", "is_set", undefined, "ann bob"],
    ["tags", "has_any", ["vip", "tennis"], "ann"],
    ["tags", "has_all", ["vip", "golf"], "ann"],
    ["tags", "has_none", ["vip"], "bob nil"],
    ["tags", "is_empty", undefined, "nil"],
    ["tags", "is_set", undefined, "ann bob nil"],
    ["consent.sms", "eq", true, "ann"],
    ["consent.sms", "eq", false, "bob"],
    ["consent.sms", "neq", true, "bob nil"],
    ["consent.sms", "is", true, "ann"],
    ["consent.sms", "is", null, "nil"],
    ["consent.voice", "is_not_set", undefined, "ann bob nil"],
    ["custom.game", "eq", "Slots", "ann"],
    ["custom.game", "neq", "Slots", "bob nil"],
    ["custom.game", "ilike", "SLOTS", "ann bob"],
    ["custom.game", "contains", "lot", "ann bob"],
    ["custom.game", "not_contains", "S", "nil"],
    ["custom.game", "in", ["slots", "x"], "bob"],
    ["custom.game", "not_in", ["slots"], "ann nil"],
    ["custom.game", "is", null, "nil"],
    ["custom.game", "is_set", undefined, "ann bob"],
    ["custom.points", "eq", 7, "ann"],
    ["custom.kind", "in", ["New", "Old"], "ann"],
    ["custom.born", "eq", "2026-05-31", "ann"],
    ["custom.born", "after", "2026-05-31", "bob"],
    ["custom.born", "not_between", ["2026-05-01", "2026-05-31"], "bob nil"],
    ["custom.born", "on_day", "2026-06-01", "bob"],
    ["custom.points", "neq", 7, "bob nil"],
    ["custom.points", "gte", 7, "ann"],
    ["custom.points", "between", [1, 9], "ann"],
    ["custom.points", "not_between", [1, 9], "bob nil"],
    ["custom.points", "in", [7, 8], "ann"],
    ["custom.member", "eq", true, "ann"],
    ["custom.member", "is", true, "ann"],
    ["custom.member", "not", true, "bob nil"],
    ["custom.likes", "has_any", ["a", "x"], "ann"],
    ["custom.likes", "has_all", ["a", "b"], "ann"],
    ["custom.likes", "has_none", ["a"], "bob nil"],
    ["custom.likes", "is_empty", undefined, "nil"],
    ["custom.since", "on_day", "2026-05-31", "ann bob"],
    ["custom.since", "before", "2026-06-01", "ann bob"],
    ["custom.since", "after", "2026-05-31", "bob"],
    ["custom.since", "after", "2026-06-01T02:59:59Z", "bob"],
    ["custom.zero", "is_empty", undefined, "ann bob nil"],
    ["custom.zero", "is_set", undefined, "ann"],
    ["player_id", "random_bucket", { percent: 100, salt: "x" }, "ann bob nil"],
    ["player_id", "random_bucket", { percent: 0, salt: "x" }, ""],
  ];

  test.each(cases)("%s %s %j matches: %s", async (field, operator, value, matches) => {
    const conditions = [row(field, operator, value)];
    expect((await segments.matching(property, { conditions })).join(" ")).toBe(matches);
  });

  test("the table above has every operator that needs no other table", () => {
    const seen = new Set(cases.map(([, operator]) => operator));
    const known = Object.keys(describeFields().operators);
    expect(known.filter((name) => !seen.has(name))).toEqual(["in_segment", "not_in_segment"]);
  });
});

describe("the calendar", () => {
  test("a birthday on February 29 is kept on February 28 in other years", async () => {
    const property = await segments.propertyWith([{ player_id: "leap", birth_date: "2000-02-29" }]);
    const born = async (now: string, days: number) =>
      segments.matching(
        property,
        { conditions: [row("birth_date", "anniversary_in_next_days", days)] },
        new Date(now),
      );

    expect(await born("2027-02-28T12:00:00Z", 0)).toEqual(["leap"]);
    expect(await born("2027-03-01T12:00:00Z", 0)).toEqual([]);
    expect(await born("2028-02-28T12:00:00Z", 0)).toEqual([]);
    expect(await born("2028-02-29T12:00:00Z", 0)).toEqual(["leap"]);
    expect(await born("2027-12-31T12:00:00Z", 60)).toEqual(["leap"]);
    expect(await born("2027-12-31T12:00:00Z", 59)).toEqual([]);
  });

  test("an anniversary in the next days may lie behind New Year", async () => {
    const property = await segments.propertyWith([
      { player_id: "dec", birth_date: "1990-12-30" },
      { player_id: "jan", birth_date: "1990-01-02" },
    ]);
    const conditions = [row("birth_date", "anniversary_in_next_days", 2)];
    expect(await segments.matching(property, { conditions }, new Date("2026-12-30T18:00:00Z"))).toEqual([
      "dec",
    ]);
    expect(await segments.matching(property, { conditions }, new Date("2026-12-31T18:00:00Z"))).toEqual([
      "jan",
    ]);
  });

  test("a day is the property's own day, also where the clocks change", async () => {
    const visits = [
      { player_id: "late", last_visit_at: "2026-03-09T03:59:59Z" },
      { player_id: "next", last_visit_at: "2026-03-09T04:00:00Z" },
    ];
    const conditions = [row("last_visit_at", "on_day", "2026-03-08")];
    expect(await segments.matching(await segments.propertyWith(visits), { conditions })).toEqual(["late"]);
    expect(
      await segments.matching(await segments.propertyWith(visits, "Pacific/Kiritimati"), { conditions }),
    ).toEqual([]);
    const since = [row("last_visit_at", "gte", "2026-03-09")];
    expect(await segments.matching(await segments.propertyWith(visits), { conditions: since })).toEqual([
      "next",
    ]);
  });

  test("an infinite date or a number too large for a double fails nobody else's audience", async () => {
    const odd = { player_id: "odd", birth_date: "infinity", custom: { n: 1 } };
    const property = await segments.propertyWith([odd], ZONE, { n: "number" });
    await segments.as(property, (sql) => sql`update players set custom = '{"n": 1e400}'`);
    expect(
      await segments.matching(property, { conditions: [row("birth_date", "anniversary_in_next_days", 400)] }),
    ).toEqual([]);
    expect(await segments.matching(property, { conditions: [row("custom.n", "gt", 1e308)] })).toEqual([
      "odd",
    ]);
  });

  test.each([
    "2026-02-30",
    "2026-13-01",
    "0000-01-01",
    "2026-05-31T24:00:00Z",
    "20260531",
    "soon",
    "2026-05-31T10:00:00",
  ])("a custom field that holds %j is no date and breaks no date rule", async (text) => {
    for (const type of ["date", "datetime"] as const) {
      const property = await segments.propertyWith([{ player_id: "odd", custom: { when: text } }], ZONE, {
        when: type,
      });
      for (const operator of ["before", "on_day"]) {
        const conditions = [row("custom.when", operator, "2027-01-01")];
        expect(await segments.matching(property, { conditions })).toEqual([]);
      }
    }
  });
});

test("the bucket of a player is the same for ever", async () => {
  const property = await segments.propertyWith(
    Array.from({ length: 8 }, (_, index) => ({ player_id: `p${index}` })),
  );
  const bucket = { percent: 50, salt: "spring" };
  expect(
    await segments.matching(property, { conditions: [row("player_id", "random_bucket", bucket)] }),
  ).toEqual(["p0", "p1", "p2", "p4", "p7"]);
});
