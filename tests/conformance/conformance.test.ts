import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { catalog } from "#runtime/operation/catalog.ts";
import { CATALOG } from "#tools/catalog.ts";
import { startService, type TestService } from "../support/service.ts";
import { conformanceFace } from "./face.ts";
import { keyed } from "./proxy.ts";
import { TASK_TOOLS } from "./tasks.ts";
import { TOOLS } from "./tools.ts";

const require = createRequire(import.meta.url);
const SUITE = require.resolve("@modelcontextprotocol/conformance/dist/index.js");
const BASELINE = new URL("2025-11-25.yml", import.meta.url).pathname;

let service: TestService;
let proxy: Awaited<ReturnType<typeof keyed>>;
beforeAll(async () => {
  const fixtures = { name: "conformance", title: "Conformance", tools: [...TOOLS, ...TASK_TOOLS] };
  service = await startService(
    {},
    { catalog: catalog([...CATALOG.domains, fixtures]), face: conformanceFace },
  );
  proxy = await keyed(service.baseUrl, service.tenant.key);
});
afterAll(async () => {
  await proxy.close();
  await service.stop();
});

/**
 * The scenarios that the whole service passes, of all that the official suite has for a revision. Throws where it
 * fails one that is required, but for what a baseline names.
 */
async function graded(revision: string, baseline: string[] = []): Promise<string[]> {
  const asked = ["server", "--url", `${proxy.url}/api/mcp`, "--requirements", revision, ...baseline];
  const run = promisify(execFile)(process.execPath, [SUITE, ...asked], { maxBuffer: 64_000_000 });
  const { stdout } = await run.catch(({ stdout, stderr }) => {
    throw new Error(`the suite says no:\n${stdout.slice(-12_000)}${stderr}`);
  });
  return [...stdout.matchAll(/^✓ (.*): [1-9]\d* passed, 0 failed$/gm)].map(([, name]) => name!);
}

test("all 37 scenarios that 2026-07-28 requires are passed, and those of tasks in which none asks", async () => {
  const passed = await graded("2026-07-28");
  expect(passed.filter((name) => !/^(tasks|http|json)-/.test(name)).length).toBe(37);
  expect(passed).toEqual(
    expect.arrayContaining([
      "tasks-capability-negotiation",
      "tasks-request-headers",
      "tasks-request-state-removal",
      "tasks-wire-fields",
      "http-header-validation",
    ]),
  );
  // The official suite is a program of its own, and asks for one scenario after another.
});

test("of the 30 that 2025-11-25 requires, all are passed that need no kept session and no log", async () => {
  expect(await graded("2025-11-25", ["--expected-failures", BASELINE])).toHaveLength(23);
});
