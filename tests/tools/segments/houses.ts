import { randomUUID } from "node:crypto";
import type { Sql } from "#db/client.ts";
import type { CustomType } from "#tools/players/custom.ts";
import type { Condition, Group } from "#tools/segments/conditions.ts";
import { audienceMatching } from "#tools/segments/conditions-segments.ts";
import { testDatabase } from "../../support/database.ts";

export type Row = Record<string, unknown>;

export const ZONE = "America/New_York";
const DAY = 86_400_000;

/** Properties with players of one's own, and the audiences of rules over them. */
export async function neighborhood() {
  const base = await testDatabase();
  const as = <T>(property: string, work: (sql: Sql) => Promise<T>) => base.db.asProperty(property, work);

  const add = (property: string, table: string, rows: Row[]) =>
    as(property, async (sql) => {
      for (const row of rows) {
        await sql`insert into ${sql(table)} ${sql({ property_id: property, ...row } as never)}`;
      }
    });

  /** A property of its own with these players, who are named by their player_id. */
  const house = async (
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
  const who = (property: string, rules: Partial<Group>, now?: Date): Promise<string[]> =>
    as(property, async (sql) => {
      if (now) {
        await sql.unsafe(
          `set local search_path = clock, public, pg_catalog; set local clock.now = '${now.toISOString()}'`,
        );
      }
      return named(sql, property, await audienceMatching(sql, property, rules, 1));
    });

  return { ...base, as, add, house, who };
}

/** The player_ids in an audience compiled with one parameter in front. */
export async function named(
  sql: Sql,
  property: string,
  { text, params }: { text: string; params: unknown[] },
): Promise<string[]> {
  const rows = await sql.unsafe(
    `select p.player_id from players p where p.property_id = $1 and ${text} order by p.player_id collate "C"`,
    [property, ...params] as never[],
  );
  return rows.map((row) => row.player_id as string);
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
