import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Writable } from "node:stream";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { Operation } from "#runtime/operation/operation.ts";
import { CATALOG } from "#tools/catalog.ts";
import { callRemote } from "#transports/cli/remote.ts";
import { runCommand } from "#transports/cli/run.ts";
import { ROOT } from "../../support/checkout/source-files.ts";
import { asProcess, environment, inProcess } from "../../support/command-line.ts";
import { startService, type TestService } from "../../support/service.ts";

// A command ends at every obstacle, and names it.

let service: TestService;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());

test("a command that cannot connect to all that it needs says so and ends", async () => {
  const url = new URL(service.database.url);
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
  const { exit, stderr } = await asProcess(service, ["list-properties"], url.href);
  expect([exit, stderr]).toEqual([1, expect.stringContaining("briefly unavailable")]);
  expect(met).toBeGreaterThan(1);
  for (const socket of sockets) socket.destroy();
  halfway.close();
});

/** A whole command that gets a part of its file, and for the other signals the part of commands that writes it. */
const WRITING = {
  SIGINT: (part: string, url: string) => [
    "transports/cli.ts",
    ...["export-players", "--out", part, "--service-url", url, "--api-key", "pk_x"],
  ],
  SIGTERM: writing,
  SIGHUP: writing,
};

function writing(part: string): string[] {
  const program = `
    const { toFile } = await import("#transports/cli/destination.ts");
    (await toFile(${JSON.stringify(part)})).stream.write("id\\n");
    setInterval(() => {}, 1_000);`;
  return ["--input-type=module", "-e", program];
}

test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
  "%s while a file of --out is written leaves no part of it",
  async (signal) => {
    const sockets = new Set<Socket>();
    const silent = createServer((socket) => {
      sockets.add(socket.on("error", () => {}));
      socket.once("data", () => socket.write("HTTP/1.1 200 OK\r\nContent-Type: text/csv\r\n\r\nid\n"));
    });
    await once(silent.listen(0, "127.0.0.1"), "listening");
    const folder = await mkdtemp(join(tmpdir(), "part-"));
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const words = WRITING[signal](join(folder, "players.csv"), url);
    const child = spawn(process.execPath, words, { cwd: ROOT, stdio: "ignore" });
    const ended = once(child, "close");
    await vi.waitFor(async () => expect(await readdir(folder)).toEqual(["players.csv.part"]), {
      timeout: 30_000,
      interval: 20,
    });
    child.kill(signal);
    expect(await ended).toEqual([null, signal]);
    expect(await readdir(folder)).toEqual([]);
    for (const socket of sockets) socket.destroy();
    silent.close();
    await rm(folder, { recursive: true });
  },
);

describe("a command to a service that is slow to answer", () => {
  const timeouts = { answer: 150, bytes: 150 };
  const create = CATALOG.operations.get("create_player")!;
  const list = CATALOG.operations.get("list_players")!;
  const exports = CATALOG.operations.get("export_players")!;

  /** A service that says `start` to each request, and nothing more. */
  async function silent(start: string) {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket.on("error", () => {}));
      socket.once("data", () => socket.write(start));
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return {
      ask: (operation: Operation, input: object, out = new PassThrough()) =>
        callRemote(operation, { ...ARGUMENTS, url, input: { ...input } }, out, timeouts),
      open: () => [...sockets].filter((socket) => !socket.destroyed).length,
      close: () => {
        for (const socket of sockets) socket.destroy();
        server.close();
      },
    };
  }
  const ARGUMENTS = { format: "json", withPage: false, key: "pk_x" } as const;

  test("ends and says so, and of a write that it may have been done", async () => {
    const listener = await silent("");
    await expect(listener.ask(list, {})).rejects.toThrow(/did not answer it\.$/);
    await expect(listener.ask(create, {})).rejects.toThrow(/Whether it was done/);
    await expect.poll(listener.open).toBe(0);
    listener.close();
  });

  test("says that an answer broke off", async () => {
    const begun = (type: string) =>
      silent(`HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: 100\r\n\r\n[{`);
    const answering = await begun("application/json");
    await expect(answering.ask(list, {})).rejects.toThrow(/broke off/);
    answering.close();
    const listener = await begun("text/csv");
    const out = new PassThrough();
    const given = { property_id: service.tenant.id };
    await expect(listener.ask(exports, given, out)).rejects.toThrow(/broke off/);
    expect(out.read()?.toString()).toBe("[{");
    listener.close();
  });

  test("says that nothing answers where nothing does, and what an address looks like", async () => {
    const listener = await silent("");
    listener.close();
    await expect(listener.ask(list, {})).rejects.toThrow(/Nothing answers/);
    expect(await inProcess(service, ["list-players", "--url", "over there"])).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining("--url must be an address"),
    });
  });
});

describe("a command whose result nobody reads on", () => {
  const words = (name: string) => [name, "--property", service.tenant.slug];

  test("ends quietly, as export-players before a head does", async () => {
    const child = spawn(process.execPath, ["transports/cli.ts", ...words("export-players")], {
      cwd: ROOT,
      env: environment(service),
      stdio: ["ignore", "pipe", "pipe"],
    });
    child.stdout.destroy();
    let stderr = "";
    child.stderr.on("data", (piece: Buffer) => {
      stderr += piece.toString();
    });
    const [code] = await once(child, "close");
    expect([code, stderr]).toEqual([141, ""]);
  });

  test.each(["list-players", "export-players"])(
    "ends quietly, as %s does in a process of others",
    async (name) => {
      const { exit, said } = await withoutReader(name, "EPIPE");
      expect([exit, said]).toEqual([141, []]);
    },
  );

  test("says when its result could not be written", async () => {
    const { exit, said } = await withoutReader("list-players", "ENOSPC");
    expect([exit, said]).toEqual([1, ["The result could not be printed: no space left\n"]]);
  });

  /** A command whose output takes nothing. */
  async function withoutReader(name: string, code: string) {
    const said: string[] = [];
    const stdout = new Writable({
      write: (_piece, _encoding, done) => done(Object.assign(new Error("no space left"), { code })),
    });
    const stderr = new Writable({
      write: (piece: Buffer, _encoding, done) => {
        said.push(piece.toString());
        done();
      },
    });
    return { exit: await runCommand(words(name), { env: environment(service), stdout, stderr }), said };
  }
});
