import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { plantRows } from "../../contract/planted-rows.ts";
import { type Admin, fingerprints } from "../../support/schema.ts";
import { startService, type Tenant, type TestService } from "../../support/service.ts";
import { formBrowser, signedIn } from "./form-browser.ts";
import { consoleRoutes, filledIn, type Route } from "./routes.ts";

let service: TestService;
let admin: Admin;
let rival: Tenant;
let routes: Route[];
/** The ids of the rival's records, by their tables. */
const ids = new Map<string, string>();

beforeAll(async () => {
  service = await startService({ role: "web" });
  admin = postgres(service.database.url, { max: 1, onnotice: () => {} });
  rival = await service.newTenant({ name: "Another casino" });
  for (const [table, { id }] of await plantRows(admin, rival.id)) {
    if (typeof id === "string") ids.set(table, id);
  }
  const user = await service.signIn({ role: null });
  await service.call("grant_membership", { property_id: rival.id, user_id: user.id, role: "manager" });
  const key = await service.call("create_api_key", { property_id: rival.id, name: "theirs" });
  await service.call("invite_member", {
    property_id: rival.id,
    email: "guest@rival.example",
    role: "analyst",
  });
  const [invitation] = await admin`select id from invitations where property_id = ${rival.id}`;
  ids
    .set("users", user.id)
    .set("api_keys", key.id)
    .set("invitations", invitation!.id as string);
  // Rows of the manager's own, so that no page is empty.
  await plantRows(admin, service.tenant.id);
  routes = consoleRoutes(service);
});
afterAll(async () => {
  await admin?.end();
  await service?.stop();
});

const foreign = (table: string): string => {
  const id = ids.get(table);
  if (id === undefined) throw new Error(`the rival has no row in ${table}`);
  return id;
};
const manager = () => signedIn(service, { role: "manager" });
const ofRecords = ({ path }: Route) => path.includes(":") && !/:(token|table)/.test(path);

/** All that the rival has, and the rows of the platform about it. */
async function state(): Promise<unknown> {
  const about = await admin`
    select (select jsonb_agg(to_jsonb(p) order by p.id) from properties p where p.id = ${rival.id}) as property,
      (select jsonb_agg(to_jsonb(k) order by k.id) from api_keys k where k.property_id = ${rival.id}) as keys,
      (select jsonb_agg(to_jsonb(m) order by m.id) from memberships m where m.property_id = ${rival.id}) as people,
      (select jsonb_agg(to_jsonb(i) order by i.id) from invitations i where i.property_id = ${rival.id}) as invited`;
  return [await fingerprints(admin, rival.id), about[0]];
}

test("every page of a record answers the manager of another property as if the record were not there", async () => {
  const one = await manager();
  const pages = routes.filter((route) => route.method === "GET" && ofRecords(route));
  expect(pages.length).toBeGreaterThan(25);
  const told: string[] = [];
  for (const { path } of pages) {
    const at = filledIn(path, foreign);
    const { status, text } = await one.get(at);
    const shown = [...ids].filter(([, id]) => !at.includes(id) && text.includes(id));
    if (status !== 404 || shown.length > 0) told.push(`${path}: ${status} ${shown.join(" ")}`);
  }
  expect(told).toEqual([]);
});

test("every table and each of its records has nothing of another property", async () => {
  const one = await manager();
  const { text } = await one.get("/console/records");
  const tables = [...text.matchAll(/href="\/console\/records\/(\w+)"/g)].map(([, name]) => name!);
  const theirs = tables.filter((table) => ids.has(table));
  expect(theirs.length).toBeGreaterThan(30);
  const told: string[] = [];
  for (const table of theirs) {
    const list = await one.get(`/console/records/${table}?column=id&operator=eq&value=${foreign(table)}`);
    if (list.text.includes(`records/${table}/${foreign(table)}`)) told.push(`${table} is listed`);
    const record = await one.get(`/console/records/${table}/${foreign(table)}`);
    if (record.status !== 404) told.push(`${table}: ${record.status}`);
  }
  for (const table of ["users", "api_keys", "__proto__", "nothing"]) {
    const { status } = await one.get(`/console/records/${table}`);
    if (status !== 404) told.push(`${table}: ${status}`);
  }
  expect(told).toEqual([]);
});

