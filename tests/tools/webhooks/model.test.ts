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

const SEQUENCES = isFull ? 991 : 2;
const MOST_ACTS = isFull ? 60 : 30;

/** Each endpoint gets each event that it has subscribed to, and nothing else. */
async function live(acts: readonly Act[]): Promise<void> {
  const casino = await openSteps(service);
  try {
    for (const one of acts) await casino.step(one);
    expect(await casino.finish()).toEqual([]);
  } finally {
    await casino.close();
  }
}

test.each(STORIES.map((story, index) => ({ story, number: index + 1 })))(
  "each endpoint gets each event that it has subscribed to, and nothing else (story $number)",
  ({ story }) => live(story),
);

test(
  "each endpoint gets each event that it has subscribed to, and nothing else, after any acts of casinos, receivers and crashes",
  async () => {
    await fc.assert(fc.asyncProperty(fc.array(act, { minLength: 12, maxLength: MOST_ACTS }), live), {
      numRuns: SEQUENCES,
      seed: 5,
      endOnFailure: true,
    });
  },
  isFull ? 3_600_000 : 60_000,
);
