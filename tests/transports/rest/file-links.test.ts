import { strFromU8, unzipSync } from "fflate";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LINK_SECONDS, readTimedToken, timedToken } from "#runtime/secrets/timed-links.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

const MCP = { Accept: "application/json, text/event-stream" };

const ask = (name: string, input: object, key = service.tenant.key) =>
  askWith({ "X-Api-Key": key }, name, input);

async function askWith(credential: Record<string, string | null>, name: string, input: object) {
  const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: input } };
  const { body } = await service.post("/api/mcp", message, { ...MCP, ...credential });
  return { ...body.result, data: body.result.structuredContent };
}

/** The path of a link; it needs no credential. */
const pathOf = (url: string) => new URL(url).pathname;
const NOBODY = { "X-Api-Key": null };

const audited = (action: string) =>
  service.internals.db.asProperty(
    service.tenant.id,
    (sql) => sql<{ actor_type: string; diff: object }[]>`
      select actor_type, diff from audit_logs where property_id = ${service.tenant.id} and action = ${action}`,
  );

test("an agent gets the count, the first rows and a link to the whole file, which is audited", async () => {
  const rows = Array.from({ length: 900 }, (_, n) => ({
    ...{ player_id: `L${n}`, first_name: "x".repeat(50), tier: n % 2 ? "Goldfinch" : "Silver" },
  }));
  await service.call("create_import_job", { rows }, service.tenant.id);
  await service.idle();
  const conditions = [{ field: "tier", operator: "eq", value: "Goldfinch" }];
  const { data, content } = await ask("export_players", { conditions });
  expect(data).toMatchObject({ has_more: true, rows: 450, expires_at: expect.any(String) });
  expect(content[0].text).toMatch(/the first \d+ of 450 rows.*\/downloads\//s);
  expect(pathOf(data.url)).not.toContain("Goldfinch");
  const { text, status } = await service.get(pathOf(data.url), NOBODY);
  expect(status).toBe(200);
  expect(text.trimEnd().split("\n")).toHaveLength(451);
  expect(text.startsWith(data.text)).toBe(true);
  expect(await audited("export_players")).toHaveLength(2);
});

test("a link that was changed, or whose key was revoked since, opens nothing", async () => {
  const { tenant } = service;
  const key = await service.call("create_api_key", { property_id: tenant.id, name: "short" }, tenant.id);
  const { data } = await ask("export_players", {}, key.api_key);
  expect((await service.get(`${pathOf(data.url)}x`, NOBODY)).status).toBe(404);
  expect((await service.get(pathOf(data.url), NOBODY)).status).toBe(200);
  await service.call("revoke_api_key", { key_id: key.id }, tenant.id);
  expect((await service.get(pathOf(data.url), NOBODY)).status).toBe(404);
});

test("a link is valid for minutes, for one purpose", () => {
  const config = { appSecret: "s".repeat(40) };
  const { token } = timedToken(config, "upload", 0, { a: 1 });
  expect(readTimedToken(config, "upload", LINK_SECONDS * 1000 - 1, token)).toEqual({ a: 1 });
  expect(readTimedToken(config, "upload", LINK_SECONDS * 1000, token)).toBeNull();
  expect(readTimedToken(config, "download", 1, token)).toBeNull();
});

test("a masked key gets no link, because the file is not masked", async () => {
  const key = await service.call(
    "create_api_key",
    { property_id: service.tenant.id, name: "masked", pii_masked: true },
    service.tenant.id,
  );
  const { data } = await ask("export_players", {}, key.api_key);
  expect(data).not.toHaveProperty("url");
});

test("a file that was put at an upload link is imported by its upload_id", async () => {
  const { data } = await ask("create_upload_link", { filename: "players.csv" });
  const put = (body: string) =>
    service.request("PUT", pathOf(data.url), {
      body: Buffer.from(body),
      headers: { ...NOBODY, "Content-Type": "text/csv" },
    });
  expect(await put("player_id,first_name\nU1,Uma\n")).toMatchObject({
    status: 201,
    body: { upload_id: data.upload_id, size: 28 },
  });
  expect((await put("player_id\nU2\n")).status).toBe(409);
  expect(await audited("upload_file")).toMatchObject([{ actor_type: "api_key", diff: { size: 28 } }]);
  const file = { upload_id: data.upload_id, mode: "create_only" };
  const { data: asked } = await ask("create_import_job", file);
  const { data: job } = await ask("create_import_job", { ...file, confirm_token: asked.confirm_token });
  await service.idle();
  expect((await service.get(`/api/import_jobs/${job.id}`)).body).toMatchObject({
    status: "completed",
    created_count: 1,
  });
});

test("of several files that come at once to an upload link, one stays", async () => {
  const { data } = await ask("create_upload_link", {});
  const put = (body: string) =>
    service.request("PUT", pathOf(data.url), {
      body: Buffer.from(body),
      headers: { ...NOBODY, "Content-Type": "text/csv" },
    });
  const answers = await Promise.all(["A", "B", "C", "D"].map((id) => put(`player_id\n${id}\n`)));
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409]);
  for (const { status, body } of answers) {
    if (status === 409) expect(body.error).toBe("This link has taken its file already.");
  }
  expect((await put("player_id\nE\n")).status).toBe(409);
});

