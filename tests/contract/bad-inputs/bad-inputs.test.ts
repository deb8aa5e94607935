import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Operation } from "#runtime/operation/operation.ts";
import { routesOf } from "#runtime/operation/rest-paths.ts";
import { CATALOG } from "#tools/catalog.ts";
import { expectFrame } from "../../support/answers.ts";
import { idFields, inputFor, NOWHERE, pointsTo } from "../../support/operation-calls.ts";
import { isFull } from "../../support/proof-size.ts";
import { type Admin, fingerprints } from "../../support/schema.ts";
import { type Answer, startService, type TestService } from "../../support/service.ts";
import { type Planted, plantRows } from "../planted-rows.ts";
import { BODIES, badBodies, badQueries, HEADERS } from "./bad-values.ts";

const OPERATIONS = [...CATALOG.operations.values()];
const TABLES = [...CATALOG.tables.values()];

let service: TestService;
let admin: Admin;
let own: Planted;
let token: string;
let before: Record<string, string>;
let asked = 0;

beforeAll(async () => {
  // Without a worker, so that what is planted stays as it is.
  service = await startService({ role: "web" });
  admin = postgres(service.database.url, { max: 1, onnotice: () => {} });
  own = await plantRows(admin, service.tenant.id);
  token = (await service.signIn({ role: "admin", platformAdmin: true })).token;
  before = await stored();
});

afterAll(async () => {
  await admin?.end();
  await service?.stop();
});

/** Everything that a bad request could have changed. */
async function stored(): Promise<Record<string, string>> {
  const [row] = await admin<{ platform: string }[]>`
    select md5(concat((select jsonb_agg(p order by p.id) from properties p), (select jsonb_agg(u order by u.id) from users u),
      (select jsonb_agg(m order by m.user_id, m.property_id) from memberships m),
      (select count(*) from api_keys), (select count(*) from queue))) as platform`;
  return { ...(await fingerprints(admin, service.tenant.id)), platform: row!.platform };
}

interface Bad {
  operation: Operation;
  method: string;
  path: string;
  body: string | Uint8Array;
  headers?: Record<string, string>;
}

/** The fault of an answer to a bad request; null for a good answer. */
async function flaw({ operation, method, path, body, headers = {} }: Bad): Promise<string | null> {
  asked++;
  const signed = operation.access !== "property" && !("Authorization" in headers || "X-Api-Key" in headers);
  const credential = signed ? { "X-Api-Key": null, Authorization: `Bearer ${token}` } : {};
  const shown = typeof body === "string" ? body.slice(0, 120) : "bytes";
  const about = `${method} ${path} ${shown} ${JSON.stringify(headers)}`;
  try {
    const json = { "Content-Type": "application/json" };
    const answer: Answer = await service.request(method, path, {
      body,
      headers: { ...json, ...credential, ...headers },
    });
    expectFrame(answer, about);
    if (answer.status >= 400 && answer.status < 500) return null;
    return `${about}: ${answer.status} ${answer.text.slice(0, 200)}`;
  } catch (error) {
    return `${about}: ${error}`;
  }
}

/** Where an operation is written to, about a record of ours where it is about one. */
function writesOf(operation: Operation): { method: string; path: string }[] {
  return routesOf(operation).flatMap(([path, verb]) => {
    if (verb === "get" || (!path.includes("{id}") && operation.crud && verb !== "post")) return [];
    const table = operation.crud?.table ?? operation.beneath?.table;
    const id = String((table && own.get(table.name)?.id) ?? NOWHERE);
    return [{ method: verb.toUpperCase(), path: path.replace("{id}", id) }];
  });
}

/** An input that is right, about records of ours. */
function goodInput(operation: Operation): Record<string, unknown> {
  const { id: _, ...wanted } = inputFor(operation);
  const mine = idFields(operation).flatMap(({ field, many }) => {
    const table = field === operation.property ? undefined : pointsTo(operation, field);
    const ours = field === operation.property ? service.tenant.id : table && own.get(table.name)?.id;
    return ours && field in wanted ? [[field, many ? [ours] : ours]] : [];
  });
  return { ...wanted, ...Object.fromEntries(mine) };
}

// Each test asks some hundred times, and with PROOF=full many thousands.
const LIMIT = isFull ? 600_000 : 60_000;

/** One in eleven, so that each value, body and header meets other operations; the whole of it with PROOF=full. */
function part<T>(whole: T[]): T[] {
  return whole.filter((_, index) => isFull || index % 11 === 0);
}

async function flawsIn(bad: Bad[]): Promise<string[]> {
  const left = bad.values();
  const flaws: string[] = [];
  const ask = async () => {
    for (const one of left) flaws.push(...[(await flaw(one)) ?? []].flat());
  };
  await Promise.all(Array.from({ length: 8 }, ask));
  return flaws;
}

test(
  "a body that is right but for one field is refused, for each field and operation",
  async () => {
    const seen = new Set<string>();
    const some = OPERATIONS.flatMap((operation) =>
      writesOf(operation).flatMap((place) =>
        badBodies(operation, goodInput(operation), seen).map((make) => ({ operation, ...place, make })),
      ),
    );
    const bad = part(some).flatMap(({ make, ...place }) => {
      const body = make();
      return body === null ? [] : [{ ...place, body }];
    });
    expect(await flawsIn(bad)).toEqual([]);
  },
  LIMIT,
);

test(
  "a body that is no input, and a header that no request may carry, are refused by every operation",
  async () => {
    const bad = OPERATIONS.flatMap((operation) =>
      writesOf(operation).flatMap((place) => [
        ...BODIES.map((body) => ({ operation, ...place, body })),
        // An operation about the platform or a user asks for no property.
        ...HEADERS.filter((headers) => operation.realm === "property" || !("X-Property-Id" in headers)).map(
          (headers) => ({ operation, ...place, body: JSON.stringify(goodInput(operation)), headers }),
        ),
      ]),
    );
    expect(await flawsIn(part(bad))).toEqual([]);
  },
  LIMIT,
);

test(
  "a query that is wrong is refused, for each column and list",
  async () => {
    const flaws: string[] = [];
    for (const table of TABLES.filter(({ verbs }) => verbs.includes("list"))) {
      for (const query of part(badQueries(table))) {
        asked++;
        const answer = await service.get(`/api/${table.name}?${query}`);
        expectFrame(answer, query);
        if (answer.status !== 400) flaws.push(`${table.name}?${query}: ${answer.status} ${answer.text}`);
      }
    }
    expect(flaws).toEqual([]);
  },
  LIMIT,
);

test("after all of this, nothing that is stored has changed", async () => {
  expect(await stored()).toEqual(before);
  process.stdout.write(`bad inputs: ${asked}\n`);
  expect(asked).toBeGreaterThan(isFull ? 25_000 : 3_000);
});
