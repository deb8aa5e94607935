import { expect, onTestFinished, test } from "vitest";
import { testDatabase } from "../../support/database.ts";
import { shiftedClock } from "./clock.fault.ts";

test("a process whose clock is ten minutes ahead fires nothing early, and judges what expires as the others do", async () => {
  const { url, drop } = await testDatabase();
  onTestFinished(drop);
  expect(await shiftedClock(10, url)).toMatchObject({ problems: [], ledger: { foreign: 0 } });
}, 120_000); // It starts two services, which take most of a minute on a slow machine.
