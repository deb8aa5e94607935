import { afterAll, beforeAll, expect, test } from "vitest";
import type { Service } from "#runtime/funnel/service.ts";
import { openService } from "#transports/start/service.ts";
import { refused } from "../../support/answers.ts";
import { startService, type TestService } from "../../support/service.ts";

const ROTATE = "/api/functions/rotate-signing-key";
let service: TestService;
/** Another process over the same database. */
let other: Service & { close(): Promise<void> };

beforeAll(async () => {
  service = await startService();
  const { config, log } = service.internals;
  other = await openService({ config, databaseUrl: service.database.url, log });
});
afterAll(async () => {
  await other?.close();
  await service?.stop();
});

const bearer = (token: string) => ({ "X-Api-Key": null, Authorization: `Bearer ${token}` });
const kidOf = (token: string) =>
  JSON.parse(Buffer.from(token.split(".")[0]!, "base64url").toString()).kid as string;
const published = async () =>
  (await service.get("/.well-known/jwks.json")).body.keys.map(({ kid }: { kid: string }) => kid) as string[];

test("a rotated key signs every new token, in every process within a second, and the old ones stay good", async () => {
  const operator = await service.signIn({ role: null, platformAdmin: true });
  const before = await published();
  const rotated = await service.post(ROTATE, {}, bearer(operator.token));
  expect(rotated.body).toEqual({
    success: true,
    kid: expect.any(String),
    retired: [kidOf(operator.token)],
  });
  const { kid } = rotated.body;
  expect(before[0]).toBe(kidOf(operator.token));
  expect(await published()).toEqual([kid, ...before]);
  const elsewhere = async () => kidOf(await other.sessions.issue(operator.id));
  await expect.poll(elsewhere, { timeout: 1_000, interval: 20 }).toBe(kid);
  expect((await other.sessions.jwks()).keys).toHaveLength(before.length + 1);

  const fresh = await service.signIn();
  expect(kidOf(fresh.token)).toBe(kid);
  for (const { id, token } of [operator, fresh]) {
    expect((await service.get("/api/auth/me", bearer(token))).body.id).toBe(id);
    expect(await other.sessions.verify(token)).toMatchObject({ id });
  }
});

test("a token by a new key is good at once where nobody has heard of that key yet", async () => {
  const operator = await service.signIn({ role: null, platformAdmin: true });
  for (let turn = 0; turn < 5; turn++) {
    await service.post(ROTATE, {}, bearer(operator.token));
    const { id, token } = await service.signIn();
    expect(await other.sessions.verify(token)).toMatchObject({ id });
  }
});

test("rotations at once leave one key that signs", async () => {
  const answers = await Promise.all([1, 2, 3].map(() => service.call("rotate_signing_key", {})));
  const rows = await service.database.db.asSystem(
    (sql) => sql<{ kid: string }[]>`select kid from signing_keys where retired_at is null`,
  );
  const kids = answers.map(({ kid }: { kid: string }) => kid);
  expect(rows).toHaveLength(1);
  expect(kids).toContain(rows[0]!.kid);
  expect(kidOf((await service.signIn()).token)).toBe(rows[0]!.kid);
});

test("nobody but the operator rotates anything", async () => {
  const before = await published();
  await refused(403, "forbidden", service.post(ROTATE, {}, bearer((await service.signIn()).token)));
  await refused(403, "forbidden", service.post(ROTATE, {}));
  expect(await published()).toEqual(before);
});
