import { randomBytes } from "node:crypto";
import postgres from "postgres";
import { connect, type Database } from "#db/database.ts";
import { cloneCluster, dropDatabase } from "./citus.ts";
import { withDatabase } from "./server-url.ts";

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
  else await onServer(server, `create database ${name} template ${template} strategy file_copy`);
  const url = withDatabase(server, name);
  // A clone is another database than the one that it was made from, so sending is held in it.
  if (isReleased) await onServer(url, "update installation set identity = database_identity()");
  const db = patient(connect(url, { application: name }));
  return {
    url,
    db,
    drop: async () => {
      await db.close();
      await dropDatabase(server, workers, name);
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

async function onServer(server: string, statement: string): Promise<void> {
  const admin = postgres(server, { max: 1, onnotice: () => {} });
  try {
    await admin.unsafe(statement);
  } finally {
    await admin.end();
  }
}
