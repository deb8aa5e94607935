import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { canBeTried, type Operation } from "#runtime/operation/operation.ts";
import { CATALOG } from "#tools/catalog.ts";
import { idFields, inputFor, overMcp, overRest, pointsTo } from "../../support/operation-calls.ts";
import { startService, type TestService } from "../../support/service.ts";
import { type Planted, plantRows } from "../planted-rows.ts";

let service: TestService;
let admin: postgres.Sql;
let rows: Planted;
let list: string;
let operator: string;
beforeAll(async () => {
  // Without a worker, so that only the calls change anything.
  service = await startService({ role: "web" });
  admin = postgres(service.database.url, { max: 1, onnotice: () => {} });
  rows = await plantRows(admin, service.tenant.id);
  list = (await service.post("/api/segments", { name: "List", type: "static" })).body.id;
  operator = (await service.signIn({ platformAdmin: true })).token;
});
afterAll(async () => {
  await admin?.end();
  await service?.stop();
});

const TRIED = [...CATALOG.operations.values()].filter(canBeTried);
/** Counts and times that every request leaves, a dry run too. */
const BOOKS = new Set(["api_key_uses", "rate_windows", "sessions", "scheduler_ticks"]);

/** The content of every table of the database, as one hash a table. */
async function everything(): Promise<Record<string, string>> {
  const tables = await admin<{ name: string }[]>`
    select relname as name from pg_class where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace
      and not relispartition order by 1`;
  const hashes: Record<string, string> = {};
  for (const { name } of tables) {
    if (BOOKS.has(name)) continue;
    const [row] = await admin<{ hash: string }[]>`
      select md5(coalesce(string_agg(t::text, '|' order by t::text), '')) as hash from ${admin(name)} t`;
    hashes[name] = row!.hash;
  }
  return hashes;
}

/** The operation's input about records that are there. */
function about(operation: Operation): Record<string, unknown> {
  const tenant = operation.property ? { [operation.property]: service.tenant.id } : {};
  const given = inputFor(operation, tenant);
  for (const { field, many } of idFields(operation)) {
    const table = field === operation.property ? undefined : pointsTo(operation, field);
    const key = table && rows.get(table.name)?.id;
    if (key && (field in given || field === "id")) given[field] = many ? [key] : key;
  }
  if (!/^(add|remove)_segment_members$/.test(operation.name)) return given;
  // Each way to name the players is optional, and only a static segment has a list.
  return {
    ...given,
    segmentId: list,
    playerIds: [rows.get("players")?.id],
  };
}

const headersOf = ({ access }: Operation): Record<string, string | null> =>
  access === "property"
    ? { "X-Api-Key": service.tenant.key }
    : {
        "X-Api-Key": null,
        Authorization: `Bearer ${operator}`,
        "X-Property-Id": service.tenant.id,
      };

test("every operation that reaches people or cannot be taken back can be tried, and leaves nothing behind", async () => {
  const before = await everything();
  const done: string[] = [];
  for (const operation of TRIED) {
    expect(Object.keys(operation.input.shape), operation.name).toContain("dry_run");
    const input = { ...about(operation), dry_run: true };
    const headers = { ...headersOf(operation), "Idempotency-Key": `dry-${operation.name}` };
    const { status, body, text } = await overRest(service, operation, input, headers);
    expect(status, `${operation.name} ${text}`).toBeLessThan(500);
    if (status < 400) expect(body.dry_run, operation.name).toBe(true);
    if (status < 400) done.push(operation.name);
    if (operation.access === "property") {
      const told = await overMcp(service, operation, { ...input, idempotency_key: `mcp-${operation.name}` });
      if (!told.isError) expect(told.data.dry_run, operation.name).toBe(true);
    }
    expect(await everything(), operation.name).toEqual(before);
  }
  expect(done).toEqual(expect.arrayContaining(["delete_player", "delete_campaign", "data_deletion"]));
  expect(done.length, done.join(", ")).toBeGreaterThan(TRIED.length / 2);
});

test("a removal is tried from its address too, one record or many, and done by the same key afterwards", async () => {
  const { body: player } = await service.post("/api/players", { player_id: "tried-1", tier: "Tried" });
  const path = `/api/players/${player.id}`;
  const keyed = { headers: { "Idempotency-Key": "tried" } };
  const tried = await service.request("DELETE", `${path}?dry_run=true`, keyed);
  expect([tried.status, tried.body]).toEqual([200, { success: true, dry_run: true }]);
  const many = await service.request("DELETE", "/api/players?tier=eq.Tried&dry_run=true");
  expect(many.body).toEqual([{ success: true, dry_run: true }]);
  expect((await service.get(path)).body).toEqual(player);
  for (const query of ["dry_run=maybe", "dry_run=true&dry_run=true", "dry_run="]) {
    expect((await service.request("DELETE", `${path}?${query}`)).status, query).toBe(400);
  }
  const twice = await service.request("DELETE", `${path}?dry_run=true`, { body: { dry_run: false } });
  expect(twice.status).toBe(400);
  expect((await service.get(path)).status).toBe(200);
  expect((await service.request("DELETE", path, { headers: { "Idempotency-Key": "tried" } })).body).toEqual({
    success: true,
  });
  expect((await service.get(path)).status).toBe(404);
});

