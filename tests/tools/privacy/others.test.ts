import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Fragment, sql } from "#db/sql.ts";
import { receiveFile } from "#tools/imports/upload.ts";
import { type Scenario, scenarioIn } from "../../support/scenario.ts";
import { startService, type Tenant, type TestService } from "../../support/service.ts";

// One person's request leaves the others alone: those whose address is longer, and those who have the same one.

let service: TestService;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

interface PropertyScenario extends Scenario {
  tenant: Tenant;
  headers: Record<string, string>;
  erase(playerId: string): Promise<{ status: number; body: Record<string, unknown> }>;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
  exported(playerId: string): Promise<any>;
  rows(statement: Fragment): Promise<Record<string, unknown>[]>;
}

async function newProperty(): Promise<PropertyScenario> {
  const tenant = await service.newTenant();
  const headers = { "X-Api-Key": tenant.key };
  // Events are written where somebody is told of them.
  await service.call("create_webhook_endpoint", { url: "http://127.0.0.1:9/", events: ["*"] }, tenant.id);
  const about = (playerId: string) => ({ propertyId: tenant.id, playerId });
  return {
    ...scenarioIn(service, tenant.id),
    tenant,
    headers,
    erase: (playerId) => service.post("/api/functions/data-deletion", about(playerId), headers),
    exported: async (playerId) =>
      (await service.post("/api/functions/data-export", about(playerId), headers)).body,
    rows: async (statement) => [
      ...(await service.internals.db.asProperty(tenant.id, (run) => run`${statement}`)),
    ],
  };
}

/** An import of which no row comes in: what it says is kept beside it. */
async function refusedRows(scenario: PropertyScenario, lines: string[]): Promise<void> {
  const csv = `player_id,email,phone,adt,note\n${lines.join("\n")}\n`;
  await service.post("/api/import_jobs", { csv }, scenario.headers);
  await service.idle();
}

test("a player with a part of another's address sees, and takes along, nothing of theirs", async () => {
  const scenario = await newProperty();
  const ann = await scenario.player({ email: "ann@x.com", phone: "+436601234567" });
  const names = ["joann@x.com", "jo.ann@x.com", "o'ann@x.com", "ann@x.com.au", "ann@x.community"];
  const others = await Promise.all(names.map((email) => scenario.player({ email })));
  others.push(await scenario.player({ email: "long@x.com", phone: "+4366012345671" }));
  for (const id of others) await scenario.call("update_player", { id, tier: "Gold" });
  const mine = [
    "a,ann@x.com,,many,",
    'b,,"0660 123-4567",many,',
    "c,,,many,<ann@x.com>.",
    "d,ANN@X.COM,,many,",
  ];
  const theirs = [...names.map((email) => `z,${email},,many,`), "z,long@x.com,+4366012345671,many,"];
  await refusedRows(scenario, [...mine, ...theirs]);
  const kept = () => scenario.rows(sql`select distinct row, original_row::text from import_errors`);
  expect(await kept()).toHaveLength(mine.length + theirs.length);
  const file = async (text: string) => {
    const id = randomUUID();
    await receiveFile(
      service.internals.db,
      { propertyId: scenario.tenant.id, id, filename: `of ${text}.csv` },
      (async function* () {
        yield Buffer.from(`email\n${text}\n`);
      })(),
    );
  };
  for (const email of ["ann@x.com", ...names]) await file(email);

  const all = await scenario.exported(ann);
  const text = JSON.stringify(all);
  for (const email of names) expect(text).not.toContain(email);
  for (const id of others) expect(text).not.toContain(id);
  expect(new Set(all.import_rows.map(({ row }: { row: number }) => row)).size).toBe(mine.length);
  expect(all.uploads).toHaveLength(1);

  const entries = sql`select id, diff from audit_logs where entity_id = any(${others}) order by id`;
  const told = sql`select id from outbox where data -> 'object' ->> 'id' = any(${others}) order by id`;
  const before = await scenario.rows(entries);
  const events = await scenario.rows(told);
  expect(events.length).toBeGreaterThanOrEqual(others.length);
  await scenario.call("create_segment", {
    name: "joann@x.com and ann@x.com",
    conditions: [{ field: "email", operator: "in", value: ["joann@x.com", "ann@x.com", "ann@x.com.au"] }],
  });
  expect((await scenario.erase(ann)).status).toBe(200);
  expect(await scenario.rows(entries)).toEqual(before);
  expect(await scenario.rows(told)).toEqual(events);
  expect(await kept()).toHaveLength(theirs.length);
  const files = (await scenario.rows(sql`select filename from uploads`)).map(({ filename }) => filename);
  expect(files.sort()).toEqual(names.map((email) => `of ${email}.csv`).sort());
  const [segment] = await scenario.rows(sql`select name, conditions from segments`);
  expect(segment).toMatchObject({
    name: "joann@x.com and erased",
    conditions: [{ field: "email", operator: "in", value: ["joann@x.com", "erased", "ann@x.com.au"] }],
  });
});

