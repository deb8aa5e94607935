import { createHmac } from "node:crypto";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { CATALOG } from "#tools/catalog.ts";
import { asProcess, inProcess, wordsOf } from "../support/command-line.ts";
import { mailServer, webhookReceiver } from "../support/servers/receivers.ts";
import { startService, type TestService } from "../support/service.ts";

const CONSENT = {
  consentSource: "players club",
  consentText: "I agree to receive offers.",
  consentVersion: "1",
};
const MAPPING = { "Email OK": "consent.email" };

// A BOM, CRLF, quoted commas and line breaks, accents, one address twice, a bad email, nobody's consent.
const CSV = [
  "\uFEFFplayer_id,first_name,last_name,email,phone,tier,adt,Email OK",
  'M1,Zoë,"Smith, Jr.",ZOE@Example.com,+17025550101,Gold,250,yes',
  'M2,"Ann\nMarie",Núñez,ann@example.com,(702) 555-0102,Gold,180,yes',
  "M3,No,Consent,noconsent@example.com,,Gold,300,",
  "M4,Bad,Email,not-an-address,,Gold,90,yes",
  "M5,Same,Address,zoe@example.com,,Gold,90,yes",
  "M6,On,List,listed@example.com,,Gold,95,yes",
  "M7,Excluded,Self,excluded@example.com,,Gold,95,yes",
  "M8,Other,Tier,silver@example.com,,Silver,95,yes",
].join("\r\n");

const SENT = ["ann@example.com", "zoe@example.com"];
const SKIPPED = { duplicate_address: 1, no_consent: 1, self_excluded: 1, suppressed: 1 };

let service: TestService;
let mail: Awaited<ReturnType<typeof mailServer>>;
let receiver: Awaited<ReturnType<typeof webhookReceiver>>;
let secret: string;

beforeAll(async () => {
  mail = await mailServer();
  receiver = await webhookReceiver();
  service = await startService({
    email: { provider: "smtp", smtpUrl: mail.url, from: "offers@casino.example" },
  });
  const endpoint = await service.post("/api/webhook_endpoints", {
    url: receiver.url,
    events: ["campaign.sent"],
  });
  secret = endpoint.body.secret;
});

afterAll(async () => {
  await service?.stop();
  await Promise.all([mail?.stop(), receiver?.stop()]);
});

/** One face's way to run an operation in the tenant's property. */
type Run = (operation: string, input: Record<string, unknown>) => Promise<Record<string, unknown>>;

/** The whole job; every face runs the same. */
async function mainJob(run: Run, round: string) {
  const rename = (text: string) =>
    text.replaceAll(/M(\d)/g, `${round}$1`).replaceAll("@", `.${round.toLowerCase()}@`);
  const job = await run("create_import_job", {
    type: "player_import",
    csv: rename(CSV),
    mapping: MAPPING,
    consent: CONSENT,
  });
  await service.idle();
  const done = await run("get_import_job", { id: job.id });
  expect(done).toMatchObject({ status: "completed", total: 8, processed: 8, succeeded: 7, failed: 1 });
  const players = await service.get(`/api/players?player_id.like=${round}*&order=player_id&limit=20`);
  const player = (id: string) =>
    players.body.find((one: { player_id: string }) => one.player_id === `${round}${id}`);
  await run("create_suppression", {
    channel: "email",
    address: `listed.${round.toLowerCase()}@example.com`,
    reason: "manual",
  });
  await run("create_self_exclusion", { player_id: player("7").id });

  const segment = await run("create_segment", {
    name: `Gold ${round}`,
    conditions: [
      { field: "tier", operator: "eq", value: "Gold" },
      { field: "player_id", operator: "starts_with", value: round },
    ],
  });
  expect(await run("segment_preview", { segmentId: segment.id })).toMatchObject({ count: 6 });

  const check = await run("compliance_check", {
    channel: "email",
    playerIds: [player("1").id, player("3").id],
  });
  expect(check).toMatchObject({ allowed: false, reasons: ["no_consent"] });

  const campaign = await run("create_campaign", {
    name: `Offer ${round}`,
    channel: "email",
    segment_id: segment.id,
    subject: "Hello {{ first_name }}",
    body_html: "<p>A {{ tier }} offer for {{ first_name }}.</p>",
  });
  const preflight = await run("preflight_campaign", { campaignId: campaign.id });
  expect(preflight).toMatchObject({ ok: true, audience: 6 });
  await run("send_campaign", { campaignId: campaign.id });
  await service.idle();
  return campaign.id as string;
}

/** The state afterwards, the same for every face. */
async function expectDelivered(campaignId: string, round: string) {
  const stats = await service.post("/api/functions/campaign-stats", {
    campaignId,
    propertyId: service.tenant.id,
  });
  expect(stats.body).toMatchObject({ status: "sent", audience: 6, sent: 2, skipped: SKIPPED, pending: 0 });
  const mark = round.toLowerCase();
  const mine = mail.mails.filter(({ to }) => to.includes(`.${mark}@`));
  expect(mine.map(({ to }) => to.replace(`.${mark}`, "")).sort()).toEqual(SENT);
  for (const { raw: folded } of mine) {
    const raw = folded.replaceAll(/\r\n[ \t]+/g, " ");
    expect(raw).toMatch(/^List-Unsubscribe: <http[^>]+\/u\/[^>]+>/im);
    expect(raw).toMatch(/^List-Unsubscribe-Post: List-Unsubscribe=One-Click/im);
    expect(raw).toContain("1 Main Street, Reno, NV 89501");
  }
  const sends = await service.get(
    `/api/campaign_sends?campaign_id=eq.${campaignId}&select=status,skip_reasons,provider&status=eq.sent`,
  );
  expect(sends.body).toEqual(SENT.map(() => ({ status: "sent", skip_reasons: [], provider: "smtp" })));
  await expectCallback(campaignId);
}

