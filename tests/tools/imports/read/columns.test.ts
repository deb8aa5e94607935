import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type Imports, openImports } from "../scenario.ts";

let imports: Imports;
beforeAll(async () => {
  imports = await openImports();
});
afterAll(() => imports.stop());
beforeEach(() =>
  imports.as(
    (sql) =>
      sql`update players set deleted_at = now() where property_id = ${imports.service.tenant.id} and deleted_at is null`,
  ),
);

const mapping = { opt: "consent.email" };
const consent = { consentSource: "desk", occurred_at_column: "when" };

const granted = () =>
  imports.as(
    (sql) => sql<{ occurred_at: string; late: boolean }[]>`
      select occurred_at, recorded_at < occurred_at as late from consent_records
      where property_id = ${imports.service.tenant.id} and action = 'granted'
        and player_id in (select id from players where deleted_at is null)`,
  );

test("consents are recorded only with the column of their dates, and the summary says so", async () => {
  const csv = "player_id,email,opt,whn\nA1,a1@example.com,yes,2026-01-30\nA2,a2@example.com,no,2026-01-30\n";
  const { job } = await imports.run({ csv, mapping, consent });
  expect(job).toMatchObject({ succeeded: 2, failed: 0 });
  expect(job.summary).toMatchObject({
    missing_columns: ["when"],
    consents_not_recorded: { no_date: 1 },
    warnings: [
      expect.stringMatching(
        /no column when.*No consent of the file was recorded.*player_id, email, opt, whn/,
      ),
      expect.stringContaining("left out, because their fields are unknown: whn"),
      expect.stringMatching(/no date once/),
    ],
  });
  expect(await granted()).toEqual([]);
  expect((await imports.players()).map(({ consents }) => consents)).toEqual([{}, { email: false }]);
  const all = { ...consent, channel: ["email"] };
  const { job: whole } = await imports.run({ csv: "player_id,email\nA3,a3@example.com\n", consent: all });
  expect(whole.summary.consents_not_recorded).toMatchObject({ no_date: 1 });
  expect(await granted()).toEqual([]);
});

test("the column of the dates counts in any case, and where the mapping leaves it out as a field", async () => {
  const csv = "player_id,email,opt,WHEN\nB1,b1@example.com,yes,2026-01-30\n";
  const { job } = await imports.run({ csv, mapping: { ...mapping, WHEN: null }, consent });
  expect(job.summary.warnings).toEqual([]);
  expect(await granted()).toEqual([{ occurred_at: "2026-01-30T00:00:00+00:00", late: false }]);
});

test("a column of dates that the mapping makes a field is refused", async () => {
  const answer = await imports.service.post("/api/import_jobs", {
    csv: "player_id,when\nC1,2026-01-30\n",
    mapping: { when: "last_visit_at" },
    consent,
  });
  expect(answer).toMatchObject({
    status: 400,
    body: { error: expect.stringContaining("last_visit_at already") },
  });
});

test("a column of dates that is a field too, in another case, fails the import: neither use is lost in silence", async () => {
  const csv = "player_id,email,opt,WHEN\nF1,f1@example.com,yes,2026-01-30\n";
  const { job } = await imports.run({ csv, mapping: { ...mapping, When: "last_visit_at" }, consent });
  expect(job).toMatchObject({ status: "failed", error: expect.stringContaining("last_visit_at already") });
});

test("a mapping finds its column in any case, and a mapped column that is missing is a warning", async () => {
  const { job } = await imports.run({
    csv: "player_id,MAIL,DOB\nD1,d1@example.com,1980-01-01\n",
    mapping: { mail: "email", "Cell Phone": "phone" },
  });
  expect((await imports.players())[0]).toMatchObject({ email: "d1@example.com" });
  expect(job.summary).toMatchObject({
    missing_columns: ["Cell Phone"],
    ignored_columns: ["DOB"],
    warnings: [
      expect.stringMatching(/no column "Cell Phone", which the mapping gives to phone/),
      expect.stringContaining("left out, because their fields are unknown: DOB"),
    ],
  });
});

test("no consent is recorded before it occurred", async () => {
  await imports.run({
    csv: "player_id,email\nE1,e1@example.com\n",
    consent: { channel: ["email"], consentSource: "desk" },
  });
  expect(await granted()).toMatchObject([{ late: false }]);
  const { call, tenant } = imports.service;
  const [player] = await imports.players();
  await call("consent_record", {
    propertyId: tenant.id,
    playerId: player!.id,
    channel: "sms",
    consentGiven: true,
    consentSource: "desk",
    consentText: "I agree",
  });
  expect((await granted()).map(({ late }) => late)).toEqual([false, false]);
});
