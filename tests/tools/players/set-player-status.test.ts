import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
let headers: Record<string, string>;
beforeAll(async () => {
  service = await startService({ role: "web" });
  headers = { "X-Api-Key": (await service.newTenant()).key };
});
afterAll(() => service.stop());

const create = async (input: object) => (await service.post("/api/players", input)).body as { id: string };
const remove = (id: string) => service.request("DELETE", `/api/players/${id}`);
const call = (name: string, input: object, own?: Record<string, string | null>) =>
  service.post(`/api/functions/${name}`, { propertyId: service.tenant.id, ...input }, own);
const restore = (playerId: string) => call("restore-player", { playerId });
const as = <T>(work: Parameters<typeof service.database.db.asProperty<T>>[1]) =>
  service.database.db.asProperty(service.tenant.id, work);

test("a deleted player comes back within 30 days, with everything that was known", async () => {
  const player = await create({ player_id: "BACK", email: "back@example.com", tags: ["vip"] });
  await remove(player.id);
  expect((await service.get(`/api/players/${player.id}`)).status).toBe(404);
  const back = await restore(player.id);
  expect(back.status).toBe(200);
  expect(back.body).toMatchObject({ player_id: "BACK", tags: ["vip"], deleted_at: null });
  expect((await service.get(`/api/players/${player.id}`)).body).toEqual(back.body);
  expect((await restore(player.id)).body.error).toBe("This player is not deleted.");
});

test("a player comes back barred where a later record with the number was barred and deleted", async () => {
  for (const status of ["banned", "deceased", "self_excluded"]) {
    const player_id = `BACK-${status}`;
    const earlier = await create({ player_id });
    await remove(earlier.id);
    const later = await create({ player_id });
    await as((sql) => sql`update players set status = ${status} where id = ${later.id}`);
    await remove(later.id);
    expect((await restore(earlier.id)).body).toMatchObject({ player_id, status });
  }
});

test("a player is not brought back too late, over another one, when erased, or from another property", async () => {
  const late = await create({});
  const replaced = await create({ player_id: "TWICE" });
  const erased = await create({ email: "erased@example.com" });
  for (const { id } of [late, replaced, erased]) await remove(id);
  await create({ player_id: "TWICE" });
  await as(async (sql) => {
    await sql`update players set deleted_at = now() - interval '31 days' where id = ${late.id}`;
    await sql`update players set status = 'erased' where id = ${erased.id}`;
  });
  expect((await restore(late.id)).body.error).toContain("more than 30 days ago");
  expect((await restore(replaced.id)).body.error).toContain('Another player now has the player_id "TWICE"');
  expect((await restore(erased.id)).body.error).toContain("was erased");
  expect((await restore(randomUUID())).status).toBe(404);
  const foreign = (await service.post("/api/players", {}, headers)).body;
  await service.request("DELETE", `/api/players/${foreign.id}`, { headers });
  expect((await restore(foreign.id)).status).toBe(404);
});

test("a player who has excluded themselves meanwhile comes back as self-excluded", async () => {
  const player = await create({ email: "out@example.com" });
  await remove(player.id);
  await service.call("create_self_exclusion", { email: "out@example.com" }, service.tenant.id);
  expect((await restore(player.id)).body).toMatchObject({ status: "self_excluded" });
});

test("a key bans a player and notes a death, and a signed-in manager alone takes it back", async () => {
  const player = await create({});
  const set = (status: string, own?: Record<string, string | null>) =>
    call("set-player-status", { playerId: player.id, status, reason: "by request" }, own);
  expect((await set("banned")).body).toMatchObject({ status: "banned" });
  expect((await set("banned")).status).toBe(200);
  expect((await set("active")).status).toBe(403);
  const { token } = await service.signIn({ role: "manager" });
  const manager = { "X-Api-Key": null, Authorization: `Bearer ${token}` };
  expect((await set("active", manager)).body).toMatchObject({ status: "active" });
  expect((await set("deceased")).body).toMatchObject({ status: "deceased" });
  await as((sql) => sql`update players set status = 'self_excluded' where id = ${player.id}`);
  expect((await set("active", manager)).body.error).toBe(
    "The player is self_excluded; this status cannot be changed.",
  );
  const [audit] = (await service.get("/api/audit_logs?action.eq=set_player_status&order=created_at&limit=1"))
    .body;
  expect(audit).toMatchObject({ entity_id: player.id, diff: { status: "active", reason: "by request" } });
});

test("a status that another function sets is refused with its name", async () => {
  const { id: playerId } = await create({ player_id: "OTHER-WAY" });
  const refused = async (status: string) =>
    (await call("set-player-status", { playerId, status })).body.error;
  expect(await refused("self_excluded")).toBe("status: self_excluded is set by create_self_exclusion");
  expect(await refused("erased")).toBe("status: erased is set by data_deletion");
  expect(await refused("odd")).toMatch(/banned.*deceased.*active/);
});
