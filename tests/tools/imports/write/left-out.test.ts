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

const mapping = { email_opt_in: "consent.email", sms_opt_in: "consent.sms", push_opt_in: "consent.push" };
const consent = { consentSource: "players club", consentText: "I agree" };

const reasonsOf = async (email: string): Promise<string[]> => {
  const { tenant, call } = imports.service;
  return (await call("compliance_check", { propertyId: tenant.id, channel: "email", email })).reasons;
};

test("a no that bars nobody is counted in the summary, with the reason, also of a dry run", async () => {
  await imports.run({ csv: "player_id,email\nL1,l1@example.com\n" });
  const rows = [
    ["L9,nonsense,no,no,", 1],
    [",nonsense,no,,", 2],
    ["L1,l1@example.com,no,,,extra", 3],
    ["L8,l8@example.com,no,,yes,extra", 4],
    ["L7,nonsense,,,no", 5],
    ["L1,nonsense,no,,", 6],
    ["L6,l6@example.com,yes,no,perhaps", 7],
  ] as const;
  const csv = `player_id,email,email_opt_in,sms_opt_in,push_opt_in\n${rows.map(([row]) => row).join("\n")}\n`;
  for (const dry_run of [true, false]) {
    const { job } = await imports.run({ csv, mapping, consent, dry_run });
    expect(job).toMatchObject({ failed: 7, processed: 7 });
    // L9 twice, L7 for push, and L6 for texts, which has no phone; the no of L1 counts.
    expect(job.summary).toMatchObject({
      refusals_not_recorded: { no_identifier: 1, no_address: 4, too_many_cells: 2 },
      warnings: [
        expect.stringMatching(/^1 cell says no to a channel, and it was not recorded: .*no player_id/),
        expect.stringMatching(/^4 cells say no to a channel, and they were not recorded: .*no player/),
        expect.stringMatching(/^2 cells say no .*more cells than the header/),
      ],
    });
  }
  expect((await imports.players()).map(({ consents }) => consents)).toEqual([{ email: false }]);
  const { job: quiet } = await imports.run({
    csv: "player_id,email_opt_in,sms_opt_in,push_opt_in\nL1,no,,\n",
    mapping,
  });
  expect(quiet.summary).toMatchObject({
    refusals_not_recorded: { no_identifier: 0, no_address: 0, too_many_cells: 0 },
    warnings: [],
  });
});

test.each([
  ["is refused for its status", "Q1,q1@example.com,no,banned", {}, "q1@example.com"],
  [
    "names an unknown player whom the mode leaves out",
    "Q2,q2@example.com,no,",
    { mode: "update_only" },
    "q2@example.com",
  ],
])("the no of a row that %s bars its address", async (_, row, settings, email) => {
  const csv = `player_id,email,email_opt_in,status\n${row}\n`;
  const { job } = await imports.run({ csv, mapping, ...settings });
  expect(job).toMatchObject({ succeeded: 0 });
  expect(job.summary.refusals_not_recorded).toMatchObject({ no_address: 0 });
  // A later file cannot open the address by its own yes.
  await imports.run({ csv: `player_id,email,email_opt_in\nQ5,${email},yes\n`, mapping, consent });
  expect(await reasonsOf(email)).toContain("suppressed");
});

test("new players with an address that another has already are counted", async () => {
  await imports.run({ csv: "player_id,email,phone\nD1,d1@example.com,+17025550101\nD2,d2@example.com,\n" });
  const rows = [
    "E1,D1@example.com,",
    "E2,e2@example.com,+17025550101",
    "E3,e3@example.com,",
    "E4,e3@example.com,",
    "D1,d2@example.com,",
  ];
  const csv = `player_id,email,phone\n${rows.join("\n")}\n`;
  const { job } = await imports.run({ csv });
  expect(job).toMatchObject({ failed: 0, created_count: 4, updated_count: 1 });
  expect(job.summary).toMatchObject({
    taken_addresses: 3,
    warnings: [
      expect.stringMatching(/^3 new players have an email or phone that another.*find_duplicate_players/),
    ],
  });
  const { job: again } = await imports.run({ csv });
  expect(again.summary).toMatchObject({ taken_addresses: 0, warnings: [] });
});

