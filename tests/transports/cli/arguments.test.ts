import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { inProcess } from "../../support/command-line.ts";
import { startService, type TestService } from "../../support/service.ts";

// A wrong command line is refused before anything is done, and a wrong answer is not a result.

let service: TestService;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());

const run = (...words: string[]) => inProcess(service, words);
const players = async () => JSON.parse((await run("list-players", ...mine(), "--json")).stdout).length;
const mine = () => ["--property", service.tenant.slug];

test("a refused key is reported in words behind its token", async () => {
  const { readKey } = service.tenant;
  for (const [key, words, said] of [
    ["pk_unknown", ["list-players"], /^invalid_credential: --key is unknown, revoked or malformed/],
    [readKey, ["create-player", "--player-id", "K1"], /^insufficient_scope: --key: lacks the scope write/],
  ] as const) {
    const { exit, stderr } = await run(...words, "--url", service.baseUrl, "--key", key);
    expect([exit, stderr]).toEqual([1, expect.stringMatching(said)]);
  }
});

test("a flag that is given twice is refused, and a list goes on", async () => {
  const create = ["create-player", ...mine(), "--json"];
  for (const twice of [
    ["--tier", "Gold", "--tier", "Silver"],
    ["--adt", "1", "--adt=2"],
    ["--tags", "a", "--tags", "null"],
    ["--custom", "{}", "--custom", "{}"],
    ["--dry-run", "--no-dry-run"],
    ["--property", "another"],
    ["--idempotency-key", "a", "--idempotency-key", "b"],
  ]) {
    const { exit, stdout, stderr } = await run(...create, ...twice);
    expect([exit, stdout], twice.join(" ")).toEqual([2, ""]);
    expect(stderr).toMatch(/^--[\w-]+(: unknown flag| is given twice)/);
  }
  const { stdout } = await run(...create, "--tags", "a,b", "--tags", '["c"]', "--tags", "d");
  expect(JSON.parse(stdout).tags).toEqual(["a", "b", "c", "d"]);
});

test("a flag that can only be true needs no value", async () => {
  const { exit, stdout } = await run(
    "create-validation-job",
    ...mine(),
    "--all-players",
    "--dry-run",
    "--json",
  );
  expect([exit, JSON.parse(stdout).dry_run]).toEqual([0, true]);
  expect((await run("create-validation-job", "--help")).stdout).toMatch(/--all-players(?! <)/);
});

test("an empty address or idempotency key is refused: what was meant for elsewhere is not done here", async () => {
  const before = await players();
  const create = ["create-player", ...mine(), "--json"];
  for (const empty of [["--url", ""], ["--service-url="], ["--idempotency-key", ""], ["--property="]]) {
    const { exit, stdout, stderr } = await run(...create, ...empty);
    expect([exit, stdout], empty.join(" ")).toEqual([2, ""]);
    expect(stderr).toContain(empty[0]!.replace("=", ""));
  }
  expect(await run(...create, "--idempotency-key", "schlüssel")).toMatchObject({ exit: 2, stdout: "" });
  expect(await players()).toBe(before);
});

test("a number that is none is refused, also where it would be sent as null", async () => {
  const { adt, id } = await service.call("create_player", { adt: 5 }, service.tenant.id);
  const elsewhere = ["--url", service.baseUrl, "--key", service.tenant.key];
  for (const where of [mine(), elsewhere]) {
    for (const wrong of [
      ["--adt", "1e999"],
      ["--adt", "Infinity"],
      ["--adt", "0x10"],
      ["--adt", "1,000"],
      ["--custom", '{"a":1e999}'],
    ]) {
      const { exit, stdout, stderr } = await run("update-player", "--id", id, ...wrong, ...where);
      expect([exit, stdout], wrong.join(" ")).toEqual([2, ""]);
      expect(stderr).toContain(wrong[0]);
    }
  }
  expect((await service.get(`/api/players/${id}`)).body.adt).toBe(adt);
  for (const [text, number] of [
    ["-1.5e2", -150],
    [".5", 0.5],
    ["0", 0],
  ] as const) {
    const { stdout } = await run("update-player", "--id", id, "--adt", text, ...elsewhere, "--json");
    expect(JSON.parse(stdout).adt).toBe(number);
  }
  expect(await run("list-players", ...mine(), "--json=yes")).toMatchObject({ exit: 2, stdout: "" });
});

