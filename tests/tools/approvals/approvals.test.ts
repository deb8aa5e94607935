import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CATALOG } from "#tools/catalog.ts";
import { onceOverMcp } from "../../support/operation-calls.ts";
import { scenarioIn } from "../../support/scenario.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
let manager: Awaited<ReturnType<TestService["signIn"]>>;
beforeAll(async () => {
  // Without a worker: a campaign that is queued stays queued.
  service = await startService({ role: "web" });
  manager = await service.signIn({ role: "manager" });
  await limits({ approval_over_players: 1 });
});
afterAll(() => service?.stop());

type Input = Record<string, unknown>;

const limits = (settings: Input) =>
  service.call("update_property", { propertyId: service.tenant.id, ...settings });
const tool = (
  name: string,
  input: Input,
  headers: Record<string, string> = { "X-Api-Key": service.tenant.key },
) => onceOverMcp(service, CATALOG.operations.get(name)!, input, headers);
const as = (person: { token: string }) => ({ "X-Api-Key": null, Authorization: `Bearer ${person.token}` });
const statusOf = async (id: string) => (await service.get(`/api/campaigns/${id}`)).body.status;
const proposalOf = async (id: string) => (await service.get(`/api/proposals/${id}`)).body;

/** So many players of a tier more, who may be written to. */
async function player(tier: string, count = 1): Promise<void> {
  const prefix = randomUUID().slice(0, 8);
  const scenario = scenarioIn(service);
  await scenario.crowd(count, prefix);
  await scenario.query(
    (sql) => sql`
      update players set tier = ${tier}
      where property_id = ${scenario.id} and player_id like ${`${prefix}-%`}`,
  );
}

/** A campaign for two players of a tier of its own. */
async function campaign(): Promise<{ id: string; tier: string }> {
  const tier = `T-${randomUUID().slice(0, 8)}`;
  await player(tier, 2);
  const made = await service.post("/api/campaigns", {
    name: tier,
    channel: "email",
    conditions: [{ field: "tier", operator: "eq", value: tier }],
    subject: "Hello",
    body_html: "<p>An offer</p>",
  });
  expect(made.status, made.text).toBe(201);
  return { id: made.body.id, tier };
}

async function proposed(name: string, input: Input): Promise<string> {
  const asked = await tool(name, input);
  expect(asked.data).toMatchObject({ confirmation_required: true });
  const answered = await tool(name, { ...input, confirm_token: asked.data.confirm_token });
  expect(answered, JSON.stringify(answered.data)).toMatchObject({
    isError: false,
    data: { approval_required: true, proposal: { status: "waiting" } },
  });
  return (answered.data.proposal as { id: string }).id;
}

const preview = (proposalId: string) =>
  service.post("/api/functions/preview-proposal", { proposalId, propertyId: service.tenant.id }, as(manager));

async function approve(proposalId: string, person: { token: string } = manager) {
  const { shown_hash: shownHash } = await proposalOf(proposalId);
  const body = { proposalId, propertyId: service.tenant.id, shownHash };
  return service.post("/api/functions/approve-proposal", body, as(person));
}

const waiting = async () =>
  (await service.get("/api/proposals?status=eq.waiting&limit=1000")).body as { id: string }[];

/** The wire of a client of the newest revision. */
async function modern(method: string, params: Record<string, unknown>, capabilities: object) {
  const named = (params.taskId ?? params.name) as string | undefined;
  const { body } = await service.request("POST", "/api/mcp", {
    body: {
      jsonrpc: "2.0",
      id: 1,
      method,
      params: {
        ...params,
        _meta: {
          "io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientInfo": { name: "agent", version: "1" },
          "io.modelcontextprotocol/clientCapabilities": capabilities,
        },
      },
    },
    headers: {
      Accept: "application/json, text/event-stream",
      "MCP-Protocol-Version": "2026-07-28",
      "Mcp-Method": method,
      ...(named && { "Mcp-Name": named }),
    },
  });
  return body.result;
}