test("a row with another player's number, in either of its forms, is not taken along", async () => {
  const scenario = await newProperty();
  const ann = await scenario.player({ email: "ann@x.com" });
  await scenario.player({ email: "bob@x.com", phone: "+5491123456789" });
  const notes = ["", "with +5491123456789", "with +541123456789"];
  await refusedRows(
    scenario,
    notes.map((note, index) => `r${index},ann@x.com,,many,${note}`),
  );
  const { import_rows: taken } = await scenario.exported(ann);
  expect(new Set(taken.map(({ row }: { row: number }) => row))).toEqual(new Set([1]));
});

test("an address after a line break or in quotes is found all the same", async () => {
  const scenario = await newProperty();
  const ann = await scenario.player({ email: "ann@x.com" });
  await scenario.call("update_player", {
    id: await scenario.player({ email: "host@x.com" }),
    tier: "see\nann@x.com",
  });
  await scenario.call("create_segment", {
    name: "wife of 'ann@x.com'\nann@x.com.",
    conditions: [{ field: "email", operator: "ilike", value: "%ann@x.com%" }],
  });
  expect((await scenario.erase(ann)).status).toBe(200);
  const left = await scenario.rows(
    sql`select diff::text as told from audit_logs union all select data::text from outbox
     union all select name || conditions::text from segments`,
  );
  expect(left.filter(({ told }) => String(told).includes("ann@x.com"))).toEqual([]);
});

