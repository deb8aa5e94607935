import { randomUUID } from "node:crypto";
import fc from "fast-check";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Database } from "#db/database.ts";
import { parseQuery } from "#db/query/parse.ts";
import { QueryError } from "#db/query/readable-table.ts";
import { type Count, type Page, reader } from "#db/query/reader.ts";
import { type Fragment, numbered } from "#db/sql.ts";
import { testDatabase } from "../../support/database.ts";
import { isFull } from "../../support/proof-size.ts";
import { holds, rendered, someCondition, someGroup } from "./filter-oracle.ts";
import {
  createdAt,
  everyone,
  idOf,
  PROPERTY,
  players,
  RIVAL,
  readable,
  seedPlayers,
} from "./thirty-players.ts";

const database = await testDatabase();
beforeAll(() => seedPlayers(database.db));
afterAll(() => database.drop());

const read = reader(database.db);
const list = async (query: string, options?: { count?: Count }): Promise<Page> =>
  read.list(PROPERTY, readable, parseQuery(readable, new URLSearchParams(query)), options);
const names = (page: Page): string[] =>
  JSON.parse(page.body).map((player: { player_id: string }) => player.player_id);

describe("a list", () => {
  test("is newest first, fifty at most, every column, in the table's order", async () => {
    const page = await list("");
    const newest = everyone.toSorted((a, b) =>
      `${createdAt(b)}${idOf(b)}`.localeCompare(`${createdAt(a)}${idOf(a)}`),
    );
    expect(names(page)).toEqual(newest);
    expect(page).toEqual({ body: page.body, rows: 30 });
    await withCrowd(async (property) => {
      const query = parseQuery(readable, new URLSearchParams());
      expect((await read.list(property, readable, query)).rows).toBe(50);
    });
    const [first] = JSON.parse(page.body);
    expect(Object.keys(first)).toEqual(Object.keys(readable.columns));
    expect(first.created_at).toBe(createdAt(newest[0] ?? "").replace(".000Z", "+00:00"));
  });

  test("gives the chosen columns alone, computed ones too", async () => {
    const page = await list("select=is_vip, player_id,is_vip&player_id=in.(ann,dee,zoe)&order=player_id");
    expect(JSON.parse(page.body)).toEqual([
      { player_id: "ann", is_vip: true },
      { player_id: "dee", is_vip: false },
      { player_id: "zoe", is_vip: null },
    ]);
    expect(Object.keys(JSON.parse((await list("select=id, *")).body)[0])).toHaveLength(15);
  });

  test("without rows is an empty array", async () => {
    expect(await list("limit=0", { count: "exact" })).toEqual({ body: "[]", rows: 0, total: 30 });
    expect(await list("offset=30")).toEqual({ body: "[]", rows: 0 });
    expect(await list("offset=2147483647", { count: "exact" })).toEqual({ body: "[]", rows: 0, total: 30 });
  });

  test("counts what fits the filters on all pages", async () => {
    const page = await list("tier.eq=Gold&limit=1", { count: "exact" });
    expect(page).toMatchObject({ rows: 1, total: 2 });
    expect(await list("tier.eq=Gold&cursor=&limit=1", { count: "exact" })).toMatchObject({
      rows: 1,
      total: 2,
    });
  });

  test("counts as the planner guesses, or exactly where rows are few", async () => {
    expect(await list("tier.eq=Gold&limit=1", { count: "estimated" })).toMatchObject({ rows: 1, total: 2 });
    await withCrowd(async (property) => {
      const query = parseQuery(readable, new URLSearchParams("limit=1"));
      const totals = async () => {
        const counts = ["exact", "estimated", "planned"] as const;
        const pages = await Promise.all(
          counts.map((count) => read.list(property, readable, query, { count })),
        );
        return pages.map(({ total }) => total);
      };
      await analyzed("players");
      const [exact, estimated, planned] = await totals();
      expect(exact).toBe(1100);
      for (const guess of [estimated, planned]) expect(Math.abs(guess! - 1100)).toBeLessThan(50);
    });
  });

  test("puts nulls last ascending and first descending, unless told otherwise", async () => {
    const valued = ["dee", "cid", "ann", "bob", "rex"];
    const head = async (order: string) => names(await list(`order=${order}&limit=5`));
    const tail = async (order: string) => names(await list(`order=${order}&offset=25`));
    expect(await head("adt")).toEqual(valued);
    expect(await head("adt.asc.nullslast")).toEqual(valued);
    expect(await tail("adt.nullsfirst")).toEqual(valued);
    expect(await tail("adt.desc")).toEqual(valued.toReversed());
    expect(await head("adt.desc.nullslast")).toEqual(valued.toReversed());
    expect(names(await list("order=legal_hold.desc,is_vip.desc.nullslast,adt.desc&limit=4"))).toEqual([
      ...["pam", "ann", "cid", "dee"],
    ]);
  });

  test("reads a deep page as it reads a shallow one", async () => {
    const deep = { ...parseQuery(readable, new URLSearchParams("order=tier.desc,adt")), offset: 1000 };
    expect(await read.list(PROPERTY, readable, deep)).toEqual({ body: "[]", rows: 0 });
    await withCrowd(async (property) => {
      for (const order of ["", "&order=adt.desc.nullslast,player_id", "&order=is_vip"]) {
        const at = async (offset: number, limit: number) =>
          JSON.parse(
            (
              await read.list(
                property,
                readable,
                parseQuery(readable, new URLSearchParams(`offset=${offset}&limit=${limit}${order}`)),
              )
            ).body,
          );
        expect(await at(1000, 20)).toEqual((await at(999, 21)).slice(1));
      }
    });
  });
});

