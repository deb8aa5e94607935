import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { lockWaits } from "../../support/postgres/blocking.ts";
import { startService, type TestService } from "../../support/service.ts";

// The records of one request are looked up and written together, and answer as if they came one after the other.

const MERGE = { Prefer: "resolution=merge-duplicates" };
const IGNORE = { Prefer: "resolution=ignore-duplicates" };

let service: TestService;
let admin: postgres.Sql;
beforeAll(async () => {
  service = await startService({ role: "web" });
  admin = postgres(service.database.url, { max: 2, onnotice: () => {} });
  await service.post("/api/custom_fields", { key: "fav", label: "Fav", type: "text" });
});
afterAll(async () => {
  await admin?.end();
  await service?.stop();
});

const numbered = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, index) => ({
    player_id: `${prefix}-${index}`,
    email: `${prefix}-${index}@example.com`,
    first_name: "Ann",
    last_name: `Archer ${index}`,
    birth_date: "1980-04-01",
    custom: { fav: "x" },
  }));

const created = async (rows: object[]): Promise<{ id: string; player_id: string }[]> => {
  const { status, body } = await service.post("/api/players", rows);
  expect(status).toBe(201);
  return body;
};

/** How many statements a request has run as the tenant, beside those that write each of its records. */
async function lookUps(path: string, rows: object[], headers = {}, writes = 1): Promise<number> {
  const calls = async () => {
    const [row] = await admin`
      select coalesce(sum(s.calls), 0)::int as calls from pg_stat_statements s
        join pg_database d on d.oid = s.dbid join pg_roles r on r.oid = s.userid
      where d.datname = current_database() and r.rolname = 'app_property'`;
    return row!.calls as number;
  };
  const before = await calls();
  const { status, text } = await service.post(path, rows, headers);
  expect(status, text).toBeLessThan(300);
  return (await calls()) - before - rows.length * writes;
}

test("an array of records needs no more look-ups than two", async (context) => {
  const [server] = await admin`show shared_preload_libraries`;
  context.skip(!String(server!.shared_preload_libraries).includes("pg_stat_statements"));
  await admin`create extension if not exists pg_stat_statements`;
  const players = await created(numbered("cost", 100));
  const { body: segment } = await service.post("/api/segments", { name: "Cost", type: "static" });
  const moved = (rows: object[]) =>
    rows.map((row, index) => ({ ...row, email: `moved-${index}@example.com` }));
  const requests: [string, (from: number, to: number) => object[], object?, number?][] = [
    ["/api/players", (from, to) => numbered(`new-${from}`, to - from)],
    ["/api/players?on_conflict=player_id", (from, to) => moved(numbered("cost", 100).slice(from, to)), MERGE],
    ["/api/players", (from, to) => players.slice(from, to).map(({ id }) => ({ id, tier: "Gold" })), MERGE],
    [
      "/api/segment_members",
      (from, to) => players.slice(from, to).map(({ id }) => ({ segment_id: segment.id, player_id: id })),
    ],
    [
      "/api/social_shares",
      (from, to) =>
        players.slice(from, to).map(({ id }) => ({ player_id: id, network: "x", content_type: "game" })),
    ],
    [
      "/api/suppressions",
      (from, to) =>
        players
          .slice(from, to)
          .map((_, n) => ({ channel: "email", address: `barred-${from}-${n}@example.com` })),
      {},
      // A computed column is read behind the insert.
      2,
    ],
    [
      "/api/dnc_entries",
      (from, to) =>
        players
          .slice(from, to)
          .map((_, n) => ({ phone: `+1702555${1000 + from + n}`, list: n % 3 ? "internal" : "reassigned" })),
      {},
      2,
    ],
  ];
  for (const [path, rows, headers, writes] of requests) {
    const two = await lookUps(path, rows(0, 2), headers, writes);
    expect(await lookUps(path, rows(2, 62), headers, writes), path).toBeLessThanOrEqual(two);
  }
});

test("an array is answered in its order, and each record is audited", async () => {
  const rows = numbered("order", 30).reverse();
  const answer = await created(rows);
  expect(answer.map(({ player_id }) => player_id)).toEqual(rows.map(({ player_id }) => player_id));
  const ids = answer.map(({ id }) => id);
  const audited = await service.database.db.asProperty(
    service.tenant.id,
    (sql) => sql<{ entity_id: string }[]>`
      select entity_id from audit_logs
      where property_id = ${service.tenant.id} and action = 'create_player' and entity_id = any(${ids}::uuid[])`,
  );
  expect(audited.map(({ entity_id }) => entity_id).toSorted()).toEqual(ids.toSorted());
});

