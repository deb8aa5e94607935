import { z } from "zod";
import type { Tenant } from "#runtime/operation/context.ts";

/** The most addresses of a job. */
export const MOST_ADDRESSES = 100_000;
/** This many addresses, at 80 bytes each. */
export const MOST_BYTES = 8 * 1_048_576;

const LEVELS = ["syntax", "dns", "full"] as const;

/** The parameters of a job, apart from its addresses. They are stored with the job. */
export const settings = {
  level: z
    .enum(LEVELS)
    .default("dns")
    .describe(
      "syntax checks the address alone; dns also checks that its domain takes mail; full also asks a validation provider for the mailbox, which the operator configures",
    ),
  update_players: z
    .boolean()
    .default(true)
    .describe(
      "Write the result into email_status of the players with the address; unknown changes nothing. undeliverable gets no more email",
    ),
  suppress_undeliverable: z
    .boolean()
    .default(false)
    .describe("Also suppress undeliverable addresses for email, for all present and later players with them"),
};

/** The stored part of the request. Given addresses and ids are in the job's rows. */
export type ValidationParams = z.output<z.ZodObject<typeof settings>> & {
  source: "emails" | "player_ids" | "segment_id" | "all_players";
  segment_id?: string;
};

/** The job that determines the verdicts. */
export const ValidateEmails = {
  name: "validate_emails",
  attempts: 20,
  input: z.object({ jobId: z.uuid() }),
} as const;

/**
 * Deletes the rows of players who were erased during the writing: their foreign key has waited for that. Returns the
 * number.
 */
export async function forgetErased({ sql, property }: Tenant, jobId: string): Promise<number> {
  const gone = await sql`
    delete from validation_results r using players p
    where r.property_id = ${property.id} and r.job_id = ${jobId} and p.property_id = ${property.id}
      and p.id = r.player_id and p.status = 'erased'`;
  return gone.count;
}