async function expectCallback(campaignId: string) {
  const callback = await vi.waitFor(() => {
    const found = receiver.received.filter(({ raw }) => JSON.parse(raw).data.object.id === campaignId);
    expect(found).toHaveLength(1);
    return found[0]!;
  }, 20_000);
  const { headers, raw } = callback;
  expect(headers["x-service-event"]).toBe("campaign.sent");
  const timestamp = String(headers["x-service-timestamp"]);
  expect(Math.abs(Number(timestamp) - Date.now() / 1000)).toBeLessThan(300);
  const expected = createHmac("sha256", secret).update(`${timestamp}.${raw}`).digest("hex");
  expect(headers["x-service-signature"]).toBe(`v1=${expected}`);
}

const operationOf = (name: string) => CATALOG.operations.get(name)!;

/** MCP answers structured content; the tenant follows from the key. */
function structured(result: unknown): Record<string, unknown> {
  const { structuredContent, isError } = result as {
    structuredContent: Record<string, unknown>;
    isError?: boolean;
  };
  if (isError) throw new Error(JSON.stringify(result));
  return structuredContent;
}

/** The default list shows the first tools; the rest is reached through call_tool. */
function agent(
  client: { callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<unknown> },
  core: Set<string>,
): Run {
  const call = async (name: string, input: Record<string, unknown>) =>
    structured(
      await client.callTool(
        core.has(name)
          ? { name, arguments: input }
          : { name: "call_tool", arguments: { name, arguments: input } },
      ),
    );
  return async (name, input) => {
    const answer = await call(name, input);
    // A file's consents open channels, so an agent confirms their evidence.
    const grave =
      ["contact", "destroy"].includes(operationOf(name).effect) || Object.hasOwn(input, "consent");
    expect(answer.confirmation_required, name).toBe(grave ? true : undefined);
    return grave ? call(name, { ...input, confirm_token: answer.confirm_token }) : answer;
  };
}

describe("import, segment, check, send, see, be told", () => {
  test("by REST", async () => {
    const run: Run = async (name, input) => {
      const { crud, property } = operationOf(name);
      const answer = !crud
        ? await service.post(`/api/functions/${name.replaceAll("_", "-")}`, {
            ...input,
            [property!]: service.tenant.id,
          })
        : crud.verb === "get"
          ? await service.get(`/api/${crud.table.name}/${input.id}`)
          : await service.post(`/api/${crud.table.name}`, input);
      expect(answer.status, answer.text).toBeLessThan(300);
      return answer.body;
    };
    await expectDelivered(await mainJob(run, "R"), "R");
  });

  test("by REST, with the file as a form", async () => {
    const form = new FormData();
    form.set("params", JSON.stringify({ mapping: MAPPING, consent: CONSENT, dry_run: true }));
    form.set("file", new Blob([CSV], { type: "text/csv" }), "players.csv");
    const started = await service.request("POST", "/api/import_jobs", {
      body: form,
      headers: { "Content-Type": null },
    });
    expect(started.status).toBe(202);
    expect(started.headers.get("location")).toBe(`/api/import_jobs/${started.body.id}`);
    await service.idle();
    const errors = await service.get(`/api/import_jobs/${started.body.id}/errors`);
    expect(errors.body).toMatchObject([
      { row: 4, column: "email", code: "invalid_email", value: "not-an-address" },
    ]);
  });

  test("by MCP, with clients of both generations in turn", async () => {
    const url = new URL(`${service.baseUrl}/api/mcp`);
    const options = { requestInit: { headers: { "X-Api-Key": service.tenant.key } } };
    const client = new Client({ name: "agent", version: "1.0.0" });
    await client.connect(new StreamableHTTPClientTransport(url, options));
    const old = new OldClient({ name: "agent", version: "1.0.0" });
    await old.connect(new OldTransport(url, options) as never);
    const names = ({ tools }: { tools: { name: string }[] }) => new Set(tools.map(({ name }) => name));
    const core = names(await client.listTools());
    expect(names(await old.listTools())).toEqual(core);
    const runs = [agent(client, core), agent(old, core)];
    let turn = 0;
    const run: Run = (name, input) => runs[turn++ % runs.length]!(name, input);
    await expectDelivered(await mainJob(run, "N"), "N");
    await Promise.all([client.close(), old.close()]);
  });

  test("by CLI, over the same database", async () => {
    const run: Run = async (name, input) => {
      const words = [...wordsOf(operationOf(name), input), "--json", "--property", service.tenant.id];
      // It starts a job, of which the service must hear. For the others a process would prove nothing more.
      const command = name === "send_campaign" ? asProcess : inProcess;
      const { exit, stdout, stderr } = await command(service, words);
      expect(exit, stderr).toBe(0);
      return JSON.parse(stdout);
    };
    await expectDelivered(await mainJob(run, "C"), "C");
  });
});
