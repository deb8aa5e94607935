import { execFile } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { asTable } from "#transports/cli-table.ts";
import { ROOT } from "../contract/sources.ts";
import { type House, startHouse } from "../support/house.ts";

let house: House;
beforeAll(async () => {
  house = await startHouse({ role: "web" });
});
afterAll(() => house?.stop());

type Printed = { exit: number; stdout: string; stderr: string };
const run = (...words: string[]): Promise<Printed> => runOver(house.database.url, ...words);

function runOver(databaseUrl: string, ...words: string[]): Promise<Printed> {
  const env = {
    PATH: process.env.PATH,
    DATABASE_URL: databaseUrl,
    APP_SECRET: house.service.config.appSecret,
  };
  return new Promise((resolve) => {
    execFile(process.execPath, ["transports/cli.ts", ...words], { cwd: ROOT, env }, (error, stdout, stderr) =>
      resolve({ exit: Number(error?.code ?? 0), stdout, stderr }),
    );
  });
}

test("a command without a property is told of the flag and of the properties, not of a header", async () => {
  const { exit, stderr } = await run("list-players");
  expect(exit).toBe(1);
  expect(stderr).toContain("--property");
  expect(stderr).toContain(house.tenant.slug);
  expect(stderr).not.toContain("X-Property-Id");
});

test("a command to a service elsewhere works in the property that the flag names", async () => {
  const other = await house.newTenant();
  const user = await house.signIn();
  await house.call("grant_membership", { property_id: other.id, user_id: user.id, role: "admin" });
  await house.call("create_player", { player_id: "theirs" }, other.id);
  const there = ["list-players", "--url", house.baseUrl, "--key", user.token, "--json"];
  const session = { "X-Api-Key": null, Authorization: `Bearer ${user.token}` };
  await expect.poll(async () => (await house.get("/api/players", session)).status).toBe(400);
  const { stderr } = await run(...there);
  expect(stderr).toContain("--property");
  expect(stderr).not.toContain("X-Property-Id");
  const named = await run(...there, "--property", other.id);
  expect(JSON.parse(named.stdout)).toMatchObject([{ player_id: "theirs" }]);
});

test("a removal that is only tried in a service elsewhere removes nothing", async () => {
  const kept = await house.call("create_player", { player_id: "kept" }, house.tenant.id);
  const there = ["--url", house.baseUrl, "--key", house.tenant.key, "--json"];
  const tried = await run("delete-player", "--id", kept.id, "--dry-run", ...there);
  expect(JSON.parse(tried.stdout), tried.stderr).toEqual({ success: true, dry_run: true });
  expect((await house.get(`/api/players/${kept.id}`)).status).toBe(200);
  const done = await run("delete-player", "--id", kept.id, ...there);
  expect(JSON.parse(done.stdout), done.stderr).toEqual({ success: true });
  expect((await house.get(`/api/players/${kept.id}`)).status).toBe(404);
});

test("a command that cannot connect to all that it needs says so and ends", async () => {
  const url = new URL(house.database.url);
  const { port, hostname } = url;
  const sockets: Socket[] = [];
  let met = 0;
  // The first connection works, and those that follow are never answered.
  const halfway = createServer((socket) => {
    sockets.push(socket.on("error", () => {}));
    if (met++ > 0) return;
    const database = connect(Number(port), hostname).on("error", () => {});
    sockets.push(database);
    socket.pipe(database).pipe(socket);
  });
  await once(halfway.listen(0, "127.0.0.1"), "listening");
  url.port = String((halfway.address() as AddressInfo).port);
  const { exit, stderr } = await runOver(url.href, "list-properties");
  expect([exit, stderr]).toEqual([1, expect.stringContaining("briefly unavailable")]);
  expect(met).toBeGreaterThan(1);
  for (const socket of sockets) socket.destroy();
  halfway.close();
});

test("columns stand in the order of --select", async () => {
  await house.call("create_player", { player_id: "Z1", tier: "Gold" }, house.tenant.id);
  const { stdout } = await run("list-players", "--property", house.tenant.slug, "--select", "tier,player_id");
  expect(stdout.split("\n")[0]).toMatch(/^tier +player_id$/);
});

describe("a table for people", () => {
  const rows = [
    { id: "01a1fe19-d7e1-7445-9ac4-3493deb23626", name: "n".repeat(100), note: "", tags: ["a", "b"] },
    { id: "01a1fe19-d7e1-7445-9ac4-3493deb23627", name: "short", note: null, tags: [] },
  ];
  const widest = (text: string) => Math.max(...text.split("\n").map((line) => line.length));

  test("is never wider than the terminal, and leaves empty columns out", () => {
    for (const width of [40, 60, 80, 200]) {
      const table = asTable(rows, { width });
      expect(widest(table), String(width)).toBeLessThanOrEqual(width);
      expect(table.split("\n")[0]).not.toContain("note");
    }
    expect(asTable(rows, { width: 60 }).split("\n")[2]).toContain("…");
  });

  test("becomes one record below the other where the columns do not fit at all", () => {
    expect(asTable(rows, { width: 12 }).split("\n\n")).toHaveLength(2);
    expect(asTable(rows, { width: 12 })).toContain("short");
  });

  test("shows the columns that were asked for, also when they are empty", () => {
    expect(asTable(rows, { order: ["note", "id"] }).split("\n")[0]).toMatch(/^note +id$/);
  });

  test("shows a record within a record as lines of its own, unless it is short", () => {
    const campaign = { id: rows[0]!.id, subject: "s".repeat(60) };
    const text = asTable({ success: true, skipped: { no_consent: 1 }, campaign });
    expect(text).toContain('skipped   {"no_consent":1}');
    expect(text).toContain(`campaign  \n  id       ${campaign.id}\n  subject  ${campaign.subject}`);
  });

  test("is as wide as it needs where there is no terminal", () => {
    expect(asTable(rows).split("\n")[2]).toContain(rows[0]!.id);
  });
});
