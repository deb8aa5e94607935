import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCommand } from "#transports/cli/run.ts";
import { asProcess, inProcess } from "../../support/command-line.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());

const run = (...words: string[]) => inProcess(service, words);

test("the command line is a process that prints the result alone, and says how it went", async () => {
  const done = await asProcess(service, ["list-players", "--property", service.tenant.slug, "--json"]);
  expect(done).toEqual({ exit: 0, stdout: "[]\n", stderr: "" });
  const refused = await run("list-players", "--property", "nowhere", "--json");
  expect(refused).toMatchObject({ exit: 1, stderr: expect.stringContaining(service.tenant.slug) });
  expect(await run("make-money")).toMatchObject({ exit: 2, stdout: "" });
});

test("a command without a property is told of the flag and of the properties, not of a header", async () => {
  const { exit, stderr } = await run("list-players");
  expect(exit).toBe(2);
  expect(stderr).toContain("--property");
  expect(stderr).toContain(service.tenant.slug);
  expect(stderr).not.toContain("X-Property-Id");
});

test("an idempotency key of the command line is of one operation, however its flags are ordered", async () => {
  const make = (...words: string[]) =>
    run("create-player", "--property", service.tenant.slug, "--idempotency-key", "cli-1", "--json", ...words);
  const first = await make("--player-id", "K1", "--tier", "Gold");
  expect((await make("--tier", "Gold", "--player-id", "K1")).stdout).toBe(first.stdout);
  const { stdout } = await run(
    "create-campaign",
    "--property",
    service.tenant.slug,
    "--name",
    "K",
    "--channel",
    "email",
    "--json",
  );
  const of = ["--campaign-id", JSON.parse(stdout).id, "--property", service.tenant.slug];
  const keyed = [...of, "--idempotency-key", "cli-2", "--json"];
  expect((await run("pause-campaign", ...keyed)).stdout).toContain('"code":"conflict"');
  expect((await run("cancel-campaign", ...keyed)).stdout).toContain('"code":"idempotency_key_reused"');
});

test("a command where no service is says so, and leaves no folder and no secret behind", async () => {
  const folder = join(tmpdir(), `cli-${randomUUID()}`);
  let said = "";
  const paper = new Writable({
    write: (piece, _encoding, done) => {
      said += piece;
      done();
    },
  });
  const exit = await runCommand(["list-properties"], {
    env: { DATA_DIR: folder },
    stdout: paper,
    stderr: paper,
  });
  expect([exit, said]).toEqual([2, expect.stringContaining("npm start")]);
  expect(existsSync(folder)).toBe(false);
});

test("a command to a service elsewhere works in the property that the flag names", async () => {
  const other = await service.newTenant();
  const user = await service.signIn();
  await service.call("grant_membership", { property_id: other.id, user_id: user.id, role: "admin" });
  await service.call("create_player", { player_id: "theirs" }, other.id);
  const there = ["list-players", "--url", service.baseUrl, "--key", user.token, "--json"];
  const session = { "X-Api-Key": null, Authorization: `Bearer ${user.token}` };
  await expect.poll(async () => (await service.get("/api/players", session)).status).toBe(400);
  const { stderr } = await run(...there);
  expect(stderr).toContain("--property");
  expect(stderr).not.toContain("X-Property-Id");
  const named = await run(...there, "--property", other.id);
  expect(JSON.parse(named.stdout)).toMatchObject([{ player_id: "theirs" }]);
});

test("a removal that is only tried in a service elsewhere removes nothing", async () => {
  const kept = await service.call("create_player", { player_id: "kept" }, service.tenant.id);
  const there = ["--url", service.baseUrl, "--key", service.tenant.key, "--json"];
  const tried = await run("delete-player", "--id", kept.id, "--dry-run", ...there);
  expect(JSON.parse(tried.stdout), tried.stderr).toEqual({ success: true, dry_run: true });
  expect((await service.get(`/api/players/${kept.id}`)).status).toBe(200);
  const done = await run("delete-player", "--id", kept.id, ...there);
  expect(JSON.parse(done.stdout), done.stderr).toEqual({ success: true });
  expect((await service.get(`/api/players/${kept.id}`)).status).toBe(404);
});

describe("a command to a service elsewhere", () => {
  const named = async (words: string[], key: string, input: string[] = []) => {
    const { exit, stdout, stderr } = await run(
      ...words,
      "--url",
      service.baseUrl,
      "--key",
      key,
      "--json",
      ...input,
    );
    expect(exit, stderr).toBe(0);
    return JSON.parse(stdout);
  };

  test("is told the key's own property, where the operation has to be told one", async () => {
    const { id, key } = service.tenant;
    expect(await named(["get-property"], key)).toMatchObject({ id });
    expect(
      await named(["compliance-check", "--channel", "sms", "--phone", "+17025550100"], key),
    ).toMatchObject({
      allowed: false,
    });
  });

  test("takes a property by its id, short name or name, by a key and by a user of several", async () => {
    const { id, slug, key } = service.tenant;
    const other = await service.newTenant();
    const user = await service.signIn();
    await service.call("grant_membership", { property_id: other.id, user_id: user.id, role: "analyst" });
    const { token } = await service.signIn({ role: null, platformAdmin: true });
    for (const wanted of [id, slug, `Casino ${slug}`]) {
      for (const credential of [key, user.token, token]) {
        const seen = await named(["get-property", "--property", wanted], credential);
        expect(seen, wanted).toMatchObject({ id });
      }
    }
    const words = ["get-property", "--url", service.baseUrl, "--key", user.token];
    const lost = await run(...words, "--property", "nowhere");
    expect(lost).toMatchObject({ exit: 1, stdout: "" });
    expect(lost.stderr).toContain(slug);
    expect(lost.stderr).toContain(other.slug);
    const unsaid = await run(...words);
    expect(unsaid.stderr).toContain("--property");
  });

  test("can have a --url of its own", async () => {
    const words = [
      "create-webhook-endpoint",
      "--url",
      "https://receiver.example/hook",
      "--events",
      "player.created",
    ];
    const { stdout, stderr } = await run(
      ...words,
      ...["--service-url", service.baseUrl, "--api-key", service.tenant.key, "--json"],
    );
    expect(JSON.parse(stdout || "{}"), stderr).toMatchObject({ url: "https://receiver.example/hook" });
  });
});

