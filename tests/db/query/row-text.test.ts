import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { objectWriter } from "#db/query/row-text.ts";
import { sql } from "#db/sql.ts";
import { testDatabase } from "../../support/database.ts";

const database = await testDatabase();
afterAll(() => database.drop());

/** Quotes, backslashes, commas and brackets: all that separates values, inside of them. */
const text = fc
  .array(fc.constantFrom('"', "\\", ",", ", ", "[", "]", "{", "}", "é", "\n", "\u2028"), { maxLength: 8 })
  .map((parts) => parts.join(""));
const rows = fc.array(
  fc.record({ a: fc.option(text), b: fc.jsonValue(), c: fc.array(text), d: fc.double() }),
  {
    minLength: 400,
    maxLength: 400,
  },
);

test("a row is the object that row_to_json makes of it", async () => {
  const [given] = fc.sample(rows, 1);
  const storable = JSON.stringify(given).replaceAll("\\u0000", "");
  const found = await database.db.read(sql`
    select row_to_json(r), json_build_array(a, b, c, d)
    from json_to_recordset(${storable}::text::json) r(a text, b jsonb, c text[], d double precision)`);
  expect(found).toHaveLength(400);
  const write = objectWriter(["a", "b", "c", "d"]);
  for (const [object, values] of found) expect(write(String(values))).toBe(String(object));
});

test("a number keeps its digits", () => {
  expect(objectWriter(["id"])("[9007199254740993]")).toBe('{"id":9007199254740993}');
});
