import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { plantRows } from "../../contract/planted-rows.ts";
import { startService, type Tenant, type TestService } from "../../support/service.ts";
import { formBrowser, signedIn as signInto } from "./form-browser.ts";

const HOSTILE = `"><script>alert(1)</script><img src=x onerror=alert(2)>`;

let service: TestService;
let other: Tenant;
let campaignId: string;

beforeAll(async () => {
  service = await startService({ role: "web" });
  other = await service.newTenant({ name: "Another casino" });
  const sql = postgres(service.database.url, { max: 1, onnotice: () => {} });
  await plantRows(sql, service.tenant.id);
  await plantRows(sql, other.id);
  await sql.end();
  ({ id: campaignId } = await service.call(
    "create_campaign",
    { name: HOSTILE, channel: "inbox", subject: HOSTILE, body_text: HOSTILE, audience: "all" },
    service.tenant.id,
  ));
});
afterAll(() => service?.stop());

const browser = () => formBrowser(service);
const signedIn = (options?: Parameters<TestService["signIn"]>[0]) => signInto(service, options);

describe("signing in", () => {
  test("sets a cookie that no script and no other site gets, and goes on to the asked page", async () => {
    const { email, password } = await service.signIn();
    const one = browser();
    const sent = await one.get("/console/players?q=a%40example.com");
    expect(sent.location).toBe("/console/sign-in?to=%2Fconsole%2Fplayers%3Fq%3Da%2540example.com");
    const page = await one.get(sent.location!);
    expect(page.text).toContain(`name="to" value="/console/players?q=a%40example.com"`);
    const to = "/console/players?q=a%40example.com";
    const answer = await one.post("/console/sign-in", { email, password, to });
    expect([answer.status, answer.location]).toEqual([303, to]);
    expect(answer.setCookies).toEqual([
      expect.stringMatching(/^console_session=[\w.-]+; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Strict$/),
    ]);
    expect((await one.get("/console")).text).toContain(
      `<span>${email}</span><span class="soft">admin</span>`,
    );
  });

  test("with https sends the cookie over https alone, under a name that only our host can set", async () => {
    const { setCookie } = await import("#transports/console/cookies.ts");
    const config = { ...service.internals.config, baseUrl: "https://marketing.example" };
    expect(setCookie({ ...service.internals, config }, "console_session", "t", 60)).toBe(
      "__Host-console_session=t; Max-Age=60; Path=/; HttpOnly; Secure; SameSite=Strict",
    );
  });

  test("that fails says so, keeps the email, and sets no cookie", async () => {
    const { email } = await service.signIn();
    const answer = await browser().post("/console/sign-in", { email, password: "wrong" });
    expect(answer.status).toBe(401);
    expect(answer.setCookies).toEqual([]);
    expect(answer.text).toContain("The email or the password is wrong.");
    expect(answer.text).toContain(`value="${email}"`);
  });

  test.each([
    "https://evil.example/console",
    "//evil.example/console",
    "/\\evil.example",
    "javascript:alert(1)",
    "/docs",
    "/console/sign-out",
    "/consoles",
  ])("never leads to %s", async (to) => {
    const { email, password } = await service.signIn();
    const answer = await browser().post("/console/sign-in", { email, password, to });
    expect(answer.location).toBe("/console");
  });

  test("from another site's form is refused", async () => {
    const { email, password } = await service.signIn();
    const answer = await browser().post(
      "/console/sign-in",
      { email, password },
      { "sec-fetch-site": "cross-site" },
    );
    expect([answer.status, answer.setCookies]).toEqual([403, []]);
  });

  test("gives a new session each time, and takes none that was planted before", async () => {
    const { email, password } = await service.signIn();
    const one = browser();
    one.cookies.set("console_session", "planted");
    expect((await one.get("/console")).location).toMatch(/^\/console\/sign-in/);
    await one.post("/console/sign-in", { email, password });
    expect(one.cookies.get("console_session")).not.toBe("planted");
  });

  test("ends with signing out, and with a new password", async () => {
    const one = await signedIn();
    const cookie = one.cookies.get("console_session")!;
    const other = browser();
    await other.post("/console/sign-in", { email: one.email, password: one.password });
    const live = `${service.baseUrl}/console/live?list=campaigns`;
    const stream = await fetch(live, { headers: { cookie: `console_session=${cookie}` } });
    const answer = await one.post("/console/sign-out");
    expect([answer.status, answer.location]).toEqual([303, "/console/sign-in"]);
    expect((await one.get("/console")).status).toBe(303);
    // Nor does a copy of the cookie open anything, and a page that is open hears no more.
    one.cookies.set("console_session", cookie);
    expect((await one.get("/console")).location).toMatch(/^\/console\/sign-in/);
    const headers = { "X-Api-Key": null, Authorization: `Bearer ${cookie}` };
    expect((await service.get("/api/auth/me", headers)).status).toBe(401);
    for await (const _ of stream.body!);
    expect((await other.get("/console")).status).toBe(200);
    const two = await signedIn();
    await service.call("update_user", {
      user_id: (await userIdOf(two.email)) as string,
      is_active: false,
    });
    const gone = await two.get("/console");
    expect(gone.location).toMatch(/^\/console\/sign-in/);
    expect(two.cookies.has("console_session")).toBe(false);
  });

  test("shows a link of another site the console, once the browser brings the cookie", async () => {
    const answer = await browser().get(`/console/campaigns/${campaignId}`, {
      "sec-fetch-site": "cross-site",
    });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("refresh")).toBe(`0; url=/console/campaigns/${campaignId}`);
  });
});

