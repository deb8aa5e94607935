import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { identifier } from "#db/sql.ts";
import { expectFrame, refused } from "../../support/answers.ts";
import { mailServer } from "../../support/servers/receivers.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
let next = 1;

beforeAll(async () => {
  service = await startService({ trustProxy: 1 });
});
afterAll(() => service?.stop());

/** A caller with an address of their own, so that no test meets another's throttle. */
const stranger = () => ({ "X-Api-Key": null, "X-Forwarded-For": `10.0.${next >> 8}.${next++ & 255}` });
const ask = (email: string, headers = stranger()) =>
  service.post("/api/auth/password-reset", { email }, headers);
const confirm = (token: string, password: string, headers = stranger()) =>
  service.post("/api/auth/password-reset/confirm", { token, password }, headers);
const login = (email: string, password: string) =>
  service.post("/api/auth/login", { email, password }, stranger());
const me = (token: string) =>
  service.get("/api/auth/me", { "X-Api-Key": null, Authorization: `Bearer ${token}` });

async function mailsTo(email: string): Promise<{ text: string; html: string }[]> {
  await service.idle();
  const { messages } = await service.call("list_platform_messages", { limit: 100 });
  return messages.filter(({ recipient }: { recipient: string }) => recipient === email);
}

async function tokenFor(email: string): Promise<string> {
  await ask(email);
  const [mail] = await mailsTo(email);
  return /\/password-reset\/([\w-]+)/.exec(mail!.text)![1]!;
}

const system = <T extends object>(
  query: (sql: Parameters<Parameters<typeof service.database.db.asSystem>[0]>[0]) => Promise<readonly T[]>,
) => service.database.db.asSystem(async (sql) => [...(await query(sql))]);

describe("a password reset", () => {
  test("by the link in the mail sets the password, ends the sessions, and leaves audit rows", async () => {
    const user = await service.signIn();
    expect((await me(user.token)).status).toBe(200);
    const token = await tokenFor(user.email.toUpperCase().toLowerCase());
    const done = await confirm(token, "a new and long password");
    expectFrame(done, "confirm");
    expect({ status: done.status, body: done.body }).toEqual({ status: 200, body: { success: true } });
    await expect.poll(async () => (await me(user.token)).status).toBe(401);
    await refused(401, "invalid_credential", login(user.email, user.password));
    const signedIn = await login(user.email, "a new and long password");
    expect(signedIn.status).toBe(200);
    expect((await me(signedIn.body.token)).status).toBe(200);
    const rows = await system(
      (sql) =>
        sql`select action from system_audit_logs where entity = 'users' and entity_id = ${user.id} order by id`,
    );
    expect(rows.map((row) => (row as { action: string }).action)).toEqual(
      expect.arrayContaining(["send_password_reset", "confirm_password_reset"]),
    );
  });

  test("is answered alike for an account that there is and one that there is not, and mails only the first", async () => {
    const user = await service.signIn();
    const [known, unknown] = [await ask(user.email), await ask("nobody@example.com")];
    expect(known.status).toBe(200);
    expect({ status: unknown.status, text: unknown.text }).toEqual({ status: 200, text: known.text });
    expect(await mailsTo(user.email)).toHaveLength(1);
    expect(await mailsTo("nobody@example.com")).toEqual([]);
    const jobs = await system((sql) => sql`select 1 from queue where name = 'send_password_reset'`);
    expect(jobs).toEqual([]);
  });

  test("works once, also when it is confirmed many times at once", async () => {
    const user = await service.signIn();
    const token = await tokenFor(user.email);
    const answers = await Promise.all(
      Array.from({ length: 5 }, (_, n) => confirm(token, `one of five passwords ${n}`)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400, 400]);
    const winner = answers.findIndex(({ status }) => status === 200);
    expect((await login(user.email, `one of five passwords ${winner}`)).status).toBe(200);
    await refused(400, "invalid", confirm(token, "the same link once more"));
  });

  test("is over after 30 minutes of the database's clock, and when a newer one was asked for", async () => {
    const user = await service.signIn();
    const old = await tokenFor(user.email);
    const young = await tokenFor(user.email);
    expect(old).not.toBe(young);
    await refused(400, "invalid", confirm(old, "a new and long password"));
    const [row] = await system<{ minutes: number }>(
      (sql) => sql`
        select extract(epoch from expires_at - created_at)::int / 60 as minutes from password_resets where user_id = ${user.id}`,
    );
    expect(row!.minutes).toBe(30);
    await system((sql) => sql`update password_resets set expires_at = now() where user_id = ${user.id}`);
    await refused(400, "invalid", confirm(young, "a new and long password"));
    expect((await login(user.email, user.password)).status).toBe(200);
  });

  test("does not open an account whose access was taken away, nor outlive another change of the password", async () => {
    const gone = await service.signIn();
    const token = await tokenFor(gone.email);
    await service.call("update_user", { user_id: gone.id, is_active: false });
    await refused(400, "invalid", confirm(token, "a new and long password"));
    const changed = await service.signIn();
    const other = await tokenFor(changed.email);
    await service.call("update_user", { user_id: changed.id, password: "set by the operator" });
    await refused(400, "invalid", confirm(other, "a new and long password"));
    await expect.poll(async () => (await me(changed.token)).status).toBe(401);
  });

  test("refuses a password that is too short and a token that is none, with the field's name", async () => {
    const token = await tokenFor((await service.signIn()).email);
    const short = await refused(400, "invalid", confirm(token, "short"));
    expect(short.body.details[0].field).toBe("password");
    const wrong = await refused(400, "invalid", confirm("no-such-token", "a new and long password"));
    expect(wrong.body.details[0].field).toBe("token");
    for (const email of ["", "not an address", `${"x".repeat(330)}@example.com`]) {
      await refused(400, "invalid", ask(email));
    }
    expect((await confirm(token, "a new and long password")).status).toBe(200);
  });

  test("waits after five tries for an account, known or not, and after twenty from an address", async () => {
    for (const email of [(await service.signIn()).email, "unknown@example.com"]) {
      for (let tries = 1; tries <= 5; tries++)
        expect((await ask(email)).status, `${email} ${tries}`).toBe(200);
      const { body, headers } = await refused(429, "rate_limited", ask(email));
      expect(body.retry_after).toBeGreaterThan(0);
      expect(headers.get("Retry-After")).toBe(String(body.retry_after));
    }
    const one = stranger();
    for (let tries = 1; tries <= 20; tries++)
      expect((await ask(`n${tries}@example.com`, one)).status).toBe(200);
    await refused(429, "rate_limited", ask("n21@example.com", one));
    const guesser = stranger();
    for (let tries = 1; tries <= 20; tries++) {
      await refused(400, "invalid", confirm(`guess-${tries}`, "a new and long password", guesser));
    }
    await refused(429, "rate_limited", confirm("guess-21", "a new and long password", guesser));
  });

  test("keeps of the token its hash alone, in every table but the mailbox", async () => {
    const user = await service.signIn();
    const token = await tokenFor(user.email);
    const tables = await system<{ name: string }>(
      (sql) => sql`select c.relname as name from pg_class c where relnamespace = 'public'::regnamespace
        and relkind in ('r', 'p') and has_table_privilege('app_system', c.oid, 'select')`,
    );
    for (const { name } of tables.filter((one) => one.name !== "platform_messages")) {
      const hits = await system(
        (sql) => sql`select /* on purpose */ 1 from ${identifier(name)} t where t::text like ${`%${token}%`}`,
      );
      expect(hits, name).toEqual([]);
    }
    const hash = createHash("sha256").update(token).digest();
    expect(await system((sql) => sql`select 1 from password_resets where token_hash = ${hash}`)).toHaveLength(
      1,
    );
  });
});

