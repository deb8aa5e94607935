import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { connect, type Database } from "#db/database.ts";
import {
  adHoc,
  assignments,
  cast,
  cte,
  type Fragment,
  identifier,
  insertedValues,
  join,
  numbered,
  raw,
  type Sql,
  sql,
} from "#db/sql.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";

/** More statements than a request's deadline allows on a busy machine. */
const PATIENT = { deadline: Number.POSITIVE_INFINITY };
const PROPERTY = "01900000-0000-7000-8000-00000000000a";

let database: TestDatabase;
/** One connection, so that what it keeps prepared can be asked for. */
let db: Database;

beforeAll(async () => {
  database = await testDatabase();
  db = connect(database.url, { size: 1, application: "fragments" });
});
afterAll(async () => {
  await db?.close();
  await database?.drop();
});

const textOf = (fragment: Fragment) => numbered(fragment).text.replaceAll(/\s+/g, " ");

describe("a fragment", () => {
  test("numbers its values by their place in the whole, however deep they lie, and is the same in each place", () => {
    const own = sql`p.id = ${7}`;
    const inner = sql`${own} or ${sql`not ${own}`}`;
    const whole = sql`select ${"a"} where ${own} and (${inner}) limit ${1}`;
    expect(numbered(whole)).toEqual({
      text: "select $1 where p.id = $2 and (p.id = $3 or not p.id = $4) limit $5",
      values: ["a", 7, 7, 7, 1],
    });
    expect(numbered(own)).toEqual({ text: "p.id = $1", values: [7] });
    expect(numbered(sql`${own}${own}`)).toEqual({ text: "p.id = $1p.id = $2", values: [7, 7] });
    expect(numbered(sql`a${raw("")}b${sql``}c`)).toEqual({ text: "abc", values: [] });
  });

  test("takes a list, an object, null and what looks like SQL as values", () => {
    const given = [[1, 2], { a: 1 }, null, "'; drop table players; --", "$1", []];
    const [list, object, nothing, evil, place, empty] = given;
    expect(numbered(sql`${list} ${object} ${nothing} ${evil} ${place} ${empty}`)).toEqual({
      text: "$1 $2 $3 $4 $5 $6",
      values: given,
    });
  });

  test("is put together by join, cte and the lists of columns", () => {
    const [one, two] = [sql`a = ${1}`, sql`b = ${2}`];
    expect(numbered(join([one, two], " and "))).toEqual({ text: "a = $1 and b = $2", values: [1, 2] });
    expect(numbered(join([one, two]))).toEqual({ text: "a = $1, b = $2", values: [1, 2] });
    expect(numbered(join([one]))).toEqual(numbered(one));
    expect(numbered(join([]))).toEqual({ text: "", values: [] });
    const ctes = [cte("x", one), cte("y", two, "materialized"), cte("z", one, "not materialized")];
    expect(textOf(sql`with ${join(ctes)} select ${3}`)).toBe(
      "with x as (a = $1), y as materialized (b = $2), z as not materialized (a = $3) select $4",
    );
    expect(numbered(cast([1], "int[]"))).toEqual({ text: "$1::int[]", values: [[1]] });
    const row = { name: "a", 'od"d': null };
    expect(numbered(assignments(row))).toEqual({ text: '"name" = $1, "od""d" = $2', values: ["a", null] });
    expect(numbered(insertedValues(row))).toEqual({
      text: '("name", "od""d") values ($1, $2)',
      values: ["a", null],
    });
  });

  test("refuses a list of fragments, which would go to PostgreSQL as a value", () => {
    expect(() => sql`select ${[sql`a`, sql`b`]}`).toThrow("joined by join");
    expect(() => sql`select ${[sql`a`]}`).toThrow(TypeError);
  });

  test("is ad hoc as soon as a part of it is", () => {
    const part = adHoc(sql`a = ${1}`);
    for (const whole of [
      part,
      sql`select ${part}`,
      sql`${sql`${part}`} and ${sql`b`}`,
      join([sql`b`, part]),
      cte("x", part),
    ]) {
      expect(whole.isAdHoc).toBe(true);
    }
    expect(sql`select ${sql`b`}`.isAdHoc).toBe(false);
    expect(numbered(part)).toEqual({ text: "a = $1", values: [1] });
  });
});

test("an identifier is one name, with any characters in it", async () => {
  for (const name of ["plain", 'a"b', '"; drop table players; --', "a.b", "Ä ' \\"]) {
    const [row] = await db.asSystem((run) => run`select 1 as ${identifier(name)}`);
    expect(row).toEqual({ [name]: 1 });
  }
});

