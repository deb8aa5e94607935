import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { refused } from "../../support/answers.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());

const names = async () => (await service.get("/api/templates?select=name&order=name")).body;

describe("a filter without =", () => {
  const bare = [
    "name.neq.A",
    "name.like.Tdot*",
    "name.neq",
    "name.not.eq.A",
    "name.neq.A=",
    "name.eq.A=true",
  ];

  test.each(bare)("%s is refused by every verb, and changes nothing", async (filter) => {
    if ((await names()).length === 0) {
      for (const name of ["TdotA", "TdotB"]) {
        expect((await service.post("/api/templates", { name, html: "<p>x</p>" })).status).toBe(201);
      }
    }
    const address = `/api/templates?name.like=Tdot*&${filter}`;
    const { body } = await refused(400, "invalid", service.get(address));
    expect(body.details[0].message).toMatch(/has no "="|behind the operator/);
    await refused(400, "invalid", service.request("DELETE", address));
    await refused(400, "invalid", service.request("PATCH", address, { body: { subject: "x" } }));
    expect(await names()).toEqual([{ name: "TdotA" }, { name: "TdotB" }]);
  });

  test("is refused of an agent too", async () => {
    const { isError, text } = await listed({ "tier.neq.Gold": "" });
    expect([isError, text]).toEqual([true, expect.stringContaining("such as tier.neq=Gold")]);
  });
});

/** list_players over MCP. */
async function listed(filters: object) {
  const { body } = await service.post(
    "/api/mcp",
    { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "list_players", arguments: { filters } } },
    { accept: "application/json, text/event-stream" },
  );
  const { isError = false, structuredContent, content } = body.result;
  return {
    isError,
    text: content[0].text as string,
    ids: (structuredContent.rows ?? []).map(
      (row: unknown[]) => row[structuredContent.columns.indexOf("player_id")],
    ),
    warnings: structuredContent.warnings,
  };
}

describe("a list of values", () => {
  beforeAll(async () => {
    for (const [player_id, tier, tags] of [
      ["l1", "Gold", ["a,b"]],
      ["l2", 'Si"lver', ["c"]],
      ["l3", "Bronze", []],
    ]) {
      await service.post("/api/players", { player_id, tier, tags });
    }
  });

  test.each([
    [{ "tier.in": ["Gold", 'Si"lver'] }, ["l1", "l2"]],
    [{ "tier.eq": ["Gold", "Bronze"] }, ["l1", "l3"]],
    [{ "tier.neq": ["Gold", "Bronze"] }, ["l2"]],
    [{ "tier.not.in": ["Gold"] }, ["l2", "l3"]],
    [{ "tags.ov": ["a,b", "c"] }, ["l1", "l2"]],
    [{ "tier.in": [] }, []],
  ])("of %j finds %j", async (filters, expected) => {
    const { isError, ids } = await listed(filters);
    expect([isError, ids.sort()]).toEqual([false, expected]);
  });

  test.each([[{ "adt.gt": ["1", "2"] }], [{ tier: ["eq.Gold"] }]])("%j is refused", async (filters) => {
    const { isError, text } = await listed(filters);
    expect([isError, text]).toEqual([true, expect.stringContaining("a list goes with in")]);
  });

  test("stands in an address as a key given twice, and both hold", async () => {
    const { body } = await service.get(
      "/api/players?tier.in=(Gold,Bronze)&tier.in=(Bronze)&select=player_id",
    );
    expect(body).toEqual([{ player_id: "l3" }]);
  });
});

describe("a value that no record can have", () => {
  beforeAll(async () => {
    await service.post("/api/players", {
      ...{ player_id: "v1", email: "Aud.One@Example.com", phone: "(702) 555-0199" },
      ...{ state: "Nevada", country: "us", tier: "Platinum", tags: ["slots"] },
    });
  });

  test.each([
    "email.eq=Aud.One@EXAMPLE.com",
    "email=in.(x@example.com,AUD.one@example.com)",
    "phone.eq=+17025550199",
    "phone.eq=702-555-0199",
    "phone_e164.eq=(702) 555-0199",
    "state.eq=Nevada&player_id.eq=v1",
    "country.eq=us&player_id.eq=v1",
    "status.eq=ACTIVE&player_id.eq=v1",
    "or=(phone.eq.7025550199,email.eq.none@example.com)",
  ])("%s is compared in the form in which it is stored", async (query) => {
    const { body } = await service.get(`/api/players?select=player_id&${query}`);
    expect(body).toEqual([{ player_id: "v1" }]);
  });

  test.each([
    ["/api/players?status.eq=actve", /"actve" is not one of active, inactive/],
    ["/api/import_jobs?status.eq=done", /queued, processing, completed, failed/],
    ["/api/players?email.eq=aud.one", /not an email address/],
    ["/api/players?phone.neq=12", /not a possible phone number/],
    ["/api/players?country.eq=ZZ", /ISO 3166/],
    ["/api/suppressions?address.eq=x", /email address or a possible phone/],
  ])("%s is refused with what there is", async (address, said) => {
    const { body } = await refused(400, "invalid", service.get(address));
    expect(body.error).toMatch(said);
  });

  test("tells an agent which values the property has", async () => {
    expect((await listed({ "tier.eq": "gold", "player_id.eq": "v1" })).warnings).toEqual([
      'tier: nothing here has "gold"; there are "Bronze", "Gold", "Platinum", "Si\\"lver".',
    ]);
    expect((await listed({ "tags.cs": ["slotz"] })).warnings[0]).toContain('there are "a,b", "c", "slots"');
    expect((await listed({ "state.in": ["California"] })).warnings).toEqual([
      'state: nothing here has "CA"; there are "NV".',
    ]);
    expect((await listed({ "tier.eq": "Gold", "player_id.eq": "v1" })).warnings).toEqual([]);
  });

  test("tells a program the same in a header, which leaves the list a list", async () => {
    const at = async (query: string) => {
      const { status, body, headers } = await service.get(`/api/players?${query}`);
      const said = headers.get("X-Warnings");
      return [status, body.length, said && JSON.parse(said)];
    };
    expect(await at("tier.eq=gold")).toEqual([
      200,
      0,
      ['tier: nothing here has "gold"; there are "Bronze", "Gold", "Platinum", "Si\\"lver".'],
    ]);
    expect(await at("tags.cs={\u00e9\u{1f3b0}}")).toEqual([200, 0, [expect.stringContaining('"é🎰"')]]);
    expect(await at("tier.eq=Gold&limit=1")).toEqual([200, 1, null]);
  });
});

test("a misspelt column, operator or option is reported with the likely one", async () => {
  for (const [address, near] of [
    ["/api/players?last_visit.is=null", "did you mean last_visit_at?"],
    ["/api/players?select=emial", "did you mean email?"],
    ["/api/players?order=coin_im.desc", "did you mean coin_in?"],
    ["/api/players?tier.EQ=Gold", "did you mean eq?"],
  ] as const) {
    const { body } = await refused(400, "invalid", service.get(address));
    expect(body.error, address).toContain(near);
  }
});

test("cuts a sentence that is longer than a header may be", async () => {
  const tags = Array.from({ length: 20 }, (_, n) => `${"\u{1f3b0}".repeat(25)}${n}`);
  await service.post("/api/players", { player_id: "many-tags", tags });
  const { headers } = await service.get("/api/players?tags.cs={slotz}");
  expect(headers.get("X-Warnings")!.length).toBeLessThanOrEqual(4_000);
  expect(JSON.parse(headers.get("X-Warnings")!)).toEqual([
    expect.stringMatching(/^tags: nothing here has "slotz"; there are .*…$/),
  ]);
});
