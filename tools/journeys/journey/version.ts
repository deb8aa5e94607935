import { Fault } from "#runtime/faults.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import type { Definition } from "#tools/journeys/definition/definition.ts";

/** A published version of a journey. Throws `not_found` for one that was never published. */
export async function findVersion(
  { sql, property }: Tenant,
  journeyId: string,
  version: number | null,
): Promise<{ version: number; definition: Definition }> {
  const [found] = await sql<{ version: number; definition: Definition }[]>`
    select version, definition from journey_versions
    where property_id = ${property.id} and journey_id = ${journeyId} and version = ${version}`;
  if (found) return found;
  const which = version === null ? "has not been published yet" : `has no version ${version}`;
  throw new Fault("not_found", { message: `The journey ${which}.` });
}
