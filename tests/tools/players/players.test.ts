import { afterAll, beforeAll, expect, test } from "vitest";
import { addressHash } from "#tools/people/address.ts";
import { newPlayer, openTwoProperties, type Record_, type TwoProperties } from "../compliance/scenario.ts";

let fixture: TwoProperties;
beforeAll(async () => {
  fixture = await openTwoProperties();
});
afterAll(() => fixture.close());

const change = (id: string, input: object) => fixture.run("update_player", { id, ...input });

test("a player is answered with the specification's fields first", async () => {
  const player = await newPlayer(fixture);
  expect(Object.keys(player).slice(0, 13)).toEqual([
    "id",
    "property_id",
    "player_id",
    "email",
    "phone",
    "first_name",
    "last_name",
    "tier",
    "adt",
    "coin_in",
    "status",
    "created_at",
    "lifetime_theo",
  ]);
  expect(player).toMatchObject({
    status: "active",
    consents: {},
    custom: {},
    tags: [],
    phone_e164: player.phone,
  });
});

test("without a player_id the record's id is the player_id", async () => {
  const player = await fixture.run("create_player", {});
  expect(player.player_id).toBe(player.id);
});

test("addresses are stored in one form, and hashed", async () => {
  const player = await fixture.run("create_player", { email: " ANA@Example.com", phone: "(202) 555-9001" });
  expect(player).toMatchObject({ email: "ana@example.com", phone: "+12025559001" });
  const [row] = await fixture.sql(
    (sql) => sql<{ email_hash: Buffer; phone_hash: Buffer }[]>`
      select email_hash, phone_hash from players where id = ${player.id}`,
  );
  const { pepper } = fixture.property;
  expect(row!.email_hash.equals(addressHash(pepper, "ana@example.com"))).toBe(true);
  expect(row!.phone_hash.equals(addressHash(pepper, "+12025559001"))).toBe(true);
});

test("a phone is read as dialed in the player's own country", async () => {
  const player = await fixture.run("create_player", { phone: "020 7946 0958", country: "gb" });
  expect(player).toMatchObject({ phone: "+442079460958", country: "GB" });
});

test.each([
  ["email", { email: "not an address" }],
  ["phone", { phone: "12" }],
  ["country", { country: "12" }],
  ["timezone", { timezone: "Mars/Olympus" }],
  ["birth_date", { birth_date: "2999-01-01" }],
  ["custom", { custom: { note: "x" } }],
  ["status", { status: "banned" }],
  ["consents", { consents: { email: true } }],
])("a wrong %s is named", async (field, input) => {
  await expect(fixture.run("create_player", input)).rejects.toMatchObject({
    code: "invalid",
    message: expect.stringContaining(field),
  });
});

test("a player_id is one player's, until that player is deleted", async () => {
  const first = await fixture.run("create_player", { player_id: "C-1" });
  await expect(fixture.run("create_player", { player_id: "C-1" })).rejects.toMatchObject({
    code: "conflict",
    message: 'A player with player_id "C-1" exists already.',
  });
  const other = await newPlayer(fixture);
  await expect(change(other.id, { player_id: "C-1" })).rejects.toMatchObject({ code: "conflict" });
  await fixture.run("create_player", { player_id: "C-1" }, { in: fixture.rival });
  await fixture.run("delete_player", { id: first.id });
  await fixture.run("create_player", { player_id: "C-1" });
});

test("callers move a player between active, inactive and vip_hold only", async () => {
  const player = await newPlayer(fixture);
  for (const status of ["inactive", "vip_hold", "active"]) {
    expect(await change(player.id, { status })).toMatchObject({ status });
  }
  for (const status of ["banned", "self_excluded", "deceased", "erased"]) {
    await expect(change(player.id, { status })).rejects.toMatchObject({ code: "invalid" });
  }
  for (const status of ["banned", "self_excluded", "deceased"]) {
    await fixture.sql((sql) => sql`update players set status = ${status} where id = ${player.id}`);
    await expect(change(player.id, { status: "active" })).rejects.toMatchObject({ code: "conflict" });
    expect(await change(player.id, { status, tier: "Gold" })).toMatchObject({ status });
  }
  await fixture.sql((sql) => sql`update players set status = 'erased' where id = ${player.id}`);
  await expect(change(player.id, { email: "again@example.com" })).rejects.toMatchObject({ code: "conflict" });
});

