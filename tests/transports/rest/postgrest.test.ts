import { PostgrestClient } from "@supabase/postgrest-js";
import { parse } from "csv-parse/sync";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
// biome-ignore lint/suspicious/noExplicitAny: the client's types describe a database that it would have generated
let client: PostgrestClient<any, any, any>;

beforeAll(async () => {
  service = await startService({ role: "web" });
  client = new PostgrestClient(`${service.baseUrl}/api`, { headers: { "X-Api-Key": service.tenant.key } });
  const players = ["Ann,Gold,100", "Bob,Silver,50", "Cy,Gold,10", "Di,,"].map((line) => {
    const [first_name, tier, adt] = line.split(",");
    return { player_id: first_name, first_name, tier: tier || null, adt: adt ? Number(adt) : null };
  });
  const { error, data } = await client.from("players").insert(players).select("player_id");
  expect(error).toBeNull();
  expect(data).toEqual([
    { player_id: "Ann" },
    { player_id: "Bob" },
    { player_id: "Cy" },
    { player_id: "Di" },
  ]);
});

afterAll(() => service.stop());

test("a PostgREST client filters, orders, pages and counts", async () => {
  const gold = await client
    .from("players")
    .select("player_id,adt", { count: "exact" })
    .eq("tier", "Gold")
    .order("adt", { ascending: false })
    .range(0, 0);
  expect(gold).toMatchObject({ data: [{ player_id: "Ann", adt: 100 }], count: 2, error: null });
  const either = await client
    .from("players")
    .select("player_id")
    .or("tier.is.null,adt.lt.20")
    .order("player_id");
  expect(either.data).toEqual([{ player_id: "Cy" }, { player_id: "Di" }]);
  const listed = await client.from("players").select("player_id").in("first_name", ["Bob", "x,y"]);
  expect(listed.data).toEqual([{ player_id: "Bob" }]);
  const others = await client.from("players").select("player_id").not("tier", "eq", "Gold");
  expect(others.data).toEqual([{ player_id: "Bob" }]);
  const head = await client
    .from("players")
    .select("*", { count: "exact", head: true })
    .ilike("first_name", "%n%");
  expect(head).toMatchObject({ count: 1, error: null });
});

test("a PostgREST client reads one object, or is told that there is not one", async () => {
  const ann = await client.from("players").select("first_name").eq("player_id", "Ann").single();
  expect(ann.data).toEqual({ first_name: "Ann" });
  expect(await client.from("players").select().eq("tier", "Gold").single()).toMatchObject({
    status: 406,
    data: null,
  });
});

test("a PostgREST client changes and deletes what its filters match, and only that", async () => {
  const changed = await client
    .from("players")
    .update({ tier: "Bronze" })
    .eq("player_id", "Di")
    .select("player_id,tier");
  expect(changed.data).toEqual([{ player_id: "Di", tier: "Bronze" }]);
  const deleted = await client.from("players").delete().eq("player_id", "Di");
  expect(deleted.error).toBeNull();
  const { count } = await client.from("players").select("*", { count: "exact", head: true });
  expect(count).toBe(3);
  expect((await service.request("DELETE", "/api/players")).status).toBe(400);
});

test("a PostgREST client counts what it has written, and nothing of what was left as it is", async () => {
  const players = client.from("players");
  const rows = [
    { player_id: "counted-1", tier: "Counted" },
    { player_id: "counted-2", tier: "Counted" },
  ];
  const count = "exact";
  expect(await players.insert(rows, { count })).toMatchObject({ error: null, count: 2 });
  const more = [...rows, { player_id: "counted-3", tier: "Counted" }];
  const unique = { onConflict: "player_id", count } as const;
  expect(await players.upsert(more, { ...unique, ignoreDuplicates: true })).toMatchObject({ count: 1 });
  expect(await players.upsert(more[0]!, { ...unique, ignoreDuplicates: true })).toMatchObject({ count: 0 });
  const left = await players.upsert(more[0]!, { ...unique, ignoreDuplicates: true }).select();
  expect(left).toMatchObject({ error: null, data: [], count: 0 });
  expect(await players.upsert(more, unique)).toMatchObject({ count: 3 });
  const changed = await players.update({ tier: "Gone" }, { count }).eq("tier", "Counted").select("player_id");
  expect(changed).toMatchObject({ error: null, count: 3 });
  expect(await players.delete({ count }).eq("tier", "Gone")).toMatchObject({ error: null, count: 3 });
  expect(await players.delete({ count }).eq("tier", "Gone")).toMatchObject({ error: null, count: 0 });
});

