import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { UNCLEAR, withIsoDay } from "#tools/imports/read/dates.ts";
import { AMBIGUOUS, type DecimalSign, decimalSignOf, readNumber } from "#tools/imports/read/numbers.ts";
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

test.each<[string, DecimalSign, string | null | symbol]>([
  ["12,5", "unknown", "12.5"],
  ["1.234,50", "unknown", "1234.5"],
  ["1,234.50", "unknown", "1234.5"],
  ["1.234.567", "unknown", "1234567"],
  ["1 234,5 €", "unknown", "1234.5"],
  ["1’234.50", "unknown", "1234.5"],
  ["-1.250,5", "seems ,", "-1250.5"],
  ["1.234", "unknown", AMBIGUOUS],
  ["1,234", "unknown", AMBIGUOUS],
  ["1.234", "seems ,", AMBIGUOUS],
  ["5.000", "maybe .", AMBIGUOUS],
  ["1.234", "maybe .", AMBIGUOUS],
  ["-1.234", "maybe .", AMBIGUOUS],
  ["1,234", "maybe .", AMBIGUOUS],
  ["1.2340", "maybe .", "1.234"],
  ["$1.234", "maybe .", AMBIGUOUS],
  ["1,234", "seems .", "1234"],
  ["$1,234", "maybe .", "1234"],
  ["5.000", "seems .", "5"],
  ["5.000", ",", "5000"],
  ["5.000", ".", "5"],
  ["12.5", ",", null],
  ["12,5", ".", null],
  ["0.125", "unknown", "0.125"],
  ["1e5", "unknown", "100000"],
  ["1.2.3", "unknown", null],
  ["1,23,4", "unknown", null],
  ["much", ",", null],
])("the number %s in a file with the decimal sign %s", (cell, sign, value) => {
  expect(readNumber(cell, sign)).toBe(value);
});

test.each<[string[], string, DecimalSign]>([
  [["1", "12,50"], ";", "seems ,"],
  [["12,50"], ",", "seems ,"],
  [["50"], ",", "maybe ."],
  [["12.50"], ",", "seems ."],
  [["1.234"], ";", "unknown"],
  [["1,5", "1.5"], ";", "unknown"],
  [["31.12.1980", "+49 30 1234"], ";", "unknown"],
])("the decimal sign of %j", (cells, delimiter, sign) => {
  expect(decimalSignOf(cells, delimiter)).toBe(sign);
});

test.each([
  ["a column that is left out", "player_id;version;adt\nV1;1.2;1.234\nV2;2.1;2.500\n"],
  ["a note", 'player_id;adt;Notiz\nV1;1.234;"3,5; 4"\nV2;2.500;7,25\n'],
  ["a postal code", "player_id;postal_code;adt\nV1;12.55;1.234\nV2;;2.500\n"],
  ["nothing, between commas", "player_id,adt\nV1,1.234\nV2,2.500\n"],
  ["nothing, between tabs", "player_id\tadt\nV1\t1.234\nV2\t2,500\n"],
])("a number with two readings stays one beside %s", async (_, csv) => {
  const { job, errors } = await imports.run({ csv });
  expect([job.succeeded, job.failed]).toEqual([0, 2]);
  expect(errors).toMatchObject([{ column: "adt" }, { column: "adt" }]);
});

test.each([
  ["1980-12-31", "dmy", "1980-12-31"],
  ["31.12.1980", "auto", "1980-12-31"],
  ["3.4.1980 18:30", "auto", "1980-04-03 18:30"],
  ["31/12/1980", "auto", "1980-12-31"],
  ["12/31/1980", "auto", "1980-12-31"],
  ["03/04/1980", "auto", UNCLEAR],
  ["03/03/1980", "auto", "1980-03-03"],
  ["03/04/1980", "dmy", "1980-04-03"],
  ["03/04/1980", "mdy", "1980-03-04"],
  ["1980/12/31", "ymd", "1980-12-31"],
  ["31.12.1980", "ymd", null],
  ["31.12.80", "auto", null],
] as const)("the date %s under %s", (text, order, day) => {
  expect(withIsoDay(text, order)).toBe(day);
});

const mapping = {
  Mail: "email",
  Stufe: "tier",
  Umsatz: "coin_in",
  Geburt: "birth_date",
  Ja: "consent.email",
};
const consent = { consentSource: "Kasse" };
const lines = [
  "player_id;Mail;Stufe;Umsatz;Geburt;Ja",
  "G1;g1@example.com;Gold;1.250,50;31.12.1980;ja",
  "G2;g2@example.com;Platin;5.000;01.02.1990;nein",
  "G3;g3@example.com;Platin;12,5;03/04/1990;",
];

test("a German file is read as it is meant, and what has two readings is an error of its row", async () => {
  const { job, errors } = await imports.run({ csv: `${lines.join("\n")}\n`, mapping, consent });
  expect(errors).toMatchObject([
    { row: 2, column: "Umsatz", code: "type_mismatch", message: expect.stringContaining("5.000 has two") },
    { row: 3, column: "Geburt", code: "type_mismatch", message: expect.stringContaining("date_format") },
  ]);
  expect(job.summary.decimal).toBe(",");
  const again = await imports.run({
    csv: `${lines.join("\n")}\n`,
    ...{ mapping, consent, decimal: ",", date_format: "dmy" },
  });
  expect(again.errors).toEqual([]);
  expect(again.job.summary.warnings).toEqual([expect.stringMatching(/these tiers.*"Platin" \(2\).*Bronze/)]);
  expect(await imports.players()).toMatchObject([
    { coin_in: 1250.5, birth_date: "1980-12-31", consents: { email: true } },
    { coin_in: 5000, birth_date: "1990-02-01", consents: { email: false } },
    { coin_in: 12.5, birth_date: "1990-04-03", consents: {} },
  ]);
});

test("numbers of JSON rows are what they are", async () => {
  const { errors } = await imports.run({ rows: [{ player_id: "J1", adt: 1.234, coin_in: "5.000" }] });
  expect(errors).toEqual([]);
  expect((await imports.players())[0]).toMatchObject({ adt: 1.234, coin_in: 5 });
});

test("errors are grouped by column and reason on request, with counts and examples", async () => {
  const { job } = await imports.run({ csv: `${lines.join("\n")}\nG4;x;Gold;1.234;;\n`, mapping });
  const { body } = await imports.service.get(`/api/import_jobs/${job.id}/errors?group=true`);
  expect(body).toEqual([
    {
      ...{ column: "Umsatz", code: "type_mismatch", count: 2, first_rows: [2, 4] },
      ...{ examples: ["5.000", "1.234"], message: expect.stringContaining("two readings") },
    },
    expect.objectContaining({ column: "Geburt", count: 1 }),
    expect.objectContaining({ column: "Mail", code: "invalid_email", count: 1, examples: ["x"] }),
  ]);
});

test("an import by upload_id takes over the parameters of its dry run", async () => {
  const csv = `${lines.join("\n")}\n`;
  const dry = await imports.run({ csv, mapping, consent, decimal: ",", date_format: "dmy", dry_run: true });
  expect(await imports.players()).toEqual([]);
  const { job } = await imports.run({ upload_id: dry.job.upload_id });
  expect(job).toMatchObject({ succeeded: 3, failed: 0 });
  expect((await imports.players())[0]).toMatchObject({ coin_in: 1250.5, consents: { email: true } });
});
