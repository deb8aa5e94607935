import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { detailHash, recordHash } from "#runtime/ledgers.ts";
import type { ImportParams } from "#tools/imports/job/import-job.ts";
import { seenIdentities } from "#tools/imports/read/identity-set.ts";
import { layoutOf } from "#tools/imports/read/layout.ts";
import { quickEmail, rowReader } from "#tools/imports/read/rows.ts";
import { addressHash, normalizeEmail } from "#tools/people/address.ts";
import { type Imports, openImports } from "../scenario.ts";

let imports: Imports;
beforeAll(async () => {
  imports = await openImports();
});
afterAll(() => imports.stop());
beforeEach(() =>
  imports.as(async (sql) => {
    await sql`update players set deleted_at = now() where property_id = ${imports.service.tenant.id} and deleted_at is null`;
  }),
);

const codes = (errors: { row: number; code: string }[]) => errors.map(({ row, code }) => [row, code]);

test("a row with a bad email or phone is refused whole, and its player is not made", async () => {
  const { job, errors } = await imports.run({
    csv: "player_id,email,phone\n1,ann@,\n2,bo@example.com,12\n3,bad,bad\n4,di@example.com,(202) 555-0123\n",
  });
  expect(job).toMatchObject({ status: "completed", total: 4, succeeded: 1, failed: 3, created_count: 1 });
  expect(codes(errors)).toEqual([
    [1, "invalid_email"],
    [2, "invalid_phone"],
    [3, "invalid_email"],
    [3, "invalid_phone"],
  ]);
  expect(errors[0]).toMatchObject({
    column: "email",
    value: "ann@",
    original_row: { player_id: "1", email: "ann@", phone: "" },
  });
  expect(await imports.players()).toMatchObject([{ player_id: "4", phone: "+12025550123" }]);
});

test("a value that does not fit its field, a huge cell and a NUL are type mismatches", async () => {
  const { errors } = await imports.send(
    `player_id,adt,birth_date,first_name,status\n1,much,,,\n2,,1980-02-30,,\n3,,,${"x".repeat(70_000)},\n4,,,a\0b,\n5,,,,banned\n6,"1,250.50",1980-02-29,,inactive\n`,
  );
  expect(codes(errors)).toEqual([1, 2, 3, 4, 5].map((row) => [row, "type_mismatch"]));
  expect(await imports.players()).toMatchObject([
    { player_id: "6", adt: 1250.5, birth_date: "1980-02-29", status: "inactive" },
  ]);
});

test("a row without player_id, email and phone is nobody's", async () => {
  const { errors } = await imports.run({ csv: "player_id,email,first_name\n,,Ann\n,bo@example.com,Bo\n" });
  expect(codes(errors)).toEqual([[1, "missing_identifier"]]);
});

test("the later row of the same player in a file is a duplicate; one email under two player_ids is two players", async () => {
  const { job, errors } = await imports.run({
    csv: "player_id,email,first_name\nA,x@example.com,first\nA,y@example.com,second\nB,x@example.com,third\n,z@example.com,fourth\n,Z@example.com,fifth\n,x@example.com,sixth\n",
  });
  expect(codes(errors)).toEqual([
    [2, "duplicate_in_file"],
    [5, "duplicate_in_file"],
    [6, "duplicate_in_file"],
  ]);
  expect(job).toMatchObject({ created_count: 3, failed: 3 });
  expect((await imports.players()).map((player) => player.first_name).sort()).toEqual([
    "first",
    "fourth",
    "third",
  ]);
});

test("upsert overwrites what the file has, and an empty cell erases nothing", async () => {
  await imports.run({ csv: "player_id,email,first_name,tier\nU,old@example.com,Old,Gold\n" });
  const { job } = await imports.run({
    csv: "player_id,email,first_name,tier\nU,new@example.com,,Platinum\nV,,Vee,\n",
  });
  expect(job).toMatchObject({ created_count: 1, updated_count: 1, succeeded: 2 });
  const [player] = await imports.players();
  expect(player).toMatchObject({ email: "new@example.com", first_name: "Old", tier: "Platinum" });
  const [property] = await imports.as((sql) => sql`select pepper from properties`);
  expect(player!.email_hash).toEqual(addressHash(property!.pepper, "new@example.com"));
});

