import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { plantRows } from "../../contract/planted-rows.ts";
import { type Admin, fingerprints } from "../../support/schema.ts";
import { startService, type Tenant, type TestService } from "../../support/service.ts";
import { signedIn } from "./form-browser.ts";
import { consoleRoutes, filledIn } from "./routes.ts";

let service: TestService;
let admin: Admin;
let other: Tenant;
/** The ids of the other property's records, by their tables. */
const ids = new Map<string, string>();

beforeAll(async () => {
  service = await startService({ role: "web" });
  admin = postgres(service.database.url, { max: 1, onnotice: () => {} });
  other = await service.newTenant({ name: "Another casino" });
  for (const [table, { id }] of await plantRows(admin, other.id)) {
    if (typeof id === "string") ids.set(table, id);
  }
});
afterAll(async () => {
  await admin?.end();
  await service?.stop();
});

/** A manager of both properties, with the form token of a page of the first, whose other tab is at the second. */
async function withTwoTabs() {
  const one = await signedIn(service);
  const [user] = await admin<{ id: string }[]>`select id from users where email = ${one.email}`;
  await service.call("grant_membership", { property_id: other.id, user_id: user!.id, role: "admin" });
  expect((await one.post("/console/property", { property: service.tenant.id })).status).toBe(303);
  const { text } = await one.get("/console/settings/property");
  const token = /name="token" value="([^"]+)"/.exec(text)![1]!;
  expect((await one.post("/console/property", { property: other.id })).status).toBe(303);
  return { ...one, token };
}

async function state(): Promise<unknown> {
  const about = await admin`
    select (select to_jsonb(p) from properties p where p.id = ${other.id}) as property,
      (select count(*) from api_keys where property_id = ${other.id}) as keys,
      (select count(*) from invitations where property_id = ${other.id}) as invited`;
  return [await fingerprints(admin, other.id), about[0]];
}

/** The forms that take a file. */
const FILES = ["/console/imports/new", "/console/settings/theme/logo"];
/** The forms that choose no property: to sign in and out, to join, and the language. */
const WITHOUT_PROPERTY = /^\/console\/(sign-in|sign-out|language|invitation\/:token|property)$/;

test("a form of one property does nothing at another one that a second tab has chosen", {
  timeout: 60_000,
}, async () => {
  const one = await withTwoTabs();
  const forms = consoleRoutes(service).filter(
    ({ method, path }) => method === "POST" && !WITHOUT_PROPERTY.test(path) && !FILES.includes(path),
  );
  const before = await state();
  const told: string[] = [];
  for (const { path } of forms) {
    const at = filledIn(path, (table) => ids.get(table) ?? other.id);
    const fields = { token: one.token, name: "Mine", channel: "all", to: "all", role: "analyst", do: "save" };
    const { status, text } = await one.post(at, fields);
    if (status !== 409 || !text.includes("Nothing has changed")) told.push(`${path}: ${status}`);
  }
  expect(forms.length).toBeGreaterThan(40);
  expect(told).toEqual([]);
  expect(await state()).toEqual(before);
});

test.each(FILES)("a file of one property is not kept at another: %s", async (path) => {
  const one = await withTwoTabs();
  const body = new FormData();
  body.set("params", `token=${one.token}`);
  body.set("file", new Blob(["player_id\nP1\n"]), "players.csv");
  const cookie = [...one.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const headers = { cookie, "sec-fetch-site": "same-origin" };
  const [kept] = await admin`select count(*) from uploads where property_id = ${other.id}`;
  const { status } = await fetch(service.baseUrl + path, { method: "POST", body, headers });
  expect(status).toBe(409);
  expect((await admin`select count(*) from uploads where property_id = ${other.id}`)[0]).toEqual(kept);
});

test("signing out and choosing a property work from every tab", async () => {
  const one = await withTwoTabs();
  expect((await one.post("/console/property", { property: other.id, token: one.token })).status).toBe(303);
  const { location } = await one.post("/console/sign-out", { token: one.token });
  expect(location).toBe("/console/sign-in");
});
