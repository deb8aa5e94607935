import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type House, startHouse } from "../support/house.ts";
import { refused } from "./answers.ts";

let house: House;
let player: string;
let next = 2000;
beforeAll(async () => {
  house = await startHouse();
  player = (await house.post("/api/players", { email: "ann@example.com" })).body.id;
});
afterAll(() => house?.stop());

const consent = (input: object) =>
  house.post("/api/functions/consent-record", {
    propertyId: house.tenant.id,
    playerId: player,
    channel: "email",
    consentGiven: true,
    ...input,
  });

describe("an address", () => {
  test("that is not percent-encoded UTF-8 is refused, and never read as another", async () => {
    await house.post("/api/players", { tier: "\ufffd" });
    for (const query of [
      "tier.eq=%ff",
      "tier.eq=%c3%28",
      "tier.eq=%ed%a0%80",
      "tier.eq=%",
      "tier.eq=%zz",
      "%ff.eq=1",
    ]) {
      await refused(400, "invalid", house.get(`/api/players?${query}`));
      await refused(400, "invalid", house.request("DELETE", `/api/players?${query}`));
    }
    await refused(400, "invalid", house.get("/api/players/%ff"));
    await refused(400, "invalid", house.get("/api/%c3%28"));
    expect((await house.get("/api/players?tier.eq=%EF%BF%BD")).body).toHaveLength(1);
    expect((await house.get("/api/players?email.ilike=%25ANN%25")).body).toHaveLength(1);
  });
});

describe("a list of values", () => {
  test("whose quote is not closed is refused", async () => {
    for (const list of ['("a)', '("a,b)', '(a,"b)', '"a', '("a\\")']) {
      await refused(400, "invalid", house.get(`/api/players?tier.in=${encodeURIComponent(list)}`));
    }
    for (const list of ['("a")', '("a,b","c")', '(a"b)', '("a\\"")']) {
      expect((await house.get(`/api/players?tier.in=${encodeURIComponent(list)}`)).status, list).toBe(200);
    }
  });

  test("of is takes its words in any case, alone and in a group", async () => {
    for (const word of ["NULL", "Null", "not_null", "NOT_NULL"]) {
      expect((await house.get(`/api/players?tier.is=${word}`)).status, word).toBe(200);
      expect((await house.get(`/api/players?or=(tier.is.${word},adt.is.${word})`)).status, word).toBe(200);
    }
    for (const word of ["TRUE", "False", "UNKNOWN"]) {
      expect((await house.get(`/api/players?legal_hold=is.${word}`)).status, word).toBe(200);
    }
  });
});

test("a body in another charset than UTF-8 is not guessed at", async () => {
  const send = (type: string) => house.post("/api/players", '{"tier":"Gold"}', { "Content-Type": type });
  for (const charset of ["iso-8859-1", '"utf-16"', "windows-1252", "UTF-7"]) {
    await refused(415, "unsupported_media_type", send(`application/json; charset=${charset}`));
    await refused(
      415,
      "unsupported_media_type",
      house.post("/api/import_jobs", "player_id\n1\n", { "Content-Type": `text/csv; charset=${charset}` }),
    );
  }
  for (const charset of ["utf-8", "UTF-8", '"utf-8"', "utf8"]) {
    expect((await send(`application/json; charset=${charset}`)).status).toBe(201);
  }
});

describe("a form with a file", () => {
  const form = (...parts: string[]) =>
    house.post("/api/import_jobs", `${parts.map((part) => `--x\r\n${part}\r\n`).join("")}--x--\r\n`, {
      "Content-Type": "multipart/form-data; boundary=x",
    });
  const file = (name = "p.csv") =>
    `Content-Disposition: form-data; name="file"; filename="${name}"\r\nContent-Type: text/csv\r\n\r\nplayer_id\nF1`;
  const params = 'Content-Disposition: form-data; name="params"\r\n\r\n{}';

  test("is refused with params twice, a nameless part, or NUL in the filename", async () => {
    expect((await form(file(), params)).status).toBe(202);
    const said = async (answer: ReturnType<typeof form>) =>
      (await refused(400, "invalid", answer)).body.error as string;
    expect(await said(form(file(), params, params))).toContain("params once");
    expect(
      await said(form(params, params.replace('"params"', '"params"; filename="p.json"'), file())),
    ).toContain("params once");
    expect(await said(form(file(), "Content-Disposition: form-data\r\n\r\nlost"))).toContain("no name");
    expect(await said(form('Content-Disposition: form-data; filename="a"\r\n\r\nlost'))).toContain("no name");
    expect(await said(form(file("a\0b.csv")))).toContain("filename");
  });

  test("whose column has a name that reaches into objects is refused", async () => {
    for (const column of ["custom.__proto__", "custom.constructor", "__proto__"]) {
      const { body } = await house.post("/api/import_jobs", { csv: `player_id,${column}\nX1,5\n` });
      await house.idle();
      const { body: job } = await house.get(`/api/import_jobs/${body.id}`);
      expect(job, column).toMatchObject({ status: "failed", error: expect.stringContaining(column) });
    }
    expect((await house.get("/api/players?player_id.eq=X1")).body).toEqual([]);
  });
});

