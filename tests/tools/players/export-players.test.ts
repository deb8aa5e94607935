import { parse } from "csv-parse/sync";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { startService, type Tenant, type TestService } from "../../support/service.ts";

let service: TestService;
let admin: postgres.Sql;
beforeAll(async () => {
  service = await startService();
  admin = postgres(service.database.url, { max: 1, onnotice: () => {} });
});
afterAll(async () => {
  await admin.end();
  await service.stop();
});

type Cells = Record<string, string>;

async function exported(tenant: Tenant, input: object = {}): Promise<Cells[]> {
  const answer = await service.post(
    "/api/functions/export-players",
    { property_id: tenant.id, ...input },
    { "X-Api-Key": tenant.key },
  );
  if (answer.status !== 200) throw new Error(answer.text);
  return parse(answer.text, { columns: true });
}

async function tenantWith(players: object[], fields: object[] = []): Promise<Tenant> {
  const tenant = await service.newTenant();
  if (fields.length > 0) {
    const defined = await service.post("/api/custom_fields", fields, { "X-Api-Key": tenant.key });
    expect(defined.status).toBe(201);
  }
  if (players.length > 0) {
    const answer = await service.post("/api/players", players, { "X-Api-Key": tenant.key });
    expect(answer.status).toBe(201);
  }
  return tenant;
}

const everyField = {
  player_id: "P-1",
  email: "Ann@Example.com",
  phone: "(202) 555-0123",
  first_name: 'Ann "the Ace", Jr.',
  last_name: "Núñez\nLee",
  tier: "Gold",
  adt: 12.5,
  coin_in: -3,
  lifetime_theo: 1e300,
  timezone: "America/New_York",
  state: "NV",
  postal_code: "00501",
  country: "us",
  birth_date: "1980-02-29",
  language: "en-US",
  phone_type: "mobile",
  custom: {
    host: "Ray",
    points: 7,
    vip: true,
    fav_game: "Slots",
    since: "2026-03-01",
    seen: "2026-03-01T12:00:00-05:00",
    likes: ["a;b", "=c"],
  },
  last_visit_at: "2026-03-01T12:00:00.123456Z",
  host_id: "01900000-0000-7000-8000-0000000000aa",
  tags: ["slots", "high roller"],
};

const customFields = [
  { key: "host", type: "text" },
  { key: "points", type: "number" },
  { key: "vip", type: "boolean" },
  { key: "fav_game", type: "enum", enum_values: ["Slots", "=Craps"] },
  { key: "since", type: "date" },
  { key: "seen", type: "datetime" },
  { key: "likes", type: "text_list" },
];

