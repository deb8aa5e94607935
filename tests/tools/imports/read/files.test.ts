import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type Imports, openImports } from "../scenario.ts";

let imports: Imports;
beforeAll(async () => {
  imports = await openImports();
  await imports.service.post("/api/custom_fields", [
    { key: "fav_game", type: "text" },
    { key: "vip", type: "boolean" },
    { key: "visits", type: "number" },
    { key: "code", type: "text" },
  ]);
});
afterAll(() => imports.stop());
beforeEach(() =>
  imports.as((sql) => sql`delete from players where property_id = ${imports.service.tenant.id}`),
);

test("a file with a byte order mark, line ends of Windows, quoted commas and line breaks, and accents comes in as it is", async () => {
  const { job, errors } = await imports.send(
    '\uFEFFplayer_id,first_name,last_name,email\r\n1,"José, Jr.","Núñez\r\n""Pepe""",JOSE@example.com\r\n\r\n2,李,Łukasz,li@example.com\r\n',
  );
  expect(errors).toEqual([]);
  expect(job).toMatchObject({
    status: "completed",
    type: "player_import",
    total: 2,
    processed: 2,
    created_count: 2,
    failed: 0,
  });
  expect(await imports.players()).toMatchObject([
    { player_id: "1", first_name: "José, Jr.", last_name: 'Núñez\r\n"Pepe"', email: "jose@example.com" },
    { player_id: "2", first_name: "李", last_name: "Łukasz" },
  ]);
});

test.each([
  ["semicolons", ";"],
  ["tabs", "\t"],
  ["bars", "|"],
])("%s between the cells are found by themselves", async (_name, mark) => {
  const { job } = await imports.send(
    ["player_id", "email", "adt"].join(mark).concat("\n", ["7", "a@example.com", "1.5"].join(mark)),
  );
  expect(job).toMatchObject({ status: "completed", created_count: 1, summary: { delimiter: mark } });
  expect(await imports.players()).toMatchObject([{ player_id: "7", email: "a@example.com", adt: 1.5 }]);
});

test("a file that is not UTF-8 is read as windows-1252, and one in UTF-16 by its mark", async () => {
  const latin = Buffer.from("player_id,first_name\nL1,Zo\xeb \x80\n", "latin1");
  const wide = Buffer.concat([
    Buffer.from([0xff, 0xfe]),
    Buffer.from("player_id,first_name\r\nW1,Zoë\r\nW2,Ana\r\n", "utf16le"),
  ]);
  expect((await imports.send(latin)).job).toMatchObject({
    status: "completed",
    summary: { encoding: "windows-1252" },
  });
  expect((await imports.send(wide)).job).toMatchObject({
    status: "completed",
    total: 2,
    summary: { encoding: "utf-16le" },
  });
  expect((await imports.players()).map((player) => player.first_name)).toEqual(["Zoë €", "Zoë", "Ana"]);
});

test("columns are known by their names in any case and spacing, or by the mapping; others are ignored and named", async () => {
  const { job, errors } = await imports.run({
    csv: "Player ID,E-Mail Addr,FIRST-NAME,Fav Game,Secret,Shoe Size\nA1,ann@example.com,Ann,Slots,x,9\n",
    mapping: { "E-Mail Addr": "email", "Fav Game": "custom.fav_game", Secret: null, Gone: "tier" },
  });
  expect(job.summary).toMatchObject({ ignored_columns: ["Shoe Size"], missing_columns: ["Gone"] });
  expect(errors).toEqual([expect.objectContaining({ row: 0, column: "Gone", code: "unknown_field" })]);
  expect(await imports.players()).toMatchObject([
    { player_id: "A1", email: "ann@example.com", first_name: "Ann", custom: { fav_game: "Slots" } },
  ]);
});

test("a file without a header is read by column numbers", async () => {
  const { job } = await imports.run({
    csv: "9,ann@example.com\n10,bo@example.com\n",
    has_header: false,
    mapping: { 1: "player_id", 2: "email" },
  });
  expect(job).toMatchObject({ total: 2, created_count: 2 });
});

test("rows can be given as JSON, with custom fields and tags of their own types", async () => {
  const { job } = await imports.run({
    rows: [
      {
        player_id: "j1",
        email: "j1@example.com",
        custom: { vip: true, visits: 3 },
        tags: ["a", "b,c"],
        adt: 5,
      },
      { player_id: "j2", phone: "(202) 555-0143", "custom.code": "007", first_name: null },
    ],
    tags: ["june"],
  });
  expect(job).toMatchObject({ total: 2, created_count: 2, failed: 0 });
  expect(await imports.players()).toMatchObject([
    { player_id: "j1", custom: { vip: true, visits: 3 }, tags: ["a", "b,c", "june"], adt: 5 },
    { player_id: "j2", phone: "+12025550143", custom: { code: "007" }, tags: ["june"] },
  ]);
});

test("a text that is given as JSON stays what it is, also where a spreadsheet would change it", async () => {
  const names = ["'=x", "=1+1", "'it", 'a "b",\r\nc', "-5"];
  const { job } = await imports.run({
    rows: names.map((first_name, index) => ({ player_id: `t${index}`, first_name })),
  });
  expect(job).toMatchObject({ created_count: names.length });
  expect((await imports.players()).map(({ first_name }) => first_name)).toEqual(names);
});

test("an empty file fails with that reason, a header alone is an import of nothing", async () => {
  expect((await imports.send("")).job).toMatchObject({ status: "failed", error: "The file is empty." });
  expect((await imports.send("player_id,email\n")).job).toMatchObject({
    status: "completed",
    total: 0,
    processed: 0,
  });
});

test("a file of one column is enough when it is an identifier, and fails with its columns named when it is not", async () => {
  expect((await imports.send("email\na@example.com\nb@example.com\n")).job).toMatchObject({
    status: "completed",
    created_count: 2,
  });
  const { job } = await imports.send("first_name\nAnn\n");
  expect(job).toMatchObject({ status: "failed" });
  expect(job.error).toContain("no column of the file is a player_id, email or phone");
});

test("a quote that is never closed fails the job with a sentence, after the rows before it", async () => {
  const { job } = await imports.send('player_id,first_name\n1,Ann\n2,"Bo\n3,Cy\n');
  expect(job.status).toBe("failed");
  expect(job.error).toContain("a quote that is opened there is not closed");
});

test("short rows have empty cells at their end, long ones are refused", async () => {
  const { job, errors } = await imports.send(
    "player_id,first_name,tier\n1,Ann\n2,Bo,Gold,extra\n3,Cy,Gold,\n",
  );
  expect(job).toMatchObject({ created_count: 2, failed: 1 });
  expect(errors).toMatchObject([
    { row: 2, code: "type_mismatch", column: null, original_row: { player_id: "2", tier: "Gold" } },
  ]);
});

test("a cell that an export protects from spreadsheets comes back as it was", async () => {
  await imports.send(
    "player_id,first_name,last_name,phone,adt\n1,'=SUM(A1),'-Lee,+12025550143,-5\n2,'tis,O'Neil,,1\n",
  );
  expect(await imports.players()).toMatchObject([
    { first_name: "=SUM(A1)", last_name: "-Lee", phone: "+12025550143", adt: -5 },
    { first_name: "'tis", last_name: "O'Neil" },
  ]);
});
