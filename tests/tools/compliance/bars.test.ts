import fc from "fast-check";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { isFull } from "../../support/proof-size.ts";
import { startService, type TestService } from "../../support/service.ts";
import { type Act, act, STORIES } from "./oracles/bar-acts.ts";
import { openCasino } from "./oracles/bar-casino.ts";

let service: TestService;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());

const isCluster = inject("workers").length > 0;

const SEQUENCES = isFull ? 992 : 1;
const MOST_ACTS = isFull ? 24 : 14;

/** Each takes time: by night all of them are tried. */
const CHANNELS = ["email", "sms", "inbox", "voice", "push"] as const;
const channels = isFull ? fc.constant([...CHANNELS]) : fc.constantFrom(...CHANNELS).map((one) => [one]);

// On a cluster each node plans the statements anew: 47 s on two idle cores.
const PATIENCE = isCluster ? 120_000 : 60_000;

/** Those with a bar get no messages, and each bar has a cause. */
async function live(acts: readonly Act[], by: readonly (typeof CHANNELS)[number][]): Promise<void> {
  const casino = await openCasino(service);
  for (const one of acts) await casino.step(one);
  expect(await casino.falseAllows()).toEqual([]);
  await casino.press();
  expect(await casino.falseAllows({ after: true })).toEqual([]);
  expect(await casino.falseSends(by)).toEqual([]);
  expect(await casino.falseBars()).toEqual([]);
}

test.each(STORIES.map((story, index) => ({ story, number: index + 1 })))(
  "those with a bar get no messages, and each bar has a cause (story $number)",
  ({ story }) => live(story, ["email"]),
  PATIENCE,
);

test(
  "after any acts of API keys, people and vendors those with a bar get no messages, and each bar has a cause",
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(act, { minLength: 3, maxLength: MOST_ACTS }), channels, live),
      // A smaller example takes minutes to find.
      { numRuns: SEQUENCES, seed: 3, endOnFailure: !isFull },
    );
  },
  isFull ? 3_600_000 : PATIENCE,
);
