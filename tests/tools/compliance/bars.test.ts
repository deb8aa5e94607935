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

const SEQUENCES = isFull ? 1_000 : STORIES.length + 2;
const MOST_ACTS = isFull ? 24 : 14;

/** Each takes time: by night all of them are tried. */
const CHANNELS = ["email", "sms", "inbox", "voice", "push"] as const;
const channels = isFull ? fc.constant([...CHANNELS]) : fc.constantFrom(...CHANNELS).map((one) => [one]);

test(
  "after any acts of API keys, people and vendors those with a bar get no messages, and each bar has a cause",
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(act, { minLength: 3, maxLength: MOST_ACTS }), channels, async (acts, by) => {
        const casino = await openCasino(service);
        for (const one of acts) await casino.step(one);
        expect(await casino.falseAllows()).toEqual([]);
        await casino.press();
        expect(await casino.falseAllows({ after: true })).toEqual([]);
        expect(await casino.falseSends(by)).toEqual([]);
        expect(await casino.falseBars()).toEqual([]);
      }),
      {
        numRuns: SEQUENCES,
        seed: 3,
        // A smaller example takes minutes to find.
        endOnFailure: !isFull,
        examples: STORIES.map((story): [Act[], (typeof CHANNELS)[number][]] => [story, ["email"]]),
      },
    );
  },
  // On a cluster each node plans the statements anew: 47 s on two idle cores.
  isFull ? 3_600_000 : isCluster ? 120_000 : 60_000,
);
