import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { plantRows } from "../../contract/planted-rows.ts";
import { startService, type TestService } from "../../support/service.ts";
import { type FormBrowser, signedIn } from "./form-browser.ts";

const HOSTILE = `"><script>alert(1)</script><img src=x onerror=alert(2)>`;

let service: TestService;

beforeAll(async () => {
  service = await startService({ role: "web" });
  const sql = postgres(service.database.url, { max: 1, onnotice: () => {} });
  await plantRows(sql, service.tenant.id);
  await sql.end();
});
afterAll(() => service?.stop());

const idIn = (location: string | null): string => /[0-9a-f-]{36}/.exec(location ?? "")?.[0] ?? "";

test("a script in any text field is shown as text", async () => {
  const one = await signedIn(service);
  const template = await one.post("/console/templates/new", {
    name: HOSTILE,
    channel: "email",
    subject: HOSTILE,
    html: `<p>${HOSTILE}</p>`,
    text: HOSTILE,
  });
  const campaign = await one.post("/console/campaigns/new", { name: HOSTILE, channel: "email", to: "all" });
  const id = idIn(campaign.location);
  const body = { name: HOSTILE, subject: HOSTILE, preheader: HOSTILE, from_name: HOSTILE, to: "all" };
  await one.post(`/console/campaigns/${id}`, { ...body, body_html: `<p>${HOSTILE}</p>`, body_text: HOSTILE });
  const rule = { "g0r0.field": "tier", "g0r0.operator": "eq", "g0r0.value": HOSTILE };
  const built = { name: HOSTILE, description: HOSTILE, logic: "and", ...rule };
  const segment = await one.post("/console/segments/new", { ...built, do: "save" });
  const counted = await one.post("/console/segments/new", { ...built, do: "reach" });
  const key = await one.post("/console/settings/keys", { name: HOSTILE, scope: "read", rate_limit: "10" });
  const refused = await one.post("/console/settings/hours", { country: HOSTILE, open_local: HOSTILE });
  const hours = { country: "US", channel: "sms", days: "1", open_local: "08:00", close_local: "21:00" };
  await one.post("/console/settings/hours", { ...hours, source_note: HOSTILE });
  await one.post("/console/settings/caps", {
    max_sends: "3",
    window_count: "7",
    window_unit: "day",
    tag: HOSTILE,
  });
  await one.post("/console/sending/pause", { reason: HOSTILE });
  expect(refused.status).toBe(400);
  const pages = [
    "/console",
    "/console/campaigns",
    `/console/campaigns/${id}`,
    `/console/campaigns/${id}/check`,
    "/console/templates",
    template.location!,
    "/console/segments",
    segment.location!,
    `${segment.location}/edit`,
    `${segment.location}/players`,
    "/console/settings/keys",
    "/console/settings/hours",
    "/console/settings/caps",
    `/console/players?q=${encodeURIComponent(HOSTILE)}`,
  ];
  const shown = [counted, key, refused, ...(await Promise.all(pages.map((path) => one.get(path))))];
  for (const { text, headers, status } of shown) {
    expect([200, 400]).toContain(status);
    expect(text).not.toContain("<script>alert");
    expect(text).not.toContain("<img src=x");
    expect(headers.get("content-security-policy")).toMatch(/script-src 'self'.*frame-ancestors 'none'/);
  }
  for (const path of [`/console/campaigns/${id}/message`, `${template.location}/message`]) {
    const { headers } = await one.get(path);
    expect(headers.get("content-security-policy")).toMatch(/^sandbox; default-src 'none'/);
  }
  await one.post("/console/sending/resume");
});

test("a form that is sent twice does its work once", async () => {
  const one = await signedIn(service);
  const { text } = await one.get("/console/campaigns/new");
  const once = /name="once" value="([^"]+)"/.exec(text)![1]!;
  const fields = { name: "Only once", channel: "email", to: "all", once };
  const [first, second] = [
    await one.post("/console/campaigns/new", fields),
    await one.post("/console/campaigns/new", fields),
  ];
  expect(first.location).toMatch(/^\/console\/campaigns\/[0-9a-f-]{36}$/);
  expect(second.location).toBe(first.location);
});

test.each([
  ["too large", "x".repeat(1_600_000)],
  ["not storable", "a\u0000b"],
])("a form that is %s is told as such, and not as one of another site", async (_, text) => {
  const one = await signedIn(service);
  const { status, text: page } = await one.post("/console/templates/new", {
    name: "T",
    channel: "email",
    text,
  });
  expect(status).toBe(400);
  expect(page).toContain("That form cannot be read");
});