test("a new email is not known to be deliverable", async () => {
  const player = await newPlayer(fixture);
  await fixture.sql(
    (sql) =>
      sql`update players set email_status = 'undeliverable', email_validated_at = now() where id = ${player.id}`,
  );
  expect(await change(player.id, { tier: "Gold" })).toMatchObject({ email_status: "undeliverable" });
  expect(await change(player.id, { email: "fresh@example.com" })).toMatchObject({
    email_status: "unknown",
    email_validated_at: null,
  });
  expect(await change(player.id, { email: null })).toMatchObject({ email: null });
});

test("an update changes only what it names", async () => {
  await fixture.sql(
    (sql) => sql`
      insert into custom_fields (property_id, key, label, type) values (${fixture.property.id}, 'a', 'A', 'number')`,
  );
  const player = await newPlayer(fixture, {
    custom: { a: 1 },
    tags: ["slots"],
    adt: 12.5,
    status: "inactive",
  });
  expect(await change(player.id, { first_name: "Ana" })).toMatchObject({
    custom: { a: 1 },
    tags: ["slots"],
    adt: 12.5,
    status: "inactive",
    first_name: "Ana",
  });
});

test("a deleted player is gone from every read, and another property never sees one", async () => {
  const player = await newPlayer(fixture);
  const list = (at = fixture.property) =>
    fixture.run<Record_[]>("list_players", { filters: { "id.eq": player.id } }, { in: at });
  expect(await list()).toHaveLength(1);
  expect(await list(fixture.rival)).toHaveLength(0);
  await expect(fixture.run("get_player", { id: player.id }, { in: fixture.rival })).rejects.toMatchObject({
    code: "not_found",
  });
  await expect(fixture.run("update_player", { id: player.id }, { in: fixture.rival })).rejects.toMatchObject({
    code: "not_found",
  });
  await fixture.run("delete_player", { id: player.id });
  expect(await list()).toHaveLength(0);
});

test("changes are told to those who asked: created, updated, tier_changed, deleted", async () => {
  const player = await newPlayer(fixture, {}, fixture.rival);
  await fixture.sql(
    (sql) => sql`insert into webhook_endpoints (property_id, url, events, secret)
      values (${fixture.property.id}, 'https://example.com/', '{player.*}', 's')`,
  );
  const told = await newPlayer(fixture, { tier: "Gold" });
  await change(told.id, { tier: "Platinum" });
  await fixture.run("delete_player", { id: told.id });
  await fixture.run("update_player", { id: player.id, tier: "Gold" }, { in: fixture.rival });
  const rows = await fixture.sql(
    (sql) => sql<{ type: string; previous: object | null }[]>`
      select type, data->'previous' as previous from outbox order by occurred_at, type`,
  );
  expect([...rows]).toEqual([
    { type: "player.created", previous: null },
    { type: "player.tier_changed", previous: { tier: "Gold" } },
    { type: "player.updated", previous: expect.objectContaining({ tier: "Gold" }) },
    { type: "player.deleted", previous: null },
  ]);
});

test("a person whose data was erased is not stored again, and the refusal names nobody", async () => {
  const { property } = fixture;
  const hash = addressHash(property.pepper, "gone@example.com");
  await fixture.sql(
    (sql) => sql`insert into suppressions (property_id, channel, address_hash, reason)
      values (${property.id}, 'all', ${hash}, 'erased')`,
  );
  const refusal = fixture.run("create_player", { email: "Gone@example.com" });
  await expect(refusal).rejects.toMatchObject({
    code: "conflict",
    message: expect.not.stringContaining("gone@"),
  });
  const other = await newPlayer(fixture);
  await expect(change(other.id, { email: "gone@example.com" })).rejects.toMatchObject({ code: "conflict" });
  await fixture.run("create_player", { email: "gone@example.com" }, { in: fixture.rival });
});

test("a self-excluded person who comes back is self_excluded, by address or by name and birth date", async () => {
  await fixture.run("create_self_exclusion", { email: "out@example.com", phone: "+12025558001" });
  await fixture.run("create_self_exclusion", {
    first_name: "Eva",
    last_name: "Núñez",
    birth_date: "1970-05-06",
  });
  expect(await fixture.run("create_player", { email: "OUT@example.com" })).toMatchObject({
    status: "self_excluded",
  });
  expect(await fixture.run("create_player", { phone: "+12025558001", status: "vip_hold" })).toMatchObject({
    status: "self_excluded",
  });
  const eva = await fixture.run("create_player", { first_name: "EVA", last_name: "Nunez" });
  expect(eva).toMatchObject({ status: "active" });
  expect(await change(eva.id, { birth_date: "1970-05-06" })).toMatchObject({ status: "self_excluded" });
  expect(
    await fixture.run("create_player", { email: "out@example.com" }, { in: fixture.rival }),
  ).toMatchObject({
    status: "active",
  });
});
