import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { detailHash, recordHash } from "#runtime/ledgers.ts";
import { FEWEST_RECORDS, type Imports, openImports, SMALL_BATCHES } from "../scenario.ts";

let imports: Imports;
beforeAll(async () => {
  imports = await openImports(SMALL_BATCHES);
});
afterAll(() => imports.stop());
beforeEach(() =>
  imports.as(async (sql) => {
    await sql`update players set deleted_at = now() where property_id = ${imports.service.tenant.id} and deleted_at is null`;
  }),
);

const mapping = { email_opt_in: "consent.email" };
const consent = { consentSource: "players club", consentText: "I agree", consentVersion: "1" };
const HEADER = "player_id,email,email_opt_in";

const reasonsOf = async (email: string): Promise<string[]> => {
  const { tenant, call } = imports.service;
  return (await call("compliance_check", { propertyId: tenant.id, channel: "email", email })).reasons;
};

interface Entry {
  action: string;
  consent_source: string | null;
}

const ledger = (playerId: string) =>
  imports.as(
    (sql) => sql<Entry[]>`
      select c.action, c.consent_source, c.consent_text, c.consent_version, c.collection_method, c.actor_type,
        encode(c.address_hash, 'hex') as address_hash, record_hash = ${recordHash("consent_records", "c")}
          and detail_hash = ${detailHash("consent_records", "c")} as intact
      from consent_records c join players p on p.property_id = c.property_id and p.id = c.player_id
      where c.property_id = ${imports.service.tenant.id} and p.player_id = ${playerId} and p.deleted_at is null
      order by c.occurred_at, c.id`,
  );

const actions = async (playerId: string) => (await ledger(playerId)).map(({ action }) => action);

test("a no takes the yes of an earlier file back, without any evidence, and a repeated file says nothing new", async () => {
  await imports.run({ csv: `${HEADER}\nT1,t1@example.com,yes\n`, mapping, consent });
  expect(await reasonsOf("t1@example.com")).toEqual([]);
  const again = { csv: "player_id,email_opt_in\nT1,no\n", mapping };
  const { job, errors } = await imports.run(again);
  expect([job.succeeded, errors]).toEqual([1, []]);
  expect((await imports.players())[0]!.consents).toEqual({ email: false });
  expect(await reasonsOf("t1@example.com")).toEqual(["no_consent"]);
  const [granted, denied, ...more] = await ledger("T1");
  expect(more).toEqual([]);
  expect(granted).toMatchObject({ action: "granted", ...{ consent_source: "players club" } });
  expect(denied).toMatchObject({
    ...{ action: "denied", consent_source: null, consent_text: null, collection_method: "import" },
    ...{ actor_type: "api_key", intact: true, address_hash: expect.stringMatching(/^[0-9a-f]{64}$/) },
  });
  await imports.run(again);
  await imports.run({ ...again, consent });
  expect(await actions("T1")).toEqual(["granted", "denied"]);
});

test("a dated no is written once, with its evidence, and yields to a later yes", async () => {
  const dated = { ...consent, occurred_at_column: "at" };
  const csv = `${HEADER},at\nU1,u1@example.com,no,2026-02-01\n`;
  for (const _ of [1, 2]) await imports.run({ csv, mapping, consent: dated });
  expect(await ledger("U1")).toMatchObject([
    { action: "denied", consent_source: "players club", consent_text: "I agree", consent_version: "1" },
  ]);
  const say = (word: string, at: string) =>
    imports.run({ csv: `${HEADER},at\nU1,u1@example.com,${word},${at}\n`, mapping, consent: dated });
  await say("yes", "2026-01-01");
  expect((await imports.players())[0]!.consents).toEqual({ email: false });
  await say("yes", "2026-03-01");
  expect((await imports.players())[0]!.consents).toEqual({ email: true });
  await imports.run({ csv, mapping, consent: dated });
  expect((await imports.players())[0]!.consents).toEqual({ email: true });
  await say("no", "");
  expect((await imports.players())[0]!.consents).toEqual({ email: false });
});

