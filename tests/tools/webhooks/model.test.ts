import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isFull } from "../../support/proof-size.ts";
import { startService, type TestService } from "../../support/service.ts";
import { type Act, act, STORIES } from "./model/acts.ts";
import { openSteps } from "./model/steps.ts";

let service: TestService;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());

const SEQUENCES = isFull ? 1_000 : STORIES.length + 2;
const MOST_ACTS = isFull ? 60 : 30;

test(
  "each endpoint gets each event that it has subscribed to, and nothing else, after any acts of casinos, receivers and crashes",
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(act, { minLength: 12, maxLength: MOST_ACTS }), async (acts) => {
        const casino = await openSteps(service);
        try {
          for (const one of acts) await casino.step(one);
          expect(await casino.finish()).toEqual([]);
        } finally {
          await casino.close();
        }
      }),
      { numRuns: SEQUENCES, seed: 5, endOnFailure: true, examples: STORIES.map((story): [Act[]] => [story]) },
    );
  },
  isFull ? 3_600_000 : 60_000,
);
