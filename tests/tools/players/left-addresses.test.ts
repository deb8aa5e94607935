import { randomUUID, randomUUIDv7 } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Call } from "#runtime/operation/context.ts";
import { shifted } from "../../support/database.ts";
import { isFull } from "../../support/proof-size.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
let manager: { Authorization: string; "X-Api-Key": null };
let key: Extract<Call["actor"], { type: "api_key" }>;
beforeAll(async () => {
  service = await startService();
  const { token } = await service.signIn({ role: "manager" });
  manager = { Authorization: `Bearer ${token}`, "X-Api-Key": null };
  const scopes: ["read", "write"] = ["read", "write"];
  key = { type: "api_key", id: randomUUIDv7(), propertyId: service.tenant.id, scopes, rateLimit: 1_000_000 };
});
afterAll(() => service?.stop());

type Fields = Record<string, unknown>;
interface Player extends Fields {
  id: string;
  player_id: string;
  email: string;
  status: string;
}

let phones = 1_000;
const anyPhone = () => {
  phones += 1;
  return `+1702555${phones}`;
};
const anyEmail = () => `${randomUUID().slice(0, 8)}@example.com`;
const call = (name: string, input: Fields, headers?: Record<string, string | null>) =>
  service.post(`/api/functions/${name}`, { propertyId: service.tenant.id, ...input }, headers);

/** The operation by an API key, without HTTP, which costs more than most of the calls. */
const byKey = (name: string, input: Fields) =>
  service.call(name, input, service.tenant.id, { actor: key, transport: "rest" });

const newPlayer = (fields: Fields = {}): Promise<Player> =>
  byKey("create_player", { email: anyEmail(), ...fields });

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

/** A refusal, and no trouble of the service's own. */
const ofCaller = (error: unknown) =>
  expect(error).toMatchObject({ code: expect.stringMatching(/^(conflict|forbidden)$/) });

