import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isFull } from "../../support/proof-size.ts";
import { startService, type TestService } from "../../support/service.ts";
import { type Act, act, BEGINNING, STORIES } from "./oracles/approval-acts.ts";
import { openCasino } from "./oracles/approval-casino.ts";

let service: TestService;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());

const SEQUENCES = isFull ? 1_000 : STORIES.length + 3;
const MOST_ACTS = isFull ? 40 : 24;

test(
  "people get all that was approved, and only that",
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(act, { minLength: 8, maxLength: MOST_ACTS }), async (acts) => {
        const casino = await openCasino(service);
        for (const one of [...BEGINNING, ...acts]) await casino.step(one);
        await casino.end();
        expect(casino.wrong()).toEqual([]);
      }),
      {
        numRuns: SEQUENCES,
        seed: 3,
        endOnFailure: !isFull,
        examples: STORIES.map((story): [Act[]] => [story]),
      },
    );
  },
  isFull ? 7_200_000 : 120_000,
);