test("a list has the records of an array in the array's order", async () => {
  const rows = numbered("listed", 50);
  await created(rows);
  const { body } = await service.get("/api/players?player_id=like.listed-*&select=player_id");
  expect(body).toEqual(rows.map(({ player_id }) => ({ player_id })).toReversed());
});

test("of several refused records the first is named, for every reason", async () => {
  await created([{ player_id: "first-taken" }]);
  const good = { player_id: "first-good" };
  const [taken, invalid, unknown] = [
    { player_id: "first-taken" },
    { player_id: "first-invalid", email: "nobody" },
    { player_id: "first-unknown", custom: { nothing: 1 } },
  ];
  for (const rows of [
    [good, taken, invalid],
    [good, invalid, taken],
    [good, unknown, invalid],
    [good, good, invalid],
  ]) {
    const { status, body } = await service.post("/api/players", rows);
    expect([status, body.error]).toEqual([
      rows[1] === taken || rows[1] === good ? 409 : 400,
      expect.stringMatching(/^Record \[1\]: /),
    ]);
  }
  expect((await service.get("/api/players?player_id=like.first-*&select=player_id")).body).toEqual([
    { player_id: "first-taken" },
  ]);
});

/** The answer of a request while whose statements another transaction stores something. */
async function answerWhile(
  store: (sql: postgres.TransactionSql) => Promise<unknown>,
  request: () => ReturnType<TestService["post"]>,
) {
  const [stored, waits] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const other = admin.begin(async (sql) => {
    await store(sql);
    stored.resolve();
    await waits.promise;
  });
  await stored.promise;
  const answer = request();
  await lockWaits(admin, 1);
  waits.resolve();
  await other;
  return answer;
}

test("a record that another request stores meanwhile is named behind records that need further statements", async () => {
  const { id } = service.tenant;
  // A hook reads behind each segment, and the answer to an entry reads a computed column.
  const segments = [{ name: "Meanwhile new" }, { name: "Meanwhile taken" }, { name: "Meanwhile later" }];
  const entries = [2, 3, 4].map((last) => ({ phone: `+1702555010${last}` }));
  expect((await service.post("/api/dnc_entries", entries[1])).status).toBe(201);
  const taken = await admin`
    delete from dnc_entries where property_id = ${id} and phone = ${entries[1]!.phone} returning property_id, phone_hash`;
  const all = [
    {
      path: "/api/segments",
      rows: segments.map((one) => ({ ...one, type: "static" })),
      store: (sql: postgres.TransactionSql) => sql`
        insert into segments (property_id, name, type) values (${id}, ${segments[1]!.name}, 'static')`,
    },
    {
      path: "/api/dnc_entries",
      rows: entries,
      store: (sql: postgres.TransactionSql) =>
        sql`insert into dnc_entries ${sql(taken as never, "property_id" as never, "phone_hash" as never)}`,
    },
  ];
  for (const { path, rows, store } of all) {
    const { status, body } = await answerWhile(store, () => service.post(path, rows));
    expect({ path, status, error: body.error }).toEqual({
      path,
      status: 409,
      error: expect.stringMatching(/^Record \[1\]: /),
    });
  }
  expect((await service.get("/api/segments?name=like.Meanwhile*&select=name")).body).toEqual([
    { name: "Meanwhile taken" },
  ]);
});

test("an upsert creates and changes in one array, and a later record changes an earlier one", async () => {
  const [known, renamed] = await created([{ player_id: "up-known" }, { player_id: "up-renamed" }]);
  const rows = [
    { player_id: "up-new", tier: "One" },
    { player_id: "up-known", tier: "One" },
    { player_id: "up-new", tier: "Two" },
    { id: known!.id.toUpperCase(), adt: 5 },
    { id: renamed!.id, player_id: "up-other" },
    { player_id: "up-other", tier: "Three" },
    { player_id: "up-renamed", tier: "Four" },
    { tier: "Nameless" },
  ];
  const { status, body } = await service.post("/api/players", rows, MERGE);
  expect(status, JSON.stringify(body)).toBe(200);
  expect(body.map((one: Record<string, unknown>) => [one.player_id, one.tier, one.adt])).toEqual([
    ["up-new", "One", null],
    ["up-known", "One", null],
    ["up-new", "Two", null],
    ["up-known", "One", 5],
    ["up-other", null, null],
    ["up-other", "Three", null],
    ["up-renamed", "Four", null],
    [body[7].id, "Nameless", null],
  ]);
  expect(body[0].id).toBe(body[2].id);
  expect([body[1].id, body[3].id]).toEqual([known!.id, known!.id]);
  expect([body[4].id, body[5].id]).toEqual([renamed!.id, renamed!.id]);
  expect(body[6].id).not.toBe(renamed!.id);
});