test("an export is an attachment of CSV with every field of a player", async () => {
  const tenant = await tenantWith([everyField], customFields);
  const [player] = (await service.get("/api/players", { "X-Api-Key": tenant.key })).body;
  await service.call("set_legal_hold", { propertyId: tenant.id, playerId: player.id, legalHold: true });
  await service.call("consent_record", {
    propertyId: tenant.id,
    playerId: player.id,
    channel: "sms",
    consentGiven: true,
  });
  const answer = await service.post(
    "/api/functions/export-players",
    { propertyId: tenant.id },
    { "X-Api-Key": tenant.readKey },
  );
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toBe("text/csv; charset=utf-8");
  expect(answer.headers.get("content-disposition")).toMatch(
    /^attachment; filename="players-\d{4}-\d\d-\d\d\.csv"$/,
  );
  expect(answer.headers.get("API-Version")).toBe("2026-06-05");
  const [row] = parse(answer.text, { columns: true }) as Cells[];
  const { consents: _, consent_expiries: __, consent_levels: ___, custom: ____, ...columns } = player;
  expect(Object.keys(row!).sort()).toEqual(
    [
      ...Object.keys(columns),
      ...["sms", "email", "voice", "push"].flatMap((one) => [
        `consent_${one}`,
        `consent_${one}_expires_at`,
        `consent_${one}_level`,
      ]),
      ...customFields.map(({ key }) => `custom.${key}`),
    ].sort(),
  );
  expect(row).toMatchObject({
    id: player.id,
    property_id: tenant.id,
    player_id: "P-1",
    email: "ann@example.com",
    phone: "+12025550123",
    phone_e164: "+12025550123",
    first_name: 'Ann "the Ace", Jr.',
    last_name: "Núñez\nLee",
    adt: "12.5",
    coin_in: "-3",
    lifetime_theo: "1e+300",
    country: "US",
    birth_date: "1980-02-29",
    postal_code: "00501",
    status: "active",
    email_status: "unknown",
    email_validated_at: "",
    consent_sms: "true",
    consent_email: "",
    "custom.host": "Ray",
    "custom.points": "7",
    "custom.vip": "true",
    "custom.fav_game": "Slots",
    "custom.since": "2026-03-01",
    "custom.seen": "2026-03-01T17:00:00.000Z",
    "custom.likes": '["a;b", "=c"]',
    last_visit_at: "2026-03-01T12:00:00.123456+00:00",
    tags: "slots;high roller",
    legal_hold: "true",
    deleted_at: "",
    created_at: player.created_at,
  });
});

const strange = [
  "=1+1",
  "+cmd|' /C calc'!A0",
  "-2+3",
  "@SUM(A1)",
  "'=already",
  "''-twice",
  "'tis",
  "-5",
  "-5.5",
  "+12025550123",
  "+1",
  "a=b",
  'He said "hi", then left',
  "line\nbreak",
  "日本🎰",
  "007",
  "null",
  "\\N",
  "\\.",
  "#N/A",
  "＝1+1",
  "＋1",
  "－1",
  "＠SUM(A1)",
  "'＝already",
];