test("an upload link takes no second file after the import of its first", async () => {
  const { data } = await ask("create_upload_link", {});
  const put = (body: string) =>
    service.request("PUT", pathOf(data.url), {
      body: Buffer.from(body),
      headers: { ...NOBODY, "Content-Type": "text/csv" },
    });
  expect((await put("player_id\nF\n")).status).toBe(201);
  await service.call("create_import_job", { upload_id: data.upload_id }, service.tenant.id);
  await service.idle();
  expect((await put("player_id\nG\n")).status).toBe(409);
});

test("an agent gets a player's data with a link to all of it as a ZIP file, and a masked one gets no link", async () => {
  const { tenant } = service;
  const player = await service.call(
    "create_player",
    { email: "zip@example.com", first_name: "Zoe" },
    tenant.id,
  );
  const { data } = await ask("data_export", { playerId: player.id });
  expect(data).toMatchObject({ player: { first_name: "Zoe" }, expires_at: expect.any(String) });
  const file = await fetch(`${service.baseUrl}${pathOf(data.url)}`);
  expect(file.headers.get("content-type")).toBe("application/zip");
  const files = unzipSync(new Uint8Array(await file.arrayBuffer()));
  expect(JSON.parse(strFromU8(files["player.json"]!))).toMatchObject({ first_name: "Zoe" });
  expect(await audited("data_export")).toHaveLength(2);
  const masked = await service.call(
    "create_api_key",
    { property_id: tenant.id, name: "masked", pii_masked: true },
    tenant.id,
  );
  expect((await ask("data_export", { playerId: player.id }, masked.api_key)).data.url).toBeUndefined();
});

describe("the links of a person open nothing any more", () => {
  type Person = Awaited<ReturnType<TestService["signIn"]>>;
  const as = ({ token }: Person) => ({ "X-Api-Key": null, Authorization: `Bearer ${token}` });
  const role = (person: Person, name: string) =>
    service.call("grant_membership", { property_id: service.tenant.id, user_id: person.id, role: name });

  /** The answers of a person's download link and upload link, before and after the change. */
  async function linksAround(change: (person: Person) => Promise<unknown>) {
    const person = await service.signIn({ role: "manager" });
    const { data: file } = await askWith(as(person), "export_players", {});
    const { data: place } = await askWith(as(person), "create_upload_link", {});
    const fetched = async () => (await service.get(pathOf(file.url), NOBODY)).status;
    expect(await fetched()).toBe(200);
    await change(person);
    const body = Buffer.from("player_id\nP1\n");
    const headers = { ...NOBODY, "Content-Type": "text/csv" };
    const put = await service.request("PUT", pathOf(place.url), { body, headers });
    return { download: await fetched(), upload: put.status };
  }

  test("once they have left the property", async () => {
    const input = (person: Person) => ({ property_id: service.tenant.id, user_id: person.id });
    const links = await linksAround((person) => service.call("revoke_membership", input(person)));
    expect(links).toEqual({ download: 404, upload: 404 });
  });

  test("once their account is off", async () => {
    const links = await linksAround(({ id }) =>
      service.call("update_user", { user_id: id, is_active: false }),
    );
    expect(links).toEqual({ download: 404, upload: 404 });
  });

  test("once they have signed out, or have another password", async () => {
    const out = await linksAround(({ token }) => service.call("logout", { token }));
    expect(out).toEqual({ download: 404, upload: 404 });
    const password = "a new and long sentence";
    const changed = await linksAround(({ id }) => service.call("update_user", { user_id: id, password }));
    expect(changed).toEqual({ download: 404, upload: 404 });
  });

  test("that their role does not allow since then", async () => {
    const links = await linksAround((person) => role(person, "analyst"));
    expect(links).toEqual({ download: 200, upload: 404 });
    await service.call("update_property", { propertyId: service.tenant.id, mask_for_analysts: true });
    const masked = await linksAround((person) => role(person, "analyst"));
    await service.call("update_property", { propertyId: service.tenant.id, mask_for_analysts: false });
    expect(masked).toEqual({ download: 403, upload: 404 });
  });
});