test("of two players with one address, each is shown their own, and one's erasure leaves the other's", async () => {
  const scenario = await newProperty();
  const address = { email: "home@x.com", phone: "+12025550188" };
  const ann = await scenario.player({
    ...address,
    player_id: "wife-1",
    first_name: "Ann",
    last_name: "Home",
  });
  const bob = await scenario.player({
    ...address,
    player_id: "husband-1",
    first_name: "Bartholomew",
    last_name: "Home",
  });
  await scenario.call("update_player", { id: bob, tier: "Platinum" });
  await scenario.call("create_player_event", { player_id: bob, name: "visit" });
  await refusedRows(scenario, ["wife-1,home@x.com,,many,her", "husband-1,home@x.com,,many,his"]);
  const campaign = await scenario.campaign();
  await scenario.send(campaign);
  await service.idle();
  const tenant = scenario.tenant.id;
  await scenario.call("consent_revoke", { propertyId: tenant, playerId: bob, channel: "sms" });
  await scenario.call("create_self_exclusion", { phone: "+12025550199", program: "his" });

  const told = await scenario.exported(ann);
  expect(JSON.stringify(told)).not.toContain(bob);
  expect(JSON.stringify(told)).not.toMatch(/Bartholomew|Platinum|husband-1/);
  expect(told.import_rows).toMatchObject([{ original_row: { note: "her" } }]);
  expect(JSON.stringify(await scenario.exported(bob))).not.toContain("wife-1");

  const bobs = async () =>
    Promise.all(
      [
        sql`select email, phone, first_name, tier, status, consents from players where id = ${bob}`,
        sql`select name from player_events where player_id = ${bob}`,
        sql`select id, action, diff from audit_logs where entity_id = ${bob} and action <> 'data_export' order by id`,
        sql`select id, data from outbox where data -> 'object' ->> 'id' = ${bob}::text order by id`,
        sql`select channel, reason, address, player_id from suppressions where player_id = ${bob} order by channel`,
        sql`select m.recipient, m.html from mailbox_messages m join campaign_sends s on s.property_id = m.property_id and s.id = m.id where s.player_id = ${bob}`,
        sql`select id, status, address_hash from campaign_sends where player_id = ${bob} order by id`,
      ].map((statement) => scenario.rows(statement)),
    );
  const before = await bobs();
  const { status, body } = await scenario.erase(ann);
  expect(status).toBe(200);
  expect(await bobs()).toEqual(before);
  expect(
    await scenario.rows(sql`select distinct original_row ->> 'note' as note from import_errors`),
  ).toEqual([{ note: "his" }]);
  // In doubt nothing is sent to an address that was to be forgotten; the other's record goes on.
  expect(body.shared_with).toEqual([bob]);
  const check = await scenario.call("compliance_check", {
    propertyId: tenant,
    channel: "email",
    playerIds: [bob],
  });
  expect(check.reasons).toContain("erased");
  const patched = await service.request("PATCH", `/api/players/${bob}`, {
    body: { email: "Home@x.com", phone: address.phone, tier: "Black" },
    headers: scenario.headers,
  });
  expect([patched.status, patched.body.tier]).toEqual([200, "Black"]);
  const csv = "player_id,email,adt\nhusband-1,home@x.com,7\nwife-1,home@x.com,8\n";
  const job = await service.post("/api/import_jobs", { csv }, scenario.headers);
  await service.idle();
  const done = (await service.get(`/api/import_jobs/${job.body.id}`, scenario.headers)).body;
  expect(done).toMatchObject({ updated_count: 1, created_count: 0, failed: 1 });
});

test("a number that is a player_id too stays in the rules of others, and the erasure goes through", async () => {
  const scenario = await newProperty();
  const player = await scenario.player({ player_id: "100000", email: "number@x.com" });
  const conditions = [
    { field: "adt", operator: "gte", value: 100000 },
    { field: "coin_in", operator: "between", value: [100000, 1000000] },
    { field: "postal_code", operator: "in", value: ["100000", "1100000"] },
    { field: "tier", operator: "eq", value: "100000" },
    { field: "player_id", operator: "in", value: ["100000", "1000001", "a-100000"] },
  ];
  await scenario.call("create_segment", { name: "Top 100000", conditions });
  await scenario.call("create_campaign", {
    name: "For 1000000",
    subject: "x",
    body_html: "<p>x</p>",
    conditions,
  });
  await refusedRows(scenario, ["5,five@x.com,,many,100000", "100000,,,many,mine"]);
  const { status, body } = await scenario.erase(player);
  expect([status, body.error]).toEqual([200, undefined]);
  const after = [
    ...conditions.slice(0, 4),
    { field: "player_id", operator: "in", value: ["erased", "1000001", "a-100000"] },
  ];
  expect(await scenario.rows(sql`select name, conditions from segments`)).toEqual([
    { name: "Top 100000", conditions: after },
  ]);
  expect(await scenario.rows(sql`select name, conditions from campaigns`)).toEqual([
    { name: "For 1000000", conditions: after },
  ]);
  expect(
    await scenario.rows(sql`select distinct original_row ->> 'player_id' as id from import_errors`),
  ).toEqual([{ id: "5" }]);
});