test("a form that a person goes back to, and fills in otherwise, is new work", async () => {
  const one = await signedIn(service);
  const once = crypto.randomUUID();
  const fields = { channel: "email", to: "all", once };
  const first = await one.post("/console/campaigns/new", { ...fields, name: "Before" });
  const second = await one.post("/console/campaigns/new", { ...fields, name: "After" });
  expect([first.status, second.status]).toEqual([303, 303]);
  expect(second.location).not.toBe(first.location);
});

test("a preview of a variant whose test has been removed is the message of all", async () => {
  const one = await signedIn(service);
  const { location } = await one.post("/console/campaigns/new", {
    name: "Tested",
    channel: "email",
    to: "all",
  });
  expect((await one.get(`${location}?player=&variant=b`)).status).toBe(200);
});

test("a form that is refused comes back with its texts and the reason", async () => {
  const one = await signedIn(service);
  const answer = await one.post("/console/campaigns/new", {
    name: " ",
    channel: "email",
    template_id: "none",
  });
  expect(answer.status).toBe(400);
  expect(answer.text).toContain('role="alert"');
  const rules = {
    name: "Odd",
    "g0r0.field": "adt",
    "g0r0.operator": "gte",
    "g0r0.value": "much",
    do: "save",
  };
  const segment = await one.post("/console/segments/new", rules);
  expect(segment.status).toBe(400);
  expect(segment.text).toContain('value="much"');
});

describe("an analyst", () => {
  test("sees every page, and no form that changes anything", async () => {
    const one = await signedIn(service, { role: "analyst" });
    for (const path of [
      ...["", "/campaigns", "/journeys", "/segments", "/templates", "/players", "/imports", "/records"],
      ...["/settings", "/settings/property", "/settings/hours", "/settings/caps", "/settings/theme"],
      ...["/settings/keys", "/settings/limits", "/settings/people"],
    ]) {
      const { status, text } = await one.get(`/console${path}`);
      expect([path, status]).toEqual([path, 200]);
      const forms = [...text.matchAll(/<form method="post" action="([^"]+)"/g)].map(([, action]) => action);
      expect([path, forms.filter((action) => action !== "/console/sign-out")]).toEqual([path, []]);
    }
  });

  test("gets no form that makes a record", async () => {
    const one = await signedIn(service, { role: "analyst" });
    for (const part of ["campaigns", "journeys", "segments", "templates", "imports"]) {
      expect([part, (await one.get(`/console/${part}/new`)).status]).toEqual([part, 403]);
    }
  });

  test("changes nothing by a form of their own", async () => {
    const one = await signedIn(service, { role: "analyst" });
    for (const [path, fields] of Object.entries({
      "/console/campaigns/new": { name: "Mine", channel: "email", to: "all" },
      "/console/segments/new": { name: "Mine", do: "save" },
      "/console/templates/new": { name: "Mine", channel: "email", html: "<p>Mine</p>" },
      "/console/settings/keys": { name: "Mine", scope: "write", rate_limit: "10" },
      "/console/settings/caps": { max_sends: "3", window_count: "7", window_unit: "day" },
      "/console/settings/property": { name: "Mine" },
      "/console/sending/pause": {},
      "/console/settings/people": { email: "mine@example.com", role: "admin" },
    })) {
      expect([path, (await one.post(path, fields)).status]).toEqual([path, 403]);
    }
    expect((await one.post("/console/imports/new")).status).toBe(403);
  });
});

describe("an uploaded file", () => {
  const stored = () =>
    service.database.db.asProperty(
      service.tenant.id,
      (sql) => sql`select id from uploads where property_id = ${service.tenant.id}`,
    );

  test.each([
    ["without the token", "", "same-origin"],
    ["with a wrong token", `token=${"A".repeat(43)}`, "same-origin"],
    ["of another site", "right", "cross-site"],
  ])("%s is not kept", async (_, params, site) => {
    const one = await signedIn(service);
    const before = (await stored()).length;
    const { text } = await one.get("/console/imports/new");
    const right = /name="params" value="([^"]+)"/.exec(text)![1]!;
    const body = new FormData();
    body.set("params", params === "right" ? right : params);
    body.set("file", new Blob(["player_id\nA1\n"]), "players.csv");
    const cookie = [...one.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const answer = await fetch(`${service.baseUrl}/console/imports/new`, {
      method: "POST",
      headers: { cookie, "sec-fetch-site": site },
      body,
      redirect: "manual",
    });
    expect(answer.status).toBe(403);
    expect((await stored()).length).toBe(before);
  });
});

