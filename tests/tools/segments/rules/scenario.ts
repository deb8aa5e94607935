import { randomUUID } from "node:crypto";
import type { Sql } from "#db/database.ts";
import { type Fragment, identifier, insertedValues, raw } from "#db/sql.ts";
import type { CustomType } from "#tools/custom-fields/values.ts";
import type { Condition, Group } from "#tools/segments/rules/compile.ts";
import { audienceMatching } from "#tools/segments/rules/references.ts";
import { testDatabase } from "../../../support/database.ts";

export type Row = Record<string, unknown>;

export const ZONE = "America/New_York";
const DAY = 86_400_000;

/** Properties with players of one's own, and the audiences of rules over them. */
export async function openSegments() {
  const base = await testDatabase();
  const as = <T>(property: string, work: (sql: Sql) => Promise<T>) => base.db.asProperty(property, work);

  const add = (property: string, table: string, rows: Row[]) =>
    as(property, async (sql) => {
      for (const row of rows) {
        await sql`insert into ${identifier(table)} ${insertedValues({ property_id: property, ...row })}`;
      }
    });

  /** A property of its own with these players, who are named by their player_id. */
  const propertyWith = async (
    players: Row[],
    zone = ZONE,
    customs: Record<string, CustomType> = {},
  ): Promise<string> => {
    const property = randomUUID();
    await base.db.asSystem(
      (sql) => sql`
        insert into properties (id, name, slug, timezone) values (${property}, 'House', ${property}, ${zone})`,
    );
    const fields = Object.entries(customs).map(([key, type]) => ({ key, label: key, type }));
    await add(property, "custom_fields", fields);
    await add(property, "players", players);
    return property;
  };

  /** The player_ids that the rules match, in the order of their bytes, at a chosen moment or now. */
  const matching = (property: string, rules: Partial<Group>, now?: Date): Promise<string[]> =>
    as(property, async (sql) => {
      if (now) {
        await sql`set local search_path = clock, public, pg_catalog`;
        await sql`set local clock.now = ${raw(`'${now.toISOString()}'`)}`;
      }
      return named(sql, property, await audienceMatching(sql, property, rules));
    });

  return { ...base, as, add, propertyWith, matching };
}

/** The player_ids in an audience. */
export async function named(sql: Sql, property: string, audience: Fragment): Promise<string[]> {
  const rows = await sql<{ player_id: string }[]>`
    select p.player_id from players p
    where p.property_id = ${property} and ${audience} order by p.player_id collate "C"`;
  return rows.map((row) => row.player_id);
}

/** One rule row; the operator may be one that does not exist. */
export function row(field: string, operator: string, value?: unknown): Condition {
  const name = operator as Condition["operator"];
  return value === undefined ? { field, operator: name } : { field, operator: name, value };
}

/** The time so many days before now. */
export function ago(days: number): string {
  return new Date(Date.now() - days * DAY).toISOString();
}

/**
 * A now() that is found before the real one when the search path says so: the calendar's edges need a chosen
 * day.
 */
export const CLOCK = `
  create schema clock;
  create function clock.now() returns timestamptz language sql stable
    as $$ select current_setting('clock.now')::timestamptz $$;
  grant usage on schema clock to app_property`;
