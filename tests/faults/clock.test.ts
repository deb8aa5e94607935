import { afterAll, expect, test } from "vitest";
import { shiftedClock } from "./clock.fault.ts";
import { stopServer } from "./support/server.ts";

afterAll(stopServer);

test("a process whose clock is ten minutes ahead fires nothing early, and judges what expires as the others do", async () => {
  expect(await shiftedClock(10)).toMatchObject({ problems: [], ledger: { foreign: 0 } });
});
