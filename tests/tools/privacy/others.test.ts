import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { receiveFile } from "#tools/imports/upload.ts";
import { type House, startHouse, type Tenant } from "../../support/house.ts";
import { type Casino, casino } from "../campaigns/casino.ts";

// What one person asks for leaves the others alone: those whose address is longer, and those who have the same one.

let house: House;

beforeAll(async () => {
  house = await startHouse();
});
afterAll(() => house.stop());

interface Place extends Casino {
  tenant: Tenant;
  headers: Record<string, string>;
  erase(playerId: string): Promise<{ status: number; body: Record<string, unknown> }>;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
  exported(playerId: string): Promise<any>;
  rows(text: string, ...values: unknown[]): Promise<Record<string, unknown>[]>;
}

async function newPlace(): Promise<Place> {
  const tenant = await house.newTenant();
  const headers = { "X-Api-Key": tenant.key };
  // Events are written where somebody is told of them.
  await house.call("create_webhook_endpoint", { url: "http://127.0.0.1:9/", events: ["*"] }, tenant.id);
  const about = (playerId: string) => ({ propertyId: tenant.id, playerId });
  return {
    ...casino(house, tenant.id),
    tenant,
    headers,
    erase: (playerId) => house.post("/api/functions/data-deletion", about(playerId), headers),
    exported: async (playerId) =>
      (await house.post("/api/functions/data-export", about(playerId), headers)).body,
    rows: async (text, ...values) => [
      ...(await house.service.db.asProperty(tenant.id, (sql) => sql.unsafe(text, values as never[]))),
    ],
  };
}

/** An import of which no row comes in: what it says is kept beside it. */
async function refusedRows(place: Place, lines: string[]): Promise<void> {
  const csv = `player_id,email,phone,adt,note\n${lines.join("\n")}\n`;
  await house.post("/api/import_jobs", { csv }, place.headers);
  await house.idle();
}

test("who has a part of another's address sees, and takes along, nothing of theirs", async () => {
  const place = await newPlace();
  const ann = await place.player({ email: "ann@x.com", phone: "+436601234567" });
  const names = ["joann@x.com", "jo.ann@x.com", "o'ann@x.com", "ann@x.com.au", "ann@x.community"];
  const others = await Promise.all(names.map((email) => place.player({ email })));
  others.push(await place.player({ email: "long@x.com", phone: "+4366012345671" }));
  for (const id of others) await place.call("update_player", { id, tier: "Gold" });
  const mine = [
    "a,ann@x.com,,many,",
    'b,,"0660 123-4567",many,',
    "c,,,many,<ann@x.com>.",
    "d,ANN@X.COM,,many,",
  ];
  const theirs = [...names.map((email) => `z,${email},,many,`), "z,long@x.com,+4366012345671,many,"];
  await refusedRows(place, [...mine, ...theirs]);
  const kept = () => place.rows("select distinct row, original_row::text from import_errors");
  expect(await kept()).toHaveLength(mine.length + theirs.length);
  const file = async (text: string) => {
    const id = randomUUID();
    await receiveFile(
      house.service.db,
      { propertyId: place.tenant.id, id, filename: `of ${text}.csv` },
      (async function* () {
        yield Buffer.from(`email\n${text}\n`);
      })(),
    );
  };
  for (const email of ["ann@x.com", ...names]) await file(email);

  const all = await place.exported(ann);
  const text = JSON.stringify(all);
  for (const email of names) expect(text).not.toContain(email);
  for (const id of others) expect(text).not.toContain(id);
  expect(new Set(all.import_rows.map(({ row }: { row: number }) => row)).size).toBe(mine.length);
  expect(all.uploads).toHaveLength(1);

  const before = await place.rows(
    "select id, diff from audit_logs where entity_id = any($1) order by id",
    others,
  );
  const events = await place.rows(
    "select id from outbox where data -> 'object' ->> 'id' = any($1) order by id",
    others,
  );
  expect(events.length).toBeGreaterThanOrEqual(others.length);
  await place.call("create_segment", {
    name: "joann@x.com and ann@x.com",
    conditions: [{ field: "email", operator: "in", value: ["joann@x.com", "ann@x.com", "ann@x.com.au"] }],
  });
  expect((await place.erase(ann)).status).toBe(200);
  expect(
    await place.rows("select id, diff from audit_logs where entity_id = any($1) order by id", others),
  ).toEqual(before);
  expect(
    await place.rows("select id from outbox where data -> 'object' ->> 'id' = any($1) order by id", others),
  ).toEqual(events);
  expect(await kept()).toHaveLength(theirs.length);
  const files = (await place.rows("select filename from uploads")).map(({ filename }) => filename);
  expect(files.sort()).toEqual(names.map((email) => `of ${email}.csv`).sort());
  const [segment] = await place.rows("select name, conditions from segments");
  expect(segment).toMatchObject({
    name: "joann@x.com and erased",
    conditions: [{ field: "email", operator: "in", value: ["joann@x.com", "erased", "ann@x.com.au"] }],
  });
});

