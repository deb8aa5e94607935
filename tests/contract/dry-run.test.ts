import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { canBeTried, type Operation } from "#runtime/operation.ts";
import { CATALOG } from "#tools/catalog.ts";
import { type House, startHouse } from "../support/house.ts";
import { idFields, inputFor, overMcp, overRest, pointsTo } from "./asking.ts";
import { type Planted, plantRows } from "./one-row-each.ts";

let house: House;
let admin: postgres.Sql;
let rows: Planted;
let operator: string;
beforeAll(async () => {
  // Without a worker, so that only the calls change anything.
  house = await startHouse({ role: "web" });
  admin = postgres(house.database.url, { max: 1, onnotice: () => {} });
  rows = await plantRows(admin, house.tenant.id);
  operator = (await house.signIn({ platformAdmin: true })).token;
});
afterAll(async () => {
  await admin?.end();
  await house?.stop();
});

const TRIED = [...CATALOG.operations.values()].filter(canBeTried);
/** Counts and times that every request leaves, whatever it does. */
const BOOKS = new Set(["rate_windows", "sessions", "scheduler_ticks"]);

/** What every table of the database holds, as one hash a table. */
async function everything(): Promise<Record<string, string>> {
  const tables = await admin<{ name: string }[]>`
    select relname as name from pg_class where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace
      and not relispartition order by 1`;
  const hashes: Record<string, string> = {};
  for (const { name } of tables) {
    if (BOOKS.has(name)) continue;
    const shown = name === "api_keys" ? admin`(to_jsonb(t) - 'last_used_at')::text` : admin`t::text`;
    const [row] = await admin<{ hash: string }[]>`
      select md5(coalesce(string_agg(${shown}, '|' order by ${shown}), '')) as hash from ${admin(name)} t`;
    hashes[name] = row!.hash;
  }
  return hashes;
}

/** The operation's input about records that are there. */
function about(operation: Operation): Record<string, unknown> {
  const tenant = operation.property ? { [operation.property]: house.tenant.id } : {};
  const given = inputFor(operation, tenant);
  for (const { field, many } of idFields(operation)) {
    const table = field === operation.property ? undefined : pointsTo(operation, field);
    const key = table && rows.get(table.name)?.id;
    if (key && (field in given || field === "id")) given[field] = many ? [key] : key;
  }
  return given;
}

const headersOf = ({ access }: Operation): Record<string, string | null> =>
  access === "property"
    ? { "X-Api-Key": house.tenant.key }
    : {
        "X-Api-Key": null,
        Authorization: `Bearer ${operator}`,
        "X-Property-Id": house.tenant.id,
      };

test("whatever reaches people or cannot be taken back can be tried, and leaves nothing behind", async () => {
  const before = await everything();
  const done: string[] = [];
  for (const operation of TRIED) {
    expect(Object.keys(operation.input.shape), operation.name).toContain("dry_run");
    const input = { ...about(operation), dry_run: true };
    const headers = { ...headersOf(operation), "Idempotency-Key": `dry-${operation.name}` };
    const { status, body, text } = await overRest(house, operation, input, headers);
    expect(status, `${operation.name} ${text}`).toBeLessThan(500);
    if (status < 400) expect(body.dry_run, operation.name).toBe(true);
    if (status < 400) done.push(operation.name);
    if (operation.access === "property") {
      const told = await overMcp(house, operation, { ...input, idempotency_key: `mcp-${operation.name}` });
      if (!told.isError) expect(told.data.dry_run, operation.name).toBe(true);
    }
    expect(await everything(), operation.name).toEqual(before);
  }
  expect(done).toEqual(expect.arrayContaining(["delete_player", "delete_campaign", "data_deletion"]));
  expect(done.length, done.join(", ")).toBeGreaterThan(TRIED.length / 2);
});

test("a removal is tried from its address too, one record or many, and done by the same key afterwards", async () => {
  const { body: player } = await house.post("/api/players", { player_id: "tried-1", tier: "Tried" });
  const path = `/api/players/${player.id}`;
  const keyed = { headers: { "Idempotency-Key": "tried" } };
  const tried = await house.request("DELETE", `${path}?dry_run=true`, keyed);
  expect([tried.status, tried.body]).toEqual([200, { success: true, dry_run: true }]);
  const many = await house.request("DELETE", "/api/players?tier=eq.Tried&dry_run=true");
  expect(many.body).toEqual([{ success: true, dry_run: true }]);
  expect((await house.get(path)).body).toEqual(player);
  for (const query of ["dry_run=maybe", "dry_run=true&dry_run=true", "dry_run="]) {
    expect((await house.request("DELETE", `${path}?${query}`)).status, query).toBe(400);
  }
  const twice = await house.request("DELETE", `${path}?dry_run=true`, { body: { dry_run: false } });
  expect(twice.status).toBe(400);
  expect((await house.get(path)).status).toBe(200);
  expect((await house.request("DELETE", path, { headers: { "Idempotency-Key": "tried" } })).body).toEqual({
    success: true,
  });
  expect((await house.get(path)).status).toBe(404);
});