describe("the stream of an open page", () => {
  test("tells that its campaign has changed, and tells nobody who is signed out", async () => {
    const one = await signedIn(service);
    const { location } = await one.post("/console/campaigns/new", {
      name: "Watched",
      channel: "email",
      to: "all",
    });
    const cookie = [...one.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const path = `/console/live?campaign=${idIn(location)}`;
    const stream = await fetch(service.baseUrl + path, { headers: { cookie } });
    expect(stream.headers.get("content-type")).toBe("text/event-stream");
    const reader = stream.body!.getReader();
    const told = async () => Buffer.from((await reader.read()).value!).toString();
    expect(await told()).toContain("event: changed");
    await one.post(`/console${location!.slice(8)}`, { name: "Watched and changed", to: "all" });
    expect(await told()).toContain("event: changed");
    await reader.cancel();
    const signedOut = await fetch(service.baseUrl + path, { redirect: "manual" });
    expect(signedOut.status).toBe(303);
  });

  test("ends when its person is removed from the property", async () => {
    const one = await signedIn(service, { role: "manager" });
    const cookie = [...one.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const stream = await fetch(`${service.baseUrl}/console/live?list=campaigns`, { headers: { cookie } });
    const admin = await signedIn(service);
    const { text } = await admin.get("/console/settings/people");
    const id = new RegExp(`for="role-([0-9a-f-]{36})">Role of ${one.email}<`).exec(text)![1];
    const removed = await admin.post(`/console/settings/people/${id}/remove`);
    expect(removed.text).toContain(`${one.email} has no access any more.`);
    const read = async (): Promise<void> => {
      for await (const _ of stream.body!);
    };
    await read();
    expect((await one.get("/console")).location).toMatch(/^\/console\/sign-in/);
  });
});

describe("a form that was shown before its session ended", () => {
  const written = { name: "Written for an hour", channel: "email", to: "all", body: 'Line 1\nLine "2" <b>' };
  const tokenIn = (text: string) => /name="token" value="([^"]+)"/.exec(text)![1]!;
  const campaigns = async (one: FormBrowser) => (await one.get("/console/campaigns")).text;

  test("is kept by the browser, and sent after the person has signed in again and said so", async () => {
    const one = await signedIn(service);
    const token = tokenIn((await one.get("/console/campaigns/new")).text);
    await one.post("/console/sign-out");
    const out = await one.post("/console/campaigns/new", { ...written, token });
    expect([out.status, out.location]).toEqual([401, null]);
    expect(out.text).toMatch(/reload this page.*href="\/console\/sign-in" target="_blank"/);
    const { email, password } = one;
    await one.post("/console/sign-in", { email, password });
    const again = await one.post("/console/campaigns/new", { ...written, token });
    expect(again.status).toBe(403);
    expect(again.text).toContain(`You are signed in as ${email}.`);
    expect(await campaigns(one)).not.toContain(written.name);
    const shown = /action="\/console\/campaigns\/new">.*?<\/form>/s.exec(again.text)![0];
    const fields = Object.fromEntries(
      [...shown.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g)].map(([, name, value]) => [
        name!,
        value!.replaceAll("&quot;", '"').replaceAll("&lt;", "<").replaceAll("&gt;", ">"),
      ]),
    );
    expect(fields).toMatchObject(written);
    expect((await one.post("/console/campaigns/new", fields)).status).toBe(303);
    expect(await campaigns(one)).toContain(written.name);
  });

  test("is shown to the person of its page alone: not with a made-up token, and not to another one", async () => {
    const one = await signedIn(service);
    const other = await signedIn(service);
    const token = tokenIn((await one.get("/console/campaigns/new")).text);
    for (const written_by of [token, token.replace(/^[^.]+/, "made-up"), "made-up", "a.b.c"]) {
      const { status, text } = await other.post("/console/campaigns/new", { ...written, token: written_by });
      expect([status, text.includes(written.name)]).toEqual([403, false]);
    }
  });

  test("of another site asks a person who is signed out for nothing", async () => {
    const one = await signedIn(service);
    await one.post("/console/sign-out");
    const foreign = { "sec-fetch-site": "cross-site" };
    const { status, text } = await one.post("/console/campaigns/new", { token: "made-up" }, foreign);
    expect([status, text.includes("reload")]).toEqual([403, false]);
  });

  test("from another site is shown to nobody, and neither is one without a token", async () => {
    const one = await signedIn(service);
    const name = "Of another site";
    const foreign = { "sec-fetch-site": "cross-site" };
    for (const [fields, headers] of [
      [{ name, token: "forged" }, foreign],
      [{ name, token: "" }, foreign],
    ] as const) {
      const { status, text } = await one.post("/console/campaigns/new", fields, headers);
      expect([status, text.includes(name)]).toEqual([403, false]);
    }
    const cookie = [...one.cookies].map(([key, value]) => `${key}=${value}`).join("; ");
    const bare = await fetch(`${service.baseUrl}/console/campaigns/new`, {
      ...{ method: "POST", body: new URLSearchParams({ name }) },
      headers: { cookie, "sec-fetch-site": "same-origin" },
    });
    expect([bare.status, (await bare.text()).includes(name)]).toEqual([403, false]);
  });
});