test("a caller who says how many rows are meant changes no more, and one who wants a write undone is refused", async () => {
  const players = client.from("players");
  await players.insert([1, 2, 3].map((n) => ({ player_id: `meant-${n}`, tier: "Meant" })));
  const two = { headers: { Prefer: "handling=strict, max-affected=2" } };
  for (const method of ["DELETE", "PATCH"]) {
    const body = method === "PATCH" ? { body: { tier: "Other" } } : {};
    const { status } = await service.request(method, "/api/players?tier=eq.Meant", { ...two, ...body });
    expect(status, method).toBe(400);
  }
  for (const write of [
    players.delete().eq("tier", "Meant").rollback(),
    players.update({ tier: "Other" }).eq("tier", "Meant").rollback(),
    players.insert({ player_id: "meant-4", tier: "Meant" }).rollback(),
  ]) {
    expect((await write).status).toBe(400);
  }
  const unknown = { Prefer: "handling=strict, timezone=America/Denver" };
  expect((await service.get("/api/players", unknown)).body.details[0].field).toBe("Prefer");
  expect((await service.get("/api/players", { Prefer: "timezone=America/Denver" })).status).toBe(200);
  expect((await players.select("id").eq("tier", "Meant")).data).toHaveLength(3);
  const three = { headers: { Prefer: "handling=strict, max-affected=3" } };
  expect((await service.request("DELETE", "/api/players?tier=eq.Meant", three)).body).toHaveLength(3);
});

test("a body has no field that `columns` leaves out", async () => {
  const post = (address: string, body: object) => service.post(`/api/players?columns=${address}`, body);
  const left = { status: 400, body: { error: "columns: leaves out tier, which the body has" } };
  expect(await post("player_id", [{ player_id: "col-1" }, { player_id: "col-2", tier: "C" }])).toMatchObject(
    left,
  );
  expect(await post("player_id", { player_id: "col-1", tier: "C" })).toMatchObject(left);
  const named = await post("%22player_id%22,tier,adt", { player_id: "col-1", tier: "C" });
  expect(named).toMatchObject({ status: 201, body: { tier: "C" } });
  const cased = await post("player_id,firstName", { playerId: "col-2", first_name: "Ana" });
  expect(cased).toMatchObject({ status: 201, body: { player_id: "col-2", first_name: "Ana" } });
  const change = { body: { tier: "D" } };
  expect(await service.request("PATCH", "/api/players?columns=adt&player_id.eq=col-1", change)).toMatchObject(
    left,
  );
  await service.request("DELETE", "/api/players?player_id.in=(col-1,col-2)");
});

test("a PostgREST client upserts by the table's key or by the id, with events and audit row by row", async () => {
  const tenant = await service.newTenant();
  const own = new PostgrestClient(`${service.baseUrl}/api`, { headers: { "X-Api-Key": tenant.key } });
  const players = own.from("players");
  await service.post(
    "/api/webhook_endpoints",
    { url: "http://127.0.0.1:9/hook", events: ["player.*"] },
    { "X-Api-Key": tenant.key },
  );
  await own.from("custom_fields").insert({ key: "host", type: "text" });
  const first = await players
    .upsert([
      { player_id: "A", tier: "Gold", custom: { host: "Ray" } },
      { player_id: "B", tier: "Basic" },
    ])
    .select("id,player_id,tier");
  expect(first.error).toBeNull();
  const [a] = first.data as { id: string }[];
  const second = await players
    .upsert(
      [
        { player_id: "A", tier: "Platinum" },
        { player_id: "C", tier: "Gold" },
        { player_id: "C", adt: 5 },
      ],
      { onConflict: "player_id" },
    )
    .select("player_id,tier,adt,custom,status");
  expect(second.data).toEqual([
    { player_id: "A", tier: "Platinum", adt: null, custom: { host: "Ray" }, status: "active" },
    { player_id: "C", tier: "Gold", adt: null, custom: {}, status: "active" },
    { player_id: "C", tier: "Gold", adt: 5, custom: {}, status: "active" },
  ]);
  const byId = await players.upsert({ id: a!.id, first_name: "Ann" }).select("player_id,first_name").single();
  expect(byId.data).toEqual({ player_id: "A", first_name: "Ann" });
  const ignored = await players
    .upsert([{ player_id: "A", tier: "None" }, { player_id: "D" }], { ignoreDuplicates: true })
    .select("player_id");
  expect(ignored.data).toEqual([{ player_id: "D" }]);
  const all = await players.select("player_id,tier").order("player_id");
  expect(all.data).toEqual([
    { player_id: "A", tier: "Platinum" },
    { player_id: "B", tier: "Basic" },
    { player_id: "C", tier: "Gold" },
    { player_id: "D", tier: null },
  ]);
  const audits = await own
    .from("audit_logs")
    .select("action,entity_id")
    .eq("entity", "players")
    .order("created_at");
  expect(audits.data?.map(({ action }) => action).sort()).toEqual([
    ...Array.from({ length: 4 }, () => "create_player"),
    ...Array.from({ length: 3 }, () => "update_player"),
  ]);
  expect(audits.data?.every(({ entity_id }) => typeof entity_id === "string")).toBe(true);
  const events = await service.database.db.asProperty(
    tenant.id,
    (sql) => sql<{ type: string; n: number }[]>`
      select type, count(*)::int as n from outbox where property_id = ${tenant.id} group by type order by type`,
  );
  expect([...events]).toEqual([
    { type: "player.created", n: 4 },
    { type: "player.tier_changed", n: 1 },
    { type: "player.updated", n: 3 },
  ]);
});

