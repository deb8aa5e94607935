import { randomUUID } from "node:crypto";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CATALOG } from "#tools/catalog.ts";
import { onceOverMcp } from "../../support/operation-calls.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
let other: TestService["tenant"];
let admin: postgres.Sql;
beforeAll(async () => {
  // Without a worker: a campaign that is queued stays queued.
  service = await startService({ role: "web" });
  other = await service.newTenant();
  admin = postgres(service.database.url, { max: 1, onnotice: () => {} });
});
afterAll(async () => {
  await admin?.end();
  await service?.stop();
});

type Asked = Record<string, unknown>;

const tool = (name: string, input: Asked, key = service.tenant.key) =>
  onceOverMcp(service, CATALOG.operations.get(name)!, input, { "X-Api-Key": key });

async function player(values: Asked = {}, consents = true): Promise<string> {
  const name = randomUUID().slice(0, 8);
  const made = await service.post("/api/players", { email: `${name}@example.com`, ...values });
  if (consents) {
    await service.post("/api/functions/consent-record", {
      propertyId: service.tenant.id,
      playerId: made.body.id,
      channel: "email",
      consentGiven: true,
    });
  }
  return made.body.id;
}

/** A campaign for the players of a tier of its own: two who may be written to, and one who may not. */
async function campaign(): Promise<{ id: string; tier: string; segment: string }> {
  const tier = `T-${randomUUID().slice(0, 8)}`;
  await player({ tier });
  await player({ tier });
  await player({ tier }, false);
  const segment = await service.post("/api/segments", {
    name: tier,
    conditions: [{ field: "tier", operator: "eq", value: tier }],
  });
  const made = await service.post("/api/campaigns", {
    name: tier,
    channel: "email",
    segment_id: segment.body.id,
    subject: "Hello",
    body_html: "<p>An offer</p>",
  });
  expect(made.status, made.text).toBe(201);
  return { id: made.body.id, tier, segment: segment.body.id };
}

const statusOf = async (id: string) => (await service.get(`/api/campaigns/${id}`)).body.status;

async function previewOf(name: string, input: Asked): Promise<string> {
  const { data, isError } = await tool(name, input);
  expect(isError, JSON.stringify(data)).toBe(false);
  expect(data).toMatchObject({ confirmation_required: true, dry_run: true });
  return data.confirm_token as string;
}

