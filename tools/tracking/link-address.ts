import type { Context } from "#runtime/context.ts";

/** Where a link leads, the same for all recipients; null when it is not there. */
export async function linkAddress(
  { sql, property }: Pick<Context, "sql" | "property">,
  linkId: string,
): Promise<string | null> {
  const [link] = await sql<{ url: string }[]>`
    select url from campaign_links where property_id = ${property.id} and id = ${linkId} and not is_template`;
  return link?.url ?? null;
}
