import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isPersonal } from "#runtime/funnel/access.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import { CATALOG } from "#tools/catalog.ts";
import { overUrl } from "../../support/command-line.ts";
import { inputFor, overMcp, overRest } from "../../support/operation-calls.ts";
import { isFull } from "../../support/proof-size.ts";
import { type Admin, fingerprints } from "../../support/schema.ts";
import { type Answer, startService, type Tenant, type TestService } from "../../support/service.ts";
import { type Planted, plantRows } from "../planted-rows.ts";
import { inputNaming, type Pointer, pointers } from "./pointers.ts";

const OPERATIONS = [...CATALOG.operations.values()];
const TABLES = [...CATALOG.tables.values()];
const OPEN = OPERATIONS.filter(({ access }) => access === "property");

let service: TestService;
let admin: Admin;
let rival: Tenant;
let other: Tenant;
let own: Planted;
let theirs: Planted;
let manager: string;
let before: Record<string, string>;

beforeAll(async () => {
  // Without a worker, so that what is planted stays as it is.
  service = await startService({ role: "web" });
  admin = postgres(service.database.url, { max: 1, onnotice: () => {} });
  rival = await service.newTenant();
  other = await service.newTenant();
  own = await plantRows(admin, service.tenant.id);
  theirs = await plantRows(admin, rival.id);
  manager = `Bearer ${(await service.signIn({ role: "admin" })).token}`;
  before = await fingerprints(admin, rival.id);
});

afterAll(async () => {
  await admin?.end();
  await service?.stop();
});

/** Headers of a credential of the tenant that may run the operation. */
function credential(operation: Operation): Record<string, string | null> {
  if (operation.access === "property") return { "X-Api-Key": service.tenant.key };
  return { "X-Api-Key": null, Authorization: manager };
}

const openPointers = () => pointers().filter(({ operation }) => operation.access === "property");
const naming = (pointer: Pointer, id: string) => inputNaming(pointer, id, { tenant: service.tenant.id, own });

/** Requests that tried to reach what is not theirs. */
const probes = { rest: 0, mcp: 0, cli: 0 };

function probe(...asked: Parameters<typeof overRest> extends [TestService, ...infer R] ? R : never) {
  probes.rest++;
  return overRest(service, ...asked);
}

function probeMcp(...asked: Parameters<typeof overMcp> extends [TestService, ...infer R] ? R : never) {
  probes.mcp++;
  return overMcp(service, ...asked);
}

function probeCli(...asked: Parameters<typeof overUrl> extends [TestService, ...infer R] ? R : never) {
  probes.cli++;
  return overUrl(service, ...asked);
}

function probePath(method: string, path: string, options: Parameters<TestService["request"]>[2] = {}) {
  probes.rest++;
  return service.request(method, path, options);
}

/** Every operation is asked over REST. The other faces end in the same call, so one in so many is asked by them too. */
const isAsked = (index: number, of: number) => isFull || index % of === 0;

const masked = (text: string, id: string) => text.replaceAll(id, "<id>");

test("a record of another property is answered like one that does not exist, by every operation over REST", async () => {
  const told: string[] = [];
  for (const pointer of pointers()) {
    const { operation, field, table } = pointer;
    const foreign = theirs.get(table.name)!.id as string;
    const nowhere = randomUUID();
    const [one, other] = [
      await probe(operation, naming(pointer, foreign), credential(operation)),
      await probe(operation, naming(pointer, nowhere), credential(operation)),
    ];
    const name = `${operation.name}.${field}`;
    if (one.status !== other.status)
      told.push(`${name}: ${one.status} ${one.text}, and ${other.status} ${other.text}`);
    else if (one.status >= 400 && masked(one.text, foreign) !== masked(other.text, nowhere)) {
      told.push(`${name}: ${one.text}, and ${other.text}`);
    }
    if (field === "id" && one.status !== 404) told.push(`${name}: ${one.status} ${one.text}`);
    if (one.status >= 500) told.push(`${name}: ${one.text}`);
  }
  expect(told).toEqual([]);
  expect(pointers().length).toBeGreaterThan(40);
});

test("a record of another property is answered like one that does not exist, by every tool over MCP", async () => {
  const told: string[] = [];
  for (const [index, pointer] of openPointers().entries()) {
    if (!isAsked(index, 3)) continue;
    const { operation, field, table } = pointer;
    const foreign = theirs.get(table.name)!.id as string;
    const nowhere = randomUUID();
    const one = await probeMcp(operation, naming(pointer, foreign));
    const other = await probeMcp(operation, naming(pointer, nowhere));
    const same = one.data.code === other.data.code && one.isError === other.isError;
    const message = masked(String(one.data.message), foreign) === masked(String(other.data.message), nowhere);
    if (!same || (one.isError && !message))
      told.push(`${operation.name}.${field}: ${JSON.stringify([one, other])}`);
    if (field === "id" && one.data.code !== "not_found")
      told.push(`${operation.name}: ${JSON.stringify(one)}`);
  }
  expect(told).toEqual([]);
});

