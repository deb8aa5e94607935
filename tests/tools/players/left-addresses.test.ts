import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
let manager: { Authorization: string; "X-Api-Key": null };
beforeAll(async () => {
  service = await startService();
  const { token } = await service.signIn({ role: "manager" });
  manager = { Authorization: `Bearer ${token}`, "X-Api-Key": null };
});
afterAll(() => service?.stop());

type Fields = Record<string, unknown>;
interface Player extends Fields {
  id: string;
  player_id: string;
  email: string;
  status: string;
}

const anyEmail = () => `${randomUUID().slice(0, 8)}@example.com`;
const call = (name: string, input: Fields, headers?: Record<string, string | null>) =>
  service.post(`/api/functions/${name}`, { propertyId: service.tenant.id, ...input }, headers);

async function newPlayer(fields: Fields = {}): Promise<Player> {
  const { status, body } = await service.post("/api/players", { email: anyEmail(), ...fields });
  expect(status, JSON.stringify(body)).toBe(201);
  return body;
}

const set = (id: string, status: string, headers?: Record<string, string | null>) =>
  status === "vip_hold"
    ? service.request("PATCH", `/api/players/${id}`, { body: { status } })
    : call("set-player-status", { playerId: id, status }, headers);

async function imported(rows: Fields[]): Promise<string> {
  const { status, body } = await service.post("/api/import_jobs", { rows });
  expect(status).toBe(202);
  await service.idle();
  return body.id;
}

/** The reasons against a message to the address, whose player agrees to it. */
async function against(email: string): Promise<string[]> {
  const [found] = (await service.get(`/api/players?email.eq=${email}`)).body;
  const player = found ?? (await newPlayer({ email }));
  const said = { consentSource: "desk", consentText: "I agree to offers", channel: "email" };
  await call("consent-record", { playerId: player.id, consentGiven: true, ...said });
  return (await call("compliance-check", { channel: "email", email })).body.reasons;
}

/** Every way in which a record lets go of its address. */
const LEAVING: [string, (player: Player) => Promise<unknown>][] = [
  ["is deleted", ({ id }) => service.request("DELETE", `/api/players/${id}`)],
  [
    "gets another address",
    ({ id }) => service.request("PATCH", `/api/players/${id}`, { body: { email: anyEmail() } }),
  ],
  [
    "loses its address",
    ({ id }) => service.request("PATCH", `/api/players/${id}`, { body: { email: null } }),
  ],
  ["gets another address by a file", ({ player_id }) => imported([{ player_id, email: anyEmail() }])],
  [
    "is merged into one with another address",
    async ({ id }) => call("merge-players", { playerId: (await newPlayer()).id, duplicateId: id }),
  ],
];

describe.each(["banned", "deceased", "vip_hold"])("a record that is %s", (status) => {
  test.each(LEAVING)("bars its address still when it %s", async (_, leave) => {
    const player = await newPlayer();
    expect((await set(player.id, status)).status).toBe(200);
    await leave(player);
    expect(await against(player.email)).toEqual(["suppressed"]);
  });

  test("bars the phone that it had for every channel", async () => {
    const phone = `+1702555${Math.floor(1000 + Math.random() * 8999)}`;
    const { id } = await newPlayer({ phone });
    await set(id, status);
    await service.request("DELETE", `/api/players/${id}`);
    const { id: again } = await newPlayer({ phone });
    for (const channel of ["sms", "voice", "email"]) {
      const { body } = await call("compliance-check", { channel, playerId: again });
      expect(body.reasons, channel).toContain("suppressed");
    }
  });
});

test("a player_id that banned and deceased people had means the deceased", async () => {
  const [first, second] = [await newPlayer(), await newPlayer()];
  for (const [{ id }, status] of [[first, "deceased"] as const, [second, "banned"] as const]) {
    expect((await set(id, status)).status).toBe(200);
    await service.request("DELETE", `/api/players/${id}`);
  }
  const { db } = service.internals;
  const { player_id } = first;
  await db.asProperty(
    service.tenant.id,
    (sql) =>
      sql`update players set player_id = ${player_id} where property_id = ${service.tenant.id} and id = ${second.id}`,
  );
  expect((await newPlayer({ player_id })).status).toBe("deceased");
});

test("an address that no bar was on is free when its record lets go of it", async () => {
  const player = await newPlayer();
  await service.request("DELETE", `/api/players/${player.id}`);
  expect(await against(player.email)).toEqual([]);
});

