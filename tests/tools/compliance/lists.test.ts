import { randomUUIDv7 } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Call } from "#runtime/operation/context.ts";
import { newPlayer, openTwoProperties, type Record_, type TwoProperties } from "./scenario.ts";

let fixture: TwoProperties;
beforeAll(async () => {
  fixture = await openTwoProperties();
});
afterAll(() => fixture.close());

const suppress = (input: object) => fixture.run("create_suppression", { channel: "email", ...input });
const lift = (id: string, call: Partial<Call> = {}) => fixture.run("delete_suppression", { id }, { call });
const statusOf = async (id: string) => (await fixture.run("get_player", { id })).status;

const manager = (): Partial<Call> => ({
  actor: {
    type: "user",
    id: randomUUIDv7(),
    email: "m@example.com",
    isPlatformAdmin: false,
    memberships: [{ property_id: fixture.property.id, role: "manager" }],
  },
});

test("a suppression is kept in the address's one form, once", async () => {
  const row = await suppress({ address: " Ana@Example.com" });
  expect(row).toMatchObject({ address: "ana@example.com", reason: "manual", lifted_at: null });
  await expect(suppress({ address: "ana@example.com" })).rejects.toMatchObject({ code: "conflict" });
  await suppress({ address: "ana@example.com", reason: "complaint" });
  await suppress({ address: "ana@example.com", channel: "all" });
  await fixture.run(
    "create_suppression",
    { channel: "email", address: "ana@example.com" },
    { in: fixture.rival },
  );
});

test.each([
  { channel: "sms", address: "ana@example.com" },
  { channel: "email", address: "+12025550123" },
  { channel: "email", address: null },
  { address: "late@example.com", expires_at: "2020-01-01T00:00:00Z" },
  { address: "gone@example.com", reason: "erased" },
  { address: "gone@example.com", reason: "self_excluded" },
])("%j is no suppression", async (input) => {
  await expect(suppress(input)).rejects.toMatchObject({ code: "invalid" });
});

test("lifting keeps the row, and the address can be suppressed anew", async () => {
  const { id } = await suppress({ address: "back@example.com" });
  await lift(id);
  await lift(id);
  expect(await fixture.run("get_suppression", { id })).toMatchObject({ lifted_at: expect.any(String) });
  expect((await suppress({ address: "back@example.com" })).id).not.toBe(id);
});

test("one that has expired makes room for a new one", async () => {
  const { id } = await suppress({ address: "soon@example.com", expires_at: "2099-01-01T00:00:00Z" });
  await fixture.sql(
    (sql) => sql`update suppressions set expires_at = now() - interval '1 hour' where id = ${id}`,
  );
  await suppress({ address: "soon@example.com" });
  expect((await fixture.run("get_suppression", { id })).lifted_at).not.toBeNull();
});

test("a person's own wish is lifted by a manager, not by a key", async () => {
  for (const reason of ["unsubscribed", "stop_keyword", "complaint"]) {
    const { id } = await suppress({ address: `${reason}@example.com`, reason });
    await expect(lift(id)).rejects.toMatchObject({ code: "conflict" });
    const call = manager();
    await lift(id, call);
    expect(await fixture.run("get_suppression", { id })).toMatchObject({ lifted_by: call.actor!.id });
  }
});

test("nobody lifts a self-exclusion, and nobody lifts another property's suppression", async () => {
  await fixture.run("create_self_exclusion", { email: "bar@example.com" });
  const [row] = await fixture.run<Record_[]>("list_suppressions", {
    filters: { "reason.eq": "self_excluded" },
  });
  await expect(lift(row!.id)).rejects.toMatchObject({ code: "conflict" });
  await expect(lift(row!.id, manager())).rejects.toMatchObject({ code: "conflict" });
  const { id } = await suppress({ address: "mine@example.com" });
  await expect(fixture.run("delete_suppression", { id }, { in: fixture.rival })).rejects.toMatchObject({
    code: "not_found",
  });
});

test("a do-not-call entry names a number once a list", async () => {
  const entry = await fixture.run("create_dnc_entry", { phone: "202-555-3001", note: "asked at the desk" });
  expect(entry).toMatchObject({ phone: "+12025553001", list: "internal", expires_at: null });
  await expect(fixture.run("create_dnc_entry", { phone: "+12025553001" })).rejects.toMatchObject({
    code: "conflict",
  });
  await fixture.run("create_dnc_entry", { phone: "+12025553001", list: "national" });
  await expect(fixture.run("create_dnc_entry", { phone: "12" })).rejects.toMatchObject({ code: "invalid" });
  expect(await fixture.run("update_dnc_entry", { id: entry.id, note: null })).toMatchObject({ note: null });
  const remove = (call: Partial<Call> = {}) => fixture.run("delete_dnc_entry", { id: entry.id }, { call });
  await expect(remove()).rejects.toMatchObject({ code: "forbidden" });
  await remove(manager());
});