test("pages of a cluster are those of one PostgreSQL, by statements without a query inside", async () => {
  const texts: string[] = [];
  const watched: Pick<Database, "read"> = {
    read: (statement, options) => {
      texts.push(numbered(statement).text);
      return database.db.read(statement, options);
    },
  };
  const cluster = reader(watched, { isCluster: true });
  for (const query of [
    "",
    "limit=0",
    "offset=29",
    "select=tags,is_vip",
    "tier.eq=Gold&order=adt.desc&limit=1",
  ]) {
    const asked = parseQuery(readable, new URLSearchParams(query));
    const { body, rows } = await cluster.list(PROPERTY, readable, asked);
    const page = await list(query);
    expect(rows).toBe(page.rows);
    expect(JSON.parse(body)).toEqual(JSON.parse(page.body));
  }
  expect(texts).toHaveLength(5);
  for (const text of texts) expect(text.match(/\bselect\b/g)).toHaveLength(1);
});

describe("one record", () => {
  test("is found by its id, with the chosen columns", async () => {
    const ann = JSON.parse((await read.get(PROPERTY, readable, idOf("ann"))) ?? "");
    expect(ann).toMatchObject({ player_id: "ann", property_id: PROPERTY, tags: ["vip", "slots"] });
    expect(await read.get(PROPERTY, readable, idOf("ann"), ["tier", "id"])).toBe(
      `{"id":"${idOf("ann")}","tier":"Gold"}`,
    );
  });

  test("of an unknown id, of a rival, or deleted is not there", async () => {
    const [{ id: rivals }] = JSON.parse(await bodyOf(RIVAL, "limit=1"));
    const [ghost] = await database.db.asProperty(
      PROPERTY,
      (sql) => sql`select id from players where property_id = ${PROPERTY} and player_id = 'ghost'`,
    );
    for (const id of [rivals, ghost?.id, PROPERTY]) expect(await read.get(PROPERTY, readable, id)).toBeNull();
    expect(await read.get(RIVAL, readable, rivals)).toContain(rivals);
    expect(await read.get(RIVAL, readable, idOf("ann"))).toBeNull();
    await expect(read.get(PROPERTY, readable, "ann")).rejects.toThrow(QueryError);
  });
});

