import { randomUUIDv7 } from "node:crypto";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Context } from "#runtime/operation/context.ts";
import type { ImportParams } from "#tools/imports/job/import-job.ts";
import type { Staged } from "#tools/imports/read/rows.ts";
import { writeConsents } from "#tools/imports/write/consents.ts";
import { columnsIn, stage } from "#tools/imports/write/staging.ts";
import { startService, type TestService } from "../../../support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());

const ROWS = 1_000;

test("an import into a property that the statistics do not know reads its players once for each row, and not all of them", async () => {
  const { tenant, database } = service;
  const owner = postgres(database.url, { max: 1, onnotice: () => {} });
  const players = (propertyId: string, ids: string[]) => owner`
    insert into players (property_id, id, player_id) select ${propertyId}, id, id from unnest(${ids}::uuid[]) id returning 1`;
  const some = (count: number) => Array.from({ length: count }, () => randomUUIDv7());
  const older = await service.newTenant();
  await players(older.id, some(5_000));
  await owner`analyze players`;
  const ids = some(ROWS).sort();
  await players(tenant.id, ids);
  await owner.end();
  const rows = ids.map((id, n): Staged => {
    const choices = [{ channel: "email" as const, given: n % 2 === 0, occurredAt: null }];
    return { row: n + 1, id, matchOn: "player_id", values: { player_id: id }, choices, flaws: [], cells: [] };
  });
  const read = await database.db.asProperty(tenant.id, async (sql) => {
    const property = (await service.internals.directory.property(tenant.id))!;
    await stage(sql, rows, columnsIn(rows), { person: () => null, number: () => null });
    await sql`insert into import_rows select * from import_file`;
    const context = { sql, property } as unknown as Context;
    const requester = { actor_type: "system" as const, actor_id: null };
    const params = { consent: { channel: [], consentSource: "desk" } } as unknown as ImportParams;
    await writeConsents(context, { id: "", upload_id: "", processed: 0, params, ...requester }, rows, []);
    const [row] = await sql<[{ players: number; ledger: number }]>`
      select sum(idx_tup_fetch + seq_tup_read) filter (where relname = 'players')::int as players,
        sum(idx_tup_fetch + seq_tup_read) filter (where relname = 'consent_records')::int as ledger
      from pg_stat_xact_user_tables where relname in ('players', 'consent_records')`;
    return row;
  });
  const consents = await service.get(`/api/players?select=consents&limit=2&order=id`);
  expect(consents.body).toEqual([{ consents: { email: true } }, { consents: { email: false } }]);
  expect(read.players).toBeLessThan(20 * ROWS);
  expect(read.ledger).toBeLessThan(20 * ROWS);
});
