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

const SEQUENCES = isFull ? 996 : 2;
const MOST_ACTS = isFull ? 40 : 24;

/** People get all that was approved, and only that. */
async function live(acts: readonly Act[]): Promise<void> {
  const casino = await openCasino(service);
  for (const one of [...BEGINNING, ...acts]) await casino.step(one);
  await casino.end();
  expect(casino.wrong()).toEqual([]);
}

test.each(STORIES.map((story, index) => ({ story, number: index + 1 })))(
  "people get all that was approved, and only that (story $number)",
  ({ story }) => live(story),
);

test(
  "people get all that was approved, and only that, after any acts",
  async () => {
    await fc.assert(fc.asyncProperty(fc.array(act, { minLength: 8, maxLength: MOST_ACTS }), live), {
      numRuns: SEQUENCES,
      seed: 3,
      endOnFailure: !isFull,
    });
  },
  isFull ? 7_200_000 : 120_000,
);