describe("a list on the command line", () => {
  let list: string[];
  beforeAll(async () => {
    const { id, slug } = await service.newTenant();
    for (const player_id of ["A", "B", "C"]) await service.call("create_player", { player_id }, id);
    list = ["list-players", "--property", slug, "--select", "player_id", "--order", "player_id.asc"];
    const key = ["--key", await keyOf(id), "--url", service.baseUrl];
    elsewhere = [...list, ...key];
  });
  let elsewhere: string[];
  const keyOf = async (property_id: string) =>
    (await service.call("create_api_key", { property_id, name: "cli" })).api_key as string;

  test("is counted and gone through by cursor, and stdout stays the result alone", async () => {
    for (const words of [list, elsewhere]) {
      const first = await run(...words, "--limit", "2", "--count", "--json");
      expect(JSON.parse(first.stdout)).toEqual([{ player_id: "A" }, { player_id: "B" }]);
      const cursor = /--cursor (\S+)/.exec(first.stderr)?.[1];
      expect(first.stderr).toMatch(/^3 in all\. There are more: .* --cursor \S+\n$/);
      const last = await run(...words, "--limit", "2", "--cursor", cursor!, "--json");
      expect(last).toEqual({ exit: 0, stdout: '[{"player_id":"C"}]\n', stderr: "" });
    }
  });

  test("says where it stands in JSON to a program that asks for it", async () => {
    for (const words of [list, elsewhere]) {
      const first = await run(...words, "--limit", "2", "--count", "exact", "--with-page");
      const { items, page } = JSON.parse(first.stdout);
      expect(items).toEqual([{ player_id: "A" }, { player_id: "B" }]);
      expect(page).toEqual({ next_cursor: expect.any(String), has_more: true, total: 3 });
      const rest = await run(...words, "--cursor", page.next_cursor, "--with-page");
      expect(JSON.parse(rest.stdout)).toEqual({
        items: [{ player_id: "C" }],
        page: { next_cursor: null, has_more: false },
      });
    }
  });

  test("by offset says at which one it goes on", async () => {
    const { stderr } = await run(...list, "--offset", "1", "--limit", "1");
    expect(stderr).toBe("3 in all. There are more: the same command with --offset 2\n");
  });

  test("is not counted in a way that there is none", async () => {
    for (const words of [list, elsewhere]) {
      expect(await run(...words, "--count", "maybe")).toMatchObject({ exit: 2, stdout: "" });
    }
  });

  test("alone has a page", async () => {
    const { exit, stderr } = await run("get-property", "--property", service.tenant.slug, "--with-page");
    expect([exit, stderr]).toEqual([2, expect.stringContaining("--with-page is for lists")]);
  });
});

test("a switch may be written with its value, before or behind an equals sign", async () => {
  const { id } = await service.call(
    "create_template",
    { name: "T", channel: "sms", text: "Hi" },
    service.tenant.id,
  );
  for (const flag of ["--dry-run", "--dry-run=true"]) {
    const words = ["delete-template", "--id", id, "--property", service.tenant.slug, "--json"];
    expect(JSON.parse((await run(...words, flag)).stdout || "{}"), flag).toEqual({
      success: true,
      dry_run: true,
    });
  }
});

test("columns stand in the order of --select", async () => {
  await service.call("create_player", { player_id: "Z1", tier: "Gold" }, service.tenant.id);
  const { stdout } = await run(
    "list-players",
    "--property",
    service.tenant.slug,
    "--select",
    "tier,player_id",
  );
  expect(stdout.split("\n")[0]).toMatch(/^tier +player_id$/);
});

test("a file's text is read by @, and a path without it is refused with that hint", async () => {
  const file = join(tmpdir(), `players-${service.tenant.slug}.csv`);
  await writeFile(file, "player_id\nF1\n");
  const words = ["create-import-job", "--property", service.tenant.slug, "--csv"];
  expect(await run(...words, file)).toMatchObject({
    exit: 2,
    stderr: expect.stringContaining(`write --csv @${file}`),
  });
  expect(await run(...words, `@${file}`, "--dry-run", "--json")).toMatchObject({ exit: 0 });
  expect(await run(...words, "player_id\n", "--dry-run", "--json")).toMatchObject({ exit: 0 });
  await rm(file);
  expect((await run("create-import-job", "--help")).stdout).toContain("--csv @players.csv");
});