describe("a call above the limit", () => {
  test("approves the number that the proposal has shown, and no growth of its growth", async () => {
    const { id, tier } = await campaign();
    await player(tier, 2);
    const proposalId = await proposed("send_campaign", { campaignId: id });
    await player(tier);
    const { body } = await approve(proposalId);
    expect(body.result.campaign.approved.count).toBe(4);
  });

  test("waits for a person, who sees it whole and approves it, and then goes", async () => {
    const { id } = await campaign();
    const shown = await tool("send_campaign", { campaignId: id });
    expect(shown.data.message).toContain("Above 1 in 24 hours a person must approve.");
    const proposalId = await proposed("send_campaign", { campaignId: id });
    expect(await statusOf(id)).toBe("draft");
    const seen = await preview(proposalId);
    expect(seen.body).toMatchObject({
      stale: [],
      proposal: { tool: "send_campaign", players: 2 },
      preview: { preflight: { audience: 2, allowed: 2, sample_renders: [{ subject: "Hello" }, {}] } },
      shown: {
        message: { subject: "Hello", to: expect.stringMatching(/^.\*\*\*@e\*\*\*\.com$/) },
        problems: [],
      },
    });
    const done = await approve(proposalId);
    expect(done.body, done.text).toMatchObject({
      success: true,
      proposal: {
        status: "approved",
        decided_by: manager.id,
        decided_by_email: manager.email,
        result: { entity: "campaigns", entity_id: id },
      },
      result: {
        campaign: { status: "queued", approved: { by: { type: "user", id: manager.id }, count: 2 } },
      },
    });
    expect(await statusOf(id)).toBe("queued");
    const audited = await service.get(`/api/audit_logs?entity_id=eq.${proposalId}&order=created_at`);
    expect(audited.body).toMatchObject([
      {
        action: "create_proposal",
        actor: { type: "api_key" },
        diff: { shown_hash: seen.body.proposal.shown_hash },
      },
      {
        action: "approve_proposal",
        actor: { type: "user", id: manager.id },
        diff: { status: "approved", tool: "send_campaign", shown_hash: seen.body.proposal.shown_hash },
      },
    ]);
    const sent = await service.get(`/api/audit_logs?entity_id=eq.${id}&action=eq.send_campaign`);
    expect(sent.body).toMatchObject([{ actor: { id: manager.id } }]);
  });

  test("waits over REST too, once for each Idempotency-Key", async () => {
    const { id } = await campaign();
    const body = { campaignId: id, propertyId: service.tenant.id };
    const send = () => service.post("/api/functions/send-campaign", body, { "Idempotency-Key": `k-${id}` });
    const first = await send();
    expect(first).toMatchObject({ status: 409, body: { code: "approval_required" } });
    const again = await send();
    expect(again.body).toEqual(first.body);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    const [{ message: proposalId }] = first.body.details;
    expect((await waiting()).filter(({ id: one }) => one === proposalId)).toHaveLength(1);
    const dry = await service.post("/api/functions/send-campaign", { ...body, dry_run: true });
    expect(dry.status).toBe(200);
    expect(await statusOf(id)).toBe("draft");
  });

  test("is done at once by a signed-in person, and below the limit by everybody", async () => {
    const { id } = await campaign();
    const body = { campaignId: id, propertyId: service.tenant.id };
    const sent = await service.post("/api/functions/send-campaign", body, as(manager));
    expect(sent.body, sent.text).toMatchObject({ campaign: { status: "queued" } });
    await limits({ approval_over_players: null });
    const small = await campaign();
    const first = await tool("send_campaign", { campaignId: small.id });
    expect(first.data.message).not.toContain("approve");
    const done = await tool("send_campaign", {
      campaignId: small.id,
      confirm_token: first.data.confirm_token,
    });
    expect(done.data).toMatchObject({ campaign: { status: "queued" } });
    await limits({ approval_over_players: 1 });
  });

  test("cannot go in parts: the reach of a day counts together", async () => {
    const other = await service.newTenant({ approval_over_players: 3 });
    const send = async () => {
      const player = { email: `${randomUUID().slice(0, 8)}@example.com` };
      const { id: playerId } = await service.call("create_player", player, other.id);
      const consent = { propertyId: other.id, playerId, channel: "email", consentGiven: true };
      await service.call("consent_record", consent, other.id);
      const values = {
        name: "A part",
        channel: "email",
        audience: "all",
        subject: "Hi",
        body_html: "<p>Hi</p>",
      };
      const { id } = await service.call("create_campaign", values, other.id);
      const body = { campaignId: id, propertyId: other.id };
      return service.post("/api/functions/send-campaign", body, { "X-Api-Key": other.key });
    };
    // One player, then two, then three.
    expect((await send()).status).toBe(200);
    expect((await send()).status).toBe(200);
    const third = await send();
    expect(third).toMatchObject({ status: 409, body: { code: "approval_required" } });
    expect(third.body.error).toContain("It reaches up to 3 players, after 3 in the last 24 hours");
  });

  test("waits above a cost, and where no price is known", async () => {
    const other = await service.newTenant({ approval_over_cost: 100, from_email: "offers@example.com" });
    const values = {
      name: "Letters",
      channel: "email",
      audience: "all",
      subject: "Hi",
      body_html: "<p>Hi</p>",
    };
    const { id: playerId } = await service.call("create_player", { email: "a@example.com" }, other.id);
    const consent = { propertyId: other.id, playerId, channel: "email", consentGiven: true };
    await service.call("consent_record", consent, other.id);
    const send = async () => {
      const { id } = await service.call("create_campaign", values, other.id);
      const body = { campaignId: id, propertyId: other.id };
      return service.post("/api/functions/send-campaign", body, { "X-Api-Key": other.key });
    };
    // The mailbox costs nothing.
    expect((await send()).status).toBe(200);
    const provider = { name: "Dear", channel: "email", kind: "smtp", is_default: true, allows_gaming: true };
    const credentials = { host: "localhost", port: 2525 };
    const { id } = await service.call("create_message_provider", { ...provider, credentials }, other.id);
    expect((await send()).body.error).toContain("Its cost is not known.");
    const price = { unit_price: 200, price_currency: "USD" };
    await service.call("update_message_provider", { id, ...price }, other.id);
    expect((await send()).body.error).toContain("It costs 200.");
  });
});