test("fill_blanks keeps what is there, skip and create_only leave players alone, update_only makes none", async () => {
  await imports.run({ csv: "player_id,first_name\nF,Fay\n" });
  const csv = "player_id,first_name,tier\nF,Other,Gold\nG,Gil,Gold\n";
  expect((await imports.run({ csv, mode: "update_only", on_conflict: "fill_blanks" })).job).toMatchObject({
    updated_count: 1,
    skipped: 1,
  });
  expect(await imports.players()).toMatchObject([{ player_id: "F", first_name: "Fay", tier: "Gold" }]);
  expect((await imports.run({ csv, mode: "create_only" })).job).toMatchObject({
    created_count: 1,
    skipped: 1,
    failed: 0,
  });
  expect((await imports.run({ csv, on_conflict: "skip" })).job).toMatchObject({
    updated_count: 0,
    skipped: 2,
  });
});

test("players are matched by email or phone when that is asked, the oldest first, and never when they are deleted", async () => {
  await imports.run({ csv: "player_id,email,phone\nM1,m@example.com,2025550111\n" });
  await imports.run({ csv: "player_id,email,phone\nM2,m@example.com,\n" });
  const { job, errors } = await imports.run({
    csv: "player_id,email,phone,first_name\n,m@example.com,,ByEmail\n,,2025550111,ByPhone\nM2,new@example.com,,Clash\n",
    match_on: ["email", "phone"],
  });
  expect(codes(errors)).toEqual([
    [2, "duplicate_in_file"],
    [3, "conflict"],
  ]);
  expect(job).toMatchObject({ updated_count: 1, failed: 2, created_count: 0 });
  expect(await imports.players()).toMatchObject([
    { player_id: "M1", first_name: "ByEmail" },
    { player_id: "M2", first_name: null },
  ]);
});

test("a dry run checks and counts, and writes no player", async () => {
  const { job, errors } = await imports.run({
    csv: "player_id,email\nD1,d@example.com\nD1,e@example.com\nD2,bad\n",
    dry_run: true,
  });
  expect(job).toMatchObject({ status: "completed", created_count: 1, failed: 2, summary: { dry_run: true } });
  expect(codes(errors)).toEqual([
    [2, "duplicate_in_file"],
    [3, "invalid_email"],
  ]);
  expect(await imports.players()).toEqual([]);
  const again = { upload_id: job.upload_id };
  const both = await Promise.all([1, 2].map(() => imports.service.post("/api/import_jobs", again)));
  expect(both.map(({ status }) => status).sort()).toEqual([202, 409]);
  const taken = both.find(({ status }) => status === 202)!.body;
  const { job: done } = await imports.result(taken.id);
  expect(done).toMatchObject({ status: "completed", created_count: 1, failed: 2, upload_id: null });
  expect((await imports.players()).map(({ player_id }) => player_id)).toEqual(["D1"]);
  expect((await imports.service.post("/api/import_jobs", again)).status).toBe(404);
  const { job: tried } = await imports.run({ csv: "player_id\nD9\n", dry_run: true });
  const rival = await imports.service.newTenant();
  const theirs = await imports.service.post(
    "/api/import_jobs",
    { upload_id: tried.upload_id },
    { "X-Api-Key": rival.key },
  );
  expect(theirs.status).toBe(404);
});

test("the quick reading of emails agrees with the whole one", () => {
  for (const text of [
    "Ann.Lee+x@Example.co.uk",
    "a@b.com",
    "a..b@c.com",
    ".a@c.com",
    "a@-b.com",
    "a@b",
    "a@xn--bcher-kva.example",
    "é@b.com",
    "a@b_c.com",
  ]) {
    const quick = quickEmail(text);
    if (quick !== null) expect([text, quick]).toEqual([text, normalizeEmail(text)]);
  }
  expect(quickEmail("Ann.Lee+x@Example.co.uk")).toBe("ann.lee+x@example.co.uk");
});

test("the hash of an imported address is the one that lists know it by", () => {
  const params = {
    mapping: {},
    match_on: ["email"],
    has_header: true,
    date_format: "auto",
  } as unknown as ImportParams;
  const pepper = Buffer.from("pepper".repeat(20));
  const layout = layoutOf(["email"], params, new Map());
  const staged = rowReader({
    layout,
    params,
    property: { pepper, default_country: "US" },
    customs: new Map(),
    seen: seenIdentities(),
    unrecorded: { no_evidence: 0, no_date: 0 },
    lost: { no_identifier: 0, too_many_cells: 0 },
    decimal: ".",
    tiers: new Map(),
    now: Date.now(),
  })(["zoë@bücher.example"], 1);
  const email = normalizeEmail("zoë@bücher.example")!;
  expect(staged).toMatchObject({
    values: { email, email_hash: `\\x${addressHash(pepper, email).toString("hex")}` },
  });
});

