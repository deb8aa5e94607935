import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { lockWaits, openTransaction } from "../../support/postgres/blocking.ts";
import { startService, type TestService } from "../../support/service.ts";

// Two requests write the same keys in opposite orders: each has written one, and waits for the other's. PostgreSQL ends
// one of the two, and its caller gets the answer that it would have got behind the other one.

let service: TestService;
let admin: postgres.Sql;
beforeAll(async () => {
  service = await startService({ role: "web" });
  admin = postgres(service.database.url, { max: 2, onnotice: () => {} });
});
afterAll(async () => {
  await admin?.end();
  await service?.stop();
});

interface Table {
  path: string;
  row(key: string): Promise<object>;
  /** Holds the rows of these keys, so that a request waits in the middle of its array. */
  hold(sql: postgres.TransactionSql, keys: string[]): Promise<unknown>;
}

const number = (key: string) => `+1702555${1000 + Number(key)}`;

const players: Table = {
  path: "/api/players",
  row: async (key) => ({ player_id: key }),
  hold: (sql, keys) => sql`
    insert into players (property_id, player_id) select ${service.tenant.id}, unnest(${keys}::text[])`,
};

const suppressions: Table = {
  path: "/api/suppressions",
  row: async (key) => ({ channel: "sms", address: number(key) }),
  hold: async (sql, keys) => {
    for (const key of keys) {
      const { status } = await service.post("/api/suppressions", { channel: "sms", address: number(key) });
      expect(status).toBe(201);
    }
    const addresses = keys.map(number);
    await admin`update suppressions set lifted_at = now() where address = any(${addresses})`;
    await sql`update suppressions set lifted_at = null where address = any(${addresses})`;
  },
};

const dncEntries: Table = {
  path: "/api/dnc_entries",
  row: async (key) => ({ phone: number(key) }),
  hold: async (sql, keys) => {
    const rows = keys.map((key) => ({ phone: number(key) }));
    expect((await service.post("/api/dnc_entries", rows)).status).toBe(201);
    const held = await admin`
      delete from dnc_entries where phone = any(${keys.map(number)}) returning property_id, phone_hash`;
    await sql`insert into dnc_entries ${sql(held as never, "property_id" as never, "phone_hash" as never)}`;
  },
};

const playersByKey = new Map<string, string>();
let segment: string;
const memberOf = async (key: string) => {
  segment ??= (await service.post("/api/segments", { name: "Opposite", type: "static" })).body.id;
  const known =
    playersByKey.get(key) ?? (await service.post("/api/players", { player_id: `member-${key}` })).body.id;
  playersByKey.set(key, known);
  return { segment_id: segment, player_id: known };
};
const members: Table = {
  path: "/api/segment_members",
  row: memberOf,
  hold: async (sql, keys) => {
    for (const key of keys) {
      const { segment_id, player_id } = await memberOf(key);
      await sql`
        insert into segment_members (property_id, segment_id, player_id)
        values (${service.tenant.id}, ${segment_id}, ${player_id})`;
    }
  },
};

const fields: Table = {
  path: "/api/custom_fields",
  row: async (key) => ({ key: `field_${key}`, label: key, type: "text" }),
  hold: (sql, keys) => sql`
    insert into custom_fields (property_id, key, label, type)
    select ${service.tenant.id}, 'field_' || key, key, 'text' from unnest(${keys}::text[]) as key`,
};

describe.each(Object.entries({ players, suppressions, dncEntries, members, fields }))(
  "of %s",
  (_name, table) => {
    test("the one is stored, and the other finds its keys taken", async () => {
      const [a, b, here, there] = ["1", "2", "3", "4"];
      const rows = async (keys: string[]) => {
        const made: object[] = [];
        for (const key of keys) made.push(await table.row(key));
        return made;
      };
      const [forth, back] = [await rows([a, here, b]), await rows([b, there, a])];
      const release = await openTransaction(admin, (sql) => table.hold(sql, [here, there]));
      const both = [service.post(table.path, forth), service.post(table.path, back)];
      await lockWaits(admin, 2);
      await release();
      const answers = await Promise.all(both);
      expect(answers.map(({ status }) => status).toSorted(), JSON.stringify(answers)).toEqual([201, 409]);
    });
  },
);

test("of merging requests both change all their players", async () => {
  const [a, b, here] = ["5", "6", "7"];
  for (const player_id of [a, here, b])
    expect((await service.post("/api/players", { player_id })).status).toBe(201);
  const merge = { Prefer: "resolution=merge-duplicates" };
  const release = await openTransaction(
    admin,
    (sql) =>
      sql`select from players where property_id = ${service.tenant.id} and player_id = ${here} for update`,
  );
  const both = [
    service.post(
      "/api/players",
      [a, here, b].map((player_id) => ({ player_id, tier: "Gold" })),
      merge,
    ),
    service.post(
      "/api/players",
      [b, here, a].map((player_id) => ({ player_id, tier: "Plum" })),
      merge,
    ),
  ];
  await lockWaits(admin, 2);
  await release();
  expect((await Promise.all(both)).map(({ status }) => status)).toEqual([200, 200]);
});

test("of changes of segments' types all are stored: none waits in a circle for the lock that another shares", async () => {
  const conditions = [{ field: "tier", operator: "eq", value: "Gold" }];
  const names = async (index: number) => {
    const [list, rules] = [`List ${index}`, `Rules ${index}`];
    expect((await service.post("/api/segments", { name: list, type: "static" })).status).toBe(201);
    expect((await service.post("/api/segments", { name: rules, conditions })).status).toBe(201);
    return `${list},${rules}`;
  };
  const pairs = [await names(1), await names(2), await names(3)];
  const release = await openTransaction(
    admin,
    (sql) => sql`select pg_advisory_xact_lock(hashtextextended(${`uses ${service.tenant.id}`}, 0))`,
  );
  // The first of each pair stays a list: it is only named. The second becomes one.
  const all = pairs.map((pair) =>
    service.request("PATCH", `/api/segments?name=in.(${encodeURIComponent(pair)})`, {
      body: { type: "static", conditions: [] },
    }),
  );
  await lockWaits(admin, 3);
  await release();
  expect((await Promise.all(all)).map(({ status }) => status)).toEqual([200, 200, 200]);
});
