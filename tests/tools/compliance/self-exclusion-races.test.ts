import postgres from "postgres";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { lockWaits, openTransaction } from "../../support/postgres/blocking.ts";
import { startService, type Tenant, type TestService } from "../../support/service.ts";

// An exclusion by name alone is found by no address: a player must not slip in between its look and its commit.

const ANA = { first_name: "Ana", last_name: "Gone", birth_date: "1980-01-02" };

let service: TestService;
let admin: postgres.Sql;
let tenant: Tenant;
let headers: Record<string, string>;

beforeAll(async () => {
  service = await startService();
  admin = postgres(service.database.url, { max: 2, onnotice: () => {} });
});
afterAll(async () => {
  await admin.end();
  await service.stop();
});
beforeEach(async () => {
  tenant = await service.newTenant();
  headers = { "X-Api-Key": tenant.key };
});

const post = (path: string, body: object) => service.post(path, body, headers);
const patch = (id: string, body: object) => service.request("PATCH", `/api/players/${id}`, { body, headers });
const exclude = () => post("/api/self_exclusions", ANA);
const statuses = async () =>
  (
    await admin`select player_id, status from players where property_id = ${tenant.id} order by player_id`
  ).map(({ player_id, status }) => `${player_id} ${status}`);

/** Each query of that time has been answered, or waits too. */
async function standstill(answer: Promise<unknown>): Promise<void> {
  await Promise.race([answer, lockWaits(admin, 2)]);
}

const takePlayerId = (sql: postgres.TransactionSql) => sql`
  insert into players (property_id, player_id) values (${tenant.id}, 'twin')`;

test.each<[string, (id: string) => ReturnType<TestService["post"]>]>([
  ["created", () => post("/api/players", { ...ANA, player_id: "twin", email: "ana@example.com" })],
  [
    "created among others",
    () => post("/api/players", [{ player_id: "a" }, { ...ANA, player_id: "twin" }] as never),
  ],
  ["changed", (id) => patch(id, { ...ANA, player_id: "twin" })],
  [
    "changed by a filter",
    () =>
      service.request("PATCH", "/api/players?player_id=eq.before", {
        body: { ...ANA, player_id: "twin" },
        headers,
      }),
  ],
])("a player who is %s while their exclusion is recorded is excluded all the same", async (_how, store) => {
  const { id } = (await post("/api/players", { player_id: "before" })).body;
  // Judged already, the row waits to be written.
  const close = await openTransaction(admin, takePlayerId);
  const storing = store(id);
  await lockWaits(admin, 1);
  const excluding = exclude();
  await standstill(excluding);
  await close();
  expect((await storing).status).toBeLessThan(300);
  expect((await excluding).status).toBe(201);
  expect(await statuses()).toContain("twin self_excluded");
});

test("rows of an import that were judged before the exclusion, and are written after, are excluded", async () => {
  const held = (await post("/api/players", { player_id: "held" })).body;
  const close = await openTransaction(
    admin,
    (sql) => sql`select from players where property_id = ${tenant.id} and id = ${held.id} for update`,
  );
  const csv = "player_id,first_name,last_name,birth_date\nheld,Bo,Held,1990-01-01\nana,ANA,Gone,1980-01-02\n";
  await post("/api/import_jobs", { csv });
  await lockWaits(admin, 1);
  const excluding = exclude();
  await standstill(excluding);
  await close();
  expect((await excluding).status).toBe(201);
  await service.idle();
  expect(await statuses()).toEqual(["ana self_excluded", "held active"]);
});

test("a player who comes while an exclusion is being carried out waits for it", async () => {
  const held = (await post("/api/players", { ...ANA, player_id: "held" })).body;
  const other = (await post("/api/players", { player_id: "other" })).body;
  const close = await openTransaction(
    admin,
    (sql) => sql`select from players where property_id = ${tenant.id} and id = ${held.id} for update`,
  );
  const excluding = exclude();
  await lockWaits(admin, 1);
  const stored = [post("/api/players", { ...ANA, player_id: "new" }), patch(other.id, ANA)];
  await Promise.race([Promise.all(stored), lockWaits(admin, 3)]);
  await close();
  expect((await excluding).body.matched_players).toEqual([held.id]);
  expect((await Promise.all(stored)).map(({ status }) => status)).toEqual([201, 200]);
  expect(await statuses()).toEqual(["held self_excluded", "new self_excluded", "other self_excluded"]);
});
