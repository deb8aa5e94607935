import { randomBytes } from "node:crypto";
import postgres from "postgres";
import { connect, type Database } from "#db/database.ts";
import { type Fragment, raw } from "#db/sql.ts";
import { cloneCluster, dropDatabase } from "./cluster/citus.ts";
import { withDatabase } from "./postgres/server-url.ts";

export interface TestDatabase {
  url: string;
  db: Database;
  drop(): Promise<void>;
}

/** A migrated database of its own, cloned from the run's template. */
export async function testDatabase({ isReleased = true } = {}): Promise<TestDatabase> {
  // Benchmarks import this file without vitest.
  const { inject } = await import("vitest");
  const [server, workers, template] = [inject("server"), inject("workers"), inject("template")];
  const name = `t_${randomBytes(8).toString("hex")}`;
  if (workers.length > 0) await cloneCluster(server, workers, template, name);
  else await administer(server, `create database ${name} template ${template} strategy file_copy`);
  // The embedded server's value. A server's own is meant for disks that turn, and takes few rows for worth a whole scan.
  await administer(server, `alter database ${name} set random_page_cost = 1.1`);
  const url = withDatabase(server, name);
  const db = patient(connect(url, { application: name }));
  // A clone is another database than the one that it was made from, so sending is held in it.
  if (isReleased) await db.asSystem((sql) => sql`update installation set identity = database_identity()`);
  return {
    url,
    db,
    drop: async () => {
      await db.close();
      if (workers.length > 0) await dropDatabase(server, workers, name);
      else await administer(server, `drop database if exists ${name} with (force)`);
    },
  };
}

/** Tests write tens of thousands of rows at once, which on a busy machine takes longer than a request may. */
function patient(db: Database): Database {
  const deadline = 30_000;
  return {
    ...db,
    asProperty: (property, work, options) => db.asProperty(property, work, { deadline, ...options }),
    asSystem: (work, options) => db.asSystem(work, { deadline, ...options }),
  };
}

let administration: postgres.Sql | undefined;

/** Over one connection for all databases of the process: to open one costs as much as to clone a database. */
async function administer(server: string, statement: string): Promise<void> {
  administration ??= postgres(server, { max: 1, fetch_types: false, onnotice: () => {} });
  await administration.unsafe(statement);
}

/**
 * A column's time, moved by an interval like "-25 hours". By way of UTC, because `timestamptz + interval` depends on
 * the session's time zone, and Citus updates no row by such an expression.
 */
export const shifted = (column: string, by: string): Fragment =>
  raw(`(${column} at time zone 'UTC' + interval '${by}') at time zone 'UTC'`);
