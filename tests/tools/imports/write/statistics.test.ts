import { randomUUIDv7 } from "node:crypto";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Sql } from "#db/database.ts";
import { type Fragment, sql as part } from "#db/sql.ts";
import type { Context } from "#runtime/operation/context.ts";
import { refreshConsents } from "#tools/consent/ledger.ts";
import type { ImportParams } from "#tools/imports/job/import-job.ts";
import type { Staged } from "#tools/imports/read/rows.ts";
import { writeConsents } from "#tools/imports/write/consents.ts";
import { columnsIn, stage } from "#tools/imports/write/staging.ts";
import { stageRows } from "#tools/imports/write/verdicts.ts";
import { openTransaction } from "../../../support/postgres/blocking.ts";
import { startService, type TestService } from "../../../support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());

const ROWS = 1_000;

interface Plan {
  "Actual Rows": number;
  "Actual Loops": number;
  "Rows Removed by Filter"?: number;
  "Rows Removed by Join Filter"?: number;
  Plans?: Plan[];
}

/** The rows that one step of a plan has found or compared, of the step with the most. */
function mostRows(plan: Plan): number {
  const { "Rows Removed by Filter": filtered = 0, "Rows Removed by Join Filter": unjoined = 0 } = plan;
  const rows = (plan["Actual Rows"] + filtered + unjoined) * plan["Actual Loops"];
  return Math.max(rows, ...(plan.Plans ?? []).map(mostRows));
}

const planOf = async (sql: Sql, statement: Fragment): Promise<Plan> => {
  const [found] = await sql<
    { "QUERY PLAN": [{ Plan: Plan }] }[]
  >`explain (analyze, format json) ${statement}`;
  return found!["QUERY PLAN"][0].Plan;
};

/** The same transaction, whose queries that only read are run twice: their plans are handed to `note`. */
function explaining(sql: Sql, note: (plan: Plan) => void): Sql {
  const tag = (texts: TemplateStringsArray, ...values: unknown[]) => {
    const statement = sql(texts, ...values);
    if (!texts[0]!.trim().startsWith("select")) return statement;
    const found = statement.then.bind(statement);
    const explained = async () => {
      note(await planOf(sql, part(texts, ...values)));
      return found();
    };
    // biome-ignore lint/suspicious/noThenProperty: a statement runs when it is awaited
    return Object.assign(statement, { then: (...ways: never[]) => explained().then(...ways) });
  };
  return Object.assign(tag, sql) as Sql;
}

test("an import into a property that the statistics do not know reads its players once for each row, and not all of them", async () => {
  const { tenant, database } = service;
  const owner = postgres(database.url, { max: 1, onnotice: () => {} });
  const players = (propertyId: string, ids: string[]) => owner`
    insert into players (property_id, id, player_id, email, email_hash)
    select ${propertyId}, id, id, id || '@example.com', sha256(id::text::bytea) from unnest(${ids}::uuid[]) id returning 1`;
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
  const plans: Plan[] = [];
  const read = await database.db.asProperty(tenant.id, async (sql) => {
    const property = (await service.internals.directory.property(tenant.id))!;
    await stage(sql, rows, columnsIn(rows), { person: () => null, number: () => null });
    await sql`insert into import_rows select * from import_file`;
    const context = { sql: explaining(sql, (plan) => plans.push(plan)), property } as unknown as Context;
    const requester = { actor_type: "system" as const, actor_id: null };
    const params = { consent: { channel: [], consentSource: "desk" } } as unknown as ImportParams;
    const job = { id: "", upload_id: "", processed: 0, params, ...requester };
    await writeConsents(context, job, { rows, flawed: [], meant: [] });
    const [row] = await sql<[{ players: number; ledger: number }]>`
      select sum(idx_tup_fetch + seq_tup_read) filter (where relname = 'players')::int as players,
        sum(idx_tup_fetch + seq_tup_read) filter (where relname = 'consent_records')::int as ledger
      from pg_stat_xact_user_tables where relname in ('players', 'consent_records')`;
    return row;
  });
  const consents = await service.get(`/api/players?select=consents&limit=2&order=id`);
  expect(consents.body).toEqual([{ consents: { email: true } }, { consents: { email: false } }]);
  expect(plans.length).toBeGreaterThan(0);
  expect(Math.max(...plans.map(mostRows))).toBeLessThan(20 * ROWS);
  expect(read.players).toBeLessThan(20 * ROWS);
  expect(read.ledger).toBeLessThan(20 * ROWS);
});

test("consents of players whom the statistics do not know are refreshed without comparing each with each", async () => {
  const { database } = service;
  const property = await service.newProperty();
  const ids = Array.from({ length: ROWS }, () => randomUUIDv7());
  await database.db.asProperty(property.id, async (sql) => {
    await sql`
      insert into players (property_id, id, player_id) select ${property.id}, id, id from unnest(${ids}::uuid[]) id returning 1`;
    await sql`
      insert into consent_records (property_id, player_id, channel, action, consent_given, actor_type, record_hash)
      select ${property.id}, id, channel, 'granted', true, 'system', ''
      from unnest(${ids}::uuid[]) id, unnest(${["email", "sms"]}::text[]) channel returning 1`;
    const plans: Plan[] = [];
    const explained = async (texts: TemplateStringsArray, ...values: unknown[]) => {
      plans.push(await planOf(sql, part(texts, ...values)));
    };
    await refreshConsents(explained as unknown as Sql, property, ids);
    const [row] = await sql<[{ count: number }]>`
      select count(*)::int as count from players
      where property_id = ${property.id} and id = any(${ids}::uuid[])
        and consents = '{"email": true, "sms": true}' and consent_expiries is null and consent_levels is null`;
    expect(row.count).toBe(ROWS);
    expect(plans).toHaveLength(1);
    expect(mostRows(plans[0]!)).toBeLessThan(20 * ROWS);
  });
});

test.each(["player_id", "email", "phone"] as const)(
  "rows that name deleted players by %s are looked up one by one, also while an old transaction keeps the deleted versions",
  async (matchOn) => {
    const { internals, tenant, database, stop } = await startService({ role: "web" });
    const owner = postgres(database.url, { max: 2, onnotice: () => {} });
    // The planner expects no player, and then prefers a low index. Long keys make theirs high.
    const keys = Array.from({ length: ROWS }, (_, n) => `${"x".repeat(200)}${n}`);
    await owner`
      insert into players (property_id, player_id, email, phone)
      select ${tenant.id}, key, key, key from unnest(${keys}::text[]) key returning 1`;
    const release = await openTransaction(owner, (sql) => sql`select pg_current_xact_id()`);
    await owner`update players set deleted_at = now()`;
    const rows = keys.map((key, n): Staged => {
      const values = { [matchOn]: key };
      return { row: n + 1, id: randomUUIDv7(), matchOn, values, choices: [], flaws: [], cells: [] };
    });
    const property = (await internals.directory.property(tenant.id))!;
    const read = await database.db.asProperty(tenant.id, async (sql) => {
      await sql`select analyze_players()`;
      const context = { sql, property } as unknown as Context;
      await stageRows(context, randomUUIDv7(), {} as unknown as ImportParams, rows, () => {});
      const [row] = await sql<[{ entries: number }]>`
        select sum(pg_stat_get_xact_tuples_returned(indexrelid))::int as entries
        from pg_index where indrelid = 'players'::regclass`;
      return row.entries;
    });
    await release();
    await owner.end();
    await stop();
    expect(read).toBeLessThan(20 * ROWS);
  },
);
