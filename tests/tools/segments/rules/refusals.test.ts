import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { numbered, sql } from "#db/sql.ts";
import { Fault } from "#runtime/faults.ts";
import { compileConditions, describeFields, Group } from "#tools/segments/rules/compile.ts";
import { row } from "./scenario.ts";

const PROPERTY = randomUUID();
const CUSTOMS = new Map(
  Object.entries({ game: "text", points: "number", since: "datetime" } as const).map(([key, type]) => [
    key,
    { key, label: key, type, enum_values: [], archived: false },
  ]),
);

function fault(rules: Partial<Group>): Fault {
  try {
    compileConditions(rules, { property: PROPERTY, customs: CUSTOMS, tiers: ["Low", "High"] });
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error("it was accepted");
}

function refusal(rules: Partial<Group>): string {
  return fault(rules).message;
}

describe("a refused rule", () => {
  test.each<[string, string, string, unknown]>([
    ["adt", "gt", "conditions[0].value: must be a number", "5"],
    ["adt", "gt", "conditions[0].value: must be a number", Number.NaN],
    ["adt", "gt", "conditions[0].value: must be a number", undefined],
    ["adt", "in", "conditions[0].value: must be an array of 1 to 1000 values", []],
    ["adt", "in", "conditions[0].value: must be an array of 1 to 1000 values", Array(1001).fill(1)],
    ["adt", "in", "conditions[0].value[1]: must be a number", [1, null]],
    ["adt", "between", "conditions[0].value: must be [low, high]", [1]],
    ["adt", "between", "conditions[0].value: must be [low, high] with low first", [2, 1]],
    ["adt", "between", "conditions[0].value[1]: must be a number", [1, "2"]],
    ["adt", "is", "conditions[0].value: must be null or not_null", true],
    ["tier", "eq", "conditions[0].value: must be a text", null],
    ["tier", "gte", "conditions[0].value: must be one of the property's tiers: Low, High", "low"],
    ["tier", "between", "conditions[0].value: must be [low, high] with low first", ["High", "Low"]],
    ["tier", "between", "conditions[0].value[1]: must be one of the property's tiers: Low, High", ["Low", 2]],
    ["tier", "eq", "conditions[0].value: must have at most 1000 characters", "x".repeat(1001)],
    ["tier", "eq", "conditions[0].value: must not hold a NUL character", "a\0b"],
    ["tier", "eq", "conditions[0].value: must be valid Unicode", "\ud800"],
    ["tier", "contains", "conditions[0].value: must not be empty", ""],
    ["tier", "is_set", "conditions[0].value: must be left out: this operator takes none", 1],
    ["tier", "is", "conditions[0].value: must be null or not_null", undefined],
    ["tier", "is", "conditions[0].value: must be null or not_null", { toString: 1 }],
    [
      "tier",
      "not",
      "conditions[0].value: must be {operator, value} with an operator other than not; or one value",
      { operator: "not", value: null },
    ],
    ["adt", "not", "conditions[0].value.value: must be a number", { operator: "gt", value: "x" }],
    ["tags", "has_any", "conditions[0].value[1]: must be a text", ["a", 1]],
    ["legal_hold", "eq", "conditions[0].value: must be true or false", "true"],
    ["host_id", "eq", "conditions[0].value: must be a uuid", "me"],
    ["birth_date", "on_day", "conditions[0].value: must be a date such as 2026-05-31", "2026-02-29"],
    ["birth_date", "gt", "conditions[0].value: must be a date such as 2026-05-31", "2026-05-31T00:00:00Z"],
    [
      "last_visit_at",
      "gt",
      "conditions[0].value: must be a date such as 2026-05-31 or a time such as 2026-05-31T18:00:00Z",
      "2026-05-31T25:00:00",
    ],
    [
      "last_visit_at",
      "in_last_days",
      "conditions[0].value: must be a whole number of days from 0 to 36500",
      36501,
    ],
    [
      "last_visit_at",
      "in_last_days",
      "conditions[0].value: must be a whole number of days from 0 to 36500",
      1.5,
    ],
    ["event.visit.count", "gte", "conditions[0].value: must be a number", { n: 3 }],
    [
      "event.visit.count",
      "is",
      "conditions[0].value: must be {op, n, within_days}: an operator, what it takes, and, if you like, a number of days",
      { n: 3 },
    ],
    ["event.visit.count", "is", "conditions[0].value.n: must be a number", { op: "gte", n: "3" }],
    [
      "event.visit.count",
      "is",
      "conditions[0].value.within_days: must be a whole number of days from 0 to 36500",
      { op: "gte", n: 3, within_days: -1 },
    ],
    [
      "event.visit.count",
      "is",
      "conditions[0].value.op: contains does not apply to event.visit.count (number); use one of eq, neq, gt, gte, lt, lte, in, not_in, between, not_between, is, is_set, is_not_set, not",
      { op: "contains", n: "3" },
    ],
    ["custom.points", "eq", "conditions[0].value: must be a number", "7"],
    ["custom.points", "gt", "conditions[0].value: must be a number", true],
    ["custom.game", "in", "conditions[0].value[1]: must be a text", ["a", 1]],
    [
      "custom.since",
      "before",
      "conditions[0].value: must be a date such as 2026-05-31 or a time such as 2026-05-31T18:00:00Z",
      7,
    ],
    [
      "id",
      "random_bucket",
      "conditions[0].value: must be {percent, salt}: a number from 0 to 100 and a text",
      { percent: 101, salt: "x" },
    ],
    ["id", "random_bucket", "conditions[0].value.salt: must be a text", { percent: 10 }],
    ["suppressed.sms", "eq", "conditions[0].value: must be true or false", "yes"],
  ])("%s %s: %s", (field, operator, message, value) => {
    expect(refusal({ conditions: [row(field, operator, value)] })).toBe(message);
  });

  test("an operator that does not fit the field is refused with those that do", () => {
    expect(refusal({ conditions: [row("adt", "contains", "x")] })).toBe(
      "conditions[0].operator: contains does not apply to adt (number); use one of eq, neq, gt, gte, lt, lte, in, not_in, between, not_between, is, is_set, is_not_set, not",
    );
    expect(refusal({ conditions: [row("tier", "random_bucket", { percent: 1, salt: "x" })] })).toContain(
      "does not apply",
    );
    expect(refusal({ conditions: [row("tier", "constructor", "x")] })).toContain("must be one of eq, neq");
  });

  test("a custom field that the property does not have is named, with those that it has", () => {
    const thrown = fault({ conditions: [row("custom.gmae", "eq", "Slots")] });
    expect(thrown.details?.[0]?.field).toBe("conditions[0].field");
    expect(thrown.message).toContain(
      '"custom.gmae" is not a custom field of this property (there are game, points, since)',
    );
    expect(refusal({ conditions: [row("custom.points", "contains", "7")] })).toContain(
      "contains does not apply to custom.points (number)",
    );
  });

  test.each([
    "nope",
    "password",
    "deleted_at",
    "__proto__",
    "constructor",
    "p.adt",
    "tier; drop table players",
    "custom.x') or true --",
    "custom.X",
    "consent.fax",
    "segment.7",
    "event.visit",
    "event..count",
    "event.visit.sum:",
    "event.visit.average",
    "event.7up.count",
    "event.a' or true --.count",
    "tier\n",
  ])("a field named %j is not known, and the known ones are listed", (name) => {
    const thrown = fault({
      groups: [{ logic: "and", conditions: [row("adt", "gt", 1), row(name, "is_set")] }],
    });
    expect(thrown.details?.[0]?.field).toBe("groups[0].conditions[1].field");
    expect(thrown.message).toContain("is not a field; use id, property_id, player_id");
    expect(thrown.message).toContain("custom.<key>");
  });

  test("rules without a condition are refused, also in a group: they would reach everyone", () => {
    expect(refusal({})).toContain("conditions: needs at least one condition");
    expect(refusal({ conditions: [], groups: [] })).toContain("conditions: needs at least one condition");
    expect(refusal({ groups: [{ logic: "and", conditions: [] }] })).toContain("groups[0].conditions: needs");
  });

  test("two hundred conditions and eight levels are the limit", () => {
    const many = (count: number) => Array.from({ length: count }, () => row("adt", "gt", 1));
    const deep = (levels: number): Group =>
      levels === 1
        ? { logic: "and", conditions: many(1) }
        : { logic: "and", conditions: [], groups: [deep(levels - 1)] };
    expect(() =>
      compileConditions(
        { conditions: many(150), groups: [{ logic: "or", conditions: many(50) }] },
        { property: PROPERTY },
      ),
    ).not.toThrow();
    expect(refusal({ conditions: many(150), groups: [{ logic: "or", conditions: many(51) }] })).toBe(
      "conditions: has 201 conditions in total; at most 200 are allowed",
    );
    expect(() => compileConditions(deep(8), { property: PROPERTY })).not.toThrow();
    expect(refusal(deep(9))).toContain("groups may lie 8 deep at most");
  });
});

test("no text of the caller's reaches the SQL", () => {
  const evil = "x' or true; drop table players; --";
  const rules = compileConditions(
    {
      logic: "or",
      conditions: [
        row("tier", "eq", evil),
        row("custom.game", "in", [evil]),
        row("tags", "has_any", [evil, "b"]),
        row("first_name", "contains", evil),
        row("id", "random_bucket", { percent: 5, salt: evil }),
        row("custom.points", "gt", 424242),
      ],
    },
    { property: PROPERTY, customs: CUSTOMS },
  );
  const { text, values } = numbered(sql`select ${1}, ${2}, ${3} where ${rules} limit ${4}`);
  expect(text).not.toMatch(/drop|points|424242/);
  expect(values.flat().filter((value) => String(value).includes("drop table"))).toHaveLength(5);
  const places = [...new Set(text.match(/\$\d+/g))].map((place) => Number(place.slice(1)));
  expect(places).toEqual(values.map((_, index) => index + 1));
  expect([...values.slice(0, 3), values.at(-1)]).toEqual([1, 2, 3, 4]);
  expect(values.length).toBeGreaterThan(4);
});

test("the catalog describes every field, and its rules are a JSON schema for agents", () => {
  const { columns_by_type: columns, families, operators_by_type: byType, operators } = describeFields();
  expect(columns.number).toContain("adt");
  expect(byType.number).toContain("between");
  expect(byType.number).not.toContain("starts_with");
  const types = [...Object.keys(columns), ...families.flatMap((family) => family.types)];
  expect(Object.keys(byType).sort()).toEqual([...new Set(types)].sort());
  expect(new Set(Object.values(byType).flat())).toEqual(new Set(Object.keys(operators)));
  expect(JSON.stringify(z.toJSONSchema(Group, { io: "input" }))).toContain("anniversary_in_next_days");
});
