import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readFile, realpath, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { findEmbedded } from "#db/embedded/start.ts";
import { type ServiceProcess, startService } from "../../faults/support/process.ts";
import { command, failingStart } from "./programs.ts";

// The tests make two clusters and start them three times.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const newFolder = () => mkdtemp(join(tmpdir(), "survival-"));

async function remove(folder: string): Promise<void> {
  const home = await realpath(join(folder, "postgres")).catch(() => folder);
  for (const each of [home, folder]) await rm(each, { recursive: true, force: true });
}

interface Said {
  code: number;
  said: string;
}

/** One of the programs of package.json on a data folder. */
function run(program: "backup" | "restore", words: string[], dataDir: string): Promise<Said> {
  const path = fileURLToPath(new URL(`../../../transports/${program}.ts`, import.meta.url));
  const env = { PATH: process.env.PATH, DATA_DIR: dataDir };
  return new Promise((resolve) => {
    execFile(process.execPath, [path, ...words], { env }, (error, _out, said) => {
      resolve({ code: Number(error?.code ?? 0), said });
    });
  });
}

let original: string;
let first: ServiceProcess;

beforeAll(async () => {
  original = await newFolder();
  first = await startService({ DATA_DIR: original });
});
afterAll(async () => {
  await first?.terminate();
  await remove(original);
});

test("a second start in the same folder says that the folder is in use, and nothing of the port", async () => {
  await expect.poll(first.output).toContain("npm run tool -- create-property");
  expect(first.output()).not.toContain("DATABASE_URL");
  const { port } = new URL(first.baseUrl);
  const { code, said } = await failingStart({ DATA_DIR: original, PORT: port });
  expect(code).toBe(1);
  expect(said).toContain("is in use by process");
  expect(said).not.toMatch(/port/i);
});

test("a command stores and shows the service's own address", async () => {
  const sql = postgres((await findEmbedded(original))!, { max: 1 });
  const [own] = await sql`insert into properties (name, slug) values ('River', 'river') returning id`;
  await sql.end();
  const words = ["create-import-job", "--property", "river", "--csv", "player_id\nX\n", "--json"];
  const { code, said, printed } = await command(words, { DATA_DIR: original });
  expect(code, said).toBe(0);
  const job = JSON.parse(printed);
  expect(job.status_url).toBe(`${first.baseUrl}/api/import_jobs/${job.id}`);
  expect(job.property_id).toBe(own!.id);
});

test("a backup of a running service comes back in another folder, sends nothing, is released, and ends with its database", async () => {
  const copy = await newFolder();
  onTestFinished(() => remove(copy));
  const file = join(original, "backup");
  const taken = await run("backup", [file], original);
  expect(taken).toMatchObject({
    code: 0,
    said: expect.stringMatching(/^\d+ tables as of .+app-secret too/s),
  });
  expect(await run("restore", [file], original)).toMatchObject({
    code: 1,
    said: expect.stringMatching(/^The data folder .+ is in use by process \d+\.\n$/),
  });
  await expect.poll(first.output).toContain("REST");
  expect(first.output()).not.toContain("held");
  await first.terminate();

  const data = join(copy, "data");
  await mkdir(data, { recursive: true });
  await copyFile(join(original, "app-secret"), join(data, "app-secret"));
  const restored = await run("restore", [file], data);
  expect(restored).toMatchObject({ code: 0, said: expect.stringContaining("Sending is held.") });

  const second = await startService({ DATA_DIR: data });
  onTestFinished(async () => void (await second.terminate()));
  await expect.poll(second.output).toContain("Sending    held");
  const { code, printed } = await command(["release-sending", "--json"], { DATA_DIR: data });
  expect(code).toBe(0);
  const released = JSON.parse(printed);
  expect(released).toMatchObject({ success: true, known_until: [{ property: "river" }] });
  const admin = postgres((await findEmbedded(data))!, { max: 1 });
  // A start asks the same before it says so.
  expect(await admin`select sending_is_open() as open`).toEqual([{ open: true }]);
  await admin.end();
  await endsWithItsDatabase(second, data);
});

/** A service whose embedded database cannot be started again ends with a status and a sentence. */
async function endsWithItsDatabase(service: ServiceProcess, folder: string): Promise<void> {
  const cluster = await realpath(join(folder, "postgres/cluster"));
  await rename(join(cluster, "global/pg_control"), join(cluster, "global/gone"));
  const [pid] = (await readFile(join(cluster, "postmaster.pid"), "utf8")).split("\n");
  process.kill(Number(pid), "SIGKILL");
  const sentence = /The database server could not be started again \(.+\), so the service ends\. See /s;
  await vi.waitFor(() => expect(service.output()).toMatch(sentence), 60_000);
  expect(service.output()).toContain(
    "the database server has ended by itself (SIGKILL); it is started again",
  );
  expect(await service.terminate()).toBe(1);
}