test("a record of another property is answered like one that does not exist, by every command", async () => {
  const told: string[] = [];
  // One field each: what answers is REST, which all of them have been asked over.
  const first = [...Map.groupBy(openPointers(), ({ operation }) => operation)].map(([, [one]]) => one!);
  const asked = first.filter((_, index) => isAsked(index, 6));
  for (const pointer of asked) {
    const { operation, field, table } = pointer;
    const foreign = theirs.get(table.name)!.id as string;
    const nowhere = randomUUID();
    const one = await probeCli(operation, naming(pointer, foreign), service.tenant.key);
    const other = await probeCli(operation, naming(pointer, nowhere), service.tenant.key);
    const same = one.code === other.code && masked(one.text, foreign) === masked(other.text, nowhere);
    if (one.code !== null ? !same : other.code !== null)
      told.push(`${operation.name}.${field}: ${JSON.stringify([one, other])}`);
    if (field === "id" && one.code !== "not_found") told.push(`${operation.name}: ${JSON.stringify(one)}`);
  }
  expect(told).toEqual([]);
  expect(first.length).toBeGreaterThan(40);
});

test("a rival's key gets nothing of a record by its own id, by every face", async () => {
  const told: string[] = [];
  const records = openPointers().filter(({ field }) => field === "id");
  for (const [index, pointer] of records.entries()) {
    const { operation, table } = pointer;
    const input = naming(pointer, theirs.get(table.name)!.id as string);
    const codes = [(await probe(operation, input, { "X-Api-Key": other.key })).body.code];
    if (isAsked(index, 4))
      codes.push((await probeMcp(operation, input, { "X-Api-Key": other.key })).data.code);
    if (isAsked(index, 6)) codes.push((await probeCli(operation, input, other.key)).code);
    for (const code of codes) if (code !== "not_found") told.push(`${operation.name}: ${code}`);
  }
  expect(told).toEqual([]);
});

test("naming another property is refused, and does not tell whether it exists", async () => {
  const told: string[] = [];
  const bound = OPERATIONS.filter(({ property, access }) => property !== null && access !== "operator");
  for (const [index, operation] of bound.entries()) {
    for (const property of [rival.id, randomUUID()]) {
      const input = inputFor(operation, { [operation.property!]: property });
      const { status, body } = await probe(operation, input, credential(operation));
      if (status !== 403 || body.error !== "wrong_property")
        told.push(`${operation.name}: ${status} ${JSON.stringify(body)}`);
      if (operation.access !== "property" || !isAsked(index, 6)) continue;
      const { data } = await probeMcp(operation, input);
      if (data.code !== "wrong_property") told.push(`${operation.name} over MCP: ${JSON.stringify(data)}`);
      const { code, text } = await probeCli(operation, input, service.tenant.key);
      if (code !== "wrong_property") told.push(`${operation.name} by the command line: ${text}`);
    }
  }
  expect(told).toEqual([]);
  expect(bound.length).toBeGreaterThan(3);
});

test("X-Property-Id of another property is refused by every operation", async () => {
  const told: string[] = [];
  const inProperty = OPERATIONS.filter(({ realm, access }) => realm === "property" && access !== "operator");
  for (const [index, operation] of inProperty.entries()) {
    for (const property of isAsked(index, 3) ? [rival.id, randomUUID()] : [rival.id]) {
      const input = inputFor(
        operation,
        operation.property ? { [operation.property]: service.tenant.id } : {},
      );
      const { status, body } = await probe(
        operation,
        { id: randomUUID(), ...input },
        {
          ...credential(operation),
          "X-Property-Id": property,
        },
      );
      if (status !== 403 || body.error !== "wrong_property")
        told.push(`${operation.name}: ${status} ${JSON.stringify(body)}`);
    }
    if (operation.access !== "property" || !isAsked(index, 6)) continue;
    const input = { id: randomUUID(), ...inputFor(operation) };
    const { data } = await probeMcp(operation, input, { "X-Property-Id": rival.id });
    if (data.code !== "wrong_property") told.push(`${operation.name} over MCP: ${JSON.stringify(data)}`);
  }
  expect(told).toEqual([]);
});

