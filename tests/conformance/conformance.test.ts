import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { catalog } from "#runtime/catalog.ts";
import { CATALOG } from "#tools/catalog.ts";
import { type House, startHouse } from "../support/house.ts";
import { EXHIBITS } from "./exhibits.ts";
import { keyed } from "./proxy.ts";
import { TOOLS } from "./tools.ts";

const require = createRequire(import.meta.url);
const SUITE = require.resolve("@modelcontextprotocol/conformance/dist/index.js");
const BASELINE = new URL("2025-11-25.yml", import.meta.url).pathname;

let house: House;
let proxy: Awaited<ReturnType<typeof keyed>>;
beforeAll(async () => {
  const fixtures = { name: "conformance", title: "Conformance", tools: TOOLS };
  house = await startHouse({}, catalog([...CATALOG.domains, fixtures]), undefined, EXHIBITS);
  proxy = await keyed(house.baseUrl, house.tenant.key);
});
afterAll(async () => {
  await proxy.close();
  await house.stop();
});

/** The official suite, against the whole service: all that a revision requires, but for what a baseline names. */
async function graded(revision: string, baseline: string[]): Promise<{ passed: number; said: string }> {
  const asked = ["server", "--url", `${proxy.url}/api/mcp`, "--requirements", revision, ...baseline];
  const run = promisify(execFile)(process.execPath, [SUITE, ...asked], { maxBuffer: 64_000_000 });
  const { stdout } = await run.catch(({ stdout, stderr }) => {
    throw new Error(`the suite says no:\n${stdout.slice(-12_000)}${stderr}`);
  });
  return { passed: stdout.match(/^✓ .*, 0 failed$/gm)?.length ?? 0, said: stdout };
}

test("all 37 scenarios that 2026-07-28 requires are passed", async () => {
  const { passed, said } = await graded("2026-07-28", []);
  expect(passed, said).toBeGreaterThanOrEqual(37);
});

test("of the 30 that 2025-11-25 requires, all are passed that need no session and no log", async () => {
  const { passed, said } = await graded("2025-11-25", ["--expected-failures", BASELINE]);
  expect(passed, said).toBeGreaterThanOrEqual(21);
});