const userIdOf = async (email: string): Promise<unknown> => {
  const { users } = await service.call("list_users", {});
  return users.find((user: { email: string }) => user.email === email).id;
};

describe("a form", () => {
  test.each([
    ["of another site", {}, { "sec-fetch-site": "cross-site" }],
    ["of a neighbour's host", {}, { "sec-fetch-site": "same-site" }],
    ["without the token", { token: "" }, {}],
    ["with a wrong token", { token: "A".repeat(43) }, {}],
  ])("%s changes nothing", async (_, fields: Record<string, string>, headers: Record<string, string>) => {
    const one = await signedIn();
    const answer = await one.post("/console/sign-out", fields, headers);
    expect([answer.status, answer.setCookies]).toEqual([403, []]);
    const act = await one.post(`/console/campaigns/${campaignId}/cancel`, fields, headers);
    expect(act.status).toBe(403);
    expect((await one.get("/console")).status).toBe(200);
  });
});

describe("pages", () => {
  test("of every table and each of its records can be seen by an analyst", async () => {
    const one = await signedIn({ role: "analyst" });
    const { text } = await one.get("/console/records");
    const tables = [...text.matchAll(/href="\/console\/records\/(\w+)"/g)].map(([, name]) => name!);
    expect(tables.length).toBeGreaterThan(30);
    let records = 0;
    for (const table of tables) {
      const list = await one.get(`/console/records/${table}`);
      expect(list.status, table).toBe(200);
      const id = new RegExp(`/console/records/${table}/([0-9a-f-]{36})`).exec(list.text)?.[1];
      if (id === undefined) continue;
      const record = await one.get(`/console/records/${table}/${id}`);
      expect(record.status, table).toBe(200);
      records += 1;
    }
    expect(records).toBeGreaterThan(25);
  });

  test("take a property that is not the person's for none", async () => {
    const one = await signedIn();
    expect((await one.post("/console/property", { property: other.id })).status).toBe(400);
    one.cookies.set("console_property", other.id);
    const { text } = await one.get("/console");
    expect(text).not.toContain("Another casino");
  });

  test("switch between the properties of a person", async () => {
    const one = await signedIn();
    const user_id = await userIdOf(one.email);
    await service.call("grant_membership", { property_id: other.id, user_id, role: "analyst" });
    expect((await one.post("/console/property", { property: other.id })).location).toBe("/console");
    const { text } = await one.get("/console");
    expect(text).toContain(`<p>Another casino</p>`);
    expect(text).toContain(`<span>${one.email}</span><span class="soft">analyst</span>`);
  });

  test("show every text as text", async () => {
    const one = await signedIn();
    for (const path of [
      "/console",
      "/console/campaigns",
      `/console/campaigns/${campaignId}`,
      `/console/records/campaigns/${campaignId}`,
      `/console/players?q=${encodeURIComponent(HOSTILE)}`,
      `/console/records/players?column=tier&operator=eq&value=${encodeURIComponent(HOSTILE)}`,
    ]) {
      const { text, status, headers } = await one.get(path);
      expect([path, status]).toEqual([path, 200]);
      expect(text, path).not.toContain("<script>alert");
      expect(text, path).not.toContain("<img");
      expect(headers.get("content-security-policy")).toMatch(/script-src 'self'.*frame-ancestors 'none'/);
      expect(headers.get("cache-control")).toBe("no-store");
    }
  });

  test("link to guides and pages that are there", async () => {
    const one = await signedIn();
    const links = new Set<string>();
    for (const path of [
      "/console",
      "/console/campaigns?status=failed",
      "/console/players?q=nobody",
      `/console/campaigns/${campaignId}`,
    ]) {
      const { text } = await one.get(path);
      for (const [, href] of text.matchAll(/href="(\/[^"]*)"/g)) links.add(href!.replaceAll("&amp;", "&"));
    }
    expect(links.size).toBeGreaterThan(10);
    for (const href of links) expect([href, (await one.get(href)).status]).toEqual([href, 200]);
  });

  test("say what is wrong with an address", async () => {
    const one = await signedIn();
    const answer = await one.get("/console/records/players?column=nothing&operator=eq&value=1");
    expect(answer.status).toBe(400);
    expect(answer.text).toContain("nothing");
    expect((await one.get("/console/campaigns?cursor=bent")).status).toBe(400);
    expect((await one.get("/console/campaigns?status=asleep")).status).toBe(400);
  });

  test("of a person without a property say who can help", async () => {
    const one = await signedIn({ role: null });
    expect((await one.get("/console")).text).toContain("You belong to no property yet");
    expect((await one.get("/console/players")).text).toContain("You belong to no property yet");
  });

  test("of a platform admin have every property", async () => {
    const one = await signedIn({ role: null, platformAdmin: true });
    const { text } = await one.get("/console");
    expect(text).toContain("Another casino");
    expect(text).toContain("platform admin");
  });
});