test("where consent is presumed, who said no or opted out gets no message, and an empty cell says nothing", async () => {
  const { call, newTenant } = imports.service;
  const rival = await newTenant();
  await call("update_property", { propertyId: rival.id, email_consent_mode: "opt_out" }, rival.id);
  const csv = `${HEADER}\nO1,o1@example.com,no\nO2,o2@example.com,opted out\nO3,o3@example.com,\nO4,o4@example.com,perhaps\n`;
  const { errors } = await imports.run({ csv, mapping }, { "X-Api-Key": rival.key });
  expect(errors).toMatchObject([{ row: 4, code: "type_mismatch", column: "email_opt_in", value: "perhaps" }]);
  const emails = ["o1@example.com", "o2@example.com", "o3@example.com"];
  const { results } = await call("compliance_check", { propertyId: rival.id, channel: "email", emails });
  expect(results.map((one: { reasons: string[] }) => one.reasons)).toEqual([
    ["no_consent"],
    ["no_consent"],
    [],
  ]);
});

test("of two players who share an address, the no of one bars it for both", async () => {
  const csv = `${HEADER}\nS1,both@example.com,yes\nS2,both@example.com,no\n`;
  await imports.run({ csv, mapping, consent });
  const players = await imports.players();
  expect(players.map(({ consents }) => consents)).toEqual([{ email: true }, { email: false }]);
  const { tenant, call } = imports.service;
  const playerIds = players.map(({ id }) => id);
  const { results } = await call("compliance_check", { propertyId: tenant.id, channel: "email", playerIds });
  expect(results.map((one: { reasons: string[] }) => one.reasons)).toEqual([
    ["shared_address"],
    ["no_consent"],
  ]);
});

test("a refusal is recorded also of players whom the import leaves as they are", async () => {
  await imports.run({ csv: `${HEADER}\nM1,m1@example.com,yes\nM2,m2@example.com,yes\n`, mapping, consent });
  const no = { csv: "player_id,email_opt_in,tier\nM1,no,Gold\n", mapping };
  const { job } = await imports.run({ ...no, on_conflict: "skip" });
  expect(job).toMatchObject({ skipped: 1, succeeded: 0 });
  expect((await imports.players())[0]).toMatchObject({ tier: null, consents: { email: false } });
  const filling = { csv: "player_id,email_opt_in\nM2,no\nM9,no\n", mapping, on_conflict: "fill_blanks" };
  await imports.run({ ...filling, mode: "update_only" });
  expect((await imports.players()).map(({ consents }) => consents)).toEqual([
    { email: false },
    { email: false },
  ]);
  await imports.run({ csv: "player_id,email_opt_in\nM1,yes\n", mapping, on_conflict: "skip", consent });
  expect(await actions("M1")).toEqual(["granted", "denied"]);
});

test("rows that contradict each other in one file leave the refusal, in either order", async () => {
  const rows = [
    ...["R1,r1@example.com,yes", "R1,,no", "R2,r2@example.com,no", "R2,r2@example.com,yes"],
    ...["R3,r3@example.com,yes", ",r3@example.com,no", "R4,r4@example.com,yes"],
  ];
  const { job, errors } = await imports.run({ csv: `${HEADER}\n${rows.join("\n")}\n`, mapping, consent });
  expect(job).toMatchObject({ created_count: 4, failed: 3 });
  expect(errors.map(({ row, code }) => [row, code])).toEqual([
    ...[2, 4, 6].map((row) => [row, "duplicate_in_file"]),
  ]);
  expect((await imports.players()).map(({ consents }) => consents.email)).toEqual([
    false,
    false,
    false,
    true,
  ]);
  const far = Array.from({ length: FEWEST_RECORDS }, (_, n) => `F${n},,`);
  const [earlier, later] = ["R5,r4@example.com,", "R6,r4@example.com,"];
  const csv = `${HEADER}\nR4,r4@example.com,yes\n${earlier}\n${far.join("\n")}\nR4,,no\n${later}\n`;
  const { job: wide } = await imports.run({ csv, mapping, consent });
  expect(wide).toMatchObject({ failed: 1, summary: { taken_addresses: 2 } });
  expect((await imports.players()).find((one) => one.player_id === "R4")!.consents).toEqual({ email: false });
});

