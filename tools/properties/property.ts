import { z } from "zod";
import type { Sql } from "#db/database.ts";
import { raw } from "#db/sql.ts";
import { invalid } from "#runtime/faults.ts";
import { timestamp } from "#runtime/operation/columns.ts";
import { isCountry } from "#tools/people/places.ts";
import { timeZone } from "#tools/people/time-zones.ts";
import { AgentConfirmation } from "./agent-confirmation.ts";

const text = (most: number) => z.string().trim().min(1).max(most).nullable();

const limit = (description: string) => z.int().min(1).max(100).describe(description);

const months = z.int().min(1).max(1_200);

/** The settings of a property that an operator can change. */
export const settings = {
  legal_name: text(300).describe("The legal sender of the messages"),
  postal_address: text(500).describe("A physical address: every marketing email must show one"),
  timezone: timeZone().describe("IANA time zone"),
  default_country: z
    .string()
    .regex(/^[A-Z]{2}$/, { error: "must be an ISO 3166 code, such as US", abort: true })
    .refine(isCountry, "must be the ISO 3166 code of a country, such as US")
    .describe("ISO 3166 code, for phones and players without a country"),
  privacy_policy_url: z
    .url({ protocol: /^https?$/ })
    .max(2000)
    .nullable()
    .describe("Linked in emails"),
  responsible_gaming_footer: text(2000).describe("Appended to emails without it"),
  help_text: text(320).describe("The answer to HELP"),
  opt_in_text: text(320).describe("The answer to START after STOP"),
  sms_stop_text: text(320).describe("The answer to STOP. It may confirm, but must not advertise"),
  sms_opt_out_text: z
    .string()
    .trim()
    .min(1)
    .max(100)
    .regex(/\bSTOP\b/i, "must tell people to reply STOP")
    .describe("Appended to text messages without opt-out instructions"),
  min_age: z.int().min(18).max(120).describe("Younger players get no messages"),
  email_consent_mode: z
    .enum(["opt_in", "opt_out"])
    .describe("opt_out: email goes to all players who have not refused"),
  revocation_scope: z
    .enum(["all_channels_phone", "channel"])
    .describe("Revoking sms or voice revokes both, or only that channel"),
  tracking: z
    .enum(["on", "off"])
    .describe("Whether opens and clicks of emails are counted; off also leaves their links as they are"),
  agent_confirmation: AgentConfirmation,
  approval_growth_percent: z
    .int()
    .min(0)
    .max(1000)
    .describe("A campaign pauses where its audience has grown by more than this since it was approved"),
  approval_over_players: z
    .int()
    .min(0)
    .max(1_000_000_000)
    .nullable()
    .describe(
      "Calls of keys and agents that reach more players in 24 hours wait for a person; null: none waits",
    ),
  approval_over_cost: z
    .number()
    .min(0)
    .max(1_000_000_000)
    .nullable()
    .describe("Calls of keys and agents that cost more in 24 hours wait for a person; null: none waits"),
  approval_four_eyes: z
    .enum(["on", "off"])
    .describe("on: nobody approves a proposal of their own, and what people do above these limits waits too"),
  approval_mail: z
    .enum(["on", "off"])
    .describe("Whether admins and managers get a mail when something waits for approval, one in 30 minutes"),
  mask_for_analysts: z
    .boolean()
    .describe("Signed-in analysts see addresses, names and birth dates masked, and get no files"),
  hard_bounce_limit: limit("An address is suppressed after so many permanent bounces"),
  complaint_limit: limit("Consent is taken back after so many complaints"),
  soft_bounce_limit: limit("An address is suppressed after so many passing bounces within 7 days"),
  from_email: z.email().nullable().describe("The sender if neither campaign nor provider has one"),
  from_name: text(200).describe("The sender's name if the campaign has none"),
  privacy_deadlines: z
    .record(z.string().min(1).max(40), z.iso.duration())
    .describe('By regulation, how long a privacy request may take, such as {"gdpr": "P1M"}'),
  retention: z
    .strictObject({
      audit_logs: months.optional(),
      mailbox_messages: months.optional(),
      webhooks: months.optional(),
    })
    .describe(
      "Months that these are kept, where the property keeps them longer than the service; webhooks: events and deliveries",
    ),
  tiers: z.array(z.string().trim().min(1).max(100)).max(50).describe("Loyalty tiers, lowest first"),
};

export const PropertyView = z.object({
  id: z.uuid(),
  name: z.string(),
  slug: z.string(),
  ...settings,
  created_at: timestamp(),
  updated_at: timestamp(),
});

export type PropertyView = z.output<typeof PropertyView>;

export function propertyColumns() {
  return raw(Object.keys(PropertyView.shape).join(", "));
}

/** The given settings alone: undefined ones stay unchanged. */
export function given(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

export async function assertSlugFree(sql: Sql, slug: string): Promise<void> {
  const rows = await sql`select from properties where slug = ${slug}`;
  if (rows.length > 0) throw invalid("slug", "is taken by another property");
}