describe("a campaign", () => {
  const statusOf = async () =>
    (await service.call("get_campaign", { id: campaignId }, service.tenant.id)).status as string;

  test("is paused, resumed and cancelled by a manager, and by no analyst", async () => {
    await service.call("send_campaign", { campaignId, propertyId: service.tenant.id }, service.tenant.id);
    // No worker runs: the campaign stays as planning would leave it.
    await service.database.db.asProperty(
      service.tenant.id,
      (sql) =>
        sql`update campaigns set status = 'sending' where property_id = ${service.tenant.id} and id = ${campaignId}`,
    );
    const analyst = await signedIn({ role: "analyst" });
    const refused = await analyst.post(`/console/campaigns/${campaignId}/pause`);
    expect(refused.status).toBe(403);
    expect(refused.text).toContain("Your role does not allow that");
    const manager = await signedIn({ role: "manager" });
    const page = await manager.get(`/console/campaigns/${campaignId}`);
    expect(page.text).toContain(`action="/console/campaigns/${campaignId}/pause"`);
    const done = await manager.post(`/console/campaigns/${campaignId}/pause`);
    expect([done.status, done.location]).toEqual([303, `/console/campaigns/${campaignId}`]);
    expect(await statusOf()).toBe("paused");
    await manager.post(`/console/campaigns/${campaignId}/resume`);
    expect(await statusOf()).toBe("sending");
    await manager.post(`/console/campaigns/${campaignId}/cancel`);
    expect(await statusOf()).toBe("cancelled");
    const again = await manager.post(`/console/campaigns/${campaignId}/pause`);
    expect(again.status).toBe(409);
    expect(await auditOf("pause_campaign")).toEqual([{ actor_type: "user" }]);
  });

  const auditOf = (action: string) =>
    service.database.db.asProperty(
      service.tenant.id,
      (sql) => sql`
        select actor_type from audit_logs
        where property_id = ${service.tenant.id} and action = ${action} and entity_id = ${campaignId}`,
    );
});
