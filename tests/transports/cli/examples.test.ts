import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { CATALOG } from "#tools/catalog.ts";
import { exampleWords } from "#transports/cli/example.ts";
import { demoRecords } from "#transports/examples/demo-records.ts";
import { exampleOf } from "#transports/examples/examples.ts";
import { withRecords } from "#transports/examples/record-ids.ts";
import { inProcess } from "../../support/command-line.ts";
import { type DemoService, REFUSED, startDemo, turnOf } from "../start/demo.ts";

let demo: DemoService;
beforeAll(async () => {
  demo = await startDemo();
});
afterAll(() => demo?.service.stop());

/** Nobody is signed in on the machine, and the operator needs no link. */
const ALONE = ["me", "confirm_password_reset", "login"];

test("the example in a command's help works in the demo, or is refused as over REST", async () => {
  const folder = await mkdtemp(join(tmpdir(), "examples-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const told: string[] = [];
  for (const turn of [0, 1, 2]) {
    const records = await demoRecords(demo.service.internals, CATALOG);
    for (const operation of CATALOG.operations.values()) {
      if (turnOf(operation.name) !== turn || ALONE.includes(operation.name)) continue;
      const file = join(folder, "players.csv");
      await writeFile(file, String(exampleOf(operation).csv));
      const words = exampleWords(operation).map((word) =>
        withRecords(word, records)
          .replace(/^@players\.csv$/, `@${file}`)
          .replace(/^[\w-]+\.csv$/, (name) => join(folder, name)),
      );
      const { exit, stderr } = await inProcess(demo.service, words);
      const isRefused = Object.hasOwn(REFUSED, operation.name);
      if ((exit === 0) === isRefused) told.push(`${words.join(" ")}: ${exit} ${stderr}`);
    }
    if (turn === 0) await demo.use();
  }
  expect(told).toEqual([]);
}, 120_000);