test("an upsert that cannot be is refused whole", async () => {
  const before = await client.from("players").select("*").order("id");
  const players = client.from("players");
  const rows = [{ player_id: "New" }, { player_id: "Ann", email: "not an address" }];
  expect(await players.upsert(rows)).toMatchObject({ status: 400 });
  expect(await players.upsert([{ player_id: "New", shoe: 1 }])).toMatchObject({ status: 400 });
  expect(await players.upsert([{ player_id: 7 }])).toMatchObject({ status: 400 });
  expect(await players.upsert({ tier: "x" }, { onConflict: "tier" })).toMatchObject({
    status: 400,
    error: { error: expect.stringContaining("player_id") },
  });
  expect(await players.upsert({ id: service.tenant.id, tier: "x" })).toMatchObject({ status: 404 });
  const members = client.from("segment_members");
  expect(await members.upsert({ segment_id: service.tenant.id, player_id: service.tenant.id })).toMatchObject(
    {
      status: 400,
    },
  );
  expect(await client.from("players").select("*").order("id")).toEqual(before);
});

test("upserts of one key at once make one record", async () => {
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, adt) => client.from("players").upsert({ player_id: "Once", adt })),
  );
  expect(answers.map(({ error }) => error)).toEqual(answers.map(() => null));
  const { count } = await client
    .from("players")
    .select("*", { count: "exact", head: true })
    .eq("player_id", "Once");
  expect(count).toBe(1);
  await client.from("players").delete().eq("player_id", "Once");
});