test("an address after a line break or in quotes is found all the same", async () => {
  const place = await newPlace();
  const ann = await place.player({ email: "ann@x.com" });
  await place.call("update_player", {
    id: await place.player({ email: "host@x.com" }),
    tier: "see\nann@x.com",
  });
  await place.call("create_segment", {
    name: "wife of 'ann@x.com'\nann@x.com.",
    conditions: [{ field: "email", operator: "ilike", value: "%ann@x.com%" }],
  });
  expect((await place.erase(ann)).status).toBe(200);
  const left = await place.rows(
    `select diff::text as told from audit_logs union all select data::text from outbox
     union all select name || conditions::text from segments`,
  );
  expect(left.filter(({ told }) => String(told).includes("ann@x.com"))).toEqual([]);
});

test("of two players with one address, each is shown their own, and one's erasure leaves the other's", async () => {
  const place = await newPlace();
  const address = { email: "home@x.com", phone: "+12025550188" };
  const ann = await place.player({ ...address, player_id: "wife-1", first_name: "Ann", last_name: "Home" });
  const bob = await place.player({
    ...address,
    player_id: "husband-1",
    first_name: "Bob",
    last_name: "Home",
  });
  await place.call("update_player", { id: bob, tier: "Platinum" });
  await place.call("create_player_event", { player_id: bob, name: "visit" });
  await refusedRows(place, ["wife-1,home@x.com,,many,her", "husband-1,home@x.com,,many,his"]);
  const campaign = await place.campaign();
  await place.send(campaign);
  await house.idle();
  const tenant = place.tenant.id;
  await place.call("consent_revoke", { propertyId: tenant, playerId: bob, channel: "sms" });
  await place.call("create_self_exclusion", { phone: "+12025550199", program: "his" });

  const told = await place.exported(ann);
  expect(JSON.stringify(told)).not.toContain(bob);
  expect(JSON.stringify(told)).not.toMatch(/Bob|Platinum|husband-1/);
  expect(told.import_rows).toMatchObject([{ original_row: { note: "her" } }]);
  expect(JSON.stringify(await place.exported(bob))).not.toContain("wife-1");

  const bobs = async () =>
    Promise.all(
      [
        "select email, phone, first_name, tier, status, consents from players where id = $1",
        "select name from player_events where player_id = $1",
        "select id, action, diff from audit_logs where entity_id = $1 and action <> 'data_export' order by id",
        "select id, data from outbox where data -> 'object' ->> 'id' = $1::text order by id",
        "select channel, reason, address, player_id from suppressions where player_id = $1 order by channel",
        "select m.recipient, m.html from mailbox_messages m join campaign_sends s on s.id = m.id where s.player_id = $1",
        "select id, status, address_hash from campaign_sends where player_id = $1 order by id",
      ].map((text) => place.rows(text, bob)),
    );
  const before = await bobs();
  const { status, body } = await place.erase(ann);
  expect(status).toBe(200);
  expect(await bobs()).toEqual(before);
  expect(await place.rows("select distinct original_row ->> 'note' as note from import_errors")).toEqual([
    { note: "his" },
  ]);
  // In doubt nothing is sent to an address that was to be forgotten; the other's record goes on.
  expect(body.shared_with).toEqual([bob]);
  const check = await place.call("compliance_check", {
    propertyId: tenant,
    channel: "email",
    playerIds: [bob],
  });
  expect(check.reasons).toContain("erased");
  const patched = await house.request("PATCH", `/api/players/${bob}`, {
    body: { email: "Home@x.com", phone: address.phone, tier: "Black" },
    headers: place.headers,
  });
  expect([patched.status, patched.body.tier]).toEqual([200, "Black"]);
  const csv = "player_id,email,adt\nhusband-1,home@x.com,7\nwife-1,home@x.com,8\n";
  const job = await house.post("/api/import_jobs", { csv }, place.headers);
  await house.idle();
  const done = (await house.get(`/api/import_jobs/${job.body.id}`, place.headers)).body;
  expect(done).toMatchObject({ updated_count: 1, created_count: 0, failed: 1 });
});

test("a number that is a player_id too stays in the rules of others, and the erasure goes through", async () => {
  const place = await newPlace();
  const player = await place.player({ player_id: "100000", email: "number@x.com" });
  const conditions = [
    { field: "adt", operator: "gte", value: 100000 },
    { field: "coin_in", operator: "between", value: [100000, 1000000] },
    { field: "postal_code", operator: "in", value: ["100000", "1100000"] },
    { field: "tier", operator: "eq", value: "100000" },
    { field: "player_id", operator: "in", value: ["100000", "1000001", "a-100000"] },
  ];
  await place.call("create_segment", { name: "Top 100000", conditions });
  await place.call("create_campaign", {
    name: "For 1000000",
    subject: "x",
    body_html: "<p>x</p>",
    conditions,
  });
  await refusedRows(place, ["5,five@x.com,,many,100000", "100000,,,many,mine"]);
  const { status, body } = await place.erase(player);
  expect([status, body.error]).toEqual([200, undefined]);
  const after = [
    ...conditions.slice(0, 4),
    { field: "player_id", operator: "in", value: ["erased", "1000001", "a-100000"] },
  ];
  expect(await place.rows("select name, conditions from segments")).toEqual([
    { name: "Top 100000", conditions: after },
  ]);
  expect(await place.rows("select name, conditions from campaigns")).toEqual([
    { name: "For 1000000", conditions: after },
  ]);
  expect(await place.rows("select distinct original_row ->> 'player_id' as id from import_errors")).toEqual([
    { id: "5" },
  ]);
});