test("a key or an address that cannot be sent is named, and not taken for a service that is away", async () => {
  const list = ["list-players", "--json"];
  for (const [flag, words] of [
    ["--key", ["--url", service.baseUrl, "--key", "pk_…"]],
    ["--key", ["--url", service.baseUrl, "--key", "pk_a\npk_b"]],
    ["--url", ["--key", "pk_x", "--url", "ftp://127.0.0.1/"]],
    ["--url", ["--key", "pk_x", "--url", service.baseUrl.replace("//", "//user:secret@")]],
  ] as const) {
    const { exit, stderr } = await run(...list, ...words);
    expect([exit, stderr], words.join(" ")).toEqual([
      2,
      expect.stringMatching(new RegExp(`^${flag} (is|must|contains) `)),
    ]);
    expect(stderr).not.toContain("secret");
  }
  const spaced = await run(...list, "--url", service.baseUrl, "--key", `${service.tenant.key}\r\n`);
  expect(spaced).toMatchObject({ exit: 0 });
});

test("an answer that no such service gives is no result, and a redirect is not followed", async () => {
  const answers: [string, RequestListener][] = [
    ["text/html", (_, response) => response.setHeader("Content-Type", "text/html").end("<h1>Hello</h1>")],
    ["not JSON", (_, response) => response.setHeader("Content-Type", "application/json").end("<h1>")],
    [
      service.baseUrl,
      (_, response) => response.writeHead(301, { Location: `${service.baseUrl}/api/players` }).end(),
    ],
    ["whether it was done", (request) => request.resume().on("end", () => request.socket.destroy())],
  ];
  for (const [said, answer] of answers) {
    const server = createServer(answer);
    await once(server.listen(0, "127.0.0.1"), "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const create = ["create-player", "--url", url, "--key", service.tenant.key, "--tier", "Gold"];
    const { exit, stdout, stderr } = await run(...create, "--json");
    server.close();
    expect([exit, JSON.parse(stdout)], said).toEqual([1, expect.objectContaining({ code: "unavailable" })]);
    expect(stderr.toLowerCase()).toContain(said.toLowerCase());
  }
});

test("says why nothing could be reached", async () => {
  const server = createServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  const { stderr } = await run("list-players", "--key", "pk_x", "--url", `http://127.0.0.1:${port}`);
  expect(stderr).toBe(`Nothing answers at http://127.0.0.1:${port} (ECONNREFUSED).\n`);
});

test("help names every choice, also where there can be several, and -h is help", async () => {
  const { stdout } = await run("create-api-key", "-h");
  expect(stdout).toMatch(/--scopes <read,write>/);
  expect((await run("list-players", "--help")).stdout).toMatch(/--count \[exact\|planned\|estimated\]/);
  expect((await run("create-campaign", "--help")).stdout).toMatch(/--audience <all>/);
  expect(await run("-h")).toMatchObject({ exit: 0, stderr: "" });
});

test("a command's complaint gives the terminal no orders", async () => {
  const { stderr } = await run("get-player", "--property", "\u001b[2J", "--id", service.tenant.id);
  expect(stderr).toContain("No property �[2J.");
});

test("me, which is nobody here, is told by whose token it can be asked", async () => {
  const { exit, stderr } = await run("me");
  expect([exit, stderr]).toEqual([1, expect.stringMatching(/signed-in user.*--url.*--key/)]);
  const { token, email } = await service.signIn();
  const { stdout } = await run("me", "--url", service.baseUrl, "--key", token, "--json");
  expect(JSON.parse(stdout)).toMatchObject({ email });
});