test("an upsert that ignores known records answers the new ones, each once", async () => {
  await created([{ player_id: "ig-known", tier: "Old" }]);
  const rows = ["ig-new", "ig-known", "ig-new"].map((player_id, index) => ({ player_id, tier: `T${index}` }));
  const { body } = await service.post("/api/players", rows, IGNORE);
  expect(body.map((one: { player_id: string; tier: string }) => [one.player_id, one.tier])).toEqual([
    ["ig-new", "T0"],
  ]);
});

test("an upsert names the refused record, whether it is new or known, and stores none", async () => {
  const [known, other] = await created([{ player_id: "un-known" }, { player_id: "un-other" }]);
  const good = { player_id: "un-new" };
  const missing = "00000000-0000-4000-8000-000000000000";
  for (const [bad, status] of [
    [{ player_id: "un-known", status: "erased" }, 400],
    [{ player_id: "un-bad", email: "nobody" }, 400],
    [{ player_id: 5 }, 400],
    [{ id: missing, tier: "x" }, 404],
    [{ id: "no-uuid" }, 400],
    [{ id: known!.id, player_id: "un-other" }, 409],
  ] as const) {
    const { body, ...answer } = await service.post(
      "/api/players",
      [good, { id: other!.id, tier: "x" }, bad, good],
      MERGE,
    );
    expect([answer.status, body.error], JSON.stringify(bad)).toEqual([
      status,
      expect.stringMatching(/^Record \[2\]: /),
    ]);
  }
  expect(
    (await service.get("/api/players?player_id=like.un-*&tier=is.null&order=player_id&select=player_id"))
      .body,
  ).toEqual([{ player_id: "un-known" }, { player_id: "un-other" }]);
});

test("a self-excluded person bars the address for the records behind theirs in the array", async () => {
  const name = { first_name: "Eve", last_name: "Out", birth_date: "1970-01-02" };
  await service.post("/api/self_exclusions", name);
  const rows = [
    { player_id: "se-before", email: "se-shared@example.com" },
    { player_id: "se-person", email: "se-shared@example.com", phone: "+17025550191", ...name },
    { player_id: "se-mail", email: "se-shared@example.com" },
    { player_id: "se-phone", phone: "+17025550191" },
    { player_id: "se-free", email: "se-free@example.com" },
  ];
  const statuses = (await service.post("/api/players", rows)).body.map(
    ({ status }: { status: string }) => status,
  );
  expect(statuses).toEqual(["active", "self_excluded", "self_excluded", "self_excluded", "active"]);
});

test("new and changed records of an upsert bar addresses for those behind them, in the array's order", async () => {
  const name = { first_name: "Ivo", last_name: "Out", birth_date: "1971-01-02" };
  await service.post("/api/self_exclusions", name);
  await created([{ player_id: "mix-later" }, { player_id: "mix-person", phone: "+17025550194" }]);
  const rows = [
    { player_id: "mix-new", phone: "+17025550193", ...name },
    { player_id: "mix-later", phone: "+17025550193" },
    { player_id: "mix-person", ...name },
    { player_id: "mix-same-phone", phone: "+17025550194" },
    { player_id: "mix-free", phone: "+17025550195" },
  ];
  const { body } = await service.post("/api/players", rows, MERGE);
  expect(body.map(({ status }: { status: string }) => status)).toEqual([
    ...Array(4).fill("self_excluded"),
    "active",
  ]);
});

test("an address that a person has left before the exclusion is free for the records behind theirs", async () => {
  const name = { first_name: "Uta", last_name: "Out", birth_date: "1972-01-02" };
  await service.post("/api/self_exclusions", name);
  await created([{ player_id: "left-person", email: "left@example.com" }, { player_id: "left-heir" }]);
  const rows = [
    { player_id: "left-person", email: "left-new@example.com", ...name },
    { player_id: "left-heir", email: "left@example.com" },
  ];
  const { body } = await service.post("/api/players", rows, MERGE);
  expect(body.map(({ status }: { status: string }) => status)).toEqual(["self_excluded", "active"]);
});

