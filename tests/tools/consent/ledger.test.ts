import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { detailHash, recordHash } from "#runtime/ledgers.ts";
import { addressHash } from "#tools/people/address.ts";
import { newPlayer, openTwoProperties, type Record_, type TwoProperties } from "../compliance/scenario.ts";

let fixture: TwoProperties;
beforeAll(async () => {
  fixture = await openTwoProperties();
});
afterAll(() => fixture.close());

interface Suppression {
  channel: string;
  reason: string;
  address: string | null;
  player_id: string | null;
  lifted_at: string | null;
}

const grant = (playerId: string, input: object = {}) =>
  fixture.run<{ success: true; consent_id: string }>("consent_record", {
    playerId,
    channel: "email",
    consentGiven: true,
    consentSource: "web form",
    ...input,
  });
/** A consent by which the person lifts a refusal of their own. */
const proof = () => ({ consentVersion: "v1", occurredAt: new Date().toISOString() });
const revoke = (input: object) =>
  fixture.run<{ success: true; revoked: string[]; effective_at: string; confirm_by: string }>(
    "consent_revoke",
    input,
  );
const consentsOf = async (id: string) => (await fixture.run("get_player", { id })).consents;
const ledgerOf = (id: string) =>
  fixture.run<Record_[]>("list_consent_records", { filters: { "player_id.eq": id }, order: "occurred_at" });
const suppressionsOf = (id: string) =>
  fixture.run<(Record_ & Suppression)[]>("list_suppressions", {
    filters: { "player_id.eq": id },
    order: "channel",
  });

test("a consent keeps its evidence: words, version, source, IP address, user agent", async () => {
  const player = await newPlayer(fixture);
  const { consent_id } = await fixture.run<{ consent_id: string }>(
    "consent_record",
    {
      playerId: player.id,
      channel: "sms",
      consentGiven: true,
      consentSource: "kiosk",
      consentText: "I agree",
      consentVersion: "v3",
      consentLevel: "express_written",
      ipAddress: "203.0.113.9",
    },
    { call: { ip: "198.51.100.7", userAgent: "Kiosk/1.0" } },
  );
  const row = await fixture.run("get_consent_record", { id: consent_id });
  expect(row).toMatchObject({
    player_id: player.id,
    channel: "sms",
    action: "granted",
    consent_given: true,
    consent_level: "express_written",
    purpose: "marketing",
    consent_source: "kiosk",
    consent_text: "I agree",
    consent_text_sha256: createHash("sha256").update("I agree").digest("hex"),
    consent_version: "v3",
    ip_address: "203.0.113.9",
    user_agent: "Kiosk/1.0",
    address_hash: addressHash(fixture.property.pepper, player.phone).toString("hex"),
    actor_type: "api_key",
  });
  expect(await consentsOf(player.id)).toEqual({ sms: true });
});

test("consents and revocations keep only a given ipAddress, never that of the calling server", async () => {
  const player = await newPlayer(fixture);
  const call = { ip: "198.51.100.7" };
  await fixture.run(
    "consent_record",
    { playerId: player.id, channel: "email", consentGiven: true, consentSource: "web form" },
    { call },
  );
  await fixture.run("consent_revoke", { playerId: player.id, channel: "email" }, { call });
  const rows = (await ledgerOf(player.id)) as (Record_ & { ip_address: string | null })[];
  expect(rows.map(({ ip_address }) => ip_address)).toEqual([null, null]);
});

test("a stored row gives its own hashes again, and another one does not", async () => {
  const player = await newPlayer(fixture);
  const { consent_id } = await grant(player.id, {
    occurredAt: "2026-01-02T03:04:05.678+02:00",
    expiresAt: "2099-01-01T00:00:00Z",
  });
  const [row] = await fixture.sql(
    (sql) => sql`
      select c.record_hash = ${recordHash("consent_records", "c")} as record,
        c.detail_hash = ${detailHash("consent_records", "c")} as detail,
        c.detail_hash = salted_hash(c.salt, '["other words"]') as other
      from consent_records c where c.property_id = ${fixture.property.id} and c.id = ${consent_id as string}`,
  );
  expect(row).toEqual({ record: true, detail: true, other: false });
});

test("a refusal is a denial, and says so to those who asked", async () => {
  const player = await newPlayer(fixture);
  const { consent_id } = await grant(player.id, { consentGiven: false });
  expect(await fixture.run("get_consent_record", { id: consent_id })).toMatchObject({
    action: "denied",
    consent_given: false,
  });
  expect(await consentsOf(player.id)).toEqual({ email: false });
});

