import type { Tenant } from "#runtime/operation/context.ts";

/** A proposal that waits for a person. */
export interface Waiting {
  id: string;
  title: string;
  expires_at: string;
}

/** The first `most` proposals that wait, those that end soonest first. */
export async function waitingIn({ sql, property }: Tenant, most: number): Promise<Waiting[]> {
  return await sql<Waiting[]>`
    select id, title, to_json(expires_at) #>> '{}' as expires_at from proposals
    where property_id = ${property.id} and status = 'waiting' and expires_at > now()
    order by expires_at, id limit ${most}`;
}