describe("the pages of a forgotten password", () => {
  const page = (method: string, path: string, form?: Record<string, string>) =>
    service.request(method, path, {
      headers: { ...stranger(), ...(form && { "Content-Type": "application/x-www-form-urlencoded" }) },
      ...(form && { body: new URLSearchParams(form).toString() }),
    });

  test("ask for the email, and set the password behind the link, without a line of script", async () => {
    const user = await service.signIn();
    const asking = await page("GET", "/password-reset");
    expect(asking.text).toMatch(/<form method="post">.*type="email"/);
    const sent = await page("POST", "/password-reset", { email: user.email });
    expect({ status: sent.status, text: sent.text }).toMatchObject({ status: 200 });
    const [mail] = await mailsTo(user.email);
    const link = new URL(/http\S+\/password-reset\/[\w-]+/.exec(mail!.text)![0]);
    for (let times = 0; times < 2; times++) {
      const shown = await page("GET", link.pathname);
      expect(shown.text).toMatch(/<form method="post">.*type="password"/);
      expect(shown.text).not.toMatch(/<script/i);
      expect(shown.headers.get("referrer-policy")).toBe("no-referrer");
      expect(shown.headers.get("cache-control")).toBe("no-store");
    }
    const short = await page("POST", link.pathname, { password: "short" });
    expect(short.status).toBe(400);
    expect(short.text).toContain("at least 12 characters");
    const done = await page("POST", link.pathname, { password: "typed into the form" });
    expect({ status: done.status, set: done.text.includes("password is set") }).toEqual({
      status: 200,
      set: true,
    });
    expect((await login(user.email, "typed into the form")).status).toBe(200);
    const again = await page("POST", link.pathname, { password: "typed into the form" });
    expect({ status: again.status, said: again.text.includes("not valid any more") }).toEqual({
      status: 400,
      said: true,
    });
  });

  test("answer what is no form, no email and no link with a page that says so", async () => {
    expect((await page("POST", "/password-reset")).status).toBe(400);
    expect((await page("POST", "/password-reset", { email: "no" })).text).toContain("whole email address");
    expect((await page("POST", "/password-reset/none", { password: "\0".repeat(20) })).status).toBe(400);
    expect((await page("POST", "/password-reset/none", { password: "x".repeat(20_000) })).status).toBe(400);
  });
});

test("with a mail server configured the link goes out by it", async () => {
  const mail = await mailServer();
  const other = await startService({
    email: { provider: "smtp", smtpUrl: mail.url, from: "hello@casino.example" },
    baseUrl: "https://casino.example",
  });
  try {
    const { email } = await other.signIn();
    await other.post("/api/auth/password-reset", { email }, { "X-Api-Key": null });
    await expect.poll(() => mail.mails.map(({ to }) => to)).toEqual([email]);
    expect(mail.mails[0]!.raw).toContain("https://casino.example/password-reset/");
  } finally {
    await other.stop();
    await mail.stop();
  }
});