test("a text that a spreadsheet would run starts with an apostrophe, and numbers and phones do not", async () => {
  const tenant = await tenantWith(
    strange.map((first_name, index) => ({ player_id: `S${index}`, first_name })),
  );
  const rows = await exported(tenant);
  const cells = new Map(rows.map((row) => [row.player_id, row.first_name]));
  const guarded = strange.flatMap((text, index) => (cells.get(`S${index}`) === text ? [] : [text]));
  expect(guarded).toEqual([
    ...["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "'=already", "''-twice", "+1"],
    ...["＝1+1", "＋1", "－1", "＠SUM(A1)", "'＝already"],
  ]);
  for (const text of guarded) expect(cells.get(`S${strange.indexOf(text)}`)).toBe(`'${text}`);
});

test("an export comes in again as it was, and goes out as the same file", async () => {
  const texts = [
    ...strange,
    "true",
    "10",
    "1.50",
    "12345678901234567890",
    '"quoted"',
    "{}",
    "[1",
    "\ttab",
    "\n=1",
  ];
  const numbers = [10, -4.25, 1e21, 1e-7, 0, 1e300];
  const lists = [[], ["a"], ["=a", "b;c"], ['["'], ["[x]", "1"]];
  const from = await tenantWith(
    [
      everyField,
      ...texts.map((host, index) => ({
        player_id: `C${index}`,
        custom: {
          host,
          points: numbers[index % numbers.length],
          vip: index % 2 === 0,
          likes: lists[index % lists.length],
          fav_game: index % 3 === 0 ? null : "=Craps",
        },
        tags: [`=t${index}`, "a;b", "c|d"].slice(0, 1 + (index % 3)),
      })),
      ...["-x", "plain"].map((tag) => ({ player_id: tag, tags: [tag, "z", "a"] })),
    ],
    customFields,
  );
  const [to, key] = [await tenantWith([], customFields), "X-Api-Key"];
  const first = await service.post(
    "/api/functions/export-players",
    { property_id: from.id },
    { [key]: from.key },
  );
  const job = await service.post(
    "/api/import_jobs",
    { type: "player_import", csv: first.text },
    { [key]: to.key },
  );
  expect(job.status).toBe(202);
  await service.idle();
  const done = await service.get(`/api/import_jobs/${job.body.id}`, { [key]: to.key });
  expect(done.body).toMatchObject({ status: "completed", failed: 0 });
  const own = ({ id, property_id, created_at, updated_at, import_job_id, legal_hold, ...rest }: Cells) =>
    rest;
  const byName = (rows: Cells[]) => rows.map(own).sort((a, b) => (a.player_id! < b.player_id! ? -1 : 1));
  expect(byName(await exported(to))).toEqual(byName(await exported(from)));
  const values = async (tenant: Tenant) => {
    const { body } = await service.get(
      "/api/players?select=player_id,custom,tags&order=player_id&limit=1000",
      {
        [key]: tenant.key,
      },
    );
    return body;
  };
  expect(await values(to)).toEqual(await values(from));
});

test("numbers of three decimals have one reading in a file that shows no other number", async () => {
  const fields = ["player_id", "adt", "coin_in", "custom.points"];
  const players = [
    { player_id: "N1", adt: 1.234, coin_in: 5.125, custom: { points: 999.999 } },
    { player_id: "N2", adt: -12.345, coin_in: 1, custom: { points: 0.125 } },
  ];
  const from = await tenantWith(players, customFields);
  const to = await tenantWith([], customFields);
  const key = (tenant: Tenant) => ({ "X-Api-Key": tenant.key });
  const file = async (tenant: Tenant) => {
    const input = { property_id: tenant.id, fields, order: "player_id.asc" };
    return (await service.post("/api/functions/export-players", input, key(tenant))).text;
  };
  const first = await file(from);
  expect(first).toContain("N1,1.2340,5.1250,999.9990\n");
  const listed = "/api/players?select=player_id,adt,coin_in,custom&order=player_id";
  const asCsv = await service.get(listed, { ...key(from), Accept: "text/csv" });
  expect(asCsv.text).toContain("N1,1.2340,5.1250,");
  const job = await service.post("/api/import_jobs", { type: "player_import", csv: first }, key(to));
  await service.idle();
  const done = await service.get(`/api/import_jobs/${job.body.id}`, key(to));
  expect(done.body).toMatchObject({ status: "completed", succeeded: 2, failed: 0 });
  expect((await service.get(listed, key(to))).body).toEqual((await service.get(listed, key(from))).body);
  expect(await file(to)).toBe(first);
});

test("a segment, conditions, both, and a limit choose who is exported, newest first", async () => {
  const tenant = await service.newTenant();
  const key = { "X-Api-Key": tenant.key };
  for (let n = 0; n < 9; n++) {
    await service.post(
      "/api/players",
      { player_id: `P${n}`, tier: n % 2 ? "Gold" : "Basic", adt: n * 10 },
      key,
    );
  }
  const dynamic = await service.post(
    "/api/segments",
    { name: "Gold", type: "dynamic", conditions: [{ field: "tier", operator: "eq", value: "Gold" }] },
    key,
  );
  const fixed = await service.post("/api/segments", { name: "Few", type: "static" }, key);
  const players = (await service.get("/api/players?select=id,player_id", key)).body;
  for (const player of players.filter((one: Cells) => one.player_id! < "P2")) {
    await service.post("/api/segment_members", { segment_id: fixed.body.id, player_id: player.id }, key);
  }
  const names = async (input: object) =>
    (await exported(tenant, input)).map((row) => row.player_id).join(" ");
  expect(await names({})).toBe("P8 P7 P6 P5 P4 P3 P2 P1 P0");
  expect(await names({ conditions: [] })).toBe("P8 P7 P6 P5 P4 P3 P2 P1 P0");
  expect(await names({ limit: 2 })).toBe("P8 P7");
  expect(await names({ segment_id: dynamic.body.id })).toBe("P7 P5 P3 P1");
  expect(await names({ segment_id: fixed.body.id })).toBe("P1 P0");
  const rich = { field: "adt", operator: "gte", value: 50 };
  const first = { field: "player_id", operator: "in", value: ["P0", "P'1", "P1\\"] };
  expect(await names({ conditions: [rich, first] })).toBe("");
  expect(await names({ conditions: [rich, first], logic: "or" })).toBe("P8 P7 P6 P5 P0");
  expect(await names({ segment_id: dynamic.body.id, conditions: [rich] })).toBe("P7 P5");
  expect(
    (await service.post("/api/functions/export-players", { property_id: tenant.id, limit: 1 }, key)).text,
  ).toMatch(/^id,property_id,player_id,.*\n.*\n$/);
});

test("an export that cannot be is refused as JSON, and is not recorded", async () => {
  const tenant = await tenantWith([{ player_id: "A" }]);
  const rival = await tenantWith([{ player_id: "B" }]);
  const segment = (
    await service.post("/api/segments", { name: "S", type: "static" }, { "X-Api-Key": rival.key })
  ).body;
  const condition = { field: "adt", operator: "gte", value: 1 };
  const cases: [object, number, RegExp][] = [
    [{ property_id: "x" }, 400, /property_id/],
    [{ property_id: rival.id }, 403, /wrong_property/],
    [{ property_id: crypto.randomUUID() }, 403, /wrong_property/],
    [{ property_id: tenant.id, segment_id: segment.id }, 404, /segment/],
    [{ property_id: tenant.id, segment_id: crypto.randomUUID() }, 404, /segment/],
    [{ property_id: tenant.id, segment_id: "x" }, 400, /segment_id/],
    [{ property_id: tenant.id, limit: 0 }, 400, /limit/],
    [{ property_id: tenant.id, limit: 50_001 }, 400, /limit/],
    [{ property_id: tenant.id, limit: 1.5 }, 400, /limit/],
    [{ property_id: tenant.id, logic: "xor" }, 400, /logic/],
    [
      { property_id: tenant.id, conditions: [{ ...condition, field: "shoe" }] },
      400,
      /^conditions\[0\]\.field: "shoe"/,
    ],
    [{ property_id: tenant.id, conditions: [{ ...condition, value: "many" }] }, 400, /conditions/],
    [{ property_id: tenant.id, conditions: condition }, 400, /conditions/],
    [{ property_id: tenant.id, format: "xlsx" }, 400, /format/],
  ];
  for (const [input, status, reason] of cases) {
    const answer = await service.post("/api/functions/export-players", input, { "X-Api-Key": tenant.key });
    expect(answer.status, JSON.stringify(input)).toBe(status);
    expect(answer.headers.get("content-type")).toBe("application/json");
    expect(answer.body.error).toMatch(reason);
  }
  const path = "/api/audit_logs?action.eq=export_players";
  expect((await service.get(path, { "X-Api-Key": tenant.key })).body).toEqual([]);
  await exported(tenant, { conditions: [{ field: "email", operator: "eq", value: "secret@example.com" }] });
  const [row, ...more] = (await service.get(path, { "X-Api-Key": tenant.key })).body;
  expect(more).toEqual([]);
  expect(row).toMatchObject({
    entity: "players",
    actor: { type: "api_key" },
    diff: { conditions: 1, limit: 50_000 },
  });
  expect(JSON.stringify(row)).not.toContain("secret");
});

test("an agent is given as much of the file as it can hold, in whole records, and is told that there is more", async () => {
  const tenant = await tenantWith(
    Array.from({ length: 200 }, (_, n) => ({
      player_id: `P${n}`,
      first_name: `line\n"${n}"`,
      email: `p${n}@example.com`,
    })),
  );
  const ask = async (input: object) => {
    const message = {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "export_players", arguments: input },
    };
    const { body } = await service.post("/api/mcp", message, {
      "X-Api-Key": tenant.key,
      Accept: "application/json, text/event-stream",
    });
    return body.result.structuredContent;
  };
  const some = await ask({ limit: 3 });
  expect(some).toMatchObject({ has_more: false, filename: expect.stringMatching(/\.csv$/) });
  expect(parse(some.text, { columns: true })).toEqual(await exported(tenant, { limit: 3 }));
  const start = await ask({});
  expect(start.has_more).toBe(true);
  const rows = parse(start.text, { columns: true });
  expect(rows.length).toBeGreaterThan(20);
  expect(rows).toEqual(await exported(tenant, { limit: rows.length }));
});

