import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect, type Database } from "#db/database.ts";
import { type Allowance, type RateLimiter, rateLimiter } from "#runtime/limits/rate-limit.ts";
import { createLog } from "#runtime/log.ts";
import { type TestDatabase, testDatabase } from "../../support/database.ts";

const LIMIT = 100;
const log = createLog("silent");
// In the middle of a window, however long a test takes.
const startedAt = performance.now();
const now = () => 1_700_000_010_000 + performance.now() - startedAt;

let database: TestDatabase;
let dbs: Database[];
let limiters: RateLimiter[];

beforeAll(async () => {
  database = await testDatabase();
  dbs = [connect(database.url), connect(database.url)];
  limiters = dbs.map((db) => rateLimiter({ db, now, log }));
});

afterAll(async () => {
  await Promise.all(limiters.map((one) => one.close()));
  await Promise.all(dbs.map((db) => db.close()));
  await database.drop();
});

describe("two processes", () => {
  test("let pass one budget between them when both are stormed at once, and one more that came alone", async () => {
    const claims = Array.from({ length: 240 }).flatMap(() =>
      limiters.map((one) => one.takeShared("storm", LIMIT)),
    );
    const allowed = (await Promise.all(claims)).filter((one) => one.allowed);
    expect(allowed.length).toBeGreaterThanOrEqual(LIMIT);
    expect(allowed.length).toBeLessThanOrEqual(LIMIT + 1);
  });

  test("let pass one budget between them when requests take turns", async () => {
    const answers: Allowance[] = [];
    for (let n = 0; n < 240; n++) answers.push(await limiters[n % 2]!.takeShared("turns", LIMIT));
    const allowed = answers.filter((one) => one.allowed);
    expect(allowed.length).toBeGreaterThanOrEqual(LIMIT);
    expect(allowed.length).toBeLessThanOrEqual(LIMIT + 1);
    expect(answers.at(-1)).toMatchObject({ allowed: false, remaining: 0, limit: LIMIT });
  });

  test("let pass no more than the one that came alone where another one has used the budget up", async () => {
    const [first, second] = limiters as [RateLimiter, RateLimiter];
    for (let n = 0; n < LIMIT; n++) expect((await first.takeShared("used up", LIMIT)).allowed).toBe(true);
    const late = await Promise.all(Array.from({ length: 50 }, () => second.takeShared("used up", LIMIT)));
    expect(late.filter((one) => one.allowed).length).toBeLessThanOrEqual(1);
    expect((await first.takeShared("used up", LIMIT)).allowed).toBe(false);
  });

  test("count as they did for addresses, which wait for nobody: each up to the limit until it hears of the other", () => {
    const allowed = limiters.map((one) => one.take("ip:192.0.2.1", 1).allowed);
    expect(allowed).toEqual([true, true]);
  });
});

describe("one process", () => {
  test("lets pass the whole budget, and not one more, with any size and at any speed", async () => {
    for (const limit of [1, 3, 20, 1_000]) {
      const claims = Array.from({ length: limit + 50 }, () =>
        limiters[0]!.takeShared(`alone ${limit}`, limit),
      );
      const answers = await Promise.all(claims);
      expect(answers.filter((one) => one.allowed)).toHaveLength(limit);
      expect(answers.filter((one) => one.allowed).map((one) => one.remaining)).toContain(0);
    }
  });

  test("lets nobody wait who comes alone, or where plenty is left", async () => {
    expect(limiters[0]!.takeShared("alone", LIMIT)).not.toBeInstanceOf(Promise);
    await limiters[0]!.takeShared("plenty", 10_000);
    await limiters[0]!.takeShared("plenty", 10_000);
    for (let n = 0; n < 100; n++)
      expect(limiters[0]!.takeShared("plenty", 10_000)).not.toBeInstanceOf(Promise);
  });

  test("counts by itself while the database cannot be reached, and lets nobody wait for ever", async () => {
    const db = connect("postgres://nobody:nothing@127.0.0.1:1/none");
    const limiter = rateLimiter({ db, now, log });
    const answers = await Promise.all(Array.from({ length: 20 }, () => limiter.takeShared("cut off", 10)));
    expect(answers.filter((one) => one.allowed)).toHaveLength(10);
    await limiter.close();
    await db.close();
  });
});