describe("a ban that went on with the address", () => {
  async function banned(): Promise<Player> {
    const player = await newPlayer();
    await set(player.id, "banned");
    return player;
  }
  const suppressionsOf = async (email: string) =>
    (await service.get(`/api/suppressions?address.eq=${email}&lifted_at.is=null`)).body;

  test("is lifted by a signed-in manager, and by no API key", async () => {
    const { id, email } = await banned();
    await service.request("DELETE", `/api/players/${id}`);
    const [{ id: bar, reason, source, channel }] = await suppressionsOf(email);
    expect([reason, source, channel]).toEqual(["banned", "banned", "all"]);
    const refusedLift = await service.request("DELETE", `/api/suppressions/${bar}`);
    expect([refusedLift.status, refusedLift.body.error]).toEqual([
      409,
      expect.stringContaining("signed-in admin or manager"),
    ]);
    expect(await against(email)).toEqual(["suppressed"]);
    const lifted = await service.request("DELETE", `/api/suppressions/${bar}`, { headers: manager });
    expect(lifted.status).toBe(200);
    expect(await against(email)).toEqual([]);
  });

  test("ends with the ban of the record that had the address", async () => {
    const { id, email } = await banned();
    await service.request("PATCH", `/api/players/${id}`, { body: { email: anyEmail() } });
    expect(await suppressionsOf(email)).toHaveLength(1);
    expect((await set(id, "active", manager)).status).toBe(200);
    expect(await suppressionsOf(email)).toEqual([]);
    expect(await against(email)).toEqual([]);
  });

  test("cannot be written by a caller", async () => {
    const given = { channel: "email", address: anyEmail(), reason: "banned" };
    expect((await service.post("/api/suppressions", given)).status).toBe(400);
  });
});

test("a hold ends for the address too when the record leaves it", async () => {
  const { id, email } = await newPlayer({ status: "vip_hold" });
  await service.request("PATCH", `/api/players/${id}`, { body: { email: anyEmail() } });
  expect(await against(email)).toEqual(["suppressed"]);
  await service.request("PATCH", `/api/players/${id}`, { body: { status: "active" } });
  expect(await against(email)).toEqual([]);
});

describe("the number of a deleted record that was self-excluded", () => {
  async function deletedExclusion(): Promise<string> {
    const { id, player_id } = await newPlayer({ player_id: `X-${randomUUID()}` });
    await service.post("/api/self_exclusions", { player_id: id });
    await service.request("DELETE", `/api/players/${id}`);
    return player_id;
  }

  test("means a self-excluded player again, whose new address is barred too", async () => {
    const player_id = await deletedExclusion();
    const { status, email } = await newPlayer({ player_id, status: "active" });
    expect(status).toBe("self_excluded");
    expect(await against(email)).toContain("self_excluded");
  });

  test("means one in a file, which says so", async () => {
    const player_id = await deletedExclusion();
    const email = anyEmail();
    const job = await imported([{ player_id, email, status: "active" }]);
    expect((await service.get(`/api/players?player_id.eq=${player_id}`)).body[0].status).toBe(
      "self_excluded",
    );
    expect(await against(email)).toContain("self_excluded");
    const errors = await service.get(`/api/import_jobs/${job}/errors`);
    expect(errors.body.map(({ code }: { code: string }) => code)).toEqual(["self_excluded"]);
  });

  test("is not freed by lifting the ban of another record that had it", async () => {
    const player_id = await deletedExclusion();
    const { id } = await newPlayer();
    await set(id, "banned");
    await service.request("PATCH", `/api/players/${id}`, { body: { player_id }, headers: manager });
    await set(id, "active", manager);
    expect((await service.get(`/api/players/${id}`)).body.status).toBe("self_excluded");
  });

  test("cannot be exchanged by an API key", async () => {
    const { id } = await newPlayer();
    await service.post("/api/self_exclusions", { player_id: id });
    const body = { player_id: `Y-${randomUUID()}` };
    expect((await service.request("PATCH", `/api/players/${id}`, { body })).status).toBe(409);
  });
});

describe("the number of a deleted record that was banned", () => {
  async function deletedBan(): Promise<string> {
    const { id, player_id } = await newPlayer({ player_id: `B-${randomUUID()}` });
    await set(id, "banned");
    await service.request("DELETE", `/api/players/${id}`);
    return player_id;
  }

  test("means a banned player again, with whatever address", async () => {
    const player_id = await deletedBan();
    expect((await newPlayer({ player_id, status: "active" })).status).toBe("banned");
  });

  test("means one when another record gets it", async () => {
    const player_id = await deletedBan();
    const { id } = await newPlayer();
    const { body } = await service.request("PATCH", `/api/players/${id}`, { body: { player_id } });
    expect(body.status).toBe("banned");
  });

  test("means one in a file", async () => {
    const player_id = await deletedBan();
    await imported([{ player_id, email: anyEmail(), status: "active" }]);
    expect((await service.get(`/api/players?player_id.eq=${player_id}`)).body[0].status).toBe("banned");
  });

  test("is free once a manager has lifted the ban of the record that has it", async () => {
    const player_id = await deletedBan();
    const { id } = await newPlayer({ player_id });
    await set(id, "active", manager);
    await service.request("DELETE", `/api/players/${id}`);
    expect((await newPlayer({ player_id })).status).toBe("active");
  });

  test("cannot be exchanged by an API key while the ban stands", async () => {
    const { id } = await newPlayer({ player_id: `B-${randomUUID()}` });
    await set(id, "banned");
    const body = { player_id: `C-${randomUUID()}` };
    expect((await service.request("PATCH", `/api/players/${id}`, { body })).status).toBe(409);
    expect((await service.request("PATCH", `/api/players/${id}`, { body, headers: manager })).status).toBe(
      200,
    );
  });
});