describe("a consent", () => {
  test("comes from an IP address, or from none", async () => {
    for (const ipAddress of ["", "localhost", "1.2.3", "1.2.3.4.5", "256.1.1.1", "<script>", "1.2.3.4 "]) {
      const { body } = await refused(400, "invalid", consent({ ipAddress }));
      expect(body.details[0].field).toBe("ipAddress");
    }
    for (const ipAddress of ["203.0.113.9", "2001:db8::9"])
      expect((await consent({ ipAddress })).status).toBe(200);
  });

  test("was given between 1900 and now", async () => {
    for (const occurredAt of ["0001-01-01T00:00:00Z", "1899-12-31T23:59:59Z", "2999-01-01T00:00:00Z"]) {
      const { body } = await refused(400, "invalid", consent({ occurredAt }));
      expect(body.details[0].field).toBe("occurredAt");
    }
    const revoke = (requestedAt: string) =>
      house.post("/api/functions/consent-revoke", {
        propertyId: house.tenant.id,
        playerId: player,
        requestedAt,
      });
    await refused(400, "invalid", revoke("0001-01-01T00:00:00Z"));
    expect((await consent({ occurredAt: "1950-01-01T00:00:00Z" })).status).toBe(200);
  });
});

describe("a do-not-call entry", () => {
  const entry = async () => (await house.post("/api/dnc_entries", { phone: `+1702555${next++}` })).body.id;

  test("is lifted by a manager with an audit row that says what it was, and by no key", async () => {
    const id = await entry();
    const { body: told } = await refused(403, "forbidden", house.request("DELETE", `/api/dnc_entries/${id}`));
    expect(told.error).toContain("admin or manager");
    await refused(403, "forbidden", house.request("DELETE", `/api/dnc_entries?id=eq.${id}`));
    const reading = { headers: { "X-Api-Key": house.tenant.readKey } };
    await refused(403, "insufficient_scope", house.request("DELETE", `/api/dnc_entries/${id}`, reading));
    const analyst = await house.signIn({ role: "analyst" });
    const as = (token: string) => ({ headers: { "X-Api-Key": null, Authorization: `Bearer ${token}` } });
    expect((await house.request("DELETE", `/api/dnc_entries/${id}`, as(analyst.token))).status).toBe(403);
    expect((await house.get(`/api/dnc_entries/${id}`)).status).toBe(200);
    const manager = await house.signIn({ role: "manager" });
    expect((await house.request("DELETE", `/api/dnc_entries/${id}`, as(manager.token))).status).toBe(200);
    const { body } = await house.get(`/api/audit_logs?entity_id.eq=${id}&action.eq=delete_dnc_entry`);
    expect(body).toMatchObject([{ actor_type: "user", actor_id: manager.id, diff: { list: "internal" } }]);
  });

  test("cannot be made to end by a key either", async () => {
    const id = await entry();
    const patch = (expires_at: string | null) =>
      house.request("PATCH", `/api/dnc_entries/${id}`, { body: { expires_at } });
    await refused(403, "forbidden", patch("2020-01-01T00:00:00Z"));
    await refused(403, "forbidden", patch("2099-01-01T00:00:00Z"));
    expect((await patch(null)).status).toBe(200);
    expect((await house.get(`/api/dnc_entries/${id}`)).body.expires_at).toBeNull();
  });
});

test("an agent that begins with the wrong words is told that its parameters are wrong", async () => {
  const begin = (params: unknown) =>
    house.post(
      "/api/mcp",
      { jsonrpc: "2.0", id: 7, method: "initialize", params },
      { Accept: "application/json, text/event-stream" },
    );
  const client = { name: "c", version: "1" };
  for (const params of [
    undefined,
    {},
    { protocolVersion: 5, capabilities: {}, clientInfo: client },
    { protocolVersion: "2025-11-25", clientInfo: client },
    { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: {} },
  ]) {
    expect((await begin(params)).body).toMatchObject({ id: 7, error: { code: -32602 } });
  }
  const good = await begin({ protocolVersion: "2025-11-25", capabilities: {}, clientInfo: client });
  expect(good.body.result).toMatchObject({ protocolVersion: "2025-11-25" });
});
