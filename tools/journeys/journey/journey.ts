import { Fault, one } from "#runtime/faults.ts";
import { storedNames, viewOf } from "#runtime/operation/columns.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import type { StoredOf } from "#runtime/operation/table.ts";
import { columns, type Status } from "./columns.ts";

/** A journey as it is stored. */
export type Journey = StoredOf<typeof columns>;

/** A journey as operations answer it. */
export const JourneyView = viewOf({ columns });

/** The journey; `lock` locks it to the end of the transaction. Throws `not_found`. */
export async function findJourney(
  { sql, property }: Tenant,
  id: string,
  { lock = "none" }: { lock?: "none" | "change" | "share" } = {},
): Promise<Journey> {
  const locks = { none: sql``, change: sql`for no key update`, share: sql`for share` };
  const journeys = await sql<Journey[]>`
    select ${storedNames(columns)} from journeys
    where property_id = ${property.id} and id = ${id} and deleted_at is null ${locks[lock]}`;
  return one(journeys, "journey", id);
}

/** Throws `conflict`, naming the status, where it is none of these. */
export function checkStatus(
  { status }: Pick<Journey, "status">,
  from: readonly Status[],
  verb: string,
): void {
  if (from.includes(status)) return;
  throw new Fault("conflict", {
    message: `The journey is ${status}; it can ${verb} while it is ${from.join(" or ")}.`,
  });
}
