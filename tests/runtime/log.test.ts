import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const LOG = new URL("../../runtime/log.ts", import.meta.url).href;

test("a line that is written behind the flushed log stands behind all of its lines", async () => {
  const program = `
    const { createLog } = await import(${JSON.stringify(LOG)});
    const log = createLog("info");
    for (let line = 0; line < 100; line++) log.info({ line }, "one");
    await new Promise((resolve) => log.flush(resolve));
    process.stderr.write("last");
    process.exit(0);`;
  const words = ["--input-type=module", "-e", program];
  const { stderr } = await promisify(execFile)(process.execPath, words);
  const lines = stderr.split("\n");
  expect(lines.pop()).toBe("last");
  expect(lines.map((line) => JSON.parse(line).line)).toEqual(Array.from({ length: 100 }, (_, line) => line));
});