test("the no of a row behind one that has given its player another address counts for the player", async () => {
  const csv = "player_id,email,email_opt_in\nC1,old@example.com,yes\n";
  await imports.run({ csv, mapping, consent });
  const rows = ["C1,new@example.com,", ",old@example.com,no"];
  const { job } = await imports.run({ csv: `player_id,email,email_opt_in\n${rows.join("\n")}\n`, mapping });
  expect(job).toMatchObject({ updated_count: 1, failed: 1 });
  expect(await imports.players()).toMatchObject([{ email: "new@example.com", consents: { email: false } }]);
  expect(await reasonsOf("old@example.com")).toContain("suppressed");
});

test.each([
  ["before", (move: string, no: string) => [no, move]],
  ["behind", (move: string, no: string) => [move, no]],
])(
  "the no of a row with an unreadable cell, %s one that gives its player another address, counts for the player",
  async (_, ordered) => {
    const csv = "player_id,email,email_opt_in\nU1,old@example.com,yes\n";
    await imports.run({ csv, mapping, consent });
    const rows = ordered("U1,new@example.com,,", ",old@example.com,no,many");
    const { job } = await imports.run({
      ...{ csv: `player_id,email,email_opt_in,adt\n${rows.join("\n")}\n`, mapping },
    });
    expect(job).toMatchObject({ updated_count: 1, failed: 1 });
    expect(await imports.players()).toMatchObject([{ email: "new@example.com", consents: { email: false } }]);
    expect(await reasonsOf("old@example.com")).toContain("suppressed");
  },
);

test("the no of a row whose player_id another player has bars its address too", async () => {
  await imports.run({ csv: "player_id,email\nN1,n1@example.com\n" });
  const { push_opt_in: _, ...by } = mapping;
  const csv = "player_id,email,email_opt_in,sms_opt_in\nN1,n2@example.com,no,no\n";
  const { job, errors } = await imports.run({ csv, mapping: by, match_on: ["email"] });
  expect(errors).toMatchObject([{ code: "conflict" }]);
  expect(job.summary.refusals_not_recorded).toMatchObject({ no_address: 0 });
  expect((await imports.players()).map(({ consents }) => consents)).toEqual([{ email: false, sms: false }]);
  expect(await reasonsOf("n2@example.com")).toContain("suppressed");
});

test("the no of a player counts also where their row has an erased person's address", async () => {
  const { call, tenant } = imports.service;
  await imports.run({ csv: "player_id,email\nV1,v1@example.com\nV2,v2@example.com\n" });
  const [gone] = await imports.players();
  await call("data_deletion", { propertyId: tenant.id, playerId: gone!.id });
  const rows = ["V2,v1@example.com,no,,", "V3,v1@example.com,,no,"];
  const csv = `player_id,email,email_opt_in,sms_opt_in,push_opt_in\n${rows.join("\n")}\n`;
  const { job, errors } = await imports.run({ csv, mapping });
  expect(errors.map(({ code }) => code)).toEqual(["erased", "erased"]);
  expect(job.summary.refusals_not_recorded).toMatchObject({ no_address: 0 });
  expect(await imports.players()).toMatchObject([{ email: "v2@example.com", consents: { email: false } }]);
});

test("a new player behind a row that gives the same address to another player is counted", async () => {
  await imports.run({ csv: "player_id,email\nG1,g1@example.com\n" });
  const rows = ["G1,g2@example.com", "G2,g2@example.com"];
  const { job } = await imports.run({ csv: `player_id,email\n${rows.join("\n")}\n` });
  expect(job).toMatchObject({ updated_count: 1, created_count: 1, summary: { taken_addresses: 1 } });
});

test("a dated no that the person's later yes has lifted bars nothing again when its file is repeated", async () => {
  const { tenant, call, post } = imports.service;
  const email = "w1@example.com";
  const no = (at: string) =>
    imports.run({
      csv: `player_id,email,email_opt_in,at\nW9,${email},no,${at}\n`,
      ...{ mapping, mode: "update_only", consent: { ...consent, occurred_at_column: "at" } },
    });
  await no("2026-02-01");
  expect(await reasonsOf(email)).toContain("suppressed");
  const { id } = (await post("/api/players", { email })).body;
  const yes = { propertyId: tenant.id, playerId: id, channel: "email", consentGiven: true, ...consent };
  const say = () => call("consent_record", { ...yes, occurredAt: new Date().toISOString() });
  await say();
  expect(await reasonsOf(email)).toEqual([]);
  await no("2026-02-01");
  expect(await reasonsOf(email)).toEqual([]);
  await no(new Date().toISOString());
  expect(await reasonsOf(email)).toContain("suppressed");
  await say();
  expect(await reasonsOf(email)).toEqual([]);
  await no("");
  expect(await reasonsOf(email)).toContain("suppressed");
});