test("records that were named after two people are told apart after both erasures", async () => {
  const scenario = await newProperty();
  const people = [
    await scenario.player({ email: "ann@x.com" }),
    await scenario.player({ email: "bob@x.com" }),
  ];
  for (const name of ["ann@x.com", "bob@x.com"]) {
    await scenario.call("create_segment", {
      name: `only ${name}`,
      conditions: [{ field: "tier", operator: "eq", value: "Gold" }],
    });
    await scenario.call("create_template", { name: `to ${name}`, channel: "sms", text: "Hi" });
  }
  for (const id of people) expect((await scenario.erase(id)).status).toBe(200);
  const kept = await scenario.rows(
    sql`select name from segments union all select name from templates order by name`,
  );
  const told = kept.map(({ name }) => String(name).replace(/ [0-9a-f]{12}$/, ""));
  expect(told).toEqual(["only erased", "only erased", "to erased", "to erased"]);
});

test("a name that another player has stays in notes, and so do few letters and parts of words", async () => {
  const scenario = await newProperty();
  const note = "Zoë Quorvend asked, not Zoë Quorvendish; May Day";
  const conditions = [{ field: "tier", operator: "eq", value: "Gold" }];
  await scenario.call("create_segment", { name: "Gold", description: note, conditions });
  const noted = async () => (await scenario.rows(sql`select description from segments`))[0]!.description;
  const zoe = { first_name: "Zoë", last_name: "Quorvend" };
  const [one, other] = [
    await scenario.player({ ...zoe, email: "z1@x.com" }),
    await scenario.player({ ...zoe, email: "z2@x.com" }),
  ];
  const may = await scenario.player({ first_name: "May", last_name: "Da", email: "may@x.com" });
  for (const id of [one, may]) await scenario.erase(id);
  expect(await noted()).toBe(note);
  await scenario.erase(other);
  expect(await noted()).toBe("erased asked, not Zoë Quorvendish; May Day");
});

test("the erasure of a person with a short player_id waits for no rows of others", async () => {
  const scenario = await newProperty();
  const person = await scenario.player({ player_id: "e", email: "short@x.com" });
  const conditions = [{ field: "player_id", operator: "in", value: ["e", "E", "ee"] }];
  await scenario.call("create_segment", { name: "by number", conditions });
  const { id } = await scenario.call("create_template", { name: "the desk", channel: "sms", text: "Hi" });
  await service.internals.db.asProperty(scenario.tenant.id, async (run) => {
    await run`select from templates where property_id = ${scenario.tenant.id} and id = ${id} for update`;
    expect((await scenario.erase(person)).status).toBe(200);
  });
  expect(await scenario.rows(sql`select conditions #>> '{0,value}' as ids from segments`)).toEqual([
    { ids: '["erased", "E", "ee"]' },
  ]);
});

test("an erasure leaves what settings mean for others, and names them", async () => {
  const scenario = await newProperty();
  const winner = { first_name: "Grand", last_name: "Prize", player_id: "100000", email: "grand@x.com" };
  const person = await scenario.player(winner);
  const conditions = [
    { field: "tier", operator: "neq", value: "Grand Prize" },
    { field: "email", operator: "neq", value: "grand@x.com" },
  ];
  const { id } = await scenario.call("create_segment", {
    ...{ name: "Grand Prize, 100000 points", description: "Grand Prize asked, number 100000", conditions },
  });
  const game = await scenario.call("create_game", {
    ...{ name: "Grand Prize", type: "instant_win", draw: "independent", description: "Win 100000 points" },
  });
  const prize = await scenario.call("create_game_prize", {
    ...{ game_id: game.id, label: "100000 points", kind: "comp", value: 5, weight: 1 },
  });
  const { body } = await scenario.erase(person);
  expect(await scenario.rows(sql`select name, description, conditions from segments`)).toEqual([
    {
      name: "Grand Prize, 100000 points",
      description: "erased asked, number erased",
      conditions: [conditions[0], { field: "email", operator: "neq", value: "erased" }],
    },
  ]);
  expect(await scenario.rows(sql`select name, description from games`)).toEqual([
    { name: "Grand Prize", description: "Win 100000 points" },
  ]);
  expect(await scenario.rows(sql`select label from game_prizes`)).toEqual([{ label: "100000 points" }]);
  const looks = body.look_at as { table: string; id: string; column: string; text: string }[];
  expect(looks.map(({ table, id, column, text }) => [table, id, column, text]).sort()).toEqual(
    [
      ["game_prizes", prize.id, "label", "kept"],
      ["games", game.id, "description", "kept"],
      ["games", game.id, "name", "kept"],
      ["segments", id, "conditions", "kept"],
      ["segments", id, "name", "kept"],
    ].sort(),
  );
});

