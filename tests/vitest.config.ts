import { defineConfig } from "vitest/config";

export default defineConfig({
  root: new URL("..", import.meta.url).pathname,
  test: {
    include: ["tests/**/*.test.ts"],
    globalSetup: ["tests/support/postgres.ts"],
    pool: "forks",
    maxWorkers: 2,
    // A test that needs more has its own, with the reason.
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // The run ends by judging its statements. A busy machine takes longer than 10 s, and vitest would leave it green.
    teardownTimeout: 120_000,
    expect: { poll: { timeout: 20_000 } },
  },
});