test("every filter of a PostgREST client that the contract has finds what it says", async () => {
  const tenant = await service.newTenant();
  const own = new PostgrestClient(`${service.baseUrl}/api`, { headers: { "X-Api-Key": tenant.key } });
  await own.from("custom_fields").insert([
    { key: "level", type: "number" },
    { key: "host", type: "text" },
  ]);
  await own.from("players").insert([
    {
      player_id: "a",
      first_name: "Ann, Jr.",
      adt: 10,
      tags: ["vip", "slots"],
      custom: { level: 3, host: "Ray" },
    },
    { player_id: "b", first_name: 'Bob "B"', adt: 20, tags: ["vip"], custom: { level: 12 } },
    { player_id: "c", first_name: "Cy (C)", adt: 30, tier: "Gold" },
    { player_id: "d", first_name: "100%_d", tier: "Silver" },
  ]);
  const held = await own.from("players").select("id").eq("player_id", "c").single();
  const hold = { propertyId: tenant.id, playerId: held.data?.id, legalHold: true };
  await service.call("set_legal_hold", hold);
  const all = () => own.from("players").select("player_id").order("player_id");
  const cases = {
    eq: [all().eq("first_name", "Ann, Jr."), "a"],
    "eq boolean": [all().eq("legal_hold", true), "c"],
    neq: [all().neq("tier", "Gold"), "d"],
    gt: [all().gt("adt", 10), "b c"],
    gte: [all().gte("adt", 10), "a b c"],
    lt: [all().lt("adt", 20.5), "a b"],
    lte: [all().lte("adt", 10), "a"],
    like: [all().like("first_name", "%B%"), "b"],
    "like escaped": [all().like("first_name", "100\\%\\_d"), "d"],
    ilike: [all().ilike("first_name", "*N*"), "a"],
    "is null": [all().is("tier", null), "a b"],
    "is true": [all().is("legal_hold", true), "c"],
    in: [all().in("first_name", ["Ann, Jr.", 'Bob "B"', "Cy (C)"]), "a b c"],
    contains: [all().contains("tags", ["vip"]), "a b"],
    "contains JSON": [all().contains("custom", { level: 3 }), "a"],
    containedBy: [all().containedBy("tags", ["vip", "x"]), "b c d"],
    overlaps: [all().overlaps("tags", ["slots", "x"]), "a"],
    match: [all().match({ tier: "Gold", adt: 30 }), "c"],
    not: [all().not("adt", "is", null), "a b c"],
    "not in": [all().not("player_id", "in", "(a,b)"), "c d"],
    or: [all().or("tier.eq.Gold,and(adt.gt.5,adt.lt.15)"), "a c"],
    "or quoted": [all().or('first_name.eq."Ann, Jr.",first_name.eq."Cy (C)"'), "a c"],
    filter: [all().filter("adt", "in", "(10,30)"), "a c"],
    "JSON path": [all().eq("custom->>host", "Ray"), "a"],
    "JSON number": [all().gt("custom->level", 5), "b"],
    several: [all().gt("adt", 5).lt("adt", 25).neq("player_id", "a"), "b"],
  } as const;
  for (const [name, [query, expected]] of Object.entries(cases)) {
    const { data, error } = await query;
    expect({ name, error, found: data?.map(({ player_id }) => player_id).join(" ") }).toEqual({
      name,
      error: null,
      found: expected,
    });
  }
  const ordered = await own
    .from("players")
    .select("player_id")
    .order("tier", { ascending: false, nullsFirst: false })
    .order("adt", { nullsFirst: true })
    .range(1, 2);
  expect(ordered.data).toEqual([{ player_id: "c" }, { player_id: "a" }]);
  for (const count of ["exact", "planned", "estimated"] as const) {
    const counted = await own.from("players").select("*", { count, head: true });
    expect(counted).toMatchObject({ error: null, count: count === "planned" ? expect.any(Number) : 4 });
  }
  expect((await own.from("players").select("player_id").eq("player_id", "z").maybeSingle()).data).toBeNull();
  expect((await own.from("players").select("player_id").eq("player_id", "a").maybeSingle()).data).toEqual({
    player_id: "a",
  });
  expect(await own.from("players").select("player_id").maybeSingle()).toMatchObject({
    data: null,
    status: 406,
  });
});

test("pages by cursor are linked, and a cursor that somebody made is refused", async () => {
  const seen: string[] = [];
  let path: string | null = "/api/players?select=player_id&order=player_id&limit=1&cursor=&tier.not.is=null";
  while (path) {
    const page = await service.get(path);
    expect(page.status).toBe(200);
    seen.push(page.body[0].player_id);
    const link: RegExpExecArray | null = /^<([^>]+)>; rel="next"$/.exec(page.headers.get("Link") ?? "");
    expect(link === null).toBe(page.headers.get("X-Next-Cursor") === null);
    path = link?.[1] ?? null;
  }
  expect(seen).toEqual(["Ann", "Bob", "Cy"]);
  for (const cursor of [
    "x",
    "WyJwbGF5ZXJfaWQsaWQiLCJBbm4iXQ",
    "WyJwbGF5ZXJfaWQsaWQiLCJBbm4iXQ.AAAAAAAAAAAAAAAAAAAAAA",
  ]) {
    const { status, body } = await service.get(`/api/players?cursor=${cursor}`);
    expect({ status, field: body.details[0].field }).toEqual({ status: 400, field: "cursor" });
  }
});

test("of what an Accept header names, that is answered which it likes most", async () => {
  const types = {
    "application/json, text/csv": "application/json",
    "text/csv;q=0.1, application/json": "application/json",
    "text/csv;q=0": "application/json",
    "text/html, */*": "application/json",
    "application/json;q=0.5, text/csv": "text/csv",
    "text/csv; charset=utf-8": "text/csv",
  };
  for (const [accept, type] of Object.entries(types)) {
    const { headers } = await service.get("/api/players?limit=1", { Accept: accept });
    expect(headers.get("content-type")?.split(";")[0], accept).toBe(type);
  }
});

