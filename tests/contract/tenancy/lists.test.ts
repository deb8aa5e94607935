import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Database } from "#db/database.ts";
import { parseQuery } from "#db/query/parse.ts";
import { reader } from "#db/query/reader.ts";
import { driverOf, query as statementOn } from "#db/sql.ts";
import { readableOf } from "#runtime/operation/columns.ts";
import { CATALOG } from "#tools/catalog.ts";
import { isFull } from "../../support/proof-size.ts";
import type { Admin } from "../../support/schema.ts";
import { startService, type Tenant, type TestService } from "../../support/service.ts";
import { plantRows } from "../planted-rows.ts";

const LISTS = [...CATALOG.tables.values()].filter(({ verbs }) => verbs.includes("list"));

let service: TestService;
let admin: Admin;
let rival: Tenant;

beforeAll(async () => {
  // Without a worker, so that what is planted stays as it is.
  service = await startService({ role: "web" });
  admin = postgres(service.database.url, { max: 1, onnotice: () => {} });
  rival = await service.newTenant();
  await plantRows(admin, service.tenant.id);
  await plantRows(admin, rival.id);
});

afterAll(async () => {
  await admin?.end();
  await service?.stop();
});

async function planted(table: string, property: string): Promise<Record<string, unknown>[]> {
  const rows = await admin`select to_jsonb(t) as held from ${admin(table)} t where property_id = ${property}`;
  return rows.map(({ held }) => held);
}

test("no column of a list tells of another property's row that has a value of its own", async () => {
  const told: string[] = [];
  let turn = 0;
  for (const { name, columns } of LISTS) {
    const [mine, [foreign]] = [await planted(name, service.tenant.id), await planted(name, rival.id)];
    for (const [column, { read }] of Object.entries(columns)) {
      const value = foreign![column];
      if (read !== "answered" || typeof value !== "string" || mine.some((row) => row[column] === value))
        continue;
      const given = encodeURIComponent(value);
      const forms = [`${column}.eq=${given}`, `${column}=eq.${given}`, `${column}.in=("${given}")`];
      turn++;
      for (const filter of isFull ? forms : [forms[turn % forms.length]!]) {
        const { status, text, headers } = await service.get(`/api/${name}?${filter}`, {
          Prefer: "count=exact",
        });
        const range = headers.get("Content-Range");
        if (status !== 200 || text !== "[]" || range !== "*/0")
          told.push(`${name}?${filter}: ${range} ${text}`);
      }
    }
  }
  expect(told).toEqual([]);
});

test("with the reader's filter taken out, row-level security keeps a tenant to its own rows of every table", async () => {
  const { db } = service.internals;
  type Read = Database["read"];
  const asReader: Read = (statement) => db.read(statement);
  const asTenant: Read = (statement) =>
    db.asProperty(service.tenant.id, async (sql) => {
      const rows = await statementOn(driverOf(sql), statement).values();
      return rows.map(([body, ...rest]) => [JSON.stringify(body), ...rest]);
    });
  for (const table of LISTS) {
    const readable = readableOf(table);
    const query = parseQuery(readable, new URLSearchParams("select=property_id&limit=1000"));
    const ownersBy = async (read: Read) => {
      const unfiltered: Read = (statement, options) => {
        const texts = statement.texts.map((text) =>
          text.replaceAll('"property_id" = ', "/* on purpose */ '' <> "),
        );
        expect(texts).not.toEqual(statement.texts);
        return read({ ...statement, texts }, options);
      };
      const { body } = await reader({ read: unfiltered }).list(service.tenant.id, readable, query);
      return new Set((JSON.parse(body) as { property_id: string }[]).map((row) => row.property_id));
    };
    expect([...(await ownersBy(asTenant))], table.name).toEqual([service.tenant.id]);
    // The control: it is the filter that keeps the reader itself to them.
    expect(await ownersBy(asReader), table.name).toContain(rival.id);
  }
});
