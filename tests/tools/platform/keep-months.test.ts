import { randomUUID } from "node:crypto";
import { pino } from "pino";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { monthName, startOf } from "#db/partitions/month.ts";
import { detailHash, recordHash } from "#runtime/ledgers.ts";
import { sealNext } from "#tools/ledgers/seals.ts";
import { idAt, makeMonth, monthsIn, PRESENT } from "../../db/partitions/months.ts";
import { startService, type Tenant, type TestService } from "../../support/service.ts";

let service: TestService;
let admin: postgres.Sql;
const said: { level: number; msg: string; month?: string }[] = [];
const alarm = () => said.findLast(({ level }) => level >= 50)?.msg;
beforeAll(async () => {
  const log = pino({ level: "info" }, { write: (line: string) => void said.push(JSON.parse(line)) });
  service = await startService({ retention: { audit_logs: 60, mailbox_messages: 2, webhooks: 1 } }, { log });
  admin = postgres(service.database.url, { max: 2, onnotice: () => {} });
});
afterAll(async () => {
  await admin.end();
  await service.stop();
});

async function keepMonths(): Promise<void> {
  await admin`insert into queue (id, name, input, max_attempts) values (uuid_v7(), 'keep_months', '{}', 1)`;
  service.internals.wake();
  await service.idle();
  const [dead] = await admin`select last_error from queue where name = 'keep_months'`;
  expect(dead).toBeUndefined();
}

const has = async (table: string, month: number) =>
  (await monthsIn(admin))[table]?.includes(monthName(month));

async function mailed({ id }: Tenant, month: number): Promise<void> {
  const moment = startOf(month) + 86_400_000;
  await admin`
    insert into mailbox_messages (property_id, id, channel, recipient, created_at)
    values (${id}, ${idAt(moment)}, 'email', 'a@casino.example', ${new Date(moment).toISOString()})`;
}

/** A row of the audit log as it was written at a time, with its hashes. */
async function audited(
  { id }: Tenant,
  month: number,
  row: { action?: string; entityId?: string; diff?: object } = {},
) {
  const moment = startOf(month) + 86_400_000 + Math.floor(Math.random() * 80_000_000);
  const rowId = idAt(moment);
  await service.internals.db.asSystem(
    (sql) => sql`
      insert into audit_logs (property_id, id, actor_type, action, entity_id, diff, created_at, updated_at, salt,
        detail_hash, record_hash)
      select r.property_id, r.id, r.actor_type, r.action, r.entity_id, r.diff, r.created_at, r.created_at, r.salt,
        r.detail_hash, ${recordHash("audit_logs", "r")}
      from (
        select d.*, ${detailHash("audit_logs", "d")} as detail_hash
        from (
          select ${id}::uuid as property_id, ${rowId}::uuid as id, 'system' as actor_type, null::uuid as actor_id,
            null as client, ${row.action ?? "login"} as action, null as entity, ${row.entityId ?? null}::uuid as entity_id,
            ${row.diff ?? {}}::jsonb as diff, null as ip, null as request_id,
            ${new Date(moment).toISOString()}::timestamptz as created_at, sha256('salt') as salt
        ) d
      ) r returning 1`,
  );
  return rowId;
}

async function seal({ id }: Tenant): Promise<void> {
  const { db, config } = service.internals;
  for (const ledger of ["audit_logs", "consent_records"] as const) {
    const chain = { ledger, propertyId: id };
    const horizon = new Date().toISOString();
    while (await db.asSystem((sql) => sealNext(sql, config, chain, { horizon, most: 4 }))) {}
  }
}

const verified = (tenant: Tenant) => service.call("verify_ledger", { propertyId: tenant.id }, tenant.id);

const lastAct = async ({ id }: Tenant) =>
  (
    await admin<{ diff: object }[]>`
      select diff from audit_logs where property_id = ${id} and action = 'end_retention' order by id desc limit 1`
  )[0]?.diff;

