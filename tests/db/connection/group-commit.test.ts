import { once } from "node:events";
import { type AddressInfo, createServer, connect as dial, type Socket } from "node:net";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect, type Database } from "#db/database.ts";
import { sql as fragment } from "#db/sql.ts";
import { testDatabase } from "../../support/database.ts";
import { asTheyAre } from "../../support/postgres/dying.ts";

const PROPERTY = "01900000-0000-7000-8000-00000000000a";
const RIVAL = "01900000-0000-7000-8000-00000000000b";

const database = await testDatabase();
const admin = postgres(database.url, { max: 1, onnotice: () => {} });
let db: Database;

beforeAll(async () => {
  for (const [index, id] of [PROPERTY, RIVAL].entries()) {
    await admin`insert into properties (id, name, slug) values (${id}, 'P', ${`p${index}`})`;
  }
  db = connect(database.url, { application: "group-commit-test" });
});
afterAll(async () => {
  await db.close();
  await admin.end();
  await database.drop();
});

/** Writes a segment, and answers the transaction that it was written in. */
const write = (property: string, name: string, before?: string) =>
  db.asProperty(
    property,
    async (sql, last) => {
      const [row] = await sql<[{ transaction: string; role: string; tenant: string }]>`
        select pg_current_xact_id()::text as transaction, current_user as role, current_property() as tenant`;
      last(asTheyAre, sql`insert into segments (property_id, name) values (${property}, ${name})`);
      return row;
    },
    { group: true, ...(before && { before: [before] }) },
  );
const named = async (start: string) => {
  const rows = await admin<{ name: string }[]>`select name from segments where starts_with(name, ${start})`;
  return rows.map(({ name }) => name).sort();
};
const many = <T>(count: number, one: (index: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, index) => one(index)));

test("writes that come at the same time share transactions, and each has its own answer", async () => {
  const written = await many(40, (index) => write(PROPERTY, `shared ${index}`));
  expect(new Set(written.map(({ transaction }) => transaction)).size).toBeLessThan(10);
  expect(await named("shared")).toHaveLength(40);
});

test("nobody shares a transaction with another tenant, or with one that begins otherwise", async () => {
  const all = await many(60, async (index) => {
    const tenant = index % 2 === 0 ? PROPERTY : RIVAL;
    const before = index % 3 === 0 ? "select 1" : undefined;
    const row = await write(tenant, `apart ${index}`, before);
    expect(row).toMatchObject({ tenant, role: "app_property" });
    return { transaction: row.transaction, opening: `${tenant} ${before}` };
  });
  const openings = new Map<string, Set<string>>();
  for (const { transaction, opening } of all) {
    openings.set(transaction, (openings.get(transaction) ?? new Set()).add(opening));
  }
  expect([...openings.values()].every((those) => those.size === 1)).toBe(true);
  expect(openings.size).toBeLessThan(all.length);
});

test.each(["first", "last", "thrown"] as const)(
  "one that fails (%s) has its own error and leaves nothing, and the others of its group are kept once",
  async (how) => {
    const failing = db.asProperty(
      PROPERTY,
      async (sql, last) => {
        await sql`insert into segments (property_id, name) values (${PROPERTY}, ${`${how} failing`})`;
        if (how === "thrown") throw new Error("refused");
        if (how === "first") await sql`select ${0}::int / 0`;
        last(asTheyAre, sql`select ${0}::int / 0`);
      },
      { group: true },
    );
    const ended = await Promise.allSettled([
      write(PROPERTY, `${how} a`),
      failing,
      write(PROPERTY, `${how} b`),
    ]);
    expect(ended).toMatchObject([
      { status: "fulfilled" },
      { reason: how === "thrown" ? { message: "refused" } : { code: "22012" } },
      { status: "fulfilled" },
    ]);
    expect(await named(how)).toEqual([`${how} a`, `${how} b`]);
  },
);

