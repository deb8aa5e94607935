import type postgres from "postgres";
import { command } from "./connection/open.ts";

/**
 * Makes the roles that are missing, and lets the service's user take them on. They belong to the whole server: another
 * database's start may have made them, even at this moment, and a dump does not bring them along.
 */
export async function ensureRoles(sql: postgres.Sql): Promise<void> {
  await command(sql, ROLES).simple();
}

// The reader's policies pass every row already. Without them in its plans the planner may use column statistics for
// ilike: 158 ms against 0.3 ms for a common pattern. Only a superuser may say so.
const ROLES = `
do $$
declare
  wanted text;
  is_new boolean := current_setting('server_version_num')::int >= 160000;
begin
  foreach wanted in array array['app_idle', 'app_property', 'app_system', 'app_reader'] loop
    if not exists (select from pg_roles where rolname = wanted) then
      begin
        execute format('create role %I nologin noinherit', wanted);
      exception when duplicate_object or unique_violation then null;
      end;
    end if;
    if not pg_has_role(current_user, wanted, case when is_new then 'set' else 'member' end) then
      begin
        execute format(case when is_new then 'grant %I to current_user with inherit false, set true'
          else 'grant %I to current_user' end, wanted);
      exception when unique_violation then null;
      end;
    end if;
  end loop;
  if not (select rolbypassrls from pg_roles where rolname = 'app_reader') then
    begin
      alter role app_reader bypassrls;
    exception when insufficient_privilege then null;
    end;
  end if;
end $$`;

/**
 * Gives the roles again what these migrations gave them, where the database does not know it: a dump that was restored
 * before there were roles has lost every grant and every policy.
 */
export async function restoreAccess(sql: postgres.Sql, migrations: readonly string[]): Promise<void> {
  if (migrations.length === 0) return;
  const [access] = await sql<{ is_whole: boolean }[]>`
    select has_table_privilege('app_system', 'queue', 'select') and has_table_privilege('app_reader', 'players', 'select')
      and has_table_privilege('app_property', 'players', 'select')
      and has_function_privilege('app_idle', 'hold_lease(uuid, uuid)', 'execute') as is_whole`;
  if (access!.is_whole) return;
  const statements = migrations.flatMap((text) => text.match(ACCESS) ?? []);
  await sql.begin(async (transaction) => {
    const policies = await transaction<{ name: string; table: string }[]>`
      select policyname as name, tablename as "table" from pg_policies where schemaname = 'public'`;
    for (const { name, table } of policies) {
      await transaction`drop policy ${transaction(name)} on ${transaction(table)}`;
    }
    await command(transaction, statements.join("\n")).simple();
  });
}

/** A migration's statements about access: they begin a line, and those inside functions are indented. */
const ACCESS = /^(?:grant|revoke|create policy|call isolate_tenants)\b[^;]*;/gm;