describe("an operation that reaches people", () => {
  test("is shown with its arguments under the names that the agent gave them", async () => {
    const { id } = await campaign();
    const messageOf = async (input: Asked) => (await tool("send_campaign", input)).data.message;
    expect(await messageOf({ campaign_id: id })).toContain(`send_campaign {"campaign_id":"${id}"}`);
    expect(await messageOf({ campaignId: id })).toContain(`send_campaign {"campaignId":"${id}"}`);
  });

  test("is shown first, as a dry run shows it, and done by the call that confirms it", async () => {
    const { id } = await campaign();
    const input = { campaignId: id };
    const { data } = await tool("send_campaign", input);
    const { confirmation_required, confirm_token, confirm_by, message, ...preview } = data;
    const dry = await tool("send_campaign", { ...input, dry_run: true });
    // A call that only asks has not succeeded.
    const { success: _, ...tried } = dry.data;
    expect(preview).toEqual(tried);
    expect(message).toContain("not done yet");
    expect(message).toContain(`confirm_token = ${confirm_token}`);
    expect(preview).toMatchObject({ preflight: { audience: 3, allowed: 2, blocked: { no_consent: 1 } } });
    expect(confirmation_required).toBe(true);
    const minutes = (Date.parse(confirm_by as string) - Date.now()) / 60_000;
    expect(minutes).toBeGreaterThan(9);
    expect(minutes).toBeLessThan(11);
    expect(await statusOf(id)).toBe("draft");
    const done = await tool("send_campaign", { ...input, dry_run: false, confirm_token });
    expect(done.data).toMatchObject({
      success: true,
      campaign: { status: "queued" },
      audit_id: expect.any(String),
    });
    expect(await statusOf(id)).toBe("queued");
  });

  test("says in its text how many, who is left out and how to go on", async () => {
    const { id } = await campaign();
    const { body } = await service.request("POST", "/api/mcp", {
      body: {
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: { name: "send_campaign", arguments: { campaignId: id } },
      },
      headers: { Accept: "application/json, text/event-stream" },
    });
    const { content, structuredContent, isError } = body.result;
    expect(isError).toBeUndefined();
    expect(content[0].text).toContain("not done yet");
    expect(content[0].text).toContain("2 of 3 players. Left out: no_consent 1.");
    expect(content[0].text).toContain("It would cost nothing.");
    expect(content[0].text).toContain(`confirm_token = ${structuredContent.confirm_token}`);
  });

  test("shows a key that is masked its samples without names and addresses", async () => {
    const tier = `T-${randomUUID().slice(0, 8)}`;
    await player({ tier, first_name: "Zeldabeth", email: `zeldabeth.${tier.toLowerCase()}@example.com` });
    const conditions = [{ field: "tier", operator: "eq", value: tier }];
    const made = await service.post("/api/campaigns", {
      name: tier,
      channel: "email",
      conditions,
      subject: "Dear {{ first_name }}",
      body_html: "<p>To {{ email }}, who is {{ player.first_name }}</p>",
    });
    const { api_key } = await service.call("create_api_key", {
      property_id: service.tenant.id,
      name: "masked",
      pii_masked: true,
    });
    const open = await tool("send_campaign", { campaignId: made.body.id });
    expect(JSON.stringify(open.data)).toContain("Dear Zeldabeth");
    const { data } = await tool("send_campaign", { campaignId: made.body.id }, api_key);
    expect(data).toMatchObject({ preflight: { sample_renders: [{ subject: "Dear Z•••" }] } });
    expect(JSON.stringify(data)).not.toMatch(/zeldabeth/i);
    const checked = await tool("preflight_campaign", { campaignId: made.body.id }, api_key);
    expect(JSON.stringify(checked.data)).not.toMatch(/zeldabeth/i);
  });

  test("is refused at once, in the same words, where the call itself would be", async () => {
    const { id } = await campaign();
    await service.request("PATCH", `/api/campaigns/${id}`, { body: { subject: null } });
    const body = { campaignId: id, propertyId: service.tenant.id };
    const rest = await service.post("/api/functions/send-campaign", body);
    const { isError, data } = await tool("send_campaign", { campaignId: id });
    expect([isError, data.code, data.message]).toEqual([true, "invalid", rest.body.error]);
    const dry = await tool("send_campaign", { campaignId: id, dry_run: true });
    expect(dry.data).toMatchObject({ dry_run: true, preflight: { ok: false } });
  });

  test("acts at once over REST, which knows no token", async () => {
    const { id } = await campaign();
    const body = { campaignId: id, propertyId: service.tenant.id };
    const refused = await service.post("/api/functions/send-campaign", { ...body, confirm_token: "x" });
    expect([refused.status, refused.body.error]).toEqual([400, expect.stringContaining("confirm_token")]);
    expect((await service.post("/api/functions/send-campaign", body)).status).toBe(200);
    expect(await statusOf(id)).toBe("queued");
  });
});

describe("an operation that cannot be taken back", () => {
  test("is shown first, and done by the call that confirms it, through call_tool too", async () => {
    const id = await player();
    const through = (input: Asked) =>
      service.request("POST", "/api/mcp", {
        body: {
          jsonrpc: "2.0",
          id: 1,
          method: "tools/call",
          params: {
            name: "call_tool",
            arguments: { name: "create_self_exclusion", arguments: { player_id: id, ...input } },
          },
        },
        headers: { Accept: "application/json, text/event-stream" },
      });
    const first = (await through({})).body.result.structuredContent;
    expect(first).toMatchObject({ confirmation_required: true, dry_run: true });
    expect((await service.get(`/api/self_exclusions?player_id=eq.${id}`)).body).toEqual([]);
    const done = (await through({ confirm_token: first.confirm_token })).body.result.structuredContent;
    expect(done).toMatchObject({ player_id: id, audit_id: expect.any(String) });
    expect((await service.get(`/api/self_exclusions?player_id=eq.${id}`)).body).toHaveLength(1);
  });

  test("is refused at the preview where it would be refused anyway", async () => {
    const { data, isError } = await tool("delete_player", { id: randomUUID() });
    expect([isError, data.code]).toEqual([true, "not_found"]);
  });
});