test("a receiver who goes away stops the query, and those who wait get their turn", async () => {
  const tenant = await service.newTenant();
  // More than the buffers of a connection hold, some 10 MB: the query would end by itself.
  await service.database.db.asProperty(
    tenant.id,
    (sql) => sql`
      insert into players (property_id, player_id, first_name, tags)
      select ${tenant.id}, 'p' || n, repeat('x', 200), array_fill(repeat('t', 100), array[8]) from generate_series(1, 15000) n returning 1`,
    { deadline: 60_000 },
  );
  const open = async (signal: AbortSignal | null = null, limit: object = {}) =>
    fetch(`${service.baseUrl}/api/functions/export-players`, {
      method: "POST",
      headers: { "X-Api-Key": tenant.key, "Content-Type": "application/json" },
      body: JSON.stringify({ property_id: tenant.id, ...limit }),
      signal,
    });
  const working = () => admin`
    select from pg_stat_activity where datname = current_database() and query like 'copy%' and state = 'active'`;
  for (let turn = 0; turn < 2; turn++) {
    const leaving = new AbortController();
    const [one, other] = [await open(leaving.signal), await open(leaving.signal)];
    const readers = [one.body!.getReader(), other.body!.getReader()];
    for (const reader of readers) await reader.read();
    await vi.waitFor(async () => expect(await working()).toHaveLength(2), 30_000);
    leaving.abort();
    await vi.waitFor(async () => expect(await working()).toHaveLength(0), 30_000);
  }
  const answers = await Promise.all([1, 2, 3].map(async () => (await open(null, { limit: 10 })).text()));
  for (const text of answers) expect(text.split("\n")).toHaveLength(12);
  expect((await service.get("/api/players?limit=1", { "X-Api-Key": tenant.key })).status).toBe(200);
});