test("pages without a record, and those of one's own with a rival's id in their query, show nothing of the rival", async () => {
  const one = await manager();
  const own = async (table: string) =>
    (await admin`select id from ${admin(table)} where property_id = ${service.tenant.id} limit 1`)[0]!.id;
  const [campaign, journey] = [await own("campaigns"), await own("journeys")];
  const paths = [
    ...routes
      .filter(({ method, path }) => method === "GET" && !path.includes(":") && path !== "/console/live")
      .map(({ path }) => path),
    `/console/campaigns/${campaign}?player=${foreign("players")}`,
    `/console/campaigns/${campaign}/message?player=${foreign("players")}`,
    `/console/campaigns/new?template=${foreign("templates")}&segment=${foreign("segments")}`,
    `/console/journeys/${journey}/simulate?segment=${foreign("segments")}`,
    `/console/journeys/${journey}/enrollments/${foreign("journey_enrollments")}`,
  ];
  const told: string[] = [];
  for (const path of paths) {
    const { status, text } = await one.get(path);
    const shown = [...ids].filter(([, id]) => !path.includes(id) && text.includes(id));
    if (![200, 303, 400, 404].includes(status)) told.push(`${path}: ${status}`);
    if (shown.length > 0 || text.includes("Another casino")) told.push(`${path}: ${shown.join(" ")}`);
  }
  expect(told).toEqual([]);
});

test("no form changes anything of another property, with any address and any fields", {
  timeout: 60_000,
}, async () => {
  const before = await state();
  // A user has 300 requests a minute.
  const people = [await manager(), await signedIn(service)];
  const forms = routes.filter((route) => route.method === "POST" && ofRecords(route));
  expect(forms.length).toBeGreaterThan(30);
  const fields = {
    ...{ name: "Mine", confirm: "guest", reason: "Mine", shown: "0", role: "analyst", channel: "all" },
    ...{ to: "all", scheduled_at: "2036-01-01T10:00", do: "save", test_percent: "10", metric: "click" },
    ...{ "g0r0.field": "tier", "g0r0.operator": "eq", "g0r0.value": "Gold" },
  };
  const told: string[] = [];
  for (const one of people) {
    for (const { path } of forms) {
      const { status, text } = await one.post(filledIn(path, foreign), fields);
      if (![400, 403, 404, 409].includes(status)) told.push(`${path}: ${status}`);
      if (text.includes("Another casino")) told.push(`${path} names the rival`);
    }
  }
  const [one] = people;
  for (const [path, named] of Object.entries({
    "/console/campaigns/new": {
      name: "Mine",
      channel: "email",
      template_id: foreign("templates"),
      to: "all",
    },
    "/console/campaigns/new?": { name: "Mine", channel: "email", to: foreign("segments") },
    "/console/property": { property: rival.id },
  })) {
    const { status } = await one!.post(path, named);
    if (![400, 404].includes(status)) told.push(`${path}: ${status}`);
  }
  // A draft may have flaws, and this one can never be published.
  const named = { recipe: "win_back", "win_back.segment_id": foreign("segments") };
  const { location } = await one!.post("/console/journeys/new", named);
  expect((await one!.get(location!)).text).toContain("The draft cannot be published yet");
  expect((await one!.post(`${location}/publish`)).status).toBe(400);
  expect(told).toEqual([]);
  expect(await state()).toEqual(before);
});

test("a visitor who has not signed in gets no page and no form of the console but those of the way in", async () => {
  const open = /^\/console\/(sign-in|sign-out|language|invitation\/:token)$/;
  const visitor = formBrowser(service);
  const told: string[] = [];
  for (const { method, path } of routes.filter((route) => !open.test(route.path))) {
    const at = filledIn(path.replace(":table", "players"), foreign).replace(
      "players/:id",
      foreign("players"),
    );
    const { status, location, text } = await (method === "GET" ? visitor.get(at) : visitor.post(at));
    const isRefused =
      method === "GET"
        ? status === 303 && location?.startsWith("/console/sign-in")
        : status === 401 && text.includes("Nothing has changed");
    if (!isRefused) told.push(`${method} ${path}: ${status}`);
  }
  expect(told).toEqual([]);
});
