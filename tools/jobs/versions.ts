import type { Sql } from "#db/database.ts";

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