test("one that waits for a lock holds up no other for long", async () => {
  const lock = "select pg_advisory_xact_lock_shared(4711)";
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const holder = db.asProperty(RIVAL, async (sql) => {
    await sql`select pg_advisory_xact_lock(4712)`;
    begin();
    await held;
  });
  await begun;
  const waiting = db.asProperty(PROPERTY, (sql) => sql`select pg_advisory_xact_lock(4712)`, {
    group: true,
    before: [lock],
  });
  let waits = true;
  const waited = waiting.then(() => {
    waits = false;
  });
  await many(5, (index) => write(PROPERTY, `beside ${index}`, lock));
  expect(waits).toBe(true);
  release();
  await Promise.all([holder, waited]);
  expect(await named("beside")).toHaveLength(5);
});

test("one that was told that it took too long is not begun any more", async () => {
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const busy = Array.from({ length: 3 }, (_, index) =>
    db.asProperty(PROPERTY, () => held, { group: true, before: [`select ${index}`] }),
  );
  const late = db.asProperty(
    PROPERTY,
    async (sql) => sql`insert into segments (property_id, name) values (${PROPERTY}, 'too late')`,
    { group: true, deadline: 50 },
  );
  await expect(late).rejects.toMatchObject({ code: "57014" });
  release();
  await Promise.all(busy);
  await write(PROPERTY, "too late, and another");
  expect(await named("too late")).toEqual(["too late, and another"]);
});

test("works of one value never share a transaction, and works of two names neither", async () => {
  const all = await many(60, async (index) => {
    const [name, one] = [`game ${index % 2}`, `player ${index % 12}`];
    const transaction = await db.asProperty(
      PROPERTY,
      async (sql) => {
        const [row] = await sql<[{ id: string }]>`select pg_current_xact_id()::text as id`;
        return row.id;
      },
      { group: { name, one } },
    );
    return { transaction, name, one };
  });
  const by = Map.groupBy(all, ({ transaction }) => transaction);
  expect(by.size).toBeLessThan(all.length);
  for (const members of by.values()) {
    expect(new Set(members.map(({ name }) => name)).size).toBe(1);
    expect(new Set(members.map(({ one }) => one)).size).toBe(members.length);
  }
});

test("rows that many change are locked last and in one order, so that groups do not wait in a circle", async () => {
  const names = ["hot a", "hot b", "hot c"];
  for (const name of names)
    await admin`insert into segments (property_id, name) values (${PROPERTY}, ${name})`;
  const deadlocks = async () => {
    const [row] = await admin`select deadlocks::int from pg_stat_database where datname = current_database()`;
    return row!.deadlocks;
  };
  const before = await deadlocks();
  const counted = (those: string[]) =>
    those
      .toSorted()
      .map(
        (name) =>
          fragment`update segments set version = version + 1 where property_id = ${PROPERTY} and name = ${name}`,
      );
  const transactions = await many(120, (index) =>
    db.asProperty(
      PROPERTY,
      async (sql, last) => {
        const name = names[(index * 7) % 3]!;
        last(counted, name, { locks: true });
        const [row] = await sql<[{ id: string }]>`select pg_current_xact_id()::text as id`;
        return row.id;
      },
      { group: { name: `game ${index % 3}`, one: String(index) } },
    ),
  );
  const [sum] = await admin`select sum(version)::int as versions from segments where name = any(${names})`;
  expect(sum).toEqual({ versions: 123 });
  expect(await deadlocks()).toBe(before);
  // No group was given up for a lock: then each member would have a transaction of its own.
  expect(new Set(transactions).size).toBeLessThan(30);
});

