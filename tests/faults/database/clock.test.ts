import { afterAll, expect, test } from "vitest";
import { stopServer } from "../support/server.ts";
import { shiftedClock } from "./clock.fault.ts";

afterAll(stopServer);

test("a process whose clock is ten minutes ahead fires nothing early, and judges what expires as the others do", async () => {
  expect(await shiftedClock(10)).toMatchObject({ problems: [], ledger: { foreign: 0 } });
}, 120_000); // It starts a database server and two services, which take most of 30 s on a slow machine.