test("the last act counts, not the last record", async () => {
  const player = await newPlayer(fixture);
  await grant(player.id, { consentGiven: false, occurredAt: "2026-03-02T00:00:00Z" });
  await grant(player.id, { consentGiven: false, occurredAt: "2026-03-01T00:00:00Z" });
  await expect(grant(player.id, { occurredAt: "2026-03-01T00:00:00Z" })).rejects.toMatchObject({
    code: "conflict",
  });
  expect(await consentsOf(player.id)).toEqual({ email: false });
  const later = { consentVersion: "v1", occurredAt: "2026-03-03T00:00:00Z" };
  await grant(player.id, { ...later, expiresAt: "2026-04-01T00:00:00Z" });
  await grant(player.id, { occurredAt: "2026-03-01T00:00:00Z" });
  expect(await fixture.run("get_player", { id: player.id })).toMatchObject({
    consents: { email: true },
    consent_expiries: { email: "2026-04-01T00:00:00+00:00" },
  });
  await grant(player.id);
  expect((await fixture.run("get_player", { id: player.id })).consent_expiries).toBeNull();
});

test("a refusal and a consent of one moment are a refusal, with their ids in either order", async () => {
  const player = await newPlayer(fixture);
  const occurredAt = "2026-03-01T00:00:00Z";
  await grant(player.id, { consentGiven: false, occurredAt });
  await fixture.sql(
    (sql) => sql`
      insert into consent_records (property_id, player_id, channel, action, consent_given, occurred_at, actor_type, record_hash)
      values (${fixture.property.id}, ${player.id}, 'email', 'granted', true, ${occurredAt}, 'system', '')`,
  );
  await grant(player.id, { channel: "voice" });
  expect(await consentsOf(player.id)).toEqual({ email: false, voice: true });
  await expect(grant(player.id)).rejects.toMatchObject({ code: "conflict" });
});

test("calls that are refused stay refused, however strong the consent before was", async () => {
  const player = await newPlayer(fixture);
  const voice = { channel: "voice", consentText: "I agree to calls." };
  await grant(player.id, { ...voice, consentLevel: "express_written", occurredAt: "2026-03-01T00:00:00Z" });
  expect(await consentsOf(player.id)).toEqual({ voice: true });
  await grant(player.id, { channel: "voice", consentGiven: false, occurredAt: "2026-03-02T00:00:00Z" });
  expect(await consentsOf(player.id)).toEqual({ voice: false });
});

test("a consent for nobody, from the future, or over before it began is refused", async () => {
  const player = await newPlayer(fixture);
  const nobody = "01900000-0000-7000-8000-000000000000";
  await expect(grant(nobody)).rejects.toMatchObject({ code: "not_found" });
  const foreign = await newPlayer(fixture, {}, fixture.rival);
  await expect(grant(foreign.id)).rejects.toMatchObject({ code: "not_found" });
  await expect(revoke({ playerId: foreign.id })).rejects.toMatchObject({ code: "not_found" });
  const later = new Date(Date.now() + 3_600_000).toISOString();
  await expect(grant(player.id, { occurredAt: later })).rejects.toMatchObject({ code: "invalid" });
  await expect(revoke({ playerId: player.id, requestedAt: later })).rejects.toMatchObject({
    code: "invalid",
  });
  await expect(
    grant(player.id, { occurredAt: "2026-01-02T00:00:00Z", expiresAt: "2026-01-01T00:00:00Z" }),
  ).rejects.toMatchObject({ code: "invalid" });
  expect(await ledgerOf(player.id)).toEqual([]);
});

test("revoking all writes the ledger, suppresses every channel and cancels what is open", async () => {
  const player = await newPlayer(fixture);
  await grant(player.id);
  const { id: property } = fixture.property;
  await fixture.sql(
    (sql) => sql`
      insert into campaign_sends (property_id, player_id, channel, status, dedupe_key)
      select ${property}, ${player.id}, channel, status, sha256(convert_to(channel || status || ${player.id}::text, 'UTF8'))
      from unnest(array['email', 'sms']) as channel, unnest(array['pending', 'deferred', 'sent']) as status returning 1`,
  );
  const answer = await revoke({ playerId: player.id, channel: "email", requestedAt: "2026-11-06T15:00:00Z" });
  expect(answer).toMatchObject({
    success: true,
    revoked: ["email"],
    confirm_by: "2026-11-20T15:00:00+00:00",
  });
  const sends = await fixture.sql(
    (sql) => sql<{ channel: string; status: string; skip_reasons: string[] }[]>`
      select channel, status, skip_reasons from campaign_sends
      where player_id = ${player.id} order by channel, status`,
  );
  expect([...sends]).toEqual([
    { channel: "email", status: "cancelled", skip_reasons: ["suppressed"] },
    { channel: "email", status: "cancelled", skip_reasons: ["suppressed"] },
    { channel: "email", status: "sent", skip_reasons: [] },
    { channel: "sms", status: "deferred", skip_reasons: [] },
    { channel: "sms", status: "pending", skip_reasons: [] },
    { channel: "sms", status: "sent", skip_reasons: [] },
  ]);
  expect((await revoke({ playerId: player.id })).revoked).toEqual(["sms", "email", "voice", "push"]);
  expect(await consentsOf(player.id)).toEqual({ sms: false, email: false, voice: false, push: false });
  expect((await suppressionsOf(player.id)).map((row) => [row.channel, row.reason, row.address])).toEqual([
    ["email", "unsubscribed", player.email],
    ["push", "unsubscribed", null],
    ["sms", "unsubscribed", player.phone],
    ["voice", "unsubscribed", player.phone],
  ]);
});