test("call_tool says where a token belongs that stands beside the arguments", async () => {
  const id = await player();
  const confirm_token = await previewOf("delete_player", { id });
  const through = async (given: Asked) => {
    const params = { name: "call_tool", arguments: { name: "delete_player", ...given } };
    const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
    const headers = { Accept: "application/json, text/event-stream" };
    return (await service.post("/api/mcp", message, headers)).body.result;
  };
  const { isError, structuredContent: data } = await through({ arguments: { id }, confirm_token });
  expect([isError, data.details]).toEqual([
    true,
    [{ field: "arguments.confirm_token", message: "stands beside the arguments, and belongs inside" }],
  ]);
  expect(data.suggestion).not.toContain("without confirm_token");
  const done = await through({ arguments: { id, confirm_token } });
  expect(done.isError, JSON.stringify(done)).toBeFalsy();
  expect((await service.get(`/api/players/${id}`)).status).toBe(404);
});

describe("a token", () => {
  const refusal = async (name: string, input: Asked, key?: string) => {
    const { isError, data } = await tool(name, input, key);
    expect(isError, JSON.stringify(data)).toBe(true);
    expect(data).toMatchObject({ code: "invalid", retryable: false, details: [{ field: "confirm_token" }] });
    expect(data.suggestion).toContain("without confirm_token");
    return String(data.message);
  };

  test("does one thing once", async () => {
    const id = await player();
    const confirm_token = await previewOf("delete_player", { id });
    expect((await tool("delete_player", { id, confirm_token })).isError).toBe(false);
    expect(await refusal("delete_player", { id, confirm_token })).toContain("has been used");
  });

  test("that many use at once is used by one", async () => {
    const player_id = await player();
    const confirm_token = await previewOf("create_self_exclusion", { player_id });
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => tool("create_self_exclusion", { player_id, confirm_token })),
    );
    expect(answers.filter(({ isError }) => !isError)).toHaveLength(1);
    expect((await service.get(`/api/self_exclusions?player_id=eq.${player_id}`)).body).toHaveLength(1);
  });

  test("is not used up by a call that fails", async () => {
    const { id } = await campaign();
    const input = { campaignId: id };
    const confirm_token = await previewOf("send_campaign", input);
    await admin`update campaigns set status = 'cancelled' where id = ${id}`;
    const refused = await tool("send_campaign", { ...input, confirm_token });
    expect(refused.data).toMatchObject({ code: "conflict" });
    await admin`update campaigns set status = 'draft' where id = ${id}`;
    expect((await tool("send_campaign", { ...input, confirm_token })).isError).toBe(false);
  });

  test("confirms no other arguments, no other tool and no other property's", async () => {
    const [one, two] = [await player(), await player()];
    const confirm_token = await previewOf("delete_player", { id: one });
    expect(await refusal("delete_player", { id: two, confirm_token })).toContain("other arguments");
    expect(await refusal("create_self_exclusion", { player_id: one, confirm_token })).toContain(
      "delete_player",
    );
    // The same arguments, of another tool.
    expect(await refusal("delete_template", { id: one, confirm_token })).toContain("delete_player");
    expect(await refusal("delete_player", { id: one, confirm_token }, other.key)).toContain("not known here");
    expect(await refusal("delete_player", { id: one, confirm_token: "made-up" })).toContain("not known here");
    expect(await refusal("delete_player", { id: one, confirm_token: 7 })).toContain(
      "must be the confirm_token of the preview",
    );
    expect((await tool("delete_player", { id: one, confirm_token })).isError).toBe(false);
    expect((await service.get(`/api/players/${two}`)).status).toBe(200);
  });

  test("expires by the database's clock", async () => {
    const id = await player();
    const confirm_token = await previewOf("delete_player", { id });
    await admin`update agent_confirmations set expires_at = now() - interval '1 second' where used_at is null`;
    expect(await refusal("delete_player", { id, confirm_token })).toContain("expired");
  });

  test("is kept as a hash alone", async () => {
    const id = await player();
    const confirm_token = await previewOf("delete_player", { id });
    const rows = await admin<{ text: string }[]>`select c::text as text from agent_confirmations c`;
    expect(rows.map(({ text }) => text).join()).not.toContain(confirm_token);
  });
});