test("a no counts in a row that is refused for something else, unless its cells may stand under wrong columns", async () => {
  const people = ["W1", "W2", "W3", "W4"];
  const csv = people.map((id) => `${id},${id}@example.com,yes\n`).join("");
  await imports.run({ csv: `${HEADER}\n${csv}`, mapping, consent });
  const rows = [
    "W1,nonsense,no,",
    ",w2@example.com,no,banned",
    "W3,,no,,extra",
    "W4,nonsense,yes,",
    "W9,nonsense,no,",
  ];
  const { job, errors } = await imports.run({
    csv: `${HEADER},status\n${rows.join("\n")}\n`,
    mapping,
    consent,
  });
  expect(job).toMatchObject({ created_count: 0, updated_count: 0, failed: 5 });
  expect(errors.map(({ row, code }) => [row, code])).toEqual([
    [1, "invalid_email"],
    [2, "type_mismatch"],
    [3, "type_mismatch"],
    [4, "invalid_email"],
    [5, "invalid_email"],
  ]);
  expect((await imports.players()).map(({ consents }) => consents.email)).toEqual([false, false, true, true]);
});

test.each([
  ["before", "N1,shared-a@example.com,12,no\nN2,shared-a@example.com,,yes\n", "shared-a@example.com"],
  ["after", "N3,shared-b@example.com,,yes\nN4,shared-b@example.com,12,no\n", "shared-b@example.com"],
])(
  "a no in a refused row about nobody bars its address, %s the row of who has it",
  async (_, lines, email) => {
    const { errors } = await imports.run({
      csv: `player_id,email,phone,email_opt_in\n${lines}`,
      mapping,
      consent,
    });
    expect(errors.map(({ code }) => code)).toEqual(["invalid_phone"]);
    expect(await reasonsOf(email)).toEqual(["suppressed"]);
  },
);

test("a yes that is not recorded is counted in the summary, with the reason, also of a dry run", async () => {
  const rows = [
    "Y1,y1@example.com,,yes,no",
    "Y2,y2@example.com,,opted in,yes",
    "Y3,nonsense,,yes,",
    "Y4,,,no,",
  ];
  const both = { email_opt_in: "consent.email", sms_opt_in: "consent.sms" };
  const file = { csv: `player_id,email,phone,email_opt_in,sms_opt_in\n${rows.join("\n")}\n`, mapping: both };
  for (const dry_run of [true, false]) {
    const { job } = await imports.run({ ...file, dry_run });
    expect(job.summary).toMatchObject({
      consents_not_recorded: { no_evidence: 4, no_address: 0, no_date: 0 },
      warnings: [expect.stringMatching(/^4 cells say yes to a channel.*no consent block/)],
    });
  }
  expect((await imports.players()).map(({ consents }) => consents)).toEqual([
    { sms: false },
    {},
    { email: false },
  ]);
  const { job } = await imports.run({ ...file, consent });
  expect(job.summary).toMatchObject({
    // Y3, whose email is none, is among the errors.
    consents_not_recorded: { no_evidence: 0, no_address: 1, no_date: 0 },
    warnings: [expect.stringMatching(/^1 consent .* no address/)],
  });
  const { job: quiet } = await imports.run({ csv: `${HEADER}\nY5,y5@example.com,yes\n`, mapping, consent });
  expect(quiet.summary).toMatchObject({
    consents_not_recorded: { no_evidence: 0, no_address: 0, no_date: 0 },
    warnings: [],
  });
});

