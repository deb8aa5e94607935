import { afterAll, beforeAll, expect, test } from "vitest";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service?.stop());

const ANYONE = { "X-Api-Key": null };
const login = async ({ email, password }: { email: string; password: string }): Promise<string> =>
  (await service.post("/api/auth/login", { email, password }, ANYONE)).body.token;
const logout = (token: string) => service.post("/api/auth/logout", { token }, ANYONE);
const me = async (token: string) =>
  (await service.get("/api/auth/me", { ...ANYONE, Authorization: `Bearer ${token}` })).status;

test("signing out ends the one session, everywhere and at once, and is in the audit log", async () => {
  const user = await service.signIn();
  const [phone, desk] = [await login(user), await login(user)];
  expect(await logout(phone)).toMatchObject({ status: 200, body: { success: true } });
  expect([await me(phone), await me(desk)]).toEqual([401, 200]);
  expect((await logout(phone)).status).toBe(200);
  const rows = await service.database.db.asSystem(
    (sql) => sql`select action from system_audit_logs where entity_id = ${user.id} and action = 'logout'`,
  );
  expect(rows).toEqual([{ action: "logout" }]);
});

test.each(["not a token", "a.b.c", "pk_123"])(
  "%s ends nothing, and is answered the same way",
  async (token) => {
    const user = await service.signIn();
    expect(await logout(token)).toMatchObject({ status: 200, body: { success: true } });
    expect(await me(user.token)).toBe(200);
  },
);

test("a changed token ends no session of the user whom it names", async () => {
  const { token } = await service.signIn();
  const [head, claims, signature] = token.split(".") as [string, string, string];
  await logout(`${head}.${claims}.${signature.split("").toReversed().join("")}`);
  expect(await me(token)).toBe(200);
});
