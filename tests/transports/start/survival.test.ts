import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readFile, realpath, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import { type ServiceProcess, startService } from "../../faults/support/process.ts";

// A test makes up to two clusters and starts them five times.
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
  out: string;
}

/** One of the programs of package.json on a data folder. */
function run(program: string, words: string[], dataDir: string): Promise<Said> {
  const path = fileURLToPath(new URL(`../../../transports/${program}.ts`, import.meta.url));
  const env = { PATH: process.env.PATH, DATA_DIR: dataDir };
  return new Promise((resolve) => {
    execFile(process.execPath, [path, ...words], { env }, (error, out, said) => {
      resolve({ code: Number(error?.code ?? 0), said, out });
    });
  });
}

async function started(dataDir: string, environment: Record<string, string> = {}): Promise<ServiceProcess> {
  const service = await startService({ DATA_DIR: dataDir, ...environment });
  onTestFinished(async () => void (await service.terminate()));
  return service;
}

test("a backup of a running service comes back in another folder, sends nothing, and is released", async () => {
  const [original, copy] = [await newFolder(), await newFolder()];
  const file = join(original, "backup");
  const first = await started(original);
  const made = await run("cli", ["create-property", "--name", "River", "--slug", "river"], original);
  expect(made.code, made.said).toBe(0);
  const taken = await run("backup", [file], original);
  expect(taken).toMatchObject({
    code: 0,
    said: expect.stringMatching(/^\d+ tables as of .+app-secret too/s),
  });
  expect(await run("restore", [file], original)).toMatchObject({
    code: 1,
    said: expect.stringMatching(/^The data folder .+ is in use by process \d+\.\n$/),
  });
  await first.terminate();

  const data = join(copy, "data");
  expect(await run("restore", [file], data)).toMatchObject({
    code: 1,
    said: expect.stringContaining("APP_SECRET: required"),
  });
  await mkdir(data, { recursive: true });
  await copyFile(join(original, "app-secret"), join(data, "app-secret"));
  const restored = await run("restore", [file], data);
  expect(restored).toMatchObject({ code: 0, said: expect.stringContaining("Sending is held.") });

  const second = await started(data);
  await expect.poll(second.output).toContain("Sending    held");
  const released = await run("cli", ["release-sending", "--json"], data);
  expect(JSON.parse(released.out)).toMatchObject({ success: true, known_until: [{ property: "river" }] });
  await second.terminate();
  const third = await started(data);
  await expect.poll(third.output).toContain("REST");
  expect(third.output()).not.toContain("held");
});

test("a service whose embedded database cannot be started again ends with a status and a sentence", async () => {
  const folder = await newFolder();
  const service = await started(folder);
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
});
