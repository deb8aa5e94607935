import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Database } from "#db/client.ts";
import { parseQuery } from "#db/filters.ts";
import { reader } from "#db/reader.ts";
import { shapeOf } from "#runtime/columns.ts";
import { CATALOG } from "#tools/catalog.ts";
import { type House, startHouse, type Tenant } from "../support/house.ts";
import { plantRows } from "./one-row-each.ts";
import type { Admin } from "./schema-facts.ts";

const LISTS = [...CATALOG.tables.values()].filter(({ verbs }) => verbs.includes("list"));

let house: House;
let admin: Admin;
let rival: Tenant;

beforeAll(async () => {
  // Without a worker, so that what is planted stays as it is.
  house = await startHouse({ role: "web" });
  admin = postgres(house.database.url, { max: 1, onnotice: () => {} });
  rival = await house.newTenant();
  await plantRows(admin, house.tenant.id);
  await plantRows(admin, rival.id);
});

afterAll(async () => {
  await admin?.end();
  await house?.stop();
});

async function planted(table: string, property: string): Promise<Record<string, unknown>[]> {
  const rows = await admin`select to_jsonb(t) as held from ${admin(table)} t where property_id = ${property}`;
  return rows.map(({ held }) => held);
}

test("no column of a list tells of another property's row that has a value of its own", async () => {
  const told: string[] = [];
  for (const { name, columns } of LISTS) {
    const [mine, [foreign]] = [await planted(name, house.tenant.id), await planted(name, rival.id)];
    for (const [column, { secret }] of Object.entries(columns)) {
      const value = foreign![column];
      if (secret || typeof value !== "string" || mine.some((row) => row[column] === value)) continue;
      const given = encodeURIComponent(value);
      for (const filter of [`${column}.eq=${given}`, `${column}=eq.${given}`, `${column}.in=("${given}")`]) {
        const { status, text, headers } = await house.get(`/api/${name}?${filter}`, {
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
  const { db } = house.service;
  type Read = Database["read"];
  const asReader: Read = (text, values) => db.read(text, values);
  const asTenant: Read = (text, values) =>
    db.asProperty(house.tenant.id, async (sql) => {
      const rows = await sql.unsafe(text, values as never[]).values();
      return rows.map(([body, ...rest]) => [JSON.stringify(body), ...rest]);
    });
  for (const table of LISTS) {
    const shape = shapeOf(table);
    const query = parseQuery(shape, new URLSearchParams("select=property_id&limit=1000"));
    const ownersBy = async (read: Read) => {
      const unfiltered: Read = (text, values, options) => {
        const without = text.replaceAll('"property_id" = $1', "$1::uuid is not null");
        expect(without).not.toBe(text);
        return read(without, values, options);
      };
      const { body } = await reader({ read: unfiltered }).list(house.tenant.id, shape, query);
      return new Set((JSON.parse(body) as { property_id: string }[]).map((row) => row.property_id));
    };
    expect([...(await ownersBy(asTenant))], table.name).toEqual([house.tenant.id]);
    // The control: it is the filter that keeps the reader itself to them.
    expect(await ownersBy(asReader), table.name).toContain(rival.id);
  }
});