test("no filter of a list reaches another property's row", async () => {
  const told: string[] = [];
  for (const [turn, table] of TABLES.filter(({ verbs }) => verbs.includes("list")).entries()) {
    const foreign = theirs.get(table.name)!.id as string;
    const path = `/api/${table.name}`;
    const filters = [
      `id.eq=${foreign}`,
      `id=eq.${foreign}`,
      `property_id.eq=${rival.id}`,
      `property_id=eq.${rival.id}`,
      `id.in=(${foreign})`,
      `property_id.neq=${service.tenant.id}`,
      `id=in.(${foreign})`,
      `property_id.not.eq=${service.tenant.id}`,
    ];
    // Half of them, of the next list the other half.
    for (const filter of filters.filter((_, index) => isAsked(index + turn, 2))) {
      const { status, text } = await probePath("GET", `${path}?${filter}`);
      if (status !== 200 || text !== "[]") told.push(`${table.name}?${filter}: ${status} ${text}`);
    }
    const all: Answer = await service.get(`${path}?select=property_id&limit=1000`);
    const owners = new Set((all.body as { property_id: string }[]).map((row) => row.property_id));
    if (all.status !== 200 || [...owners].join() !== service.tenant.id)
      told.push(`${table.name}: ${all.text}`);
  }
  expect(told).toEqual([]);
});

test("a change of all rows that match a filter passes over another property's", async () => {
  const told: string[] = [];
  for (const { name, noun, verbs } of TABLES) {
    const foreign = theirs.get(name)!.id as string;
    for (const [verb, method] of [
      ["update", "PATCH"],
      ["delete", "DELETE"],
    ] as const) {
      if (!verbs.includes(verb) || CATALOG.operations.get(`${verb}_${noun}`)?.access !== "property") continue;
      const { status, text } = await probePath(method, `/api/${name}?id=eq.${foreign}`, { body: {} });
      if (status !== 200 || text !== "[]") told.push(`${method} ${name}: ${status} ${text}`);
    }
  }
  expect(told).toEqual([]);
});

test("a key that may only read is refused over MCP and by the command line too", async () => {
  const told: string[] = [];
  const writing = OPERATIONS.filter(
    (one) => one.scope === "write" && one.access !== "public" && !isPersonal(one),
  );
  for (const operation of writing.filter((_, index) => isAsked(index, 6))) {
    const input = { id: randomUUID(), ...inputFor(operation) };
    const { data } = await probeMcp(operation, input, { "X-Api-Key": service.tenant.readKey });
    if (data.code !== "insufficient_scope") told.push(`${operation.name} over MCP: ${JSON.stringify(data)}`);
    const { id: _, ...flags } = input;
    const words = "id" in operation.input.shape ? input : flags;
    const { code, text } = await probeCli(operation, words, service.tenant.readKey);
    if (code !== "insufficient_scope") told.push(`${operation.name} by the command line: ${text}`);
  }
  expect(told).toEqual([]);
});

test("without a credential every operation is refused in the specification's words", async () => {
  const told: string[] = [];
  for (const operation of OPERATIONS.filter(({ access }) => access !== "public")) {
    const { status, body, headers } = await probe(
      operation,
      { id: randomUUID(), ...inputFor(operation) },
      { "X-Api-Key": null },
    );
    const challenge = headers.get("WWW-Authenticate") ?? "";
    const right = /^Bearer resource_metadata="http[^"]+\/\.well-known\/oauth-protected-resource"$/.test(
      challenge,
    );
    if (status !== 401 || body.error !== "missing_credential" || !right)
      told.push(`${operation.name}: ${status} ${challenge}`);
  }
  expect(told).toEqual([]);
});

test("a caller who only reads in a property learns nothing of a rival's key", async () => {
  const { token } = await service.signIn({ role: "analyst" });
  const headers = { "X-Api-Key": null, Authorization: `Bearer ${token}` };
  const keyOf = async (property_id: string): Promise<string> =>
    (await service.call("create_api_key", { property_id, name: "to be revoked" })).id;
  const keys = [await keyOf(service.tenant.id), await keyOf((await service.newTenant()).id), randomUUID()];
  const codes: string[] = [];
  for (const key_id of keys)
    codes.push((await service.post("/api/functions/revoke-api-key", { key_id }, headers)).body.code);
  expect(codes).toEqual([
    expect.stringMatching(/^(insufficient_scope|forbidden)$/),
    "not_found",
    "not_found",
  ]);
});

test("after all of this, nothing of the other property has changed", async () => {
  expect(await fingerprints(admin, rival.id)).toEqual(before);
  expect(OPEN.length).toBeGreaterThan(30);
  const { rest, mcp, cli } = probes;
  process.stdout.write(`tenancy: ${rest} probes over REST, ${mcp} over MCP, ${cli} by the command line\n`);
  expect(rest + mcp + cli).toBeGreaterThanOrEqual(isFull ? 2_000 : 1_000);
});