describe("a change since the preview", () => {
  test.each([
    ["its audience has grown", async ({ tier }: Made) => void (await player({ tier }))],
    [
      "its content is another",
      ({ id }: Made) =>
        service.request("PATCH", `/api/campaigns/${id}`, { body: { body_html: "<p>Another offer</p>" } }),
    ],
    [
      "its segment has other rules",
      ({ segment, tier }: Made) =>
        service.request("PATCH", `/api/segments/${segment}`, {
          body: { conditions: [{ field: "tier", operator: "in", value: [tier] }] },
        }),
    ],
  ])("is shown anew, and not done, when %s", async (_, change) => {
    const made = await campaign();
    const input = { campaignId: made.id };
    const confirm_token = await previewOf("send_campaign", input);
    await change(made);
    const again = await tool("send_campaign", { ...input, confirm_token });
    expect(again).toMatchObject({ isError: false, data: { confirmation_required: true, dry_run: true } });
    expect(await statusOf(made.id)).toBe("draft");
    const next = again.data.confirm_token;
    expect(next).not.toBe(confirm_token);
    const done = await tool("send_campaign", { ...input, confirm_token: next });
    expect(done.data).toMatchObject({ campaign: { status: "queued" } });
  });
  test("is shown anew when a paused campaign is to go on with other content", async () => {
    const { id } = await campaign();
    await admin`update campaigns set status = 'paused', started_at = now() where id = ${id}`;
    const confirm_token = await previewOf("resume_campaign", { campaignId: id });
    await service.request("PATCH", `/api/campaigns/${id}`, { body: { subject: "Another" } });
    const again = await tool("resume_campaign", { campaignId: id, confirm_token });
    expect(again.data).toMatchObject({ confirmation_required: true });
    expect(await statusOf(id)).toBe("paused");
    const next = { campaignId: id, confirm_token: again.data.confirm_token };
    expect((await tool("resume_campaign", next)).data).toMatchObject({ campaign: { status: "sending" } });
  });
  type Made = Awaited<ReturnType<typeof campaign>>;
});

describe("an idempotency key", () => {
  test("replays what was done without asking again, whether or not the token comes with it", async () => {
    const id = await player();
    const input = { id, idempotency_key: `k-${id}` };
    const confirm_token = await previewOf("delete_player", input);
    const done = await tool("delete_player", { ...input, confirm_token });
    expect(done.data).toMatchObject({ success: true });
    for (const again of [input, { ...input, confirm_token }]) {
      expect((await tool("delete_player", again)).data).toMatchObject({ success: true, replayed: true });
    }
    const reused = await tool("delete_player", { id: randomUUID(), idempotency_key: `k-${id}` });
    expect(reused.data).toMatchObject({ code: "idempotency_key_reused" });
  });

  test("is not consumed by the preview, nor by a token that is refused", async () => {
    const { id } = await campaign();
    const input = { campaignId: id, idempotency_key: `k-${id}` };
    await previewOf("send_campaign", input);
    expect((await tool("send_campaign", { ...input, confirm_token: "wrong" })).isError).toBe(true);
    const confirm_token = await previewOf("send_campaign", input);
    const [one, two] = await Promise.all([
      tool("send_campaign", { ...input, confirm_token }),
      tool("send_campaign", { ...input, confirm_token }),
    ]);
    expect([one, two].map(({ isError }) => isError)).toEqual([false, false]);
    expect([one, two].filter(({ data }) => data.replayed)).toHaveLength(1);
  });
});

