import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { scenarioIn } from "../../support/scenario.ts";
import { type Admin, columnsIn, tenantTables } from "../../support/schema.ts";
import { startService, type TestService } from "../../support/service.ts";
import { plantRows } from "../planted-rows.ts";

/** The ledger's rows are sealed, so they keep the duplicate's id. */
const STAYING = ["consent_records.player_id"];

let service: TestService;
let admin: Admin;
beforeAll(async () => {
  service = await startService({ role: "web" });
  admin = postgres(service.database.url, { max: 1, onnotice: () => {} });
});
afterAll(async () => {
  await admin.end();
  await service.stop();
});

test("a merge leaves no row with the duplicate, in any table", async () => {
  const planted = await plantRows(admin, service.tenant.id);
  const duplicateId = planted.get("players")!.id as string;
  const columns = await columnsIn(admin);
  const tenants = tenantTables(columns);
  const telling = columns.filter(
    ({ table, column }) =>
      tenants.includes(table) && table !== "players" && /^(?:player|referred)_id$/.test(column),
  );
  for (const { table, column } of telling) {
    await admin`update ${admin(table)} set ${admin(column)} = ${duplicateId}`;
  }
  const scenario = scenarioIn(service);
  const { id: playerId } = await scenario.call("create_player", {});
  await scenario.call("merge_players", { propertyId: scenario.id, playerId, duplicateId });
  const left = [];
  for (const { table, column } of telling) {
    const rows = await admin`select from ${admin(table)} where ${admin(column)} = ${duplicateId}`;
    if (rows.length > 0) left.push(`${table}.${column}`);
  }
  expect(left, "Name the table in tools/player-merge/move-records.ts.").toEqual(STAYING);
});
