import { createHash, randomBytes, randomUUID } from "node:crypto";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { AbTest, drawnVariant } from "#tools/campaigns/campaign/ab-test.ts";
import { winnerOf } from "#tools/campaigns/choose-winner.job.ts";
import { compareVariants } from "#tools/campaigns/stats/compare-variants.ts";
import { type TestDatabase, testDatabase } from "../../../support/database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.drop());

/** The variants of addresses by the plan's SQL, in their order. */
async function drawnBySql(id: string, ab: AbTest, hashes: Buffer[]): Promise<(string | null)[]> {
  const list = hashes.map((hash) => hash.toString("hex"));
  const rows = await database.db.asSystem(
    (sql) => sql<{ variant: string | null }[]>`
      select ${drawnVariant(id, ab)} as variant
      from (select n, decode(h, 'hex') as hash from unnest(${list}::text[]) with ordinality e(h, n)) a order by n`,
  );
  return rows.map(({ variant }) => variant);
}

/** The same by whole numbers: a draw below the share is in the test, and the weights divide a second one. */
function drawnByOracle(id: string, { variants, test_percent }: AbTest, hash: Buffer): string | null {
  const draw = (what: string) =>
    BigInt(createHash("sha256").update(`${id}|1|${what}|`).update(hash).digest().readUInt32BE());
  if (draw("test") * 100n >= BigInt(test_percent) << 32n) return null;
  const total = variants.reduce((sum, { weight }) => sum + BigInt(weight), 0n);
  let below = 0n;
  for (const { id: variant, weight } of variants) {
    below += BigInt(weight);
    if (draw("variant") * total < below << 32n) return variant;
  }
  throw new Error("the weights do not reach the end");
}

const weights = fc.array(fc.integer({ min: 1, max: 10_000 }), { minLength: 2, maxLength: 10 });
const testOf = (given: number[], test_percent: number) =>
  AbTest.parse({
    variants: given.map((weight, index) => ({ id: `v${index}`, weight })),
    test_percent,
    metric: "open",
  });

test("an address has the variant that its hash names by the weights, in any order and company", async () => {
  await fc.assert(
    fc.asyncProperty(weights, fc.integer({ min: 1, max: 100 }), async (given, percent) => {
      const ab = testOf(given, percent);
      const id = randomUUID();
      const hashes = Array.from({ length: 60 }, () => randomBytes(32));
      const whole = await drawnBySql(id, ab, hashes);
      expect(whole).toEqual(hashes.map((hash) => drawnByOracle(id, ab, hash)));
      const part = hashes.slice(20, 45).toReversed();
      expect(await drawnBySql(id, ab, part)).toEqual(whole.slice(20, 45).toReversed());
      if (percent === 100) expect(whole).not.toContain(null);
    }),
    { numRuns: 40 },
  );
});

test("variants get their shares, and who was in one campaign's test is not in all of them", async () => {
  const hashes = Array.from({ length: 20_000 }, () => randomBytes(32));
  const ab = testOf([1, 3], 50);
  const first = await drawnBySql(randomUUID(), ab, hashes);
  const share = (of: (string | null)[], variant: string | null) =>
    of.filter((one) => one === variant).length / hashes.length;
  // Six standard deviations to either side.
  expect(Math.abs(share(first, null) - 0.5)).toBeLessThan(0.022);
  expect(Math.abs(share(first, "v0") - 0.125)).toBeLessThan(0.015);
  const second = await drawnBySql(randomUUID(), ab, hashes);
  const both = first.filter((one, index) => one !== null && second[index] !== null).length / hashes.length;
  expect(Math.abs(both - 0.25)).toBeLessThan(0.02);
});

const counted = fc.array(
  fc
    .nat({ max: 300 })
    .chain((sample) => fc.record({ sample: fc.constant(sample), count: fc.nat({ max: sample }) })),
  { minLength: 2, maxLength: 10 },
);