test("the coming months are made, however long no process ran", async () => {
  for (const table of ["outbox", "audit_logs"]) {
    await admin`drop table ${admin(`${table}_${monthName(PRESENT + 2).replace("-", "_")}`)}`;
  }
  await keepMonths();
  for (const months of Object.values(await monthsIn(admin))) {
    expect(months).toEqual(expect.arrayContaining([PRESENT, PRESENT + 1, PRESENT + 2].map(monthName)));
  }
});

test("a month is dropped when its retention has ended, every property is told, and a longer wish keeps it for all", async () => {
  const [one, other] = [await service.newTenant(), await service.newTenant()];
  await service.call(
    "create_webhook_endpoint",
    { url: "https://receiver.example/", events: ["retention.*"] },
    one.id,
  );
  for (const month of [PRESENT - 3, PRESENT - 2]) {
    await makeMonth(admin, "mailbox_messages", month);
    await mailed(one, month);
    await mailed(one, month);
    await mailed(other, month);
  }
  await service.call(
    "update_property",
    { propertyId: other.id, retention: { mailbox_messages: 3 } },
    other.id,
  );
  await keepMonths();
  expect(await has("mailbox_messages", PRESENT - 3), "kept by the wish").toBe(true);

  await service.call(
    "update_property",
    { propertyId: other.id, retention: { mailbox_messages: 1 } },
    other.id,
  );
  await keepMonths();
  expect(await has("mailbox_messages", PRESENT - 3)).toBe(false);
  expect(await has("mailbox_messages", PRESENT - 2), "two whole months are kept").toBe(true);
  const ended = { kept: "mailbox_messages", month: monthName(PRESENT - 3) };
  expect(await lastAct(one)).toEqual({ ...ended, rows: 2 });
  expect(await lastAct(other)).toEqual({ ...ended, rows: 1 });
  const events = await admin`
    select type, data -> 'object' as object from outbox where property_id = ${one.id} and type like 'retention.%'`;
  expect([...events]).toEqual([{ type: "retention.ended", object: { ...ended, rows: 2 } }]);
  const [platform] = await admin`select diff from system_audit_logs where action = 'end_retention'`;
  expect(platform!.diff).toEqual({ ...ended, rows: 3, properties: 2 });
  expect(said.find(({ month }) => month === ended.month)?.msg).toMatch(/month dropped/);
  const rows = await admin`select from mailbox_messages where property_id = ${one.id}`;
  expect(rows).toHaveLength(2);
});

test("a month of events stays while a delivery of it is to be made, and then both tables' months go together", async () => {
  const tenant = await service.newTenant();
  const month = PRESENT - 2;
  for (const table of ["outbox", "webhook_deliveries"]) await makeMonth(admin, table, month);
  const endpoint = await service.call(
    "create_webhook_endpoint",
    { url: "https://receiver.example/", events: ["*"] },
    tenant.id,
  );
  const event = idAt(startOf(month) + 5);
  await admin`insert into outbox (property_id, id, type, data) values (${tenant.id}, ${event}, 'player.created', '{}')`;
  await admin`
    insert into webhook_deliveries (property_id, id, event_id, event_type, endpoint_id, next_attempt_at)
    values (${tenant.id}, uuid_v7_of(${event}), ${event}, 'player.created', ${endpoint.id}, now() + interval '1 day')`;
  await keepMonths();
  expect(await has("outbox", month)).toBe(true);
  expect(await has("webhook_deliveries", month)).toBe(true);
  expect(alarm()).toMatch(/not dropped: deliveries of it are still to be made/);
  await admin`update webhook_deliveries set status = 'failed' where property_id = ${tenant.id} and event_id = ${event}`;
  await admin`
    insert into webhook_backlog (property_id, id, endpoint_id, event_ids)
    values (${tenant.id}, uuid_v7_of(${event}), ${endpoint.id}, array[${event}::uuid])`;
  await keepMonths();
  expect(await has("outbox", month)).toBe(true);
  await admin`delete from webhook_backlog where property_id = ${tenant.id}`;
  await keepMonths();
  expect(await has("outbox", month)).toBe(false);
  expect(await has("webhook_deliveries", month)).toBe(false);
});