test("rows that works leave to one writer are one statement of their transaction, behind all works", async () => {
  const statements: string[][] = [];
  const inserted = (names: string[]) => {
    statements.push(names);
    return [
      fragment`insert into segments (property_id, name) select ${PROPERTY}::uuid, unnest(${names}::text[]) returning 1`,
    ];
  };
  const transactions = await many(40, (index) =>
    db.asProperty(
      PROPERTY,
      async (sql, last) => {
        last(inserted, `left ${index}`);
        const [row] = await sql<[{ id: string }]>`select pg_current_xact_id()::text as id`;
        return row.id;
      },
      { group: true },
    ),
  );
  expect(statements).toHaveLength(new Set(transactions).size);
  expect(statements.length).toBeLessThan(10);
  expect(await named("left")).toEqual(statements.flat().sort());
  expect(await named("left")).toHaveLength(40);
});

test("a writer that fails leaves nothing of its transaction", async () => {
  const failing = db.asProperty(PROPERTY, async (sql, last) => {
    await sql`insert into segments (property_id, name) values (${PROPERTY}, 'unwritten')`;
    last(() => {
      throw new Error("no statement");
    }, null);
  });
  await expect(failing).rejects.toThrow("no statement");
  expect(await named("unwritten")).toEqual([]);
});

test("a last statement without one of its values leaves nothing of its transaction", async () => {
  const half = db.asProperty(PROPERTY, async (sql, last) => {
    await sql`insert into segments (property_id, name) values (${PROPERTY}, 'half')`;
    last((names) => names.map((name) => fragment`select ${name}::text`), undefined);
  });
  await expect(half).rejects.toThrow("undefined");
  expect(await named("half")).toEqual([]);
});

/** The messages by which the server tells the error of a statement, and that it waits for the next one. */
function answerOf(code: string): Buffer {
  const message = (type: string, body: string) => {
    const bytes = Buffer.from(`${type}....${body}`);
    bytes.writeInt32BE(bytes.length - 1, 1);
    return bytes;
  };
  return Buffer.concat([message("E", `SERROR\0VERROR\0C${code}\0Mnot said\0\0`), message("Z", "I")]);
}

test.each([
  ["reset", (near: Socket) => near.resetAndDestroy()],
  // A cluster says so of a node that it lost, and a proxy of its server.
  ["answered XX000", (near: Socket) => near.write(answerOf("XX000"))],
  ["answered 08006", (near: Socket) => near.write(answerOf("08006"))],
])("writes whose commit is %s are told that it is unknown, and are not done again", async (how, answer) => {
  const { hostname, port } = new URL(database.url);
  const server = createServer((near) => {
    const far = dial(Number(port), hostname);
    near.pipe(far);
    far.on("data", (bytes) => {
      if (bytes.includes("COMMIT")) answer(near);
      else near.write(bytes);
    });
    near.on("error", () => {});
    near.on("close", () => far.end());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(database.url);
  url.port = String((server.address() as AddressInfo).port);
  const through = connect(url.href);
  let runs = 0;
  const add = () =>
    through.asProperty(
      PROPERTY,
      (sql) => sql`insert into segments (property_id, name) values (${PROPERTY}, ${`${how} ${++runs}`})`,
      { group: true },
    );
  const written = await Promise.allSettled([add(), add()]);
  await through.close();
  server.close();
  const lost = { status: "rejected", reason: { code: "CONNECTION_CLOSED" } };
  expect(await named(how)).toEqual([`${how} 1`, `${how} 2`]);
  expect(written).toMatchObject([lost, lost]);
});

test("one that goes on after a failed statement is told that nothing of it is stored, and the others are kept", async () => {
  const ignoring = db.asProperty(
    PROPERTY,
    async (sql) => {
      await sql`insert into segments (property_id, name) values (${PROPERTY}, 'ignoring')`;
      await sql`select ${0}::int / 0`.catch(() => {});
    },
    { group: true },
  );
  const beside = db.asProperty(
    PROPERTY,
    (sql) => sql`insert into segments (property_id, name) values (${PROPERTY}, 'ignoring beside')`,
    { group: true },
  );
  await expect(ignoring).rejects.toThrow("rolled back");
  await beside;
  expect(await named("ignoring")).toEqual(["ignoring beside"]);
});