test("a PostgREST client reads CSV", async () => {
  const { data } = await client.from("players").select("player_id,tier").order("player_id").csv();
  expect(data).toBe("player_id,tier\nAnn,Gold\nBob,Silver\nCy,Gold\n");
  const none = await client.from("players").select("tier,player_id").eq("player_id", "nobody").csv();
  expect(none.data).toBe("tier,player_id\n");
  const risky = [
    {
      player_id: "=1+1",
      first_name: "'=x",
      custom: { a: "=1" },
      tags: ["-"],
      adt: -5,
      phone: "+12025550123",
    },
  ];
  await client.from("custom_fields").insert({ key: "a", type: "text" });
  await client.from("players").insert(risky);
  const cells = await client
    .from("players")
    .select("player_id,first_name,custom,tags,adt,phone")
    .eq("adt", -5)
    .csv();
  expect(cells.data?.split("\n")[1]).toBe(`'=1+1,''=x,"{""a"": ""=1""}",'-,-5,+12025550123`);
});

test("a list as CSV writes its cells as the export does", async () => {
  const { id, key } = await service.newTenant();
  const asTenant = { "X-Api-Key": key };
  const players = [
    { player_id: "1", first_name: "=x", tags: ["a", "b"], birth_date: "1980-01-02", adt: 1.5 },
    { player_id: "2", last_name: 'a "b", c', tags: ["a;b", "[c]"], last_visit_at: "2026-01-02T03:04:05.6Z" },
    { player_id: "3", tags: ["=1"], phone: "+17025550123" },
  ];
  await service.post("/api/players", players, asTenant);
  const exported = await service.post("/api/functions/export-players", { property_id: id }, asTenant);
  const [names, ...lines] = records(exported.text);
  const shared = [
    "player_id",
    "first_name",
    "last_name",
    "tags",
    "birth_date",
    "adt",
    "phone",
    "last_visit_at",
  ];
  const listed = await service.get(`/api/players?select=${shared}&order=player_id`, {
    ...asTenant,
    Accept: "text/csv",
  });
  const expected = lines.map((line) => shared.map((name) => line[names!.indexOf(name)]));
  expect(records(listed.text)).toEqual([shared, ...expected.sort()]);
});

const records = (text: string) => parse(text) as string[][];

test("one record is answered in the shape that the headers ask for", async () => {
  const { body: made } = await service.post("/api/players", { player_id: "shaped", tier: "Shaped" });
  const path = `/api/players/${made.id}`;
  const shape = { "X-Api-Key": service.tenant.key };
  const object = "application/vnd.pgrst.object+json";
  const typeOf = ({ headers }: { headers: Headers }) => headers.get("content-type")?.split(";")[0];

  const one = await service.get(path, { ...shape, Accept: object });
  expect([typeOf(one), JSON.parse(one.text).player_id]).toEqual([object, "shaped"]);
  const line = await service.get(path, { Accept: "text/csv" });
  expect([typeOf(line), records(line.text).length, records(line.text)[0]?.[0]]).toEqual([
    "text/csv",
    2,
    "id",
  ]);
  const counted = await service.get(path, { Prefer: "count=exact" });
  expect(counted.headers.get("Content-Range")).toBe("0-0/1");

  const change = (headers: Record<string, string>) =>
    service.request("PATCH", path, { body: { tier: "Changed" }, headers });
  const several = await change({ Prefer: "return=representation" });
  expect([typeOf(several), several.body]).toEqual([
    "application/json",
    [expect.objectContaining({ id: made.id })],
  ]);
  const single = await change({ Prefer: "return=representation", Accept: object });
  expect([typeOf(single), JSON.parse(single.text).tier]).toEqual([object, "Changed"]);
  const minimal = await change({ Prefer: "return=minimal" });
  expect([minimal.status, minimal.text, minimal.headers.get("Content-Type")]).toEqual([204, "", null]);
  const csv = await change({ Accept: "text/csv", Prefer: "return=representation" });
  expect([typeOf(csv), records(csv.text).length]).toEqual(["text/csv", 2]);

  for (const [method, options] of [
    ["PATCH", { body: { tier: "Undone" } }],
    ["DELETE", {}],
  ] as const) {
    for (const prefer of ["tx=rollback", "handling=strict, max-affected=0", "handling=strict, unheard=of"]) {
      const { status } = await service.request(method, path, { ...options, headers: { Prefer: prefer } });
      expect(status, `${method} ${prefer}`).toBe(400);
    }
  }
  expect((await service.get(path)).body.tier).toBe("Changed");

  const removal = { headers: { Prefer: "return=representation", "Idempotency-Key": "shaped-1" } };
  const removed = await service.request("DELETE", path, removal);
  expect(removed.body).toEqual([expect.objectContaining({ id: made.id, player_id: "shaped" })]);
  const replayed = await service.request("DELETE", path, removal);
  expect([replayed.headers.get("Idempotency-Replayed"), replayed.body]).toEqual(["true", removed.body]);
  const plain = await service.request("DELETE", path, { headers: { "Idempotency-Key": "shaped-1" } });
  expect(plain.body).toEqual({ success: true });
  expect((await service.get(path)).status).toBe(404);
});

