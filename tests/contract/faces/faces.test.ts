import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Operation } from "#runtime/operation/operation.ts";
import { CATALOG } from "#tools/catalog.ts";
import { briefWrite } from "#transports/mcp/answers/brief-records.ts";
import { compared, wordsOf } from "../../support/command-line.ts";
import { NOWHERE, overMcp, overRest } from "../../support/operation-calls.ts";
import { isFull } from "../../support/proof-size.ts";
import { startService, type TestService } from "../../support/service.ts";
import { type Planted, plantRows } from "../planted-rows.ts";
import { apart, inputOn, masked, printed, type Said, type Twin, untimed } from "./twins.ts";

const OPEN = [...CATALOG.operations.values()].filter(({ access }) => access === "property");

let service: TestService;
let rows: Planted;
let twins: Twin[];

beforeAll(async () => {
  // Without a worker, so that only the faces change anything.
  service = await startService({ role: "web" });
  const admin = postgres(service.database.url, { max: 1, onnotice: () => {} });
  rows = await plantRows(admin, service.tenant.id);
  twins = [];
  for (let face = 0; face < (isFull ? 4 : 3); face++) {
    const tenant = await service.newTenant();
    twins.push({ tenant, planted: await plantRows(admin, tenant.id) });
  }
  await admin.end();
});

afterAll(() => service?.stop());

const operationNamed = (name: string): Operation => {
  const operation = CATALOG.operations.get(name);
  if (!operation) throw new Error(`no operation ${name}`);
  return operation;
};

async function byRest(
  operation: Operation,
  input: Record<string, unknown>,
  key = service.tenant.key,
): Promise<Said> {
  const { status, body, text } = await overRest(service, operation, input, { "X-Api-Key": key });
  if (operation.file && status < 400) return { code: null, data: text };
  return status >= 400 ? { code: body.code, data: body.error } : { code: null, data: body };
}

async function byMcp(
  operation: Operation,
  input: Record<string, unknown>,
  key = service.tenant.key,
): Promise<Said> {
  const list = operation.crud?.verb === "list" || operation.output.type === "array";
  const all = operation.crud?.verb === "list" ? { detail: "full" } : {};
  const asked = list ? { ...input, ...all, format: "items" } : input;
  const { isError, data } = await overMcp(service, operation, asked, { "X-Api-Key": key });
  if (isError) return { code: String(data.code), data: data.message };
  const { audit_id: _, confirm_token: token, ...others } = data;
  // Only MCP has something to confirm.
  // A program asks for the ZIP file itself.
  const { url: _url, expires_at: _until, ...unlinked } = others;
  const shown = operation.zipped ? unlinked : others;
  const rest = operation.name === "preflight_campaign" ? { ...shown, confirm_token: null } : shown;
  if (token !== undefined) expect(operation.name).toBe("preflight_campaign");
  if (operation.file) return { code: null, data: rest.text };
  return { code: null, data: list ? rest.items : rest };
}

async function byCli(
  operation: Operation,
  input: Record<string, unknown>,
  property = service.tenant.id,
): Promise<Said> {
  const words = [...wordsOf(operation, input), "--property", property];
  return printed(operation, await compared(service, operation, words));
}

/** The command line as the client of a service elsewhere, which has only the key. */
async function byUrl(
  operation: Operation,
  input: Record<string, unknown>,
  key = service.tenant.key,
): Promise<Said> {
  const words = [...wordsOf(operation, input), "--service-url", service.baseUrl, "--api-key", key];
  return printed(operation, await compared(service, operation, words));
}

/** Of a record that is written, agents are answered the part that they need. */
function briefed(operation: Operation, { code, data }: Said, input: Record<string, unknown>): Said {
  const isRecord = typeof data === "object" && data !== null && !Array.isArray(data);
  return { code, data: isRecord && code === null ? briefWrite(operation, { ...data }, input) : data };
}

const own = (table: string) => rows.get(table)!.id;

test("a read answers the very same over REST, MCP and the command line", async () => {
  const cases: [string, Record<string, unknown>][] = [
    ["list_players", { order: "created_at.asc,id.asc", limit: 5 }],
    ["list_audit_logs", { order: "created_at.asc,id.asc", limit: 2 }],
    ["list_campaigns", { select: "id,name,status" }],
    ["get_player", { id: own("players") }],
    ["get_campaign", { id: own("campaigns") }],
    ["get_webhook_delivery", { id: own("webhook_deliveries") }],
    ["get_property", { propertyId: service.tenant.id }],
    ["campaign_stats", { propertyId: service.tenant.id, campaignId: own("campaigns") }],
    [
      "segment_preview",
      { propertyId: service.tenant.id, conditions: [{ field: "tier", operator: "is_not_set" }] },
    ],
  ];
  for (const [name, input] of cases) {
    const operation = operationNamed(name);
    const rest = untimed(await byRest(operation, input));
    expect(rest, name).toMatchObject({ code: null });
    for (const by of [byMcp, byCli, byUrl]) {
      expect(untimed(await by(operation, input)), `${name} ${by.name}`).toEqual(rest);
    }
  }
});