test("a self-exclusion reaches every player who is that person, by each identifier", async () => {
  const named = await newPlayer(fixture, { first_name: "Max", last_name: "Holt", birth_date: "1960-01-01" });
  const twin = await newPlayer(fixture, { first_name: "MAX", last_name: "holt", birth_date: "1960-01-01" });
  const other = await newPlayer(fixture, { first_name: "Max", last_name: "Holt", birth_date: "1960-01-02" });
  const mail = await newPlayer(fixture, { email: named.email });
  const phone = await newPlayer(fixture);
  const dead = await newPlayer(fixture, { email: named.email });
  await fixture.sql((sql) => sql`update players set status = 'deceased' where id = ${dead.id}`);
  const foreign = await newPlayer(fixture, { email: named.email }, fixture.rival);
  const row = await fixture.run("create_self_exclusion", {
    player_id: named.id,
    phone: phone.phone,
    program: "NJ",
  });
  expect(row).toMatchObject({ player_id: named.id, program: "NJ", ends_at: null });
  expect(row.address_hashes).toHaveLength(3);
  expect((row.matched_players as string[]).sort()).toEqual([named.id, twin.id, mail.id, phone.id].sort());
  for (const one of [named, twin, mail, phone]) expect(await statusOf(one.id)).toBe("self_excluded");
  expect(await statusOf(other.id)).toBe("active");
  expect(await statusOf(dead.id)).toBe("deceased");
  expect((await fixture.run("get_player", { id: foreign.id }, { in: fixture.rival })).status).toBe("active");
});

test("the open messages of a self-excluded player are cancelled", async () => {
  const player = await newPlayer(fixture);
  await fixture.sql(
    (sql) => sql`insert into campaign_sends (property_id, player_id, channel, status, dedupe_key)
      values (${fixture.property.id}, ${player.id}, 'email', 'pending', ${Buffer.from(player.id)})`,
  );
  await fixture.run("create_self_exclusion", { email: player.email });
  const rows = await fixture.sql(
    (sql) => sql`select status, skip_reasons from campaign_sends where player_id = ${player.id}`,
  );
  expect([...rows]).toEqual([{ status: "cancelled", skip_reasons: ["self_excluded"] }]);
});

test("a longer self-exclusion is not cut short by a shorter one, and one that is over changes nothing", async () => {
  const expiryOf = async () => {
    const [row] = await fixture.run<Record_[]>("list_suppressions", {
      filters: { "reason.eq": "self_excluded", "address_hash.eq": hash },
    });
    return row?.expires_at;
  };
  const exclude = (ends_at?: string) =>
    fixture.run("create_self_exclusion", { email: "long@example.com", ends_at });
  const first = await exclude("2090-01-01T00:00:00Z");
  const hash = (first.address_hashes as string[])[0]!;
  await exclude("2050-01-01T00:00:00Z");
  expect(await expiryOf()).toBe("2090-01-01T00:00:00+00:00");
  await exclude();
  expect(await expiryOf()).toBeNull();
  const player = await newPlayer(fixture);
  await fixture.run("create_self_exclusion", {
    email: player.email,
    starts_at: "2020-01-01T00:00:00Z",
    ends_at: "2021-01-01T00:00:00Z",
  });
  expect(await statusOf(player.id)).toBe("active");
});

test.each([
  {},
  { first_name: "Max" },
  { first_name: "Max", last_name: "Holt" },
  { email: "x@example.com", birth_date: "1960-01-01" },
  { email: "not an address" },
  { email: "x@example.com", starts_at: "2999-01-01T00:00:00Z" },
  { email: "x@example.com", ends_at: "2020-01-01T00:00:00Z" },
])("%j names nobody to exclude, or no time", async (input) => {
  await expect(fixture.run("create_self_exclusion", input)).rejects.toMatchObject({ code: "invalid" });
});

test("a person who excluded themselves by name is excluded by every address that they have", async () => {
  const person = { first_name: "Yan", last_name: "Zed", birth_date: "1980-02-03" };
  await fixture.run("create_self_exclusion", person);
  const excluded = await fixture.run("create_player", { ...person, email: "yan@z.example" });
  expect(excluded.status).toBe("self_excluded");
  const twin = await fixture.run("create_player", { first_name: "Other", email: "yan@z.example" });
  expect(twin.status).toBe("self_excluded");
  await fixture.run("delete_player", { id: excluded.id });
  const check = await fixture.run("compliance_check", { channel: "email", email: "yan@z.example" });
  expect(check.allowed).toBe(false);
  expect(check.reasons).toContain("self_excluded");
});
