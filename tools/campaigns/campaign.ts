import type { Context } from "#runtime/context.ts";
import { Fault } from "#runtime/faults.ts";
import type { Condition } from "#tools/segments/conditions.ts";
import type { Utm } from "#tools/tracking/utm.ts";
import type { AbResult, AbTest } from "./ab-test.ts";
import type { Goal } from "./goal.ts";

export const CHANNELS = ["email", "sms", "voice", "push", "inbox", "loyaltyvip"] as const;
export const STATUSES = [
  "draft",
  "scheduled",
  "queued",
  "sending",
  "paused",
  "sent",
  "cancelled",
  "failed",
] as const;

export type Status = (typeof STATUSES)[number];

/** A campaign as the database has it: what sending needs of it. */
export interface Campaign {
  id: string;
  name: string;
  channel: (typeof CHANNELS)[number];
  status: Status;
  template_id: string | null;
  subject: string | null;
  preheader: string | null;
  from_name: string | null;
  from_email: string | null;
  reply_to: string | null;
  provider_id: string | null;
  body_html: string | null;
  body_mjml: string | null;
  body_text: string | null;
  segment_id: string | null;
  exclude_segment_ids: string[];
  audience: "all" | null;
  conditions: Condition[] | null;
  logic: "and" | "or";
  scheduled_at: string | null;
  utm: Utm | null;
  fires_at: string | null;
  send_in_player_timezone: boolean;
  throttle_per_minute: number | null;
  max_send_errors: number;
  ignore_frequency_cap: boolean;
  is_transactional: boolean;
  holdout_percent: number;
  priority: number;
  tags: string[];
  goal: Goal | null;
  ab_test: AbTest | null;
  ab_ends_at: string | null;
  ab_result: AbResult | null;
  plan_cursor: string | null;
  planned_at: string | null;
  version: number;
}

/** The campaign, locked to the end of the transaction if asked for. Throws `not_found`. */
export async function findCampaign(
  { sql, property }: Pick<Context, "sql" | "property">,
  id: string,
  options: { lock?: boolean } = {},
): Promise<Campaign> {
  const [campaign] = await sql<Campaign[]>`
    select id, name, channel, status, template_id, subject, preheader, from_name, from_email, reply_to,
      provider_id, body_html, body_mjml, body_text, segment_id, exclude_segment_ids, audience, conditions, logic, scheduled_at,
      fires_at, send_in_player_timezone, throttle_per_minute, max_send_errors, ignore_frequency_cap, is_transactional, tags, utm,
      goal, ab_test, to_json(ab_ends_at) #>> '{}' as ab_ends_at, ab_result, holdout_percent, priority, plan_cursor, planned_at, version
    from campaigns
    where property_id = ${property.id} and id = ${id} and deleted_at is null
    ${options.lock ? sql`for no key update` : sql``}`;
  if (!campaign) {
    throw new Fault("not_found", { message: `No campaign with the id ${id} in this property.` });
  }
  return campaign;
}

/** A campaign record without its bodies and figures, as events carry it: they must stay small. */
export function thin(record: Record<string, unknown>): Record<string, unknown> {
  const { body_html: _html, body_mjml: _mjml, body_text: _text, stats: _stats, ...rest } = record;
  return rest;
}

/** A campaign that was deleted meanwhile has nothing left to do. */
export function absent(error: unknown): null {
  if (error instanceof Fault && error.code === "not_found") return null;
  throw error;
}