test("a write does the same over REST, MCP and the command line", async () => {
  const property = { propertyId: service.tenant.id };
  const cases: [string, Record<string, unknown>][] = [
    ["create_player", { first_name: "Ann", email: " Ann@Example.com ", adt: 12.5, tags: ["vip", "slots"] }],
    ["update_player", { id: own("players"), last_name: "O'Neill — “the Ace”" }],
    [
      "consent_record",
      {
        ...{ ...property, playerId: own("players"), channel: "email", consentGiven: true },
        ...{ consentSource: "form", consentVersion: "1" },
      },
    ],
  ];
  for (const [name, input] of cases) {
    const operation = operationNamed(name);
    const answered = await byRest(operation, input);
    expect(answered, name).toMatchObject({ code: null });
    for (const by of [byMcp, byCli, byUrl]) {
      const rest = by === byMcp ? briefed(operation, answered, input) : answered;
      expect(masked(await by(operation, input)), `${name} ${by.name}`).toEqual(masked(rest));
    }
  }
});

test("a refusal has the same code and the same words over REST, MCP and the command line", async () => {
  const cases: [string, string, Record<string, unknown>][] = [
    ["not_found", "get_player", { id: NOWHERE }],
    ["not_found", "send_campaign", { propertyId: service.tenant.id, campaignId: NOWHERE }],
    ["not_found", "delete_template", { id: NOWHERE }],
    ["invalid", "create_player", { email: "not an address" }],
    ["invalid", "list_players", { order: "shoe_size.asc" }],
    ["conflict", "resume_campaign", { propertyId: service.tenant.id, campaignId: own("campaigns") }],
  ];
  for (const [code, name, input] of cases) {
    const operation = operationNamed(name);
    const rest = await byRest(operation, input);
    expect(rest, name).toMatchObject({ code });
    for (const by of [byMcp, byCli, byUrl]) {
      expect(await by(operation, input), `${name} ${by.name}`).toEqual(rest);
    }
  }
});

/** The command line on the machine is the operator's, who may do what a key may not. */
const OPERATORS = new Set(["delete_suppression"]);

/** The command line, on the machine and elsewhere, by which an operation is done: one of them in turn, or both. */
function lines(operation: Operation, index: number): ("local" | "remote")[] {
  if (OPERATORS.has(operation.name)) return ["remote"];
  return isFull ? ["local", "remote"] : [index % 2 === 0 ? "local" : "remote"];
}

test("every operation says and does the same by every face, on properties that are alike", async () => {
  const told: string[] = [];
  const [one, other, third, fourth = third] = twins as [Twin, Twin, Twin, Twin?];
  const by = {
    local: (operation: Operation) => byCli(operation, inputOn(operation, third), third.tenant.id),
    remote: (operation: Operation) => byUrl(operation, inputOn(operation, fourth), fourth.tenant.key),
  };
  const answered = { well: 0, refused: 0 };
  // Removals last: the others have something to work on.
  const order = OPEN.toSorted((a, b) => Number(a.effect === "destroy") - Number(b.effect === "destroy"));
  for (const [index, operation] of order.entries()) {
    const rest = untimed(await byRest(operation, inputOn(operation, one), one.tenant.key));
    answered[rest.code === null ? "well" : "refused"]++;
    if (rest.code === "internal") told.push(`${operation.name}: internal`);
    const compare = (face: string, said: Said, whole: Said) => {
      const [here, there] = apart(masked(whole), masked(untimed(said)));
      if (here !== there) told.push(`${operation.name}: …${here}, and by ${face} …${there}`);
    };
    const asked = await byMcp(operation, inputOn(operation, other), other.tenant.key);
    compare("MCP", asked, briefed(operation, rest, inputOn(operation, one)));
    for (const line of lines(operation, index))
      compare(`the ${line} command line`, await by[line](operation), rest);
  }
  expect(told).toEqual([]);
  expect(answered.well).toBeGreaterThan(answered.refused);
  // It calls every operation by three or four faces, one after another.
}, 120_000);