describe("keyset paging", () => {
  const orders = fc.uniqueArray(
    fc.record({
      column: fc.constantFrom(
        ...[
          "tier",
          "adt",
          "is_vip",
          "birth_date",
          "last_visit_at",
          "coin_in",
          "created_at",
          "player_id",
          "id",
        ],
      ),
      direction: fc.constantFrom("", ".asc", ".desc"),
      nulls: fc.constantFrom("", ".nullsfirst", ".nullslast"),
    }),
    { minLength: 0, maxLength: 3, selector: ({ column }) => column },
  );

  test("walks any order, nulls included, through each row once", async () => {
    await fc.assert(
      fc.asyncProperty(orders, fc.integer({ min: 1, max: 12 }), fc.boolean(), async (order, size, some) => {
        const keys = order.map(({ column, direction, nulls }) => column + direction + nulls).join(",");
        const query = `${keys && `&order=${keys}`}${some ? "&or=(adt.is.null,tier.not.eq.Gold)" : ""}`;
        const walked: string[] = [];
        let cursor: string | undefined = "";
        while (cursor !== undefined) {
          const page: Page = await list(`limit=${size}&cursor=${cursor}${query}`);
          expect(page.rows).toBe(names(page).length);
          expect(page.rows).toBeLessThanOrEqual(size);
          walked.push(...names(page));
          // Otherwise a cursor that goes back would never end.
          expect(walked.length).toBeLessThanOrEqual(everyone.length);
          cursor = page.nextCursor;
        }
        expect(walked).toEqual(names(await list(`limit=1000${query}`)));
      }),
      { numRuns: isFull ? 60 : 20, seed: 7 },
    );
  });

  test("ends without a cursor when the last page is full", async () => {
    const first = await list("limit=15&cursor=");
    const second = await list(`limit=15&cursor=${first.nextCursor}`);
    expect([first.rows, second.rows, second.nextCursor]).toEqual([15, 15, undefined]);
    expect((await list("limit=0&cursor=")).nextCursor).toBeUndefined();
  });

  test("stays in the property with every cursor", async () => {
    const rivals = await read.list(
      RIVAL,
      readable,
      parseQuery(readable, [
        ["limit", "1"],
        ["cursor", ""],
      ]),
    );
    const page = await list(`cursor=${rivals.nextCursor}`);
    expect(names(page).every((name) => everyone.includes(name))).toBe(true);
    expect(JSON.parse(page.body).every((row: { property_id: string }) => row.property_id === PROPERTY)).toBe(
      true,
    );
  });

  test.for([
    ["that is no base64", "%%%", ""],
    ["that is no JSON", "abcd", ""],
    ["without a signature", "WyItY3JlYXRlZF9hdF4sLWlkXiJd", ""],
    ["with an empty signature", "WyItY3JlYXRlZF9hdF4sLWlkXiJd.", ""],
    ["with NUL", "a\0", ""],
  ] as const)("refuses a cursor %s", async ([, cursor, order]) => {
    await expect(list(`cursor=${encodeURIComponent(cursor)}${order}`)).rejects.toThrow(QueryError);
  });

  test("refuses a cursor that was changed, or belongs to another order, table or service", async () => {
    const { nextCursor = "" } = await list("limit=1&cursor=");
    const [content = "", mac = ""] = nextCursor.split(".");
    const forged = Buffer.from(
      JSON.stringify([...JSON.parse(Buffer.from(content, "base64url").toString()).slice(0, 2), idOf("ann")]),
    ).toString("base64url");
    // Its last letter has four bits that no byte is made of.
    const twin = mac.slice(0, -1) + String.fromCharCode(mac.charCodeAt(mac.length - 1) + 1);
    expect(Buffer.from(twin, "base64url")).toEqual(Buffer.from(mac, "base64url"));
    const others = [`${forged}.${mac}`, content, `${nextCursor}.x`, `${content}.${mac.slice(1)}`];
    for (const cursor of [...others, `${content}.${twin}`]) {
      await expect(list(`cursor=${cursor}`)).rejects.toThrow(/no cursor of this list/);
    }
    await expect(list(`cursor=${nextCursor}&order=adt`)).rejects.toThrow(/another order/);
    const query = parseQuery(readable, new URLSearchParams(`cursor=${nextCursor}`));
    const other = { ...readable, table: "segments" };
    await expect(read.list(PROPERTY, other, query)).rejects.toThrow(/no cursor of this list/);
    await expect(reader(database.db).list(PROPERTY, readable, query)).rejects.toThrow(
      /no cursor of this list/,
    );
    expect((await list(`cursor=${nextCursor}`)).rows).toBe(29);
  });
});