test("return=minimal answers no body: 201 with the new record's address, and 204 for changes and removals", async () => {
  const headers = { Prefer: "return=minimal" };
  const made = await service.post("/api/players", { player_id: "brief-1", tier: "Brief" }, headers);
  expect([made.status, made.text]).toEqual([201, ""]);
  const path = made.headers.get("Location")!;
  expect((await service.get(path)).body.player_id).toBe("brief-1");
  const several = await service.post("/api/players", [{ player_id: "brief-2", tier: "Brief" }], headers);
  expect([several.status, several.text, several.headers.get("Location")]).toEqual([201, "", null]);
  const merge = { Prefer: "return=minimal, resolution=merge-duplicates" };
  const upserted = await service.post("/api/players", { player_id: "brief-1", tier: "Brief" }, merge);
  expect([upserted.status, upserted.text]).toEqual([204, ""]);
  const filter = "/api/players?tier.eq=Brief";
  for (const [method, address, options] of [
    ["PATCH", path, { body: { first_name: "Ana" } }],
    ["PATCH", filter, { body: { first_name: "Bea" } }],
    ["DELETE", path, {}],
    ["DELETE", filter, {}],
  ] as const) {
    const answer = await service.request(method, address, { ...options, headers });
    expect([answer.status, answer.text], `${method} ${address}`).toEqual([204, ""]);
  }
  expect((await service.get(filter)).body).toEqual([]);
});

test("a function that was to be undone is refused instead of done", async () => {
  const { body: made } = await service.post("/api/players", { player_id: "undone" });
  const asked = { propertyId: service.tenant.id, playerId: made.id, channel: "sms", consentGiven: true };
  const { status } = await service.post("/api/functions/consent-record", asked, { Prefer: "tx=rollback" });
  expect(status).toBe(400);
  expect((await service.get(`/api/consent_records?player_id.eq=${made.id}`)).body).toEqual([]);
});

test("a written record comes as CSV, or as one object that says so, to callers who ask for it", async () => {
  const shown = { Prefer: "return=representation" };
  const rows = [{ player_id: "csv-1", tags: ["a", "b"] }, { player_id: "csv-2" }];
  const select = "/api/players?select=player_id,tags";
  const made = await service.post(select, rows, { ...shown, Accept: "text/csv" });
  expect([made.status, made.headers.get("content-type")]).toEqual([201, "text/csv; charset=utf-8"]);
  expect(made.text).toBe("player_id,tags\ncsv-1,a;b\ncsv-2,\n");
  const filter = "player_id=like.csv-*";
  const changed = await service.request("PATCH", `${select}&${filter}`, {
    body: { tags: ["c"] },
    headers: { ...shown, Accept: "text/csv" },
  });
  expect(changed.text.split("\n").sort()).toEqual(["", "csv-1,c", "csv-2,c", "player_id,tags"]);
  const object = "application/vnd.pgrst.object+json";
  for (const ask of [
    () => service.get("/api/players?player_id=eq.csv-1", { Accept: object }),
    () => service.post("/api/players", { player_id: "csv-3" }, { ...shown, Accept: object }),
    () =>
      service.request("DELETE", "/api/players?player_id=eq.csv-1", { headers: { ...shown, Accept: object } }),
  ]) {
    const { headers, text } = await ask();
    expect(headers.get("content-type")?.split(";")[0]).toBe(object);
    expect(JSON.parse(text).player_id).toMatch(/^csv-/);
  }
  const none = await service.get("/api/players?player_id=eq.csv-1", { Accept: object });
  expect([none.status, none.headers.get("content-type")]).toEqual([406, "application/json"]);
  const removed = await service.request("DELETE", `/api/players?${filter}`, {
    headers: { Accept: "text/csv" },
  });
  expect(removed.text).toBe("success\ntrue\ntrue\n");
});
