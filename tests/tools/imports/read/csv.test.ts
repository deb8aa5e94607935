import { expect, test } from "vitest";
import { records } from "#tools/imports/read/csv.ts";

test("a file that is read leaves the event loop its turns", async () => {
  const rows = 10_000;
  const chunk = Buffer.from("P-1,ann@example.com,Ann\n".repeat(rows));
  let turns = 0;
  let read = 0;
  const turn = () => {
    turns++;
    if (read < rows) setImmediate(turn);
  };
  setImmediate(turn);
  async function* file() {
    yield chunk;
  }
  for await (const cells of records(file(), { encoding: "utf-8", delimiter: "," })) read += cells.length / 3;
  expect(read).toBe(rows);
  expect(turns).toBeGreaterThan(100);
});