test("any filters find exactly the players that a plain reading of them finds", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(someCondition, someGroup), { maxLength: 4 }), async (filters) => {
      const pairs = [...filters.map(rendered), ["order", "player_id"] as [string, string]];
      const page = await read.list(PROPERTY, readable, parseQuery(readable, pairs));
      const expected = players
        .filter((player) => filters.every((filter) => holds(filter, player) === true))
        .map(({ player_id }) => player_id);
      expect(names(page)).toEqual(expected.sort());
    }),
    { numRuns: isFull ? 400 : 150, seed: 11 },
  );
});

test("every statement starts from the property, and holds no value of the request", async () => {
  const seen: { statement: Fragment; short: boolean }[] = [];
  const watched: Pick<Database, "read"> = {
    read: (statement, options) => {
      seen.push({ statement, short: options?.short === true });
      return database.db.read(statement, options);
    },
  };
  for (const query of [
    "",
    "cursor=",
    "offset=5000",
    "or=(tier.eq.zz9,custom.zz9.eq.zz9)",
    "tags.cs={zz9}&adt.in=(99)",
  ]) {
    const parsed = parseQuery(readable, new URLSearchParams(query));
    await reader(watched).list(PROPERTY, readable, parsed, { count: "exact" });
    await reader(watched).list(PROPERTY, readable, parsed);
  }
  await reader(watched).get(PROPERTY, readable, idOf("ann"));
  expect(seen.filter(({ short }) => short)).toHaveLength(3);
  for (const { statement, short } of seen) {
    const { text, values } = numbered(statement);
    // By its first value the service knows the property of a short statement.
    if (short) expect(values[0]).toBe(PROPERTY);
    expect(text).not.toMatch(/zz9|99|5000/);
    const tables = text.match(/from "players"/g) ?? [];
    const owned = text.matchAll(/from "players" where "property_id" = \$(\d+) and \(deleted_at is null\)/g);
    expect([...owned].map(([, place]) => values[Number(place) - 1])).toEqual(tables.map(() => PROPERTY));
    expect(tables.length).toBeGreaterThan(0);
  }
});

async function bodyOf(property: string, query: string): Promise<string> {
  return (await read.list(property, readable, parseQuery(readable, new URLSearchParams(query)))).body;
}

/** On every node of a cluster. */
async function analyzed(table: string): Promise<void> {
  const admin = postgres(database.url, { max: 1 });
  await admin`analyze ${admin(table)}`;
  await admin.end();
}

/** A property of 1,100 players, for deep pages. */
async function withCrowd(work: (property: string) => Promise<void>): Promise<void> {
  const crowd = randomUUID();
  await database.db.asSystem(
    (sql) => sql`insert into properties (id, name, slug) values (${crowd}, 'Crowd', ${crowd})`,
  );
  await database.db.asProperty(
    crowd,
    (sql) => sql`insert into players (property_id, player_id, adt, created_at)
      select ${crowd}, 'p' || n, nullif(n % 100, 7), timestamptz '2026-01-01' + n % 300 * interval '1 second'
      from generate_series(1, 1100) n returning 1`,
  );
  await work(crowd);
}
