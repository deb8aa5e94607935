import { z } from "zod";
import { Fault } from "#runtime/faults.ts";
import type { Tenant } from "#runtime/operation/context.ts";

/** A pause of all sending of a property. */
export interface PropertyPause {
  id: string;
  reason: string | null;
  /** The campaigns that it has paused. */
  campaign_ids: string[];
  /** ISO time. */
  since: string;
}

/**
 * The pause of the property's sending, if there is one. It stays as it is until the transaction ends: who starts
 * messages locks `shared`, who begins or ends a pause locks it alone.
 */
export async function lockPause(
  { sql, property }: Tenant,
  mode: "shared" | "alone",
): Promise<PropertyPause | null> {
  const key = `sending ${property.id}`;
  if (mode === "shared") await sql`select pg_advisory_xact_lock_shared(hashtextextended(${key}, 0))`;
  else await sql`select pg_advisory_xact_lock(hashtextextended(${key}, 0))`;
  return findPause({ sql, property });
}

/** The pause of the property's sending, if there is one. */
export async function findPause({ sql, property }: Tenant): Promise<PropertyPause | null> {
  const [pause] = await sql<PropertyPause[]>`
    select id, reason, campaign_ids, to_json(created_at) #>> '{}' as since from sending_pauses
    where property_id = ${property.id} and is_open`;
  return pause ?? null;
}

/** The pause as a sentence. */
export function pauseWords({ since, reason }: PropertyPause): string {
  return `All sending of the property is paused since ${since}${reason === null ? "" : ` (${reason})`}; resume_all_sending ends that`;
}

/** Throws `conflict` where all sending is paused. */
export function refusePaused(pause: PropertyPause | null): void {
  if (pause) throw new Fault("conflict", { message: `${pauseWords(pause)}.` });
}

/** The numbers of paused campaigns, and of messages of journeys, which lists of campaigns leave out. */
export function countedApart(rows: readonly { journey_id: string | null }[]) {
  const campaigns = rows.filter(({ journey_id }) => journey_id === null).length;
  return { campaigns, journey_messages: rows.length - campaigns };
}

export const JOURNEY_MESSAGES = z
  .int()
  .describe("The same of journeys' messages, which list_campaigns shows where it filters by journey_id");
