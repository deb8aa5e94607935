import { randomUUIDv7 } from "node:crypto";
import { z } from "zod";
import type { Sql } from "#db/database.ts";
import { firstIdOf, monthName } from "#db/partitions/month.ts";
import {
  dropPartition,
  makePartition,
  missingPartitions,
  type Partitioned,
  partitionedTables,
  type Run,
} from "#db/partitions/partitions.ts";
import { identifier, raw } from "#db/sql.ts";
import { enqueue } from "#runtime/jobs/queue.ts";
import { appendRows } from "#runtime/ledgers.ts";
import { type JobContext, job } from "#runtime/operation/job.ts";
import { HELD_BACK, retire } from "#tools/ledgers/retire.ts";
import { type EndedMonth, endedMonths, propertyWishes } from "./retention.ts";
import tellMonthEnded from "./tell-month-ended.job.ts";

/**
 * Makes the partitions of the coming months, and drops those whose retention has ended. Says when rows are in no
 * month, and why a month is held back.
 */
export default job({
  name: "keep_months",
  attempts: 5,
  every: "23 4 * * *",
  input: z.object({}),
  async handler(context) {
    const { transactSystem, config, signal } = context;
    const tables = await transactSystem((sql) => partitionedTables(asIs(sql)));
    const [clock] = await transactSystem(
      (sql) => sql<{ now: number }[]>`select extract(epoch from now())::float8 * 1000 as now`,
    );
    for (const partition of missingPartitions(tables, clock!.now)) {
      await transactSystem(async (sql) => makePartition(await asOwner(sql), partition));
    }
    const properties = await transactSystem(propertyWishes);
    const wishes = properties.map(({ retention }) => retention);
    for (const ended of endedMonths(tables, config.retention, wishes, clock!.now)) {
      if (signal.aborted) return;
      await endMonth(context, ended, properties);
    }
    const known = await transactSystem((sql) => partitionedTables(asIs(sql)));
    for (const table of known) await sayStrays(context, table, properties);
  },
});

const asIs =
  (sql: Sql): Run =>
  (statement) =>
    sql`${raw(statement)}`;

/** Only the user of the service may change tables, not the roles that it takes on. */
async function asOwner(sql: Sql): Promise<Run> {
  await sql`set local role none`;
  return asIs(sql);
}

interface Property {
  id: string;
}

async function endMonth(
  context: JobContext,
  ended: EndedMonth,
  properties: readonly Property[],
): Promise<void> {
  const { transactSystem, log } = context;
  const about = { kept: ended.kept, month: monthName(ended.month) };
  const counts = new Map<string, number>();
  for (const { id } of properties) {
    const found = await transactSystem((sql) => closed(context, sql, id, ended));
    if (typeof found === "string") {
      log.error({ ...about, propertyId: id }, `A month whose retention has ended is not dropped: ${found}.`);
      return;
    }
    if (found > 0) counts.set(id, found);
  }
  await transactSystem(async (sql) => {
    for (const [propertyId, rows] of counts) {
      await enqueue(sql, tellMonthEnded, { ...about, rows }, { propertyId });
    }
    const rows = [...counts.values()].reduce((sum, count) => sum + count, 0);
    await appendRows(sql, "system_audit_logs", [platformRow({ ...about, rows, properties: counts.size })]);
    const run = await asOwner(sql);
    for (const partition of ended.partitions) await dropPartition(run, partition);
    log.info({ ...about, rows }, "month dropped at the end of its retention");
  });
}

/** The rows that a property has in a month, ready to be dropped; or why they must stay. */
async function closed(
  { config }: JobContext,
  sql: Sql,
  propertyId: string,
  { kept, month, partitions }: EndedMonth,
): Promise<number | string> {
  const [from, to] = [firstIdOf(month), firstIdOf(month + 1)];
  if (kept === "audit_logs") {
    const rows = await retire({ sql, config }, propertyId, month);
    return typeof rows === "number" ? rows : HELD_BACK[rows];
  }
  if (kept === "webhooks") {
    const waiting = await sql`
      select from webhook_backlog where property_id = ${propertyId} and id >= ${from} and id < ${to} limit 1`;
    const open = await sql`
      select from webhook_deliveries
      where property_id = ${propertyId} and id >= ${from} and id < ${to} and status = 'pending' limit 1`;
    if (waiting.length > 0 || open.length > 0) return "deliveries of it are still to be made";
  }
  const [counted] = await sql<{ rows: number }[]>`
    select count(*) as rows from ${identifier(partitions[0]!.table)}
    where property_id = ${propertyId} and id >= ${from} and id < ${to}`;
  return counted!.rows;
}

function platformRow(diff: object) {
  const done = { actor_type: "system", actor_id: null, client: "job", action: "end_retention" };
  return { id: randomUUIDv7(), ...done, entity: null, entity_id: null, diff, ip: null, request_id: null };
}

/** Rows of a month that has no partition: written with a clock far from this one, or while no months were made. */
async function sayStrays(
  { transactSystem, log }: JobContext,
  { table, months }: Partitioned,
  properties: readonly Property[],
): Promise<void> {
  const [first, last] = [months[0], months.at(-1)];
  if (first === undefined || last === undefined) return;
  for (const { id } of properties) {
    const stray = await transactSystem(
      (sql) => sql`
        select from ${identifier(table)}
        where property_id = ${id} and (id < ${firstIdOf(first)} or id >= ${firstIdOf(last + 1)}) limit 1`,
    );
    if (stray.length > 0) {
      log.error(
        { table, propertyId: id },
        `Rows of ${table} are of no month that has a partition: their clock was wrong.`,
      );
    }
  }
}
