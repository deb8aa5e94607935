import { Fault } from "#runtime/faults.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import type { Definition, Reentry } from "#tools/journeys/definition/definition.ts";
import { checkStatus, findJourney } from "./journey.ts";

/** The place where people enter whom a call enrolls. */
export interface WayIn {
  journeyId: string;
  name: string;
  version: number;
  node: string;
  reentry: Reentry;
}

/**
 * The trigger of an active journey for players whom a call enrolls: its api trigger, else its first one. Locks the
 * journey against a pause.
 */
export async function entryOf(tenant: Tenant, journeyId: string): Promise<WayIn> {
  const journey = await findJourney(tenant, journeyId, { lock: "share" });
  checkStatus(journey, ["active"], "be entered");
  const { sql, property } = tenant;
  const [version] = await sql<{ definition: Definition; reentry: Reentry; ended_at: string | null }[]>`
    select definition, reentry, case when ends_at <= now() then to_json(ends_at) #>> '{}' end as ended_at
    from journey_versions
    where property_id = ${property.id} and journey_id = ${journeyId} and version = ${journey.current_version}`;
  if (version?.ended_at) {
    const message = `The journey ended at ${version.ended_at}. Publish it with a later ends_at, or with null.`;
    throw new Fault("conflict", { message });
  }
  const triggers = version?.definition.nodes.filter((node) => node.type === "trigger") ?? [];
  const trigger = triggers.find(({ config }) => config.on === "api") ?? triggers[0];
  if (!version || !trigger) throw new Fault("conflict", { message: "The journey has no way in." });
  return {
    journeyId,
    name: journey.name,
    version: journey.current_version!,
    node: trigger.id,
    reentry: version.reentry,
  };
}