test("a dropped month of the audit log leaves the chain intact, with the evidence of its erasures", async () => {
  const tenant = await service.newTenant();
  const month = PRESENT - 61;
  await makeMonth(admin, "audit_logs", month);
  for (let row = 0; row < 6; row++) await audited(tenant, month);
  // An erasure of that time had blanked a row of the month, one of a month that is kept, and a consent.
  const erasure = randomUUID();
  const blanked = await audited(tenant, month);
  const kept = await audited(tenant, PRESENT);
  const ids = [blanked, kept].sort();
  const [hash] = await admin<{ ids: string }[]>`
    select encode(sha256(convert_to(${ids.join(",")}, 'UTF8')), 'hex') as ids`;
  const facts = { blanked: { audit_logs: { rows: 2, ids_sha256: hash!.ids } } };
  await audited(tenant, month, { action: "data_deletion", entityId: erasure, diff: facts });
  await seal(tenant);
  await admin`
    update audit_logs set erased_by = ${erasure}, diff = null, salt = null, updated_at = now()
    where property_id = ${tenant.id} and id = any(${ids})`;
  expect(await verified(tenant)).toMatchObject({ intact: true });

  await keepMonths();
  expect(await has("audit_logs", month)).toBe(false);
  expect(await verified(tenant)).toMatchObject({ intact: true, ledgers: [{ other_secret: 0 }, {}] });
  expect(await lastAct(tenant)).toEqual({ kept: "audit_logs", month: monthName(month), rows: 8 });

  // A row that was dropped elsewhere, or told by a forged record, is a removal still.
  const [record] = await admin`select * from audit_retirements where property_id = ${tenant.id}`;
  await admin`update audit_retirements set rows = 7 where property_id = ${tenant.id}`;
  expect(await verified(tenant)).toMatchObject({
    intact: false,
    ledgers: [{ first: { kind: "row_removed", seal: 1 } }, {}],
  });
  await admin`update audit_retirements set rows = ${record!.rows} where property_id = ${tenant.id}`;
  await admin`delete from audit_logs where property_id = ${tenant.id} and id = ${kept}`;
  expect(await verified(tenant)).toMatchObject({
    intact: false,
    ledgers: [{ first: { kind: "row_removed", row_id: kept } }, {}],
  });
});

test("a month of the audit log that is not sealed, or has a flaw, is held back, and the log says so", async () => {
  const tenant = await service.newTenant();
  const month = PRESENT - 63;
  await makeMonth(admin, "audit_logs", month);
  const [first] = [await audited(tenant, month), await audited(tenant, month)];
  await keepMonths();
  expect(await has("audit_logs", month)).toBe(true);
  expect(alarm()).toMatch(/not dropped: it has rows that are not sealed yet/);
  await seal(tenant);
  await admin`update audit_logs set action = 'other' where property_id = ${tenant.id} and id = ${first}`;
  await keepMonths();
  expect(await has("audit_logs", month)).toBe(true);
  expect(alarm()).toMatch(/its seals show a flaw/);
  await admin`update audit_logs set action = 'login' where property_id = ${tenant.id} and id = ${first}`;
  await keepMonths();
  expect(await has("audit_logs", month)).toBe(false);
  expect(await verified(tenant)).toMatchObject({ intact: true });
});

test("rows of a month that has no partition raise an alarm", async () => {
  await mailed(service.tenant, PRESENT + 40);
  await keepMonths();
  expect(alarm()).toMatch(/Rows of mailbox_messages are of no month that has a partition/);
});
