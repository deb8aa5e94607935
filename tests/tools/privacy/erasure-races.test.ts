import postgres from "postgres";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { type House, startHouse, type Tenant } from "../../support/house.ts";

// Who stores an address that is being erased is either before the erasure, which then names them, or is refused.

const EMAIL = "ana@example.com";

let house: House;
let admin: postgres.Sql;
let tenant: Tenant;
let headers: Record<string, string>;

beforeAll(async () => {
  house = await startHouse();
  admin = postgres(house.database.url, { max: 3, onnotice: () => {} });
});
afterAll(async () => {
  await admin?.end();
  await house?.stop();
});
beforeEach(async () => {
  tenant = await house.newTenant();
  headers = { "X-Api-Key": tenant.key };
});

const create = (body: object) => house.post("/api/players", body, headers);
const patch = (id: string, body: object) => house.request("PATCH", `/api/players/${id}`, { body, headers });
const erase = (playerId: string) =>
  house.post("/api/functions/data-deletion", { propertyId: tenant.id, playerId }, headers);
const holders = async () =>
  (await admin`select id from players where property_id = ${tenant.id} and email = ${EMAIL} order by id`).map(
    ({ id }) => id as string,
  );

/** Another transaction that stays open until it is let go, and what it does first. */
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

test.each<[string, (id: string) => ReturnType<House["post"]>]>([
  ["created", () => create({ player_id: "twin", email: EMAIL })],
  ["created among others", () => create([{ player_id: "a" }, { player_id: "twin", email: EMAIL }])],
  ["given the address", (id) => patch(id, { player_id: "twin", email: EMAIL })],
])(
  "an erasure waits for a player who is being %s with the same address, and names them",
  async (_how, store) => {
    const gone = (await create({ email: EMAIL })).body;
    const { id } = (await create({ player_id: "before" })).body;
    // Judged already, the row waits to be written.
    const close = await open(
      (sql) => sql`insert into players (property_id, player_id) values (${tenant.id}, 'twin')`,
    );
    const storing = store(id);
    await waiting(1);
    const erasing = erase(gone.id);
    await Promise.race([erasing, waiting(2)]);
    await close();
    expect((await storing).status).toBeLessThan(300);
    const erased = await erasing;
    expect(erased.status).toBe(200);
    expect(await holders()).toHaveLength(1);
    expect(erased.body.shared_with).toEqual(await holders());
  },
);

test("of players who are stored while their address is erased, each is named by the erasure or refused", async () => {
  const told = new Set<number>();
  for (let round = 0; round < 15; round++) {
    tenant = await house.newTenant();
    headers = { "X-Api-Key": tenant.key };
    const gone = (await create({ email: EMAIL })).body;
    const stored = Array.from({ length: 6 }, (_, n) => create({ player_id: `n${n}`, email: EMAIL }));
    const erased = await erase(gone.id);
    stored.push(create({ player_id: "late", email: EMAIL }));
    expect(erased.status).toBe(200);
    for (const { status } of await Promise.all(stored)) told.add(status);
    expect(erased.body.shared_with).toEqual(await holders());
  }
  expect([...told].sort()).toEqual([201, 409]);
});

test("an erasure goes on when the player is changed at the same time, and the change is refused", async () => {
  const gone = (await create({ player_id: "gone", email: EMAIL })).body;
  const close = await open((sql) => sql`lock table webhook_deliveries in share mode`);
  const erasing = erase(gone.id);
  await waiting(1);
  // Stores players, and waits for the row that the erasure has locked.
  const changing = patch(gone.id, { first_name: "Ana" });
  await waiting(2);
  await close();
  expect((await erasing).status).toBe(200);
  // 503 where the wait for the row was over first, which ends after two seconds: either way nothing was changed.
  expect([409, 503]).toContain((await changing).status);
  const [row] = await admin`select email, first_name, status from players where id = ${gone.id}`;
  expect(row).toEqual({ email: null, first_name: null, status: "erased" });
});