test("a row of a known player by player_id alone takes the consent to the address that the player has", async () => {
  await imports.run({ csv: "player_id,email,phone\nK1,k1@example.com,\nK2,,+17025550123\n" });
  const file = { csv: "player_id\nK1\nK2\nK3\n", consent: { ...consent, channel: ["email"] } };
  for (const dry_run of [true, false]) {
    const { job } = await imports.run({ ...file, dry_run });
    expect(job.summary).toMatchObject({
      // K2 and K3 have no email.
      consents_not_recorded: { no_evidence: 0, no_address: 2, no_date: 0 },
      warnings: [expect.stringMatching(/^2 consents .* no address/)],
    });
  }
  expect((await imports.players()).map(({ consents }) => consents)).toEqual([{ email: true }, {}, {}]);
  expect(await reasonsOf("k1@example.com")).toEqual([]);
  const { job } = await imports.run({ csv: "player_id,email_opt_in\nK1,yes\nK2,yes\n", mapping, consent });
  expect(job.summary.consents_not_recorded).toMatchObject({ no_address: 1 });
});

test("a consent of a row that is skipped is counted, and not recorded", async () => {
  await imports.run({ csv: "player_id,email\nS1,s1@example.com\n" });
  const both = { csv: `${HEADER}\nS1,,yes\nS2,s2@example.com,yes\n`, mapping, consent };
  const { job } = await imports.run({ ...both, mode: "create_only" });
  expect(job).toMatchObject({ skipped: 1, succeeded: 1 });
  expect(job.summary).toMatchObject({
    consents_not_recorded: { no_address: 0, row_skipped: 1 },
    warnings: [expect.stringMatching(/^1 consent stands in rows that were skipped/)],
  });
  expect((await imports.players()).map(({ consents }) => consents)).toEqual([{}, { email: true }]);
});

test("a consent to an address that the import does not write is none to the address that the player keeps", async () => {
  await imports.run({ csv: "player_id,email\nF1,old@example.com\n" });
  const { job } = await imports.run({
    ...{ csv: `${HEADER}\nF1,new@example.com,yes\n`, mapping, consent },
    on_conflict: "fill_blanks",
  });
  expect(job.summary.consents_not_recorded).toMatchObject({ no_address: 1 });
  expect(await actions("F1")).toEqual([]);
});

test("a row whose player_id is another player's is listed with its cells in the file's order, and its no is theirs", async () => {
  await imports.run({ csv: `${HEADER}\nX1,x1@example.com,yes\n`, mapping, consent });
  const { job, errors } = await imports.run({
    csv: "zone,player_id,email_opt_in,email,adt\nwest,X1,no,new@example.com,7\n",
    mapping,
    match_on: ["email"],
  });
  expect(job).toMatchObject({ failed: 1, succeeded: 0 });
  expect(errors).toMatchObject([{ row: 1, code: "conflict", column: "player_id", value: "X1" }]);
  expect(Object.entries(errors[0].original_row)).toEqual([
    ...[
      ["zone", "west"],
      ["player_id", "X1"],
      ["email_opt_in", "no"],
      ["email", "new@example.com"],
      ["adt", "7"],
    ],
  ]);
  const csv = await imports.service.get(`/api/import_jobs/${job.id}/errors?format=csv`);
  expect(csv.text).toContain('""zone"":""west"",""player_id"":""X1"",""email_opt_in"":""no""');
  expect((await imports.players())[0]!.consents).toEqual({ email: false });
});

test("a dry run records no refusal", async () => {
  await imports.run({ csv: `${HEADER}\nD1,d1@example.com,yes\n`, mapping, consent });
  for (const csv of ["player_id,email_opt_in\nD1,no\n", "player_id,email_opt_in\nD1,\nD1,no\n"]) {
    await imports.run({ csv, mapping, dry_run: true });
  }
  expect(await actions("D1")).toEqual(["granted"]);
  expect((await imports.players())[0]!.consents).toEqual({ email: true });
});