test("the future begins by the database's clock, not by this machine's", () => {
  const header = ["player_id", "birth_date", "last_visit_at"];
  const params = {
    mapping: {},
    match_on: ["player_id"],
    has_header: true,
    date_format: "auto",
  } as unknown as ImportParams;
  const readAt = (now: number) =>
    rowReader({
      layout: layoutOf(header, params, new Map()),
      params,
      property: { pepper: Buffer.from("pepper"), default_country: "US" },
      customs: new Map(),
      seen: seenIdentities(),
      unrecorded: { no_evidence: 0, no_date: 0 },
      lost: { no_identifier: 0, too_many_cells: 0 },
      decimal: ".",
      tiers: new Map(),
      now,
    })(["A1", "2020-01-02", "2020-01-03T12:00:00Z"], 1);
  expect(readAt(Date.UTC(2020, 0, 3, 12))).not.toBeInstanceOf(Array);
  expect(readAt(Date.UTC(2020, 0, 1, 12))).toMatchObject([
    { column: "birth_date" },
    { column: "last_visit_at" },
  ]);
});

test("an address that was erased is refused, one that is self-excluded comes in with that status and a notice", async () => {
  const { tenant, call } = imports.service;
  await imports.as(async (sql) => {
    const [property] = await sql<{ pepper: Buffer }[]>`select pepper from properties`;
    await sql`
      insert into suppressions (property_id, channel, address_hash, reason)
      values (${tenant.id}, 'all', ${addressHash(property!.pepper, "gone@example.com")}, 'erased')`;
  });
  await call("create_self_exclusion", { email: "barred@example.com" }, tenant.id);
  await call(
    "create_self_exclusion",
    { first_name: "Zed", last_name: "O'Hara", birth_date: "1970-01-02" },
    tenant.id,
  );
  const { job, errors } = await imports.run({
    csv: "player_id,email,first_name,last_name,birth_date\nE1,gone@example.com,,,\nE2,Barred@example.com,,,\nE3,zed@example.com,ZED,Ohara,1970-01-02\nE4,ok@example.com,,,\n",
  });
  expect(codes(errors)).toEqual([
    [1, "erased"],
    [2, "self_excluded"],
    [3, "self_excluded"],
  ]);
  expect(job).toMatchObject({ created_count: 3, failed: 1 });
  expect((await imports.players()).map((player) => player.status)).toEqual([
    "self_excluded",
    "self_excluded",
    "active",
  ]);
});

test("an import turns no consent on by itself; with its evidence each grant is in the ledger, sealed", async () => {
  const csv =
    "player_id,email,Opt In,When\nC1,c1@example.com,yes,2026-01-31 10:00:00\nC2,c2@example.com,no,\nC3,c3@example.com,Y,\nC4,c4@example.com,maybe,\n";
  const mapping = { "Opt In": "consent.email" };
  await imports.run({ csv });
  expect((await imports.players()).map((player) => player.consents)).toEqual([{}, {}, {}, {}]);
  await imports.run({ csv, mapping });
  const refused = { email: false };
  expect((await imports.players()).map((player) => player.consents)).toEqual([{}, refused, {}, {}]);
  const consent = { consentSource: "players club", consentText: "I agree", occurred_at_column: "When" };
  const { errors } = await imports.run({ csv, mapping, consent });
  expect(codes(errors)).toEqual([[4, "type_mismatch"]]);
  expect((await imports.players()).map((player) => player.consents)).toEqual([
    { email: true },
    refused,
    {},
    {},
  ]);
  const records = await imports.as(
    (sql) => sql`
    select occurred_at, actor_type, channel,
      record_hash = ${recordHash("consent_records", "c")}
        and detail_hash = ${detailHash("consent_records", "c")} as intact
    from consent_records c
    where c.property_id = ${imports.service.tenant.id} and consent_source = 'players club' order by occurred_at`,
  );
  expect(records.map(({ intact }) => intact)).toEqual([true]);
  expect(records[0]).toMatchObject({
    occurred_at: "2026-01-31T10:00:00+00:00",
    actor_type: "api_key",
    channel: "email",
  });
});

test("a refusal stays against a consent that nobody can date", async () => {
  const { tenant, call } = imports.service;
  await imports.run({ csv: "player_id,email\nD1,d1@example.com\n" });
  const [player] = await imports.players();
  const refusal = { playerId: player!.id, channel: "email", consentGiven: false };
  await call("consent_record", { propertyId: tenant.id, ...refusal });
  const consent = { channel: ["email"], consentSource: "old list" };
  await imports.run({ csv: "player_id,email\nD1,d1@example.com\nD2,d2@example.com\n", consent });
  expect((await imports.players()).map(({ consents }) => consents)).toEqual([
    { email: false },
    { email: true },
  ]);
  const dated = { ...consent, consentVersion: "1", occurred_at_column: "at" };
  const today = new Date().toISOString();
  await imports.run({ csv: `player_id,email,at\nD1,d1@example.com,${today}\n`, consent: dated });
  expect((await imports.players())[0]!.consents).toEqual({ email: true });
});