test("a change of many records is tried from its address, and done by the same key afterwards", async () => {
  const made = await service.post(
    "/api/players",
    [1, 2, 3].map((n) => ({ player_id: `bulk-${n}`, tier: n < 3 ? "Bulk" : "Other" })),
  );
  const records = made.body as { id: string; player_id: string }[];
  const before = await everything();
  const keyed = { "Idempotency-Key": "bulk" };
  const change = { body: { tier: "Changed" }, headers: keyed };
  const tried = await service.request("PATCH", "/api/players?tier=eq.Bulk&dry_run=true", change);
  expect(tried.status).toBe(200);
  expect(tried.body).toEqual(
    [1, 2].map((n) => expect.objectContaining({ player_id: `bulk-${n}`, tier: "Changed", dry_run: true })),
  );
  const few = await service.request("PATCH", "/api/players?tier=eq.Bulk&select=tier&dry_run=true", change);
  expect(few.body).toEqual([1, 2].map(() => ({ tier: "Changed", dry_run: true })));
  const minimal = { ...change, headers: { Prefer: "return=minimal, count=exact" } };
  const counted = await service.request("PATCH", "/api/players?tier=eq.Bulk&dry_run=true", minimal);
  expect([counted.body, counted.headers.get("Content-Range")]).toEqual([{ dry_run: true }, "*/2"]);
  expect(await everything()).toEqual(before);

  const done = await service.request("PATCH", "/api/players?tier=eq.Bulk&dry_run=false", change);
  expect(done.body.map(({ id, tier }: { id: string; tier: string }) => [id, tier])).toEqual(
    records.slice(0, 2).map(({ id }) => [id, "Changed"]),
  );
});

test("several new records are tried from their address: who is taken, changed or left is said, and nobody stored", async () => {
  await service.post("/api/players", { player_id: "there", tier: "Here" });
  const before = await everything();
  const path = "/api/players?dry_run=true";
  const rows = [{ player_id: "new-1" }, { player_id: "new-2" }];
  const tried = await service.post(path, rows);
  expect(tried.status).toBe(201);
  expect(tried.body).toEqual(rows.map((row) => expect.objectContaining({ ...row, dry_run: true })));
  const upserted = [{ player_id: "there", tier: "Gone" }, { player_id: "new-1" }];
  const taken = await service.post(path, upserted.toReversed());
  expect([taken.status, taken.body.error]).toEqual([409, expect.stringContaining("Record [1]")]);
  const merge = await service.post(path, upserted, { Prefer: "resolution=merge-duplicates" });
  expect(merge.body.map(({ tier }: { tier: string }) => tier)).toEqual(["Gone", null]);
  const ignore = await service.post(path, upserted, { Prefer: "resolution=ignore-duplicates" });
  expect(ignore.body).toEqual([expect.objectContaining({ player_id: "new-1", dry_run: true })]);
  const events = await service.post("/api/player_events?dry_run=true", [
    { player_id: (await service.get("/api/players?player_id=eq.there")).body[0].id, name: "deposit" },
  ]);
  expect(events.body).toEqual([expect.objectContaining({ name: "deposit", dry_run: true })]);
  expect(await everything()).toEqual(before);
});

test("one new record and one change are tried from the address, of every table, and nothing is stored", async () => {
  const { body: player } = await service.post("/api/players", { player_id: "one-1", tier: "One" });
  const before = await everything();
  const path = `/api/players/${player.id}?dry_run=true`;
  const changed = await service.request("PATCH", path, { body: { tier: "Two" } });
  expect(changed.body).toMatchObject({ id: player.id, tier: "Two", dry_run: true });
  const created = await service.post("/api/players?dry_run=true", { player_id: "one-2" });
  expect([created.status, created.body]).toEqual([
    201,
    expect.objectContaining({ player_id: "one-2", dry_run: true }),
  ]);
  const creates = [...CATALOG.operations.values()].filter(({ crud }) => crud?.verb === "create");
  expect(creates.length).toBeGreaterThan(15);
  for (const operation of creates.filter(({ access }) => access === "property")) {
    const { dry_run: _, ...input } = about(operation);
    const { status, text } = await service.post(`/api/${operation.crud!.table.name}?dry_run=true`, input);
    expect(status, operation.name).toBeLessThan(500);
    expect(text, operation.name).not.toContain("unknown option");
    if (operation.name !== "create_import_job") expect(await everything(), operation.name).toEqual(before);
  }
});

test("a dry run that the address or the body says otherwise is refused", async () => {
  const [there] = (await service.get("/api/players?player_id=eq.there")).body;
  const before = await everything();
  for (const [method, path, body] of [
    ["PATCH", "/api/players?tier=eq.Here&dry_run=maybe", { tier: "X" }],
    ["PATCH", "/api/players?tier=eq.Here&dry_run=true&dry_run=false", { tier: "X" }],
    ["PATCH", "/api/players?tier=eq.Here&dry_run=true", { tier: "X", dry_run: false }],
    ["PATCH", "/api/players?dry_run=true", { tier: "X" }],
    ["PATCH", `/api/players/${there.id}?dry_run=`, { tier: "X" }],
    ["POST", "/api/players?dry_run=1", { player_id: "one" }],
    ["POST", "/api/players?dry_run=", [{ player_id: "one" }]],
    ["POST", "/api/self_exclusions?dry_run=true", [{ email: "x@example.com", dry_run: false }]],
  ] as const) {
    const answer = await service.request(method, path, { body });
    expect([answer.status, answer.body.code], `${method} ${path}`).toEqual([400, "invalid"]);
  }
  expect(await everything()).toEqual(before);
});