test("a self-excluded record bars its addresses anew with any change, for the records behind it too", async () => {
  const name = { first_name: "Ada", last_name: "Out", birth_date: "1973-01-02" };
  await service.post("/api/self_exclusions", name);
  await created([{ player_id: "anew", email: "anew@example.com", ...name }]);
  await service.database.db.asProperty(
    service.tenant.id,
    (sql) => sql`
      update suppressions set expires_at = now() - interval '1 day'
      where property_id = ${service.tenant.id} and reason = 'self_excluded'`,
  );
  const statusesOf = async (rows: object[]) =>
    (await service.post("/api/players", rows, MERGE)).body.map(({ status }: { status: string }) => status);
  const same = { player_id: "anew", email: "anew@example.com", ...name };
  expect(await statusesOf([same, { player_id: "anew-before", email: "anew@example.com" }])).toEqual([
    "self_excluded",
    "active",
  ]);
  const changed = { player_id: "anew", tier: "Gold" };
  expect(await statusesOf([changed, { player_id: "anew-behind", email: "anew@example.com" }])).toEqual([
    "self_excluded",
    "self_excluded",
  ]);
});

test("a new record of an upsert gets the number that a record before it has left", async () => {
  const [known] = await created([{ player_id: "num-old" }]);
  const rows = [{ id: known!.id, player_id: "num-new" }, { player_id: "num-old" }];
  const { status, body } = await service.post("/api/players?on_conflict=id", rows, MERGE);
  expect(status, JSON.stringify(body)).toBe(200);
  expect(body.map((one: { player_id: string }) => one.player_id)).toEqual(["num-new", "num-old"]);
  expect(body[1].id).not.toBe(known!.id);
});

test("a change by filters is made together, and each record is audited with its former values", async () => {
  const players = await created(numbered("fil", 3).map((row, index) => ({ ...row, tier: `Old ${index}` })));
  const { body } = await service.request("PATCH", "/api/players?player_id=like.fil-*", {
    body: { tier: "Old 1" },
  });
  expect(body.map(({ tier }: { tier: string }) => tier)).toEqual(["Old 1", "Old 1", "Old 1"]);
  const audited = await service.database.db.asProperty(
    service.tenant.id,
    (sql) => sql<{ tier: string | null }[]>`
      select diff ->> 'tier' as tier from audit_logs
      where property_id = ${service.tenant.id} and action = 'update_player'
        and entity_id = any(${players.map(({ id }) => id)}::uuid[])`,
  );
  expect(audited.map(({ tier }) => tier).toSorted()).toEqual(["Old 0", "Old 2", null]);
});

test("a member that the array has twice is refused at its second place", async () => {
  const [player] = await created([{ player_id: "twice" }]);
  const { body: segment } = await service.post("/api/segments", { name: "Twice", type: "static" });
  const member = { segment_id: segment.id, player_id: player!.id };
  const { status, body } = await service.post("/api/segment_members", [member, member]);
  expect([status, body.error]).toEqual([
    409,
    "Record [1]: player_id: this player is in the segment already.",
  ]);
  expect((await service.post("/api/segment_members", [member])).status).toBe(201);
});

test("an address that the array suppresses twice is refused at its second place", async () => {
  const rows = ["email", "all", "email"].map((channel) => ({ channel, address: "Twice@Example.com" }));
  const { status, body } = await service.post("/api/suppressions", rows);
  expect([status, body.error]).toEqual([
    409,
    "Record [2]: This address is already suppressed (email, manual).",
  ]);
  const late = { channel: "sms", address: "+17025550192", expires_at: "2020-01-01T00:00:00Z" };
  const refused = await service.post("/api/suppressions", [...rows.slice(0, 2), late]);
  expect([refused.status, refused.body.details[0].field]).toEqual([400, "[2].expires_at"]);
  expect((await service.post("/api/suppressions", rows.slice(0, 2))).status).toBe(201);
});

test("an array that PostgreSQL refuses names the refused record, though a record before it has a second statement", async () => {
  const [free, taken] = ["Free", "Taken"].map((name) => ({ name, type: "static" }));
  expect((await service.post("/api/segments", taken)).status).toBe(201);
  const named = await service.post("/api/segments", [free, taken]);
  expect([named.status, named.body.error]).toEqual([
    409,
    'Record [1]: A segment with name "Taken" exists already.',
  ]);
  // Another call suppresses the address between the look-up and the insert. A computed column is read behind it.
  const rows = ["meanwhile-free", "meanwhile"].map((name) => ({
    channel: "email",
    address: `${name}@example.com`,
  }));
  await service.post("/api/suppressions", { ...rows[1], channel: "all" });
  const { refused } = await service.database.db.asProperty(service.tenant.id, async (sql) => {
    await sql`
      insert into suppressions (property_id, channel, address_hash, reason)
      select property_id, 'email', address_hash, reason from suppressions
      where property_id = ${service.tenant.id} and address = ${rows[1]!.address}
      on conflict do nothing`;
    const refused = service.post("/api/suppressions", rows);
    await lockWaits(admin, 1);
    return { refused };
  });
  const { status, body } = await refused;
  expect([status, body.error]).toEqual([409, expect.stringMatching(/^Record \[1\]: /)]);
});
