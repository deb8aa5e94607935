import { afterAll, beforeAll, expect, test } from "vitest";
import { CATALOG } from "#tools/catalog.ts";
import { prepareDemo } from "#transports/start/demo.ts";
import { type Answer, startService, type TestService } from "../../support/service.ts";

// The API reference as somebody uses it who gives the demo's key and presses Execute everywhere.

interface Parameter {
  $ref?: string;
  name: string;
  in: "path" | "query" | "header";
  example?: unknown;
  schema: { default?: unknown };
}

interface Described {
  operationId: string;
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { example?: unknown }> };
  responses: Record<string, unknown>;
}

interface Document {
  paths: Record<string, Record<string, Described>>;
  components: { parameters: Record<string, Parameter> };
}

/** The refusals that are meant: by operationId, the status and the reason. */
const REFUSED: Readonly<Record<string, [number, string]>> = {
  restore_player: [409, "no player of the demo is deleted"],
  cancel_campaign: [409, "no campaign of the demo is under way"],
  pause_campaign: [409, "as to cancel"],
  resume_campaign: [409, "as to cancel"],
  unschedule_campaign: [409, "as to cancel"],
  get_inbox_message: [404, "the demo has no campaign for the inbox"],
  delete_import_job: [409, "the demo's import has ended"],
  delete_import_job_matching: [409, "the demo's import has ended"],
  delete_validation_job: [409, "the check has ended"],
  delete_validation_job_matching: [409, "the check has ended"],
  login: [401, "the password was shown once"],
  confirm_password_reset: [400, "the token stands in a mail"],
  vendor_callback: [404, "only a vendor can sign one"],
  mcp: [406, "the viewer does not accept event streams"],
};

const NOBODY = { "X-Api-Key": null };

let service: TestService;
let key: string;
let asAdmin: Record<string, string | null>;

beforeAll(async () => {
  service = await startService({ demo: true });
  // The service of tests has a property already, and the demo is made where an interrupted one is.
  await service.database.db.asSystem(async (sql) => {
    await sql`delete from api_keys`;
    await sql`update properties set slug = 'demo'`;
  });
  const demo = await prepareDemo(service.internals, CATALOG, service.idle);
  key = demo!.apiKey!;
  const { email, password } = demo!.admin;
  const { body } = await service.post("/api/auth/login", { email, password }, NOBODY);
  asAdmin = { "X-Api-Key": null, Authorization: `Bearer ${body.token}` };
});
afterAll(() => service?.stop());

const documentNow = async (): Promise<Document> => (await service.get("/api/openapi.json", NOBODY)).body;

/** Creates first, so that there is one of each, and removals last. */
const turnOf = (operationId: string) =>
  /^create_/.test(operationId) ? 0 : /^(delete_|rotate_signing_key)/.test(operationId) ? 2 : 1;

test("an example works with the demo's key, or the admin's session, or is refused as it is described", async () => {
  const told: string[] = [];
  const met = new Set<string>();
  for (const turn of [0, 1, 2]) {
    const now = await documentNow();
    for (const [path, method, { operationId, responses }] of endpoints(now)) {
      if (turnOf(operationId) !== turn) continue;
      const said = ({ status, text }: Answer) => `${operationId}: ${status} ${text.slice(0, 200)}`;
      let answer = await execute(now, path, method, { "X-Api-Key": key });
      if (!responses[answer.status] && !responses.default) told.push(`${said(answer)} is not described`);
      if (isOfPeople(operationId)) {
        expect([401, 403], said(answer)).toContain(answer.status);
        answer = await execute(now, path, method, asAdmin);
      }
      const expected = REFUSED[operationId]?.[0];
      if (expected === undefined ? answer.status >= 300 : answer.status !== expected) told.push(said(answer));
      met.add(operationId);
    }
    if (turn === 0) await usual();
  }
  expect(told).toEqual([]);
  expect(met.size).toBeGreaterThan(190);
  expect(Object.keys(REFUSED).filter((name) => !met.has(name))).toEqual([]);
}, 120_000);

/** Whether only a person who has signed in may do it. */
function isOfPeople(operationId: string): boolean {
  const operation = CATALOG.operations.get(operationId.replace(/_(matching|get)$/, ""));
  return operation !== undefined && !["property", "public"].includes(operation.access);
}

/** What a demo has seen after its first minutes: a campaign that was sent, and a text that came in. */
async function usual(): Promise<void> {
  const { body } = await service.get("/api/campaigns?name=eq.Weekend free play", { "X-Api-Key": key });
  const [{ id, property_id }] = body;
  await service.call("send_campaign", { campaignId: id, propertyId: property_id }, property_id);
  await service.call(
    "receive_sms",
    { propertyId: property_id, from: "+17025550177", text: "I'm at the bus stop" },
    property_id,
  );
  await service.idle();
}

function endpoints({ paths }: Document): [string, string, Described][] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, one]): [string, string, Described] => [path, method, one]),
  );
}

/** What the viewer sends: each parameter's example or default, and the body's example. */
async function execute(
  { paths, components }: Document,
  path: string,
  method: string,
  credential: Record<string, string | null>,
) {
  const { parameters = [], requestBody } = paths[path]![method]!;
  const headers: Record<string, string | null> = { Accept: "application/json", ...credential };
  const query = new URLSearchParams();
  let address = path;
  for (const given of parameters) {
    const one = given.$ref ? components.parameters[given.$ref.split("/").at(-1)!]! : given;
    const value = one.example ?? one.schema?.default;
    if (value === undefined) continue;
    if (one.in === "path") address = address.replace(`{${one.name}}`, String(value));
    else if (one.in === "header") headers[one.name] = String(value);
    else if (typeof value === "object")
      for (const [name, text] of Object.entries(value as object)) query.append(name, text);
    else query.append(one.name, String(value));
  }
  const body = requestBody?.content["application/json"]?.example;
  const at = query.size > 0 ? `${address}?${query}` : address;
  return service.request(method.toUpperCase(), at, { ...(body !== undefined && { body }), headers });
}
