import type { House } from "./house.ts";

/** The time of a scheduled campaign has come. */
export async function comeDue({ database, tenant, service }: House, campaignId: string): Promise<void> {
  await database.db.asProperty(
    tenant.id,
    (sql) => sql`
    update campaigns set scheduled_at = now(), fires_at = least(fires_at, now())
    where property_id = ${tenant.id} and id = ${campaignId}`,
  );
  await database.db.asSystem(
    (sql) => sql`
    update queue set run_at = now() where name = 'fire_campaign' and input ->> 'campaignId' = ${campaignId}`,
  );
  service.wake();
}