test("an export has the wanted columns in the wanted order", async () => {
  const tenant = await tenantWith(
    [{ player_id: "A", adt: 9 }, { player_id: "B", adt: 100, custom: { host: "Ray" } }, { player_id: "C" }],
    [{ key: "host", type: "text" }],
  );
  const rows = await exported(tenant, {
    fields: ["adt", "player_id", "custom.host", "consent_email", "adt"],
    order: "adt.desc.nullslast",
  });
  expect(rows.map((row) => Object.entries(row).flat().join(" "))).toEqual([
    "adt 100 player_id B custom.host Ray consent_email ",
    "adt 9 player_id A custom.host  consent_email ",
    "adt  player_id C custom.host  consent_email ",
  ]);
  expect((await exported(tenant, { order: "adt" })).map(({ player_id }) => player_id)).toEqual([
    "A",
    "B",
    "C",
  ]);
});

test.each([
  [{ fields: ["emial"] }, "fields: emial is no column of the export; did you mean email?"],
  [{ fields: ["email_hash"] }, "fields: email_hash is no column"],
  [{ order: "email_hash" }, "order: unknown column"],
  [{ order: "adt;drop table players" }, "order: "],
  [{ order: "adt.sideways" }, "order: unknown direction"],
])("an export of %j is refused", async (input, words) => {
  await expect(exported(service.tenant, input)).rejects.toThrow(words);
});