test("ten business days pass over weekends and a change of daylight time", async () => {
  const player = await newPlayer(fixture);
  const by = async (requestedAt: string) => (await revoke({ playerId: player.id, requestedAt })).confirm_by;
  expect(await by("2026-10-24T16:00:00Z")).toBe("2026-11-06T17:00:00+00:00");
  expect(await by("2026-03-02T17:00:00Z")).toBe("2026-03-16T16:00:00+00:00");
});

test("revoking leaves no end to a suppression that had one", async () => {
  const player = await newPlayer(fixture);
  const { id } = await fixture.run("create_suppression", {
    channel: "email",
    address: player.email,
    reason: "unsubscribed",
    expires_at: "2099-01-01T00:00:00Z",
  });
  await revoke({ playerId: player.id, channel: "email" });
  expect(await suppressionsOf(player.id)).toMatchObject([{ id, expires_at: null }]);
});

test("a consent may end in the last second that a date-time has", async () => {
  const player = await newPlayer(fixture);
  const { consent_id } = await grant(player.id, { expiresAt: "9999-12-31T23:59:59Z" });
  const row = await fixture.run("get_consent_record", { id: consent_id });
  expect(row.expires_at).toBe("9999-12-31T23:59:59+00:00");
});

test("a refusal has no end", async () => {
  const player = await newPlayer(fixture);
  const refusal = grant(player.id, { consentGiven: false, expiresAt: "2099-01-01T00:00:00Z" });
  await expect(refusal).rejects.toMatchObject({ code: "invalid", details: [{ field: "expiresAt" }] });
});

test("revoking twice is recorded twice and suppresses once", async () => {
  const player = await newPlayer(fixture);
  await revoke({ playerId: player.id, channel: "email" });
  await revoke({ playerId: player.id, channel: "email" });
  expect(await ledgerOf(player.id)).toHaveLength(2);
  expect(await suppressionsOf(player.id)).toHaveLength(1);
});

test("a player who takes texts back takes calls back too, and the reverse", async () => {
  const player = await newPlayer(fixture);
  expect((await revoke({ playerId: player.id, channel: "sms" })).revoked).toEqual(["sms", "voice"]);
  expect((await revoke({ playerId: player.id, channel: "voice" })).revoked).toEqual(["sms", "voice"]);
  expect((await revoke({ playerId: player.id, channel: "push" })).revoked).toEqual(["push"]);
});

test("a property may keep texts and calls apart", async () => {
  const apart = await openTwoProperties({ revocation_scope: "channel" });
  const player = await newPlayer(apart);
  const answer = await apart.run("consent_revoke", { playerId: player.id, channel: "sms" });
  expect(answer.revoked).toEqual(["sms"]);
  await apart.close();
});

test("an address that no player has is suppressed all the same", async () => {
  await revoke({ phone: "(202) 555-7001", channel: "sms", method: "stop_keyword" });
  const rows = await fixture.run<Suppression[]>("list_suppressions", {
    filters: { "address.eq": "+12025557001" },
  });
  expect(rows.map((row) => [row.channel, row.reason]).sort()).toEqual([
    ["sms", "stop_keyword"],
    ["voice", "stop_keyword"],
  ]);
  const late = await newPlayer(fixture, { phone: "+12025557001" });
  await grant(late.id, { channel: "sms", occurredAt: "2026-01-01T00:00:00Z" });
  const check = { channel: "sms", phone: "+12025557001" };
  expect(await fixture.run("compliance_check", check)).toMatchObject({ reasons: ["suppressed"] });
});