/** The reasons against a message to the address, whose player agrees to it. */
async function against(email: string): Promise<string[]> {
  const propertyId = service.tenant.id;
  const [found] = await byKey("list_players", { filters: { "email.eq": email } });
  const player = found ?? (await newPlayer({ email }));
  const said = { consentSource: "desk", consentText: "I agree to offers", channel: "email" };
  // A barred person's consent may be refused.
  await byKey("consent_record", { propertyId, playerId: player.id, consentGiven: true, ...said }).catch(
    ofCaller,
  );
  return (await byKey("compliance_check", { propertyId, channel: "email", email })).reasons;
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

/** All ways, or a deletion and a file: one by a call, and one by a job. */
const someOf = (ways: typeof LEAVING) =>
  isFull ? ways : ways.filter(([how]) => how === "is deleted" || how.endsWith("by a file"));

describe.each(["banned", "deceased", "vip_hold"])("a record that is %s", (status) => {
  test.each(status === "banned" ? LEAVING : someOf(LEAVING))(
    "bars its address still when it %s",
    async (_, leave) => {
      const player = await newPlayer();
      expect((await set(player.id, status)).status).toBe(200);
      await leave(player);
      expect(await against(player.email)).toEqual(["suppressed"]);
    },
  );

  test("bars the phone that it had for every channel", async () => {
    const phone = anyPhone();
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

  test("means a banned player again, with any address", async () => {
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

describe("a player_id that means a barred person", () => {
  const playerId = () => `N-${randomUUID()}`;
  const excluded = async (fields: Fields) => {
    const player = await newPlayer(fields);
    await service.post("/api/self_exclusions", { player_id: player.id });
    return player;
  };
  const remove = (id: string) => service.request("DELETE", `/api/players/${id}`);
  const merge = (kept: Player, duplicate: Player) =>
    call("merge-players", { playerId: kept.id, duplicateId: duplicate.id });
  const restore = async (id: string) => call("restore-player", { playerId: id });
  const statusOf = async (player_id: string) =>
    (await service.get(`/api/players?player_id.eq=${player_id}`)).body.map(({ status }: Player) => status);

  test("means that person when an earlier record of it is restored", async () => {
    const earlier = await newPlayer({ player_id: playerId() });
    await remove(earlier.id);
    await remove((await excluded({ player_id: earlier.player_id })).id);
    expect((await restore(earlier.id)).body.status).toBe("self_excluded");
    expect(await against(earlier.email)).toContain("self_excluded");
  });

  test("means that person when a record that was banned is restored", async () => {
    const earlier = await newPlayer({ player_id: playerId() });
    await remove(earlier.id);
    const { id } = await newPlayer({ player_id: earlier.player_id });
    await set(id, "banned");
    await remove(id);
    expect((await restore(earlier.id)).body.status).toBe("banned");
  });

  test("is not restored once it means the record that it was merged into", async () => {
    const earlier = await newPlayer({ player_id: playerId() });
    await remove(earlier.id);
    const kept = await excluded({});
    await merge(kept, await newPlayer({ player_id: earlier.player_id }));
    expect((await restore(earlier.id)).status).toBe(409);
  });

  test("gets no record by a file when it was merged, also after the deletion of the kept record", async () => {
    const kept = await excluded({});
    const duplicate = await newPlayer({ player_id: playerId() });
    await merge(kept, duplicate);
    const { player_id } = duplicate;
    const code = async (input: Fields) => {
      const { body } = await service.post("/api/import_jobs", {
        rows: [{ player_id, email: anyEmail() }],
        ...input,
      });
      await service.idle();
      return (await service.get(`/api/import_jobs/${body.id}/errors`)).body[0]?.code;
    };
    expect(await code({ match_on: ["email"] })).toBe("conflict");
    await remove(kept.id);
    expect(await code({})).toBe("conflict");
    expect(await statusOf(player_id)).toEqual([]);
  });

  test.each([
    ["self_excluded", "self_excluded"],
    ["banned", "banned"],
    ["deceased", "banned"],
  ])("means a person who was %s still after an erasure", async (before, after) => {
    const player = await newPlayer({ player_id: playerId() });
    if (before === "self_excluded") await service.post("/api/self_exclusions", { player_id: player.id });
    else await set(player.id, before);
    expect((await call("data-deletion", { playerId: player.id })).status).toBe(200);
    const { id, status } = await newPlayer({ player_id: player.player_id });
    expect(status).toBe(after);
    await call("data-deletion", { playerId: id });
    await imported([{ player_id: player.player_id, email: anyEmail() }]);
    expect(await statusOf(player.player_id)).toEqual([after]);
  });

  test("means them by a merged record's player_id too", async () => {
    const kept = await excluded({});
    const duplicate = await newPlayer({ player_id: playerId() });
    await merge(kept, duplicate);
    await call("data-deletion", { playerId: kept.id });
    expect((await newPlayer({ player_id: duplicate.player_id })).status).toBe("self_excluded");
  });

  test("is free after the erasure of a player with no bar", async () => {
    const player = await newPlayer({ player_id: playerId() });
    await call("data-deletion", { playerId: player.id });
    expect((await newPlayer({ player_id: player.player_id })).status).toBe("active");
  });
});

describe("a file that gives the rest of an excluded person's name and birth date", () => {
  const person = () => ({
    first_name: "Ana",
    last_name: `Roe${randomUUID().slice(0, 8)}`,
    birth_date: "1980-01-02",
  });

  test.each(["overwrite", "fill_blanks"])("finds the person (%s)", async (on_conflict) => {
    const { birth_date, ...name } = person();
    await service.post("/api/self_exclusions", { ...name, birth_date });
    const player = await newPlayer({ player_id: `N-${randomUUID()}`, ...name });
    const { player_id } = player;
    const { body } = await service.post("/api/import_jobs", {
      rows: [{ player_id, birth_date }],
      on_conflict,
    });
    await service.idle();
    expect((await service.get(`/api/players/${player.id}`)).body.status).toBe("self_excluded");
    expect((await service.get(`/api/import_jobs/${body.id}/errors`)).body[0]?.code).toBe("self_excluded");
    expect(await against(player.email)).toContain("self_excluded");
  });
});

describe("a suppression that ends, and that a caller has made", () => {
  const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString();
  const tomorrow = () => new Date(Date.now() + 86_400_000).toISOString();
  const suppress = (address: string, reason: string) =>
    service.post("/api/suppressions", { channel: "email", address, reason, expires_at: inAnHour() });
  async function laterAgainst(email: string): Promise<string[]> {
    await against(email);
    return (await call("compliance-check", { channel: "email", email, at: tomorrow() })).body.reasons;
  }

  test("lasts when a record with a refusal lets go of the address", async () => {
    const { id, email } = await newPlayer();
    await call("consent-record", { playerId: id, channel: "email", consentGiven: false });
    expect((await suppress(email, "unsubscribed")).status).toBe(201);
    await service.request("PATCH", `/api/players/${id}`, { body: { email: anyEmail() } });
    expect(await laterAgainst(email)).toEqual(["no_consent", "suppressed"]);
  });

  test("lasts when a file's faulty row refuses the channel", async () => {
    const email = anyEmail();
    expect((await suppress(email, "unsubscribed")).status).toBe(201);
    await imported([{ email, phone: "x", "consent.email": "no" }]);
    expect(
      (await call("compliance-check", { channel: "email", email, at: tomorrow() })).body.reasons,
    ).toContain("suppressed");
  });
});

test("a refusal that is later than an older suppression of the address dates it anew", async () => {
  const { id, email } = await newPlayer();
  await service.post("/api/suppressions", { channel: "email", address: email, reason: "unsubscribed" });
  const before = new Date().toISOString();
  await call("consent-record", { playerId: id, channel: "email", consentGiven: false });
  await service.request("PATCH", `/api/players/${id}`, { body: { email: anyEmail() } });
  const { id: next } = await newPlayer({ email });
  const said = { consentSource: "desk", consentText: "I agree", occurredAt: before, consentGiven: true };
  await call("consent-record", { playerId: next, channel: "email", ...said });
  const { body } = await call("compliance-check", { channel: "email", email });
  expect(body.reasons).toEqual(["suppressed"]);
});

test("a hold does not end for a left address when the player becomes banned by the number", async () => {
  const banned = await newPlayer({ player_id: `B-${randomUUID()}` });
  await set(banned.id, "banned");
  await service.request("DELETE", `/api/players/${banned.id}`);
  const { id, email } = await newPlayer({ status: "vip_hold" });
  await service.request("PATCH", `/api/players/${id}`, { body: { email: anyEmail() } });
  await service.request("PATCH", `/api/players/${id}`, { body: { player_id: banned.player_id } });
  expect(await against(email)).toEqual(["suppressed"]);
});

describe("an address that two players on hold have let go of", () => {
  const free = (id: string) => service.request("PATCH", `/api/players/${id}`, { body: { status: "active" } });
  const held = async (email: string) => [
    await newPlayer({ email, status: "vip_hold" }),
    await newPlayer({ email, status: "vip_hold" }),
  ];

  test.each([
    [0, 1],
    [1, 0],
  ])("stays barred by player %i while player %i is free, until a caller lifts it", async (_, freed) => {
    const email = anyEmail();
    const both = await held(email);
    for (const { id } of both)
      await service.request("PATCH", `/api/players/${id}`, { body: { email: anyEmail() } });
    await free(both[freed]!.id);
    expect(await against(email)).toEqual(["suppressed"]);
    const [bar] = (await service.get(`/api/suppressions?address.eq=${email}&lifted_at.is=null`)).body;
    expect(bar).toMatchObject({ reason: "manual", source: "several players", player_id: both[0]!.id });
    expect((await service.request("DELETE", `/api/suppressions/${bar.id}`)).status).toBe(200);
    expect(await against(email)).toEqual([]);
  });

  test("stays barred when one file gives both another address", async () => {
    const email = anyEmail();
    const both = await held(email);
    const job = await imported(both.map(({ player_id }) => ({ player_id, email: anyEmail() })));
    expect((await service.get(`/api/import_jobs/${job}`)).body).toMatchObject({ succeeded: 2, failed: 0 });
    await free(both[0]!.id);
    expect(await against(email)).toEqual(["suppressed"]);
  });

  test("is not kept in plain once both people are erased", async () => {
    const email = anyEmail();
    const numbers = [randomUUID(), randomUUID()];
    await imported(numbers.map((player_id) => ({ player_id, email })));
    const both = await Promise.all(
      numbers.map(async (number) => (await service.get(`/api/players?player_id.eq=${number}`)).body[0]),
    );
    for (const { id } of both)
      await service.request("PATCH", `/api/players/${id}`, { body: { status: "vip_hold" } });
    await imported(numbers.map((player_id) => ({ player_id, email: anyEmail() })));
    expect((await service.get(`/api/suppressions?address.eq=${email}`)).body).toHaveLength(1);
    for (const { id } of both) expect((await call("data-deletion", { playerId: id })).status).toBe(200);
    expect((await service.get(`/api/suppressions?address.eq=${email}`)).body).toEqual([]);
    expect(await against(email)).toContain("suppressed");
  });

  test("stays barred when both have refused and one file gives both another address", async () => {
    const email = anyEmail();
    const both = [await newPlayer({ email }), await newPlayer({ email })];
    for (const { id } of both)
      await call("consent-record", { playerId: id, channel: "email", consentGiven: false });
    const job = await imported(both.map(({ player_id }) => ({ player_id, email: anyEmail() })));
    expect((await service.get(`/api/import_jobs/${job}`)).body).toMatchObject({ succeeded: 2, failed: 0 });
    const { body } = await call("compliance-check", { channel: "email", email });
    expect(body.reasons).toContain("suppressed");
  });
});

test("a caller's suppression of an address outlasts the hold of a player who has let go of it", async () => {
  const { id, email } = await newPlayer({ status: "vip_hold" });
  await service.request("PATCH", `/api/players/${id}`, { body: { email: anyEmail() } });
  const given = { channel: "all", address: email, reason: "manual", source: "desk" };
  expect((await service.post("/api/suppressions", given)).status).toBe(201);
  expect((await service.post("/api/suppressions", given)).status).toBe(409);
  await service.request("PATCH", `/api/players/${id}`, { body: { status: "active" } });
  expect(await against(email)).toEqual(["suppressed"]);
});

test("a hold that ends by a file ends for the left address too", async () => {
  const { id, player_id, email } = await newPlayer({ status: "vip_hold" });
  await service.request("PATCH", `/api/players/${id}`, { body: { email: anyEmail() } });
  await imported([{ player_id, status: "active" }]);
  expect(await against(email)).toEqual([]);
});

test("a consent for a new address leaves the refusal on the former one", async () => {
  const { id, email } = await newPlayer();
  await call("consent-revoke", { playerId: id, channel: "email" });
  const next = anyEmail();
  await service.request("PATCH", `/api/players/${id}`, { body: { email: next } });
  const said = { consentSource: "desk", consentText: "I agree", occurredAt: new Date().toISOString() };
  await call("consent-record", { playerId: id, channel: "email", consentGiven: true, ...said });
  expect((await call("compliance-check", { channel: "email", email: next })).body.reasons).toEqual([]);
  expect(await against(email)).toEqual(["no_consent", "suppressed"]);
});

test.each(someOf(LEAVING))(
  "a record that stays self-excluded after the end bars its address still when it %s",
  async (_, leave) => {
    const player = await newPlayer();
    const ends_at = new Date(Date.now() + 3_600_000).toISOString();
    expect((await service.post("/api/self_exclusions", { player_id: player.id, ends_at })).status).toBe(201);
    await service.internals.db.asProperty(service.tenant.id, async (sql) => {
      await sql`update self_exclusions set starts_at = ${shifted("starts_at", "-2 hours")}, ends_at = ${shifted("ends_at", "-2 hours")}
      where property_id = ${service.tenant.id} and ends_at is not null`;
      await sql`update suppressions set expires_at = ${shifted("expires_at", "-2 hours")}
      where property_id = ${service.tenant.id} and reason = 'self_excluded' and expires_at is not null`;
    });
    await leave(player);
    expect(await against(player.email)).toContain("self_excluded");
  },
);
