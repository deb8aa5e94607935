import { defineConfig } from "vitest/config";

export default defineConfig({
  root: new URL("..", import.meta.url).pathname,
  test: {
    include: ["tests/**/*.test.ts"],
    globalSetup: ["tests/support/postgres.ts"],
    pool: "forks",
    maxWorkers: 2,
    // What never comes is told late rather than what comes late on a busy machine.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
  },
});