test("a setting that was read before an erasure is not sent back over it", async () => {
  const scenario = await newProperty();
  const person = await scenario.player({ player_id: "KX-1", email: "grand@x.com" });
  const conditions = [{ field: "email", operator: "neq", value: "grand@x.com" }];
  const read = await scenario.call("create_segment", { name: "Rest", conditions });
  await scenario.erase(person);
  const { id, version } = read;
  const sent = [
    { id, conditions, version },
    { id, conditions, updated_at: read.updated_at },
  ];
  for (const input of sent) {
    await expect(scenario.call("update_segment", input)).rejects.toThrow(
      /was changed since|is now at version/,
    );
  }
  expect(JSON.stringify(await scenario.call("get_segment", { id }))).not.toContain("grand@x.com");
});

test("a record keeps a name without the person, though another record has it too", async () => {
  const scenario = await newProperty();
  const person = await scenario.player({ player_id: "KX-1", email: "grand@x.com" });
  for (const description of ["Rest", "grand@x.com asked"]) {
    const { id } = await scenario.call("create_segment", { name: "Rest", description, type: "static" });
    if (description === "Rest") await scenario.call("delete_segment", { id });
  }
  await scenario.erase(person);
  expect(await scenario.rows(sql`select name, description from segments where deleted_at is null`)).toEqual([
    { name: "Rest", description: "erased asked" },
  ]);
});

test("the audit log loses a former note about the person, and keeps a former setting", async () => {
  const scenario = await newProperty();
  const person = { first_name: "Grand", last_name: "Prize", phone: "+17025550199", player_id: "100000" };
  const erased = await scenario.player({ ...person, email: "grand@x.com" });
  const conditions = [{ field: "tier", operator: "eq", value: "Gold" }];
  for (const description of ["Grand Prize asked", "call (702) 555-0199", "number 100000"]) {
    const { id } = await scenario.call("create_segment", {
      name: description.slice(-6),
      description,
      conditions,
    });
    await scenario.call("update_segment", { id, description: "Gold" });
  }
  const wheel = { type: "instant_win", draw: "independent", description: "Win 100000 points" };
  const { id } = await scenario.call("create_game", { name: "Grand Prize", ...wheel });
  await scenario.call("update_game", { id, name: "Wheel", description: "Gold" });
  const changed = sql`
    select diff from audit_logs where action in ('update_segment', 'update_game') order by created_at, id`;
  const before = await scenario.rows(changed);
  expect(before.slice(0, 3)).toMatchObject(
    Array.from({ length: 3 }, () => ({ diff: { description: expect.any(String) } })),
  );
  expect((await scenario.erase(erased)).status).toBe(200);
  expect(await scenario.rows(changed)).toEqual([...Array(3).fill({ diff: null }), before[3]]);
  expect(before[3]).toMatchObject({ diff: { name: "Grand Prize", description: "Win 100000 points" } });
  const verified = await scenario.call("verify_ledger", { propertyId: scenario.tenant.id });
  expect(verified).toMatchObject({ intact: true });
});