describe("a transaction's tag", () => {
  const COUNT = sql`set_config('test.runs',
    (coalesce(nullif(current_setting('test.runs', true), ''), '0')::int + 1)::text, true)`;
  const runs = async (run: Sql) =>
    (await run<{ runs: string }[]>`select current_setting('test.runs', true) as runs`)[0]!.runs;

  test("runs a statement once, however often it is awaited", async () => {
    await db.asSystem(async (run) => {
      const statement = run`select ${COUNT} as runs`;
      const [first, second, third] = await Promise.all([
        statement,
        statement,
        statement.then((rows) => rows),
      ]);
      expect([...first]).toEqual([{ runs: "1" }]);
      expect([second, third]).toEqual([first, first]);
      await statement.finally(() => {});
      expect(await statement).toBe(first);
      expect(await runs(run)).toBe("1");
    });
  });

  test("runs nothing that is not awaited, and takes it as a part of another statement", async () => {
    await db.asSystem(async (run) => {
      const part = run`select ${3}::int as n, ${COUNT} as runs`;
      expect([...(await run`select n + ${4}::int as sum from (${part}) p where n = ${3}`)]).toEqual([
        { sum: 7 },
      ]);
      run`select ${COUNT}`;
      expect(await runs(run)).toBe("1");
    });
  });

  test("counts what a statement wrote, and throws what PostgreSQL refuses to each who awaits it", async () => {
    await db.asSystem(async (run) => {
      await run`create temp table sums (n int) on commit drop`;
      expect((await run`insert into sums select generate_series(1, ${5}::int)`).count).toBe(5);
      expect((await run`delete from sums where n > ${2}`).count).toBe(3);
    });
    const failing = db.asSystem(async (run) => {
      const statement = run`select 1 / ${0}::int`;
      await expect(statement).rejects.toMatchObject({ code: "22012" });
      await statement;
    });
    await expect(failing).rejects.toMatchObject({ code: "22012" });
  });

  test("keeps a statement prepared, and none that is ad hoc", async () => {
    const marked = (mark: string) => raw(`/* ${mark} */ true`);
    await db.asSystem(async (run) => {
      await run`select ${marked("kept")} and ${1}::int = 1`;
      await run`select ${sql`${adHoc(marked("let go"))} and ${1}::int = 1`}`;
      await run`select 1 where ${adHoc(run`${marked("of a tag")}`)}`;
      const kept = await run<{ statement: string }[]>`select statement from pg_prepared_statements`;
      const texts = kept.map(({ statement }) => statement).join();
      expect(texts).toContain("/* kept */");
      expect(texts).not.toMatch(/let go|of a tag/);
      const awaited = adHoc(run`select ${COUNT}`);
      await awaited;
      expect(await runs(run)).toBe("");
    });
  });
});

describe("a statement with its values as literals", () => {
  const text = fc
    .oneof(
      fc.string({ unit: "grapheme" }),
      fc.constantFrom("'", "\\", "\\'", "E'x'", "$1", "NULL", "{}", '"', "a,b\n"),
    )
    .filter((one) => !one.includes("\0"));

  /** The text that COPY prints of each expression, as the tenant. */
  async function copied(cells: readonly Fragment[]): Promise<unknown[]> {
    const rows = cells.map(
      (cell, place) => sql`select ${place}::int as place, to_json(${cell})::text as cell`,
    );
    const query = sql`
      select encode(convert_to(coalesce(cell, 'null'), 'UTF8'), 'hex') from (${join(rows, " union all ")}) c
      order by place`;
    const stream = (await db.exportSlot(PROPERTY)).start((copy) => copy(query));
    const pieces: Buffer[] = [];
    for (let piece = await stream.next(); piece; piece = await stream.next()) pieces.push(piece);
    const lines = Buffer.concat(pieces).toString().trim().split("\n");
    return lines.map((line) => JSON.parse(Buffer.from(line, "hex").toString()) as unknown);
  }

  test("comes out of COPY as it went, with quotes, backslashes and lists", async () => {
    const lists = fc.array(fc.oneof(text, fc.constant(null)));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(text, lists), { minLength: 1, maxLength: 8 }), async (pairs) => {
        const cells = pairs.flatMap(([one, list]) => [cast(one, "text"), cast(list, "text[]")]);
        expect(await copied(cells)).toEqual(pairs.flat());
      }),
      { numRuns: 60 },
    );
  });

  test("has null, numbers, booleans and lists of them", async () => {
    const cells = [
      cast(null, "text"),
      cast(-1.5, "float8"),
      cast(true, "boolean"),
      cast(false, "boolean"),
      cast([1, null, 3], "int[]"),
      cast([], "text[]"),
      sql`${null}::int is null and ${"a"}::text = ${"a"}::text`,
    ];
    expect(await copied(cells)).toEqual([null, -1.5, true, false, [1, null, 3], [], true]);
  });
});

test("however many texts there are, a connection keeps no more than so many of them prepared", async () => {
  // The kept ones are counted by process, and other tests have run in this one.
  vi.resetModules();
  const { connect: connectAnew } = await import("#db/database.ts");
  const { raw: rawAnew } = await import("#db/sql.ts");
  const anew = connectAnew(database.url, { size: 1 });
  await anew.asSystem(async (run) => {
    for (let from = 0; from < 1_200; from += 100) {
      const numbers = Array.from({ length: 100 }, (_, index) => from + index);
      const rows = await Promise.all(
        numbers.map((n) => run<{ n: number }[]>`select ${rawAnew(String(n))} + ${1}::int as n`),
      );
      expect(rows.map(([row]) => row!.n)).toEqual(numbers.map((n) => n + 1));
    }
    const [kept] = await run<{ count: number }[]>`select count(*)::int from pg_prepared_statements`;
    expect(kept!.count).toBeGreaterThan(900);
    expect(kept!.count).toBeLessThanOrEqual(1_000);
  }, PATIENT);
  await anew.close();
  // 2,200 statements, a hundred at a time.
});
