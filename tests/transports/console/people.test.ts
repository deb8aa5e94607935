import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startService, type TestService } from "../../support/service.ts";
import { formBrowser, signedIn as signInto } from "./form-browser.ts";

let service: TestService;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service?.stop());

const signedIn = (options?: Parameters<TestService["signIn"]>[0]) => signInto(service, options);

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const tokenOf = (text: string) => /name="token" value="([^"]+)"/.exec(text)![1]!;

async function invitationLink(email: string): Promise<string> {
  await service.idle();
  const { messages } = await service.call("list_platform_messages", { limit: 100 });
  const mail = messages.find(({ recipient }: { recipient: string }) => recipient === email);
  return /\/console\/invitation\/[\w-]+/.exec(mail.text)![0];
}

describe("the people of a property", () => {
  test("are invited by an admin, join by the link in the mail, and are seen by managers", async () => {
    const admin = await signedIn();
    const fields = { email: "mia@invited.example", person: "Mia", role: "manager" };
    expect((await admin.post("/console/settings/people", fields)).location).toBe("/console/settings/people");
    const { text } = await admin.get("/console/settings/people");
    expect(text).toContain('<th scope="row">mia@invited.example</th>');
    const again = await admin.post("/console/settings/people", fields);
    expect([again.status, again.text.includes("less than 10 minutes ago")]).toEqual([409, true]);
    const path = await invitationLink("mia@invited.example");
    const guest = formBrowser(service);
    expect((await guest.get(path)).text).toContain("Set a password for mia@invited.example");
    expect((await guest.post(path, { password: "short" })).status).toBe(400);
    const joined = await guest.post(path, { password: "a long sentence of hers" });
    expect(joined.text).toContain("You have joined");
    expect((await guest.get(path)).text).toContain("No open invitation");
    await guest.post("/console/sign-in", { email: fields.email, password: "a long sentence of hers" });
    const people = await guest.get("/console/settings/people");
    expect(people.text).toContain("An admin invites people and changes roles.");
    expect(people.text).not.toContain('action="/console/settings/people');
    expect((await guest.post("/console/settings/people", fields)).status).toBe(403);
  });
});

describe("the limits above which people approve", () => {
  const path = "/console/settings/limits";

  test("are set by an admin, and hold for what keys do", async () => {
    const admin = await signedIn({ role: "admin" });
    expect((await admin.get("/console/approvals")).text).toContain(`href="${path}"`);
    const fields = {
      approval_over_players: "12",
      approval_over_cost: "2.5",
      approval_four_eyes: "on",
      approval_growth_percent: "10",
    };
    expect((await admin.post(path, fields)).location).toBe(path);
    const property = await setLimits();
    expect(property).toMatchObject({
      approval_over_players: 12,
      approval_over_cost: 2.5,
      approval_four_eyes: "on",
      approval_growth_percent: 10,
    });
    const wrong = await admin.post(path, { ...fields, approval_over_players: "-1" });
    expect([wrong.status, wrong.text.includes('id="approval_over_players-wrong"')]).toEqual([400, true]);
    expect(await setLimits()).toEqual(property);
    const none = { approval_over_players: "", approval_over_cost: "", approval_four_eyes: "off" };
    await admin.post(path, { ...none, approval_growth_percent: "25" });
    expect(await setLimits()).toMatchObject({ approval_over_players: null, approval_over_cost: null });
  });

  test.each(["manager", "analyst"] as const)("are seen by a %s, who changes none", async (role) => {
    const one = await signedIn({ role });
    const { text } = await one.get(path);
    expect(text).toContain("An admin sets the limits above which people approve.");
    expect(text).not.toContain(`action="${path}"`);
    const before = await setLimits();
    const fields = { approval_four_eyes: "off", approval_growth_percent: "99" };
    expect((await one.post(path, fields)).status).toBe(403);
    expect(await setLimits()).toEqual(before);
  });

  async function setLimits() {
    const { id } = service.tenant;
    return service.call("get_property", { propertyId: id }, id);
  }
});

describe("the logo of a property", () => {
  const upload = async (one: Awaited<ReturnType<typeof signedIn>>, bytes: Uint8Array, token?: string) => {
    const { text } = await one.get("/console/settings/theme");
    const body = new FormData();
    body.set("params", `token=${token ?? /name="token" value="([^"]+)"/.exec(text)![1]}`);
    body.set("file", new Blob([new Uint8Array(bytes)], { type: "image/png" }), "logo.png");
    const cookie = [...one.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const headers = { cookie, "sec-fetch-site": "same-origin" };
    const path = "/console/settings/theme/logo";
    return fetch(service.baseUrl + path, { method: "POST", body, headers, redirect: "manual" });
  };

  test("is uploaded by a manager, stands beside the name under its own address, and goes again", async () => {
    const one = await signedIn({ role: "manager" });
    expect((await upload(one, PNG)).status).toBe(303);
    const { text } = await one.get("/console");
    const address = /<img class="logo" src="(\/theme\/[\w-]+\/[\w-]+\/logo)"/.exec(text)![1]!;
    const picture = await fetch(service.baseUrl + address);
    expect(picture.headers.get("content-type")).toBe("image/png");
    expect(picture.headers.get("cache-control")).toContain("immutable");
    expect(Buffer.from(await picture.arrayBuffer())).toEqual(PNG);
    await one.post("/console/settings/theme/logo/remove");
    expect((await one.get("/console")).text).not.toContain('class="logo"');
    expect((await fetch(service.baseUrl + address)).status).toBe(404);
  });

  test("is no SVG and no large file, and is no analyst's and no other site's to change", async () => {
    const one = await signedIn({ role: "manager" });
    const svg = await upload(one, Buffer.from("<svg onload='alert(1)'/>"));
    expect([svg.status, await svg.text()]).toEqual([
      400,
      expect.stringContaining("must be a PNG, JPEG or WebP"),
    ]);
    const large = await upload(one, Buffer.concat([PNG, Buffer.alloc(40_000)]));
    expect([large.status, await large.text()]).toEqual([413, expect.stringContaining("larger than 32 kB")]);
    expect((await upload(one, PNG, "forged")).status).toBe(403);
    const analyst = await signedIn({ role: "analyst" });
    expect((await upload(analyst, PNG, tokenOf((await analyst.get("/console")).text))).status).toBe(403);
    expect((await one.get("/console")).text).not.toContain('class="logo"');
  });
});