test("a revocation is told for each player, and for an address that no player has", async () => {
  await fixture.sql(
    (sql) => sql`insert into webhook_endpoints (property_id, url, events, secret)
      values (${fixture.property.id}, 'https://example.com/', '{consent.revoked}', 's')`,
  );
  const { id } = await newPlayer(fixture, { phone: "+12025557002" });
  for (const phone of ["+12025557002", "+12025557003"]) await revoke({ phone, channel: "sms" });
  const told = await fixture.sql(
    (sql) => sql<{ channel: string; player_id: string | null; has_record: boolean }[]>`
      select data->'object'->>'channel' as channel, data->'object'->>'player_id' as player_id,
        data->'object'->>'id' is not null as has_record
      from outbox where type = 'consent.revoked' order by player_id, channel`,
  );
  const both = (player_id: string | null) =>
    ["sms", "voice"].map((channel) => ({ channel, player_id, has_record: player_id !== null }));
  expect([...told]).toEqual([...both(id), ...both(null)]);
});

test("an address revokes for every player who has it, and for nobody in another property", async () => {
  const shared = { email: "house@example.com" };
  const [one, other] = [await newPlayer(fixture, shared), await newPlayer(fixture, shared)];
  const foreign = await newPlayer(fixture, shared, fixture.rival);
  await revoke({ email: "HOUSE@example.com", channel: "email" });
  expect(await consentsOf(one.id)).toEqual({ email: false });
  expect(await consentsOf(other.id)).toEqual({ email: false });
  expect((await fixture.run("get_player", { id: foreign.id }, { in: fixture.rival })).consents).toEqual({});
  expect(await fixture.run("list_suppressions", {}, { in: fixture.rival })).toEqual([]);
  expect(await fixture.run("list_consent_records", {}, { in: fixture.rival })).toEqual([]);
});

test("exactly one of playerId, phone and email names who revokes", async () => {
  const player = await newPlayer(fixture);
  for (const who of [
    {},
    { playerId: player.id, email: player.email },
    { phone: "12" },
    { email: "nobody" },
  ]) {
    await expect(revoke(who)).rejects.toMatchObject({ code: "invalid" });
  }
});

test("a new express opt-in lifts what the person asked for on that channel, and nothing else", async () => {
  const player = await newPlayer(fixture);
  await fixture.run("create_suppression", { channel: "email", address: player.email, reason: "complaint" });
  await fixture.run("create_suppression", { channel: "email", address: player.email, reason: "hard_bounce" });
  await revoke({ playerId: player.id, channel: "email" });
  await revoke({ playerId: player.id, channel: "sms", method: "stop_keyword" });
  await grant(player.id, proof());
  const active = async () => {
    const rows = await fixture.run<Suppression[]>("list_suppressions", {
      filters: { "address.in": `(${player.email},"${player.phone}")`, "lifted_at.is": "null" },
    });
    return rows.map((row) => `${row.channel} ${row.reason}`).sort();
  };
  const left = ["email complaint", "email hard_bounce", "sms stop_keyword", "voice stop_keyword"];
  expect(await active()).toEqual(left);
  await grant(player.id, { channel: "sms", ...proof() });
  expect(await active()).toEqual(left.filter((one) => !one.startsWith("sms")));
});

test.each([
  ["implied", { consentLevel: "implied" }],
  ["without a source", { consentSource: undefined }],
  ["older than the revocation", { occurredAt: "2026-01-01T00:00:00Z" }],
])("an opt-in that is %s lifts nothing", async (_, input) => {
  const player = await newPlayer(fixture);
  await revoke({ playerId: player.id, channel: "email" });
  await expect(grant(player.id, { ...proof(), ...input })).rejects.toMatchObject({ code: "conflict" });
  const [row] = await suppressionsOf(player.id);
  expect(row).toMatchObject({ channel: "email", lifted_at: null });
});

test("revocations and consents at the same time end as the ledger says", async () => {
  const player = await newPlayer(fixture);
  for (let round = 0; round < 5; round++) {
    await Promise.all([
      grant(player.id, proof()).catch(refusedAsBefore),
      revoke({ playerId: player.id, channel: "email" }),
      grant(player.id, proof()).catch(refusedAsBefore),
      revoke({ email: player.email, channel: "email" }),
    ]);
    const last = (await ledgerOf(player.id)).at(-1)!;
    expect(await consentsOf(player.id)).toEqual({ email: last.consent_given });
    const open = (await suppressionsOf(player.id)).filter((row) => row.lifted_at === null);
    expect(open).toHaveLength(last.consent_given ? 0 : 1);
  }
});

/** A revocation that was faster is later than the consent, which cannot lift it. */
function refusedAsBefore(error: unknown): void {
  expect(error).toMatchObject({ code: "conflict" });
}