test("the winner is the one variant with the highest rate, and else the fallback", () => {
  fc.assert(
    fc.property(counted, fc.integer({ min: 1, max: 20 }), (figures, min_sample) => {
      const named = figures.map((one, index) => ({ id: `v${index}`, ...one }));
      const ab = {
        ...testOf(
          figures.map(() => 1),
          50,
        ),
        min_sample,
        fallback_variant_id: "v1",
      };
      const { winner_id, reason } = winnerOf(ab, named);
      const rates = named.map(({ count, sample }) => count / sample);
      const leaders = named.filter((_, index) => rates[index] === Math.max(...rates));
      if (named.some(({ sample }) => sample < min_sample))
        expect([winner_id, reason]).toEqual(["v1", "too_few"]);
      else if (leaders.length > 1) expect([winner_id, reason]).toEqual(["v1", "tie"]);
      else expect([winner_id, reason]).toEqual([leaders[0]!.id, "best"]);
    }),
  );
  const tie = [
    { id: "v0", sample: 3, count: 1 },
    { id: "v1", sample: 300, count: 100 },
  ];
  expect(winnerOf({ ...testOf([1, 1], 50), min_sample: 1 }, tie)).toMatchObject({
    winner_id: "v0",
    reason: "tie",
  });
});

const compared = (figures: [sample: number, count: number][], min_sample = 100) =>
  compareVariants(
    {
      ab_test: {
        ...testOf(
          figures.map(() => 1),
          100,
        ),
        min_sample,
      },
      ab_result: null,
    },
    (id) => {
      const [sample, count] = figures[Number(id.slice(1))]!;
      return { sample, count };
    },
  )!;

// The p-values are those of prop.test(correct = FALSE) in R.
test.each<[[number, number][], string, string | null, number | null]>([
  [
    [
      [1000, 120],
      [1000, 150],
    ],
    "significant",
    "v1",
    0.0496,
  ],
  [
    [
      [1000, 120],
      [1000, 149],
    ],
    "not_significant",
    "v1",
    0.0574,
  ],
  [
    [
      [2000, 90],
      [500, 40],
    ],
    "significant",
    "v1",
    0.0016,
  ],
  [
    [
      [300, 30],
      [300, 30],
    ],
    "not_significant",
    null,
    1,
  ],
  [
    [
      [1000, 100],
      [1000, 80],
      [1000, 130],
    ],
    "significant",
    "v2",
    0.0355,
  ],
  [
    [
      [99, 5],
      [1000, 300],
    ],
    "not_enough_messages",
    "v1",
    null,
  ],
  [
    [
      [100, 0],
      [100, 9],
    ],
    "not_enough_messages",
    "v1",
    null,
  ],
  [
    [
      [100, 100],
      [100, 91],
    ],
    "not_enough_messages",
    "v0",
    null,
  ],
  // Of the smaller variant three are expected.
  [
    [
      [100, 4],
      [10_000, 300],
    ],
    "not_enough_messages",
    "v0",
    null,
  ],
  [
    [
      [1000, 120],
      [1000, 160],
      [99, 1],
    ],
    "not_enough_messages",
    "v1",
    null,
  ],
  [
    [
      [1000, 120],
      [0, 0],
      [1000, 160],
    ],
    "not_enough_messages",
    "v2",
    null,
  ],
  [
    [
      [1000, 1000],
      [1000, 0],
    ],
    "significant",
    "v0",
    0,
  ],
  [
    [
      [0, 0],
      [0, 0],
    ],
    "not_enough_messages",
    null,
    null,
  ],
])("variants with %j are %s, led by %s, with p %s", (figures, verdict, leader_id, p_value) => {
  const found = compared(figures);
  expect(found).toMatchObject({ verdict, leader_id, winner_id: null });
  if (p_value === null) expect(found.p_value).toBeNull();
  else expect(found.p_value).toBeCloseTo(p_value, 4);
});

test("the leader is compared with the next best, by the counts of the choice once the rest has the winner", () => {
  const ab_test = { ...testOf([1, 1], 20), min_sample: 100 };
  const variants = [
    { id: "v0", sample: 1000, count: 150, rate: 0.15 },
    { id: "v1", sample: 1000, count: 120, rate: 0.12 },
  ];
  const decided_at = "2026-11-01T00:00:00Z";
  const ab_result = {
    winner_id: "v0",
    reason: "best" as const,
    metric: "open" as const,
    decided_at,
    variants,
  };
  const live = () => ({ sample: 90_000, count: 100 });
  const found = compareVariants({ ab_test, ab_result }, live)!;
  expect(found).toMatchObject({
    leader_id: "v0",
    runner_up_id: "v1",
    winner_id: "v0",
    verdict: "significant",
  });
  expect(found.lead).toBeCloseTo(0.03, 10);
  // Nobody waited for the winner: the counts of now are those of the test too.
  const whole = compareVariants({ ab_test: { ...ab_test, test_percent: 100 }, ab_result }, live)!;
  expect(whole.variants[0]).toMatchObject({ sample: 90_000 });
  expect(compareVariants({ ab_test: null, ab_result: null }, live)).toBeNull();
});