describe("preflight_campaign", () => {
  test("gives the token with which the same campaign is sent", async () => {
    const [one, two] = [await campaign(), await campaign()];
    const { data } = await tool("preflight_campaign", { campaignId: one.id });
    const { confirm_token } = data;
    expect(confirm_token).toEqual(expect.any(String));
    const wrong = await tool("send_campaign", { campaignId: two.id, confirm_token });
    expect(wrong.data).toMatchObject({ confirmation_required: true });
    expect(await statusOf(two.id)).toBe("draft");
    const foreign = await tool("delete_campaign", { id: one.id, confirm_token });
    expect(foreign).toMatchObject({ isError: true, data: { code: "invalid" } });
    const done = await tool("send_campaign", { campaignId: one.id, confirm_token });
    expect(done.data).toMatchObject({ campaign: { status: "queued" } });
  });

  test("gives no token for a time that it has not shown: scheduling is shown by itself", async () => {
    const { id, segment } = await campaign();
    const { data } = await tool("preflight_campaign", { campaignId: id });
    const { confirm_token } = data;
    const input = { campaign_id: id, scheduled_at: "2036-01-01T20:00:00Z", segment_id: segment };
    const shown = await tool("schedule_campaign", { ...input, confirm_token });
    expect(shown.data).toMatchObject({ confirmation_required: true });
    expect(shown.data.message).toContain("Tue, Jan 1, 2036, 15:00 (America/New_York)");
    expect(await statusOf(id)).toBe("draft");
    const token = { confirm_token: shown.data.confirm_token };
    expect((await tool("schedule_campaign", { ...input, ...token })).data).toMatchObject({
      campaign: { status: "scheduled" },
    });
  });

  test("gives none over REST, to a key that only reads, and of what cannot be sent", async () => {
    const { id } = await campaign();
    const body = { campaignId: id, propertyId: service.tenant.id };
    expect((await service.post("/api/functions/preflight-campaign", body)).body.confirm_token).toBeNull();
    const read = await tool("preflight_campaign", { campaignId: id }, service.tenant.readKey);
    expect(read.data).toMatchObject({ ok: true, confirm_token: null });
    await service.request("PATCH", `/api/campaigns/${id}`, { body: { subject: null } });
    const broken = await tool("preflight_campaign", { campaignId: id });
    expect(broken.data).toMatchObject({ ok: false, confirm_token: null });
  });
});

describe("agent_confirmation", () => {
  test("off, of a key, lets its agent act at once", async () => {
    const { api_key } = await service.call("create_api_key", {
      property_id: service.tenant.id,
      name: "autopilot",
      agent_confirmation: "off",
    });
    const { id } = await campaign();
    expect((await tool("preflight_campaign", { campaignId: id }, api_key)).data).toMatchObject({
      confirm_token: null,
    });
    expect((await tool("send_campaign", { campaignId: id }, api_key)).data).toMatchObject({
      campaign: { status: "queued" },
    });
    expect(await previewOf("delete_player", { id: await player() })).toEqual(expect.any(String));
  });

  test("off, of a property, lets all its agents act at once, and on again asks again", async () => {
    const { id: propertyId, key } = await service.newTenant({ agent_confirmation: "off" });
    const gone = async () => {
      const made = await service.post("/api/players", {}, { "X-Api-Key": key });
      return (await tool("delete_player", { id: made.body.id }, key)).data;
    };
    expect(await gone()).toMatchObject({ success: true, audit_id: expect.any(String) });
    await service.call("update_property", { propertyId, agent_confirmation: "on" });
    expect(await gone()).toMatchObject({ confirmation_required: true });
  });

  test("is loosened by no agent, for no person", async () => {
    const { token } = await service.signIn({ platformAdmin: true });
    const headers = { "X-Api-Key": null, Authorization: `Bearer ${token}` };
    const attempts: [string, Asked][] = [
      ["update_property", { propertyId: service.tenant.id }],
      ["create_api_key", { property_id: service.tenant.id, name: "loose" }],
      ["create_property", { name: "Loose", slug: "loose" }],
    ];
    for (const [name, input] of attempts) {
      const operation = CATALOG.operations.get(name)!;
      const off = { ...input, agent_confirmation: "off" };
      const told = await onceOverMcp(service, operation, off, headers);
      expect(told, name).toMatchObject({ isError: true, data: { code: "forbidden" } });
      const byKey = await tool(name, off);
      expect(byKey.isError, name).toBe(true);
    }
    const [property] = await admin`select agent_confirmation from properties where id = ${service.tenant.id}`;
    expect(property).toEqual({ agent_confirmation: "on" });
  });
});