test("a revocation after the time of the consent stays, and suppressions stay", async () => {
  const { tenant, call } = imports.service;
  await imports.run({ csv: "player_id,email\nR1,r1@example.com\n" });
  const [player] = await imports.players();
  await call("consent_revoke", { propertyId: tenant.id, playerId: player!.id, channel: "email" });
  const consent = { channel: ["email"], consentSource: "form", occurred_at_column: "at" };
  await imports.run({ csv: "player_id,email,at\nR1,r1@example.com,2026-01-01\n", consent });
  expect((await imports.players())[0]!.consents.email).toBe(false);
  await imports.run({
    csv: "player_id,email\nR1,r1@example.com\n",
    consent: { channel: ["email"], consentSource: "form" },
  });
  const active = await imports.as(
    (sql) => sql`
    select reason from suppressions where property_id = ${tenant.id} and player_id = ${player!.id} and lifted_at is null`,
  );
  expect(active.map((row) => row.reason)).toContain("unsubscribed");
});

test("imported players join a static segment; a dynamic one is refused when the import is made", async () => {
  const { tenant, call } = imports.service;
  const fixed = await call("create_segment", { name: "June list", type: "static" }, tenant.id);
  const rules = await call(
    "create_segment",
    { name: "Golds", type: "dynamic", conditions: [{ field: "tier", operator: "eq", value: "Gold" }] },
    tenant.id,
  );
  await imports.run({ csv: "player_id\nS1\nS2\n", segment_id: fixed.id });
  await imports.run({ csv: "player_id\nS1\nS3\n", segment_id: fixed.id });
  const members = await imports.as(
    (sql) => sql`select source from segment_members where segment_id = ${fixed.id}`,
  );
  expect(members.map((row) => row.source)).toEqual(["import", "import", "import"]);
  expect(
    (await imports.service.post("/api/import_jobs", { csv: "player_id\nS1\n", segment_id: rules.id })).status,
  ).toBe(400);
});

test("a state is one of the row's country, else of the file's", async () => {
  const { errors } = await imports.run({
    default_country: "ca",
    rows: [
      { player_id: "st1", state: "Québec" },
      { player_id: "st2", state: "Florida", country: "US" },
      { player_id: "st3", state: "Bayern", country: "DE" },
      { player_id: "st4", state: "Fla.", country: "US" },
      { player_id: "st5", state: "Florida" },
    ],
  });
  expect(errors.map(({ row, column, code }) => [row, column, code])).toEqual([
    [4, "state", "type_mismatch"],
    [5, "state", "type_mismatch"],
  ]);
  const stored = await imports.as(
    (sql) => sql`select player_id, state from players where player_id like 'st_' order by player_id`,
  );
  expect([...stored]).toEqual([
    { player_id: "st1", state: "QC" },
    { player_id: "st2", state: "FL" },
    { player_id: "st3", state: "Bayern" },
  ]);
});

test("a file may say of a player what a request may, and no more", async () => {
  const wrong: [string, string][] = [
    ["first_name", "n".repeat(201)],
    ["tier", "t".repeat(101)],
    ["state", "s".repeat(41)],
    ["state", "Fla."],
    ["postal_code", "p".repeat(21)],
    ["language", "l".repeat(36)],
    ["country", "USA"],
    ["country", "1A"],
    ["timezone", "Mars/Olympus"],
    ["timezone", "+02:00"],
    ["birth_date", "1899-12-31"],
    ["birth_date", "2999-01-01"],
    ["birth_date", "1980-02-30"],
    ["last_visit_at", "1899-12-31T23:59:59Z"],
    ["last_visit_at", "2099-01-01T00:00:00Z"],
  ];
  for (const [column, value] of wrong) {
    const { status } = await imports.service.post("/api/players", { [column]: value });
    expect(status, `${column} ${value}`).toBe(400);
  }
  const rows = wrong.map(([column, value], at) => ({ player_id: `w${at}`, [column]: value }));
  const { job, errors } = await imports.run({ rows });
  expect(errors.map(({ row, column }) => [row, column])).toEqual(
    wrong.map(([column], at) => [at + 1, column]),
  );
  expect(job).toMatchObject({ created_count: 0, failed: wrong.length });
});
