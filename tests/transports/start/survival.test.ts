import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readFile, realpath, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import { expect, onTestFinished, test, vi } from "vitest";
import { findEmbedded } from "#db/embedded/start.ts";
import { runCommand } from "#transports/cli/run.ts";
import { type ServiceProcess, startService } from "../../faults/support/process.ts";

// The test makes two clusters and starts them three times.
vi.setConfig({ testTimeout: 120_000 });

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "survival-"));
  onTestFinished(async () => {
    const home = await realpath(join(folder, "postgres")).catch(() => folder);
    for (const each of [home, folder]) await rm(each, { recursive: true, force: true });
  });
  return folder;
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

async function started(dataDir: string, environment: Record<string, string> = {}): Promise<ServiceProcess> {
  const service = await startService({ DATA_DIR: dataDir, ...environment });
  onTestFinished(async () => void (await service.terminate()));
  return service;
}

test("a backup of a running service comes back in another folder, sends nothing, is released, and ends with its database", async () => {
  const [original, copy] = [await newFolder(), await newFolder()];
  const file = join(original, "backup");
  const first = await started(original);
  const sql = postgres((await findEmbedded(original))!, { max: 1 });
  await sql`insert into properties (name, slug) values ('River', 'river')`;
  await sql.end();
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

  const second = await started(data);
  await expect.poll(second.output).toContain("Sending    held");
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const words = ["release-sending", "--json"];
  expect(await runCommand(words, { env: { DATA_DIR: data }, stdout, stderr })).toBe(0);
  const released = JSON.parse(String(stdout.read()));
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
