import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isFull } from "../support/proof-size.ts";
import { killedImport } from "./requests/import.fault.ts";
import { killedWrites } from "./requests/writes.fault.ts";
import { killedTest } from "./sending/ab-test.fault.ts";
import { killedCampaign } from "./sending/campaign.fault.ts";
import { type Installation, openEmbeddedInstallation } from "./support/installation.ts";

const GOOD = { ledger: { lost: 0, doubled: 0, foreign: 0 }, problems: [] };

/** Each test kills whole services and starts them again, which takes long on a busy machine. */
const PATIENCE = { timeout: 120_000 };

let installation: Installation;

beforeAll(async () => {
  installation = await openEmbeddedInstallation();
  await installation.service();
}, PATIENCE.timeout);

afterAll(() => installation.close());

test(
  "a keyed write that was cut off by a kill is done once however often it is retried",
  PATIENCE,
  async () => {
    expect(await killedWrites(installation, { writes: 50, at: 0.3 })).toMatchObject(GOOD);
  },
);

test("a campaign that was killed in the middle reaches everyone once", PATIENCE, async () => {
  expect(await killedCampaign(installation, { players: 1_500, at: 0.1 })).toMatchObject(GOOD);
});

/** In one process, import-players.test.ts cuts every connection, and interrupted.test.ts ends a test at each step. */
describe.runIf(isFull)("and so", () => {
  test("does an import that was killed in the middle go on where it was", PATIENCE, async () => {
    expect(await killedImport(installation, { rows: 14_000, at: 0.25 })).toMatchObject(GOOD);
  });

  test("does a campaign that tries variants give everyone one of them once", PATIENCE, async () => {
    expect(await killedTest(installation, { players: 3_000, everywhere: true })).toMatchObject(GOOD);
  });
});
