import postgres from "postgres";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { type House, startHouse, type Tenant } from "../../support/house.ts";

// An exclusion by name alone is found by no address: a player must not slip in between its look and its commit.

const ANA = { first_name: "Ana", last_name: "Gone", birth_date: "1980-01-02" };

let house: House;
let admin: postgres.Sql;
let tenant: Tenant;
let headers: Record<string, string>;

beforeAll(async () => {
  house = await startHouse();
  admin = postgres(house.database.url, { max: 2, onnotice: () => {} });
});
afterAll(async () => {
  await admin.end();
  await house.stop();
});
beforeEach(async () => {
  tenant = await house.newTenant();
  headers = { "X-Api-Key": tenant.key };
});

const post = (path: string, body: object) => house.post(path, body, headers);
const patch = (id: string, body: object) => house.request("PATCH", `/api/players/${id}`, { body, headers });
const exclude = () => post("/api/self_exclusions", ANA);
const statuses = async () =>
  (
    await admin`select player_id, status from players where property_id = ${tenant.id} order by player_id`
  ).map(({ player_id, status }) => `${player_id} ${status}`);

/** Another transaction that stays open, and what it does first. */
async function open(work: (sql: postgres.TransactionSql) => Promise<unknown>): Promise<() => Promise<void>> {
  const ready = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const running = admin.begin(async (sql) => {
    await work(sql);
    ready.resolve();
    await release.promise;
    throw new Error("taken back");
  });
  running.catch(ready.reject);
  await ready.promise;
  return async () => {
    release.resolve();
    await running.catch(() => {});
  };
}

const waiting = (count: number) =>
  vi.waitFor(
    async () => {
      const [row] = await admin`
        select count(*)::int as sessions from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`;
      expect(row!.sessions).toBeGreaterThanOrEqual(count);
    },
    { timeout: 10_000, interval: 10 },
  );

/** What is asked meanwhile has been answered, or waits too. */
async function standstill(answer: Promise<unknown>): Promise<void> {
  await Promise.race([answer, waiting(2)]);
}

const takePlayerId = (sql: postgres.TransactionSql) => sql`
  insert into players (property_id, player_id) values (${tenant.id}, 'twin')`;

test.each<[string, (id: string) => ReturnType<House["post"]>]>([
  ["created", () => post("/api/players", { ...ANA, player_id: "twin", email: "ana@example.com" })],
  [
    "created among others",
    () => post("/api/players", [{ player_id: "a" }, { ...ANA, player_id: "twin" }] as never),
  ],
  ["changed", (id) => patch(id, { ...ANA, player_id: "twin" })],
  [
    "changed by a filter",
    () =>
      house.request("PATCH", "/api/players?player_id=eq.before", {
        body: { ...ANA, player_id: "twin" },
        headers,
      }),
  ],
])("a player who is %s while their exclusion is recorded is excluded all the same", async (_how, store) => {
  const { id } = (await post("/api/players", { player_id: "before" })).body;
  // Judged already, the row waits to be written.
  const close = await open(takePlayerId);
  const storing = store(id);
  await waiting(1);
  const excluding = exclude();
  await standstill(excluding);
  await close();
  expect((await storing).status).toBeLessThan(300);
  expect((await excluding).status).toBe(201);
  expect(await statuses()).toContain("twin self_excluded");
});

test("rows of an import that were judged before the exclusion, and are written after, are excluded", async () => {
  const held = (await post("/api/players", { player_id: "held" })).body;
  const close = await open((sql) => sql`select from players where id = ${held.id} for update`);
  const csv = "player_id,first_name,last_name,birth_date\nheld,Bo,Held,1990-01-01\nana,ANA,Gone,1980-01-02\n";
  await post("/api/import_jobs", { csv });
  await waiting(1);
  const excluding = exclude();
  await standstill(excluding);
  await close();
  expect((await excluding).status).toBe(201);
  await house.idle();
  expect(await statuses()).toEqual(["ana self_excluded", "held active"]);
});

test("who comes while an exclusion is being carried out waits for it", async () => {
  const held = (await post("/api/players", { ...ANA, player_id: "held" })).body;
  const other = (await post("/api/players", { player_id: "other" })).body;
  const close = await open((sql) => sql`select from players where id = ${held.id} for update`);
  const excluding = exclude();
  await waiting(1);
  const stored = [post("/api/players", { ...ANA, player_id: "new" }), patch(other.id, ANA)];
  await Promise.race([Promise.all(stored), waiting(3)]);
  await close();
  expect((await excluding).body.matched_players).toEqual([held.id]);
  expect((await Promise.all(stored)).map(({ status }) => status)).toEqual([201, 200]);
  expect(await statuses()).toEqual(["held self_excluded", "new self_excluded", "other self_excluded"]);
});
