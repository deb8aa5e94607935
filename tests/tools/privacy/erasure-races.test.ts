import postgres from "postgres";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { lockWaits, openTransaction } from "../../support/postgres/blocking.ts";
import { isFull } from "../../support/proof-size.ts";
import { startService, type Tenant, type TestService } from "../../support/service.ts";

// A write of an address that is being erased either comes before the erasure, which then names it, or is refused.

const EMAIL = "ana@example.com";
const ROUNDS = isFull ? 15 : 6;

let service: TestService;
let admin: postgres.Sql;
let tenant: Tenant;
let headers: Record<string, string>;

beforeAll(async () => {
  service = await startService();
  admin = postgres(service.database.url, { max: 3, onnotice: () => {} });
});
afterAll(async () => {
  await admin?.end();
  await service?.stop();
});
beforeEach(async () => {
  tenant = await service.newTenant();
  headers = { "X-Api-Key": tenant.key };
});

const create = (body: object) => service.post("/api/players", body, headers);
const patch = (id: string, body: object) => service.request("PATCH", `/api/players/${id}`, { body, headers });
const erase = (playerId: string) =>
  service.post("/api/functions/data-deletion", { propertyId: tenant.id, playerId }, headers);
const holders = async () =>
  (await admin`select id from players where property_id = ${tenant.id} and email = ${EMAIL} order by id`).map(
    ({ id }) => id as string,
  );

test.each<[string, (id: string) => ReturnType<TestService["post"]>]>([
  ["created", () => create({ player_id: "twin", email: EMAIL })],
  ["created among others", () => create([{ player_id: "a" }, { player_id: "twin", email: EMAIL }])],
  ["given the address", (id) => patch(id, { player_id: "twin", email: EMAIL })],
])(
  "an erasure waits for a player who is being %s with the same address, and names them",
  async (_how, store) => {
    const gone = (await create({ email: EMAIL })).body;
    const { id } = (await create({ player_id: "before" })).body;
    // Judged already, the row waits to be written.
    const close = await openTransaction(
      admin,
      (sql) => sql`insert into players (property_id, player_id) values (${tenant.id}, 'twin')`,
    );
    const storing = store(id);
    await lockWaits(admin, 1);
    const erasing = erase(gone.id);
    await Promise.race([erasing, lockWaits(admin, 2)]);
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
  for (let round = 0; round < ROUNDS; round++) {
    tenant = await service.newTenant();
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

test("of an erasure and a change of the player at the same time one comes behind the other, and the erasure holds", async () => {
  const gone = (await create({ player_id: "gone", email: EMAIL })).body;
  const close = await openTransaction(admin, (sql) => sql`lock table webhook_deliveries in share mode`);
  const erasing = erase(gone.id);
  await lockWaits(admin, 1);
  // Stores players, and waits for the row that the erasure has locked.
  const changing = patch(gone.id, { first_name: "Ana" });
  await lockWaits(admin, 2);
  await close();
  const [erased, changed] = [await erasing, await changing];
  // Each waits for the other. PostgreSQL ends the one whose second is over first, mostly the change: it runs again, and
  // finds the player erased.
  expect(erased.status).toBe(200);
  expect([200, 404]).toContain(changed.status);
  const [row] = await admin`select email, first_name, status from players where id = ${gone.id}`;
  expect(row).toEqual({ email: null, first_name: null, status: "erased" });
});