describe("a client that can ask its human", () => {
  async function asking(answer: "accept" | "decline" | "cancel" | "unticked") {
    const client = new Client(
      { name: "desk", version: "1.0.0" },
      { versionNegotiation: { mode: { pin: "2026-07-28" } }, capabilities: { elicitation: { form: {} } } },
    );
    const asked: string[] = [];
    client.setRequestHandler("elicitation/create", ({ params }) => {
      asked.push(params.message);
      if (answer === "unticked") return { action: "accept" as const, content: { confirm: false } };
      return { action: answer, ...(answer === "accept" && { content: { confirm: true } }) };
    });
    const requestInit = { headers: { "X-Api-Key": service.tenant.key } };
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`${service.baseUrl}/api/mcp`), { requestInit }),
    );
    return { client, asked };
  }

  test("has it asked in words that say what would happen, and does it when they agree", async () => {
    const { client, asked } = await asking("accept");
    const { id } = await campaign();
    const told = await client.callTool({ name: "send_campaign", arguments: { campaignId: id } });
    expect(told.structuredContent).toMatchObject({ campaign: { status: "queued" } });
    expect(asked).toHaveLength(1);
    expect(asked[0]).toContain("2 of 3 players. Left out: no_consent 1.");
    expect(asked[0]).toContain(id);
    expect(asked[0]).toContain('One message of them: "Hello"');
    await client.close();
  });

  test.each(["decline", "cancel", "unticked"] as const)("does nothing when they %s", async (answer) => {
    const { client, asked } = await asking(answer);
    const { id } = await campaign();
    const told = await client.callTool({ name: "send_campaign", arguments: { campaignId: id } });
    expect(told).toMatchObject({ isError: true, structuredContent: { code: "declined" } });
    expect(asked).toHaveLength(1);
    expect(await statusOf(id)).toBe("draft");
    await client.close();
  });

  test("has it asked though the agent has a token from elsewhere", async () => {
    const { client, asked } = await asking("decline");
    const { id } = await campaign();
    const { data } = await tool("preflight_campaign", { campaignId: id });
    const checked = await client.callTool({ name: "preflight_campaign", arguments: { campaignId: id } });
    expect(checked.structuredContent).toMatchObject({ ok: true, confirm_token: null });
    const input = { campaignId: id, confirm_token: data.confirm_token };
    const told = await client.callTool({ name: "send_campaign", arguments: input });
    expect(told).toMatchObject({ isError: true, structuredContent: { code: "declined" } });
    expect(asked).toHaveLength(1);
    expect(await statusOf(id)).toBe("draft");
    await client.close();
  });
});

/** send_campaign on the wire of a client of the newest revision. */
async function sending(asked: object, capabilities: object) {
  const params = {
    name: "send_campaign",
    ...asked,
    _meta: {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "agent", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": capabilities,
    },
  };
  const { body } = await service.request("POST", "/api/mcp", {
    body: { jsonrpc: "2.0", id: 1, method: "tools/call", params },
    headers: {
      Accept: "application/json, text/event-stream",
      "MCP-Protocol-Version": "2026-07-28",
      "Mcp-Method": "tools/call",
      "Mcp-Name": "send_campaign",
    },
  });
  return body.result;
}

test.each(["decline", "cancel", "accept"])(
  "a question that its human has answered with no, by %s, cannot be accepted afterwards",
  async (action) => {
    const { id } = await campaign();
    const form = { elicitation: { form: {} } };
    const params = { arguments: { campaignId: id } };
    const { requestState } = await sending(params, form);
    const answered = (confirm: object) =>
      sending({ ...params, inputResponses: { confirm }, requestState }, form);
    const no = { action, ...(action === "accept" && { content: { confirm: false } }) };
    expect(await answered(no)).toMatchObject({ structuredContent: { code: "declined" } });
    const late = await answered({ action: "accept", content: { confirm: true } });
    expect(late).toMatchObject({ isError: true, structuredContent: { code: "invalid" } });
    expect(await statusOf(id)).toBe("draft");
  },
);

test("a client that knows tasks is given one for what is done, and none for the preview", async () => {
  const { id } = await campaign();
  const tasks = { extensions: { "io.modelcontextprotocol/tasks": {} } };
  const call = (input: Asked) => sending({ arguments: { campaignId: id, ...input } }, tasks);
  const first = await call({});
  expect(first).toMatchObject({ resultType: "complete", structuredContent: { confirmation_required: true } });
  const done = await call({ confirm_token: first.structuredContent.confirm_token });
  expect(done).toMatchObject({ resultType: "task", taskId: id, status: "working" });
});