test("endpoints hear of each new refusal as consent.denied, and of no repeated one", async () => {
  const { tenant } = imports.service;
  await imports.as(
    (sql) => sql`
      insert into webhook_endpoints (property_id, url, events, secret)
      values (${tenant.id}, 'http://127.0.0.1:9/hook', '{consent.denied}', 'whsec_x')`,
  );
  const said = {
    csv: `${HEADER}\nE1,e1@example.com,no\nE2,e2@example.com,yes\nE3,e3@example.com,off\n`,
    mapping,
    consent,
  };
  await imports.start(said);
  await imports.start(said);
  await expect
    .poll(() => imports.as((sql) => sql`select from import_jobs where status in ('queued', 'processing')`), {
      timeout: 20_000,
    })
    .toEqual([]);
  const events = await imports.as(
    (sql) =>
      sql<{ type: string; data: { object: Record<string, unknown> } }[]>`select type, data from outbox`,
  );
  const players = await imports.players();
  expect(events.map(({ data }) => data.object.player_id).sort()).toEqual(
    [players[0]!.id, players[2]!.id].sort(),
  );
  expect(events[0]).toMatchObject({
    type: "consent.denied",
    data: {
      object: {
        ...{ id: expect.any(String), channel: "email", action: "denied", occurred_at: expect.any(String) },
        ...{ consent_source: "players club", consent_version: "1" },
      },
    },
  });
  await imports.as((sql) => sql`delete from webhook_endpoints`);
  await imports.service.idle();
});

test("an import writes a written consent to calls where it names the wording, or the level", async () => {
  const levels = async (evidence: object) => {
    const csv = "player_id,phone,call_me\nV1,+17025550190,yes\n";
    await imports.run({
      csv,
      mapping: { call_me: "consent.voice" },
      consent: { consentSource: "desk", ...evidence },
    });
    const [player] = await imports.players();
    const { call, tenant } = imports.service;
    const asked = { propertyId: tenant.id, channel: "voice", playerId: player!.id };
    return [player!.consent_levels, (await call("compliance_check", asked)).allowed];
  };
  expect(await levels({})).toEqual([null, false]);
  expect(await levels({ consentText: "I agree to calls.", consentLevel: "express" })).toEqual([null, false]);
  await expect(levels({ consentLevel: "express_written" })).rejects.toThrow(/consentText|wording/);
  expect(await levels({ consentText: "I agree to calls." })).toEqual([{ voice: "express_written" }, true]);
  // A later plain file takes nothing back.
  expect(await levels({})).toEqual([{ voice: "express_written" }, true]);
});

test("a refusal of a faulty row is lifted by the person's later opt-in alone", async () => {
  const { tenant, call, get, post, request } = imports.service;
  const email = "faulty@example.com";
  await imports.run({ csv: `player_id,email,phone,email_opt_in\nF1,${email},12,no\n`, mapping });
  const [bar] = (await get(`/api/suppressions?address.eq=${email}`)).body;
  expect(bar).toMatchObject({ channel: "email", reason: "unsubscribed", source: "import" });
  const lifted = await request("DELETE", `/api/suppressions/${bar.id}`);
  expect([lifted.status, lifted.body.error]).toEqual([409, expect.stringContaining("The person requested")]);
  const { id } = (await post("/api/players", { email })).body;
  const said = { propertyId: tenant.id, playerId: id, channel: "email", consentGiven: true };
  const old = { ...consent, occurredAt: "2026-01-01T00:00:00Z" };
  await call("consent_record", { ...said, ...old });
  expect(await reasonsOf(email)).toContain("suppressed");
  await call("consent_record", { ...said, ...consent, occurredAt: new Date().toISOString() });
  expect(await reasonsOf(email)).toEqual([]);
});