describe("a decision", () => {
  test("of two people at once is made once", async () => {
    const second = await service.signIn({ role: "admin" });
    const { id } = await campaign();
    const proposalId = await proposed("send_campaign", { campaignId: id });
    const answers = await Promise.all([approve(proposalId), approve(proposalId, second)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    const queued = await service.get(`/api/audit_logs?entity_id=eq.${id}&action=eq.send_campaign`);
    expect(queued.body).toHaveLength(1);
    expect((await approve(proposalId)).body.error).toContain("The proposal is approved");
  });

  test("that is repeated with its key is not made again", async () => {
    const { id } = await campaign();
    const proposalId = await proposed("send_campaign", { campaignId: id });
    const { shown_hash: shownHash } = await proposalOf(proposalId);
    const body = { proposalId, propertyId: service.tenant.id, shownHash };
    const key = { ...as(manager), "Idempotency-Key": `approve-${id}` };
    const first = await service.post("/api/functions/approve-proposal", body, key);
    const again = await service.post("/api/functions/approve-proposal", body, key);
    expect(first.status, first.text).toBe(200);
    expect(again.body).toEqual(first.body);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
  });

  test("comes too late after three days", async () => {
    const { id } = await campaign();
    const proposalId = await proposed("send_campaign", { campaignId: id });
    await service.database.db.asProperty(
      service.tenant.id,
      (sql) => sql`
        update proposals set expires_at = now() - interval '1 second'
        where property_id = ${service.tenant.id} and id = ${proposalId}`,
    );
    const late = await approve(proposalId);
    expect(late).toMatchObject({ status: 409, body: { code: "conflict" } });
    expect(await proposalOf(proposalId)).toMatchObject({ status: "expired" });
    expect(await statusOf(id)).toBe("draft");
  });

  test("is for the proposal that the person has seen, or refuses it with a reason, which the agent reads", async () => {
    const { id } = await campaign();
    const proposalId = await proposed("send_campaign", { campaignId: id });
    const body = { proposalId, propertyId: service.tenant.id };
    const unseen = { ...body, shownHash: "0".repeat(64) };
    const blind = await service.post("/api/functions/approve-proposal", unseen, as(manager));
    expect(blind.status).toBe(409);
    expect(await proposalOf(proposalId)).toMatchObject({ status: "waiting" });
    const mute = await service.post("/api/functions/refuse-proposal", { ...body, reason: " " }, as(manager));
    expect(mute.status).toBe(400);
    const reason = "Too many this week";
    const refused = await service.post("/api/functions/refuse-proposal", { ...body, reason }, as(manager));
    expect(refused.status, refused.text).toBe(200);
    const read = await tool("get_proposal", { id: proposalId });
    expect(read.data).toMatchObject({ status: "refused", reason, decided_by: manager.id });
    expect((await approve(proposalId)).status).toBe(409);
    expect(await statusOf(id)).toBe("draft");
  });

  test("may be spared: the agent withdraws its own proposal, and no other key's", async () => {
    const { id } = await campaign();
    const proposalId = await proposed("send_campaign", { campaignId: id });
    const { api_key } = await service.call("create_api_key", {
      property_id: service.tenant.id,
      name: "other",
    });
    const foreign = await tool("withdraw_proposal", { proposalId }, { "X-Api-Key": api_key });
    expect(foreign).toMatchObject({ isError: true, data: { code: "forbidden" } });
    expect((await tool("withdraw_proposal", { proposalId })).data).toMatchObject({ success: true });
    expect((await approve(proposalId)).body.error).toContain("withdrawn");
  });
});

describe("a change since the proposal makes it stale, and nothing is done", () => {
  const STALE: Record<string, [(made: Made) => Promise<unknown>, string[]]> = {
    "the subject, the audience's conditions and a flag": [
      ({ id }) =>
        change(`/api/campaigns/${id}`, {
          subject: "Other",
          conditions: [{ field: "tier", operator: "is_set" }],
          ignore_frequency_cap: true,
        }),
      ["the subject", "the audience's conditions", "whether frequency rules hold"],
    ],
    "an audience that has grown": [({ tier }) => player(tier), ["grown from 2 to 3 players"]],
    "the campaign, which is gone": [
      ({ id }) => service.call("delete_campaign", { id }, service.tenant.id),
      ["No campaign"],
    ],
  };
  type Made = Awaited<ReturnType<typeof campaign>>;
  const change = (path: string, body: object) => service.request("PATCH", path, { body });

  for (const [name, [work, words]] of Object.entries(STALE)) {
    test(name, async () => {
      const made = await campaign();
      const proposalId = await proposed("send_campaign", { campaignId: made.id });
      await work(made);
      const stale = (await preview(proposalId)).body.stale.join(" ");
      const done = await approve(proposalId);
      expect(done.status).toBe(409);
      expect(done.body.error).toMatch(/[^.]\.$/);
      const ended = await proposalOf(proposalId);
      expect(ended).toMatchObject({ status: "stale", decided_by: manager.id });
      for (const one of words) {
        expect([stale, done.body.error, ended.reason], one).toEqual(
          Array(3).fill(expect.stringContaining(one)),
        );
      }
      const kept = await service.get(`/api/campaigns/${made.id}`);
      expect([200, 404]).toContain(kept.status);
      if (kept.status === 200) expect(kept.body.status).toBe("draft");
    });
  }

  test("the template, or a segment's rules", async () => {
    const tier = `T-${randomUUID().slice(0, 8)}`;
    await player(tier);
    await player(tier);
    const made = await service.post("/api/templates", {
      name: tier,
      channel: "email",
      subject: "Hi",
      html: "<p>Hi</p>",
    });
    const conditions = [{ field: "tier", operator: "eq", value: tier }];
    const segment = await service.post("/api/segments", { name: tier, conditions });
    const campaignOf = async () =>
      (
        await service.post("/api/campaigns", {
          name: tier,
          channel: "email",
          segment_id: segment.body.id,
          template_id: made.body.id,
        })
      ).body.id;
    const one = await proposed("send_campaign", { campaignId: await campaignOf() });
    await service.request("PATCH", `/api/templates/${made.body.id}`, { body: { subject: "Bye" } });
    expect((await approve(one)).body.error).toContain(`the template "${tier}"`);
    const two = await proposed("send_campaign", { campaignId: await campaignOf() });
    const rules = { conditions: [{ field: "tier", operator: "is_set" }] };
    await service.request("PATCH", `/api/segments/${segment.body.id}`, { body: rules });
    expect((await approve(two)).body.error).toContain(`the rules of the segment "${tier}"`);
  });
});

describe("nobody approves who may not", () => {
  test("no API key, no agent with a manager's session, no command line, no analyst, no other property", async () => {
    const { id } = await campaign();
    const proposalId = await proposed("send_campaign", { campaignId: id });
    const { shown_hash: shownHash } = await proposalOf(proposalId);
    const propertyId = service.tenant.id;
    const body = { proposalId, propertyId, shownHash };
    const path = "/api/functions/approve-proposal";
    expect(await service.post(path, body)).toMatchObject({ status: 403, body: { code: "forbidden" } });
    for (const headers of [{ "X-Api-Key": service.tenant.key }, as(manager)]) {
      const told = await tool(
        "approve_proposal",
        { proposalId, shownHash },
        headers as Record<string, string>,
      );
      expect(told).toMatchObject({ isError: true, data: { code: "forbidden" } });
      expect(told.data.message).toContain("no API key, agent or command line may");
    }
    const viaCall = { name: "approve_proposal", arguments: { proposalId, shownHash } };
    const inside = await modern("tools/call", { name: "call_tool", arguments: viaCall }, {});
    expect(inside).toMatchObject({ isError: true, structuredContent: { code: "forbidden" } });
    await expect(service.call("approve_proposal", body, propertyId)).rejects.toMatchObject({
      code: "forbidden",
    });
    const analyst = await service.signIn({ role: "analyst" });
    expect((await service.post(path, body, as(analyst))).status).toBe(403);
    const stranger = await service.signIn({ role: null });
    const rival = await service.newTenant();
    await service.call("grant_membership", { property_id: rival.id, user_id: stranger.id, role: "admin" });
    expect((await service.post(path, body, as(stranger))).status).toBe(403);
    const own = { ...body, propertyId: rival.id };
    expect((await service.post(path, own, as(stranger))).status).toBe(404);
    expect(await proposalOf(proposalId)).toMatchObject({ status: "waiting" });
    expect(await statusOf(id)).toBe("draft");
  });

  test("under four eyes, nobody what is their own: by hand, by an agent, or by a key that they have made", async () => {
    const propertyId = service.tenant.id;
    const second = await service.signIn({ role: "manager" });
    const actor = {
      type: "user",
      id: manager.id,
      email: manager.email,
      isPlatformAdmin: true,
      memberships: [],
    };
    const keyed = { property_id: propertyId, name: "mine", scopes: ["read", "write"] };
    const { api_key } = await service.call("create_api_key", keyed, propertyId, { actor } as never);
    await limits({ approval_four_eyes: "on" });
    const { id } = await campaign();
    const body = { campaignId: id, propertyId };
    const sent = await service.post("/api/functions/send-campaign", body, as(manager));
    expect(sent).toMatchObject({ status: 409, body: { code: "approval_required" } });
    const [{ message: proposalId }] = sent.body.details;
    const preview = { proposalId, propertyId };
    const seen = async (person: typeof manager) =>
      (await service.post("/api/functions/preview-proposal", preview, as(person))).body.needs_another;
    expect([await seen(manager), await seen(second)]).toEqual([true, false]);
    expect(await approve(proposalId)).toMatchObject({ status: 403 });
    expect((await approve(proposalId, second)).status).toBe(200);
    expect(await statusOf(id)).toBe("queued");
    for (const headers of [{ "X-Api-Key": api_key }, as(manager)]) {
      const other = await campaign();
      const input = { campaignId: other.id };
      const shown = await tool("send_campaign", input, headers as Record<string, string>);
      const token = { confirm_token: shown.data.confirm_token };
      const told = await tool("send_campaign", { ...input, ...token }, headers as Record<string, string>);
      const { id: own } = told.data.proposal as { id: string };
      expect(await approve(own)).toMatchObject({ status: 403 });
      expect((await approve(own, second)).status).toBe(200);
    }
    await limits({ approval_four_eyes: "off" });
  });

  test("and only an admin changes the limits, outside of MCP", async () => {
    const propertyId = service.tenant.id;
    const admin = await service.signIn({ role: "admin" });
    const path = "/api/functions/update-property";
    const body = { propertyId, approval_over_players: 5 };
    expect((await service.post(path, body)).status).toBeGreaterThanOrEqual(401);
    expect((await service.post(path, body, as(manager))).status).toBe(403);
    const agent = await tool("update_property", { approval_over_players: 5 }, as(admin) as never);
    expect(agent).toMatchObject({ isError: true, data: { code: "forbidden" } });
    expect((await service.post(path, body, as(admin))).body).toMatchObject({ approval_over_players: 5 });
    await limits({ approval_over_players: 1 });
  });
});

describe("the agent is told", () => {
  const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };

  test("by its task, which works until a person has decided", async () => {
    const { id } = await campaign();
    const shown = await tool("send_campaign", { campaignId: id });
    const input = { campaignId: id, confirm_token: shown.data.confirm_token };
    const task = await modern("tools/call", { name: "send_campaign", arguments: input }, TASKS);
    expect(task).toMatchObject({ resultType: "task", status: "working" });
    expect(task.statusMessage).toContain("waits for a person's approval");
    const { taskId } = task;
    await approve(taskId);
    const done = await modern("tools/get", { taskId }, TASKS).catch(() => null);
    expect(done).toBeFalsy();
    expect(await modern("tasks/get", { taskId }, TASKS)).toMatchObject({
      status: "completed",
      result: { structuredContent: { proposal: { status: "approved", result: { entity_id: id } } } },
    });
    const other = await campaign();
    const again = await tool("send_campaign", { campaignId: other.id });
    const args = { campaignId: other.id, confirm_token: again.data.confirm_token };
    const second = await modern("tools/call", { name: "send_campaign", arguments: args }, TASKS);
    await modern("tasks/cancel", { taskId: second.taskId }, TASKS);
    expect(await proposalOf(second.taskId)).toMatchObject({ status: "withdrawn" });
  });

  test("by events with registered names", async () => {
    const { id: endpoint } = await service.call(
      "create_webhook_endpoint",
      { url: "http://127.0.0.1:9/hook", events: ["proposal.*"] },
      service.tenant.id,
    );
    const { id } = await campaign();
    const proposalId = await proposed("send_campaign", { campaignId: id });
    await approve(proposalId);
    const told = await service.internals.db.asProperty(
      service.tenant.id,
      (sql) => sql<{ type: string }[]>`
        select o.type from webhook_backlog b cross join unnest(b.event_ids) as e(id)
        join outbox o on o.property_id = b.property_id and o.id = e.id
        where b.property_id = ${service.tenant.id} and b.endpoint_id = ${endpoint}
        order by o.occurred_at`,
    );
    expect(told.map(({ type }) => type)).toEqual(["proposal.created", "proposal.approved"]);
    await service.call("delete_webhook_endpoint", { id: endpoint }, service.tenant.id);
  });

  test("after its own human, whom a client that can ask asks first", async () => {
    const { id } = await campaign();
    const before = (await waiting()).length;
    const form = { elicitation: { form: {} } };
    const params = { name: "send_campaign", arguments: { campaignId: id } };
    const first = await modern("tools/call", params, form);
    expect(first.resultType).toBe("input_required");
    expect(JSON.stringify(first.inputRequests)).toContain("it becomes a proposal");
    expect(await waiting()).toHaveLength(before);
    const answer = { action: "accept", content: { confirm: true } };
    const agreed = { ...params, inputResponses: { confirm: answer }, requestState: first.requestState };
    const told = await modern("tools/call", agreed, form);
    expect(told.structuredContent).toMatchObject({ approval_required: true });
    expect(await statusOf(id)).toBe("draft");
    expect(await waiting()).toHaveLength(before + 1);
  });
});
