import type { Sql } from "#db/database.ts";
import { type Fragment, sql as fragment, identifier, join } from "#db/sql.ts";

/**
 * The versions of the property's jobs, campaigns and proposals, by the URI of their resource. A version changes whenever the
 * resource does; a campaign's figures are part of it.
 */
export async function versionsOf(
  sql: Sql,
  propertyId: string,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const rows = await sql<{ uri: string; version: string }[]>`
    select 'job://' || j.id as uri, concat_ws(' ', j.status, j.updated_at) as version
    from unnest(${ids}::uuid[]) w (id) join import_jobs j on j.property_id = ${propertyId} and j.id = w.id
    union all
    select 'job://' || j.id, concat_ws(' ', j.status, j.updated_at)
    from unnest(${ids}::uuid[]) w (id) join validation_jobs j on j.property_id = ${propertyId} and j.id = w.id
    union all
    select 'campaign://' || c.id, concat_ws(' ', c.status, c.updated_at, md5(c.stats::text))
    from unnest(${ids}::uuid[]) w (id) join campaigns c on c.property_id = ${propertyId} and c.id = w.id
    where c.deleted_at is null
    union all
    select 'proposal://' || p.id, concat_ws(' ', p.status, p.updated_at)
    from unnest(${ids}::uuid[]) w (id) join proposals p on p.property_id = ${propertyId} and p.id = w.id`;
  return new Map(rows.map(({ uri, version }) => [uri, version]));
}

/** Tables whose lists can be watched. */
export const WATCHED = ["campaigns", "journeys", "segments", "import_jobs", "proposals"] as const;
export type Watched = (typeof WATCHED)[number];

/**
 * The versions of the property's journeys and segments of these ids, by their ids, and of whole tables, by their names.
 * A version changes whenever a row or a figure of it does.
 */
export async function shownVersions(
  sql: Sql,
  propertyId: string,
  { ids, lists }: { ids: readonly string[]; lists: readonly Watched[] },
): Promise<Map<string, string>> {
  const rows = await sql<{ key: string; version: string }[]>`
    select j.id::text as key, concat_ws(' ', j.status, j.updated_at, (
      select sum(c.people) from journey_counts c where c.property_id = ${propertyId} and c.journey_id = j.id)) as version
    from unnest(${ids}::uuid[]) w (id) join journeys j on j.property_id = ${propertyId} and j.id = w.id
    union all
    select s.id::text, concat_ws(' ', s.state, s.version, s.last_computed_at)
    from unnest(${ids}::uuid[]) w (id) join segments s on s.property_id = ${propertyId} and s.id = w.id
    ${join(
      lists.map((table) => fragment`union all ${listVersion(propertyId, table)}`),
      " ",
    )}`;
  return new Map(rows.map(({ key, version }) => [key, version]));
}

function listVersion(propertyId: string, table: Watched): Fragment {
  return fragment`select ${table}::text, concat_ws(' ', count(*), max(updated_at))
    from ${identifier(table)} where property_id = ${propertyId}::uuid`;
}
