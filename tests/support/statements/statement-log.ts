import postgres from "postgres";
import { judge, report } from "./judge.ts";
import { schemaFacts } from "./schema-facts.ts";

const ROLES = ["app_property", "app_system", "app_reader"];

/** Settings of a server that keeps each statement of a run. Without utility statements, of which each SET is one. */
export const KEEPING = {
  shared_preload_libraries: "pg_stat_statements",
  "pg_stat_statements.max": "100000",
  "pg_stat_statements.track": "top",
  "pg_stat_statements.track_utility": "off",
  "pg_stat_statements.save": "off",
};

export interface StatementLog {
  /** Throws when a statement that the service has run since cannot run on a distributed PostgreSQL. */
  check(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Keeps what the service's roles run on a server from now on, by its pg_stat_statements. Null where the server does
 * not load it, as one that the run was given may not.
 */
export async function openStatementLog(
  admin: postgres.Sql,
  template: string,
  urlOf: (database: string) => string,
): Promise<StatementLog | null> {
  const [loaded] = await admin`
    select current_setting('shared_preload_libraries') like '%pg_stat_statements%' as loaded`;
  if (!loaded!.loaded) return null;
  // In a database of its own: extensions of the template would be in every clone.
  const name = `${template}_statements`;
  await admin.unsafe(`create database ${name}`);
  const log = postgres(urlOf(name), { max: 1, onnotice: () => {} });
  await log`create extension pg_stat_statements`;
  const before = await log<{ dbid: number }[]>`select distinct dbid from pg_stat_statements`;
  return {
    check: async () => {
      const texts = await log<{ query: string }[]>`
        select distinct query from pg_stat_statements s join pg_roles r on r.oid = s.userid
        where r.rolname = any(${ROLES}) and s.dbid <> all(${before.map(({ dbid }) => dbid)}::oid[])`;
      const migrated = postgres(urlOf(template), { max: 1, onnotice: () => {} });
      const facts = await schemaFacts(migrated).finally(() => migrated.end());
      const judged = await judge(
        texts.map(({ query }) => query),
        facts,
      );
      if (judged.broken.length > 0) throw new Error(report(judged));
    },
    close: async () => {
      await log.end();
      await admin.unsafe(`drop database if exists ${name} with (force)`);
    },
  };
}
