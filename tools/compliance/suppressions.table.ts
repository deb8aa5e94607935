import { z } from "zod";
import { HASH_FORM } from "#db/query/forms.ts";
import { Fault, invalid } from "#runtime/faults.ts";
import { createOnly, readable, timestamp } from "#runtime/operation/columns.ts";
import type { Context } from "#runtime/operation/context.ts";
import { type Change, table, type Values } from "#runtime/operation/table.ts";
import { ADDRESS_FORM } from "#tools/people/address.ts";
import { CHANNELS } from "./channels.ts";
import { ENDS_WITH_STATUS } from "./left-addresses.ts";
import { addressOf, keptAddress } from "./listed-address.ts";
import { stopAddressSends } from "./sends-under-way.ts";

export const SUPPRESSION_REASONS = [
  "unsubscribed",
  "stop_keyword",
  "hard_bounce",
  "soft_bounce_limit",
  "complaint",
  "invalid",
  "manual",
  "erased",
  "self_excluded",
  "import",
  "needs_review",
  "banned",
] as const;
export type SuppressionReason = (typeof SUPPRESSION_REASONS)[number];

/**
 * The reason of an address whose record was banned or deceased when it let go of it, and of the player_id of such a
 * person after an erasure. Only the service writes it.
 */
const BANNED: SuppressionReason = "banned";

/** Reasons that only the service writes, and nobody lifts. */
export const PERMANENT_REASONS: readonly SuppressionReason[] = ["erased", "self_excluded"];

const columns = {
  channel: createOnly(z.enum(["all", ...CHANNELS]), { concise: true }),
  address: createOnly(z.string().min(1).max(320).nullable().describe("An email address or a phone number"), {
    concise: true,
    form: ADDRESS_FORM,
  }),
  reason: createOnly(z.enum(SUPPRESSION_REASONS).default("manual"), { concise: true }),
  source: createOnly(z.string().trim().min(1).max(200).nullish().describe("The origin of the suppression"), {
    concise: true,
    vocabulary: true,
  }),
  expires_at: createOnly(timestamp().nullish().describe("When it ends. Default: it does not"), {
    concise: true,
  }),
  address_hash: readable(z.string(), { form: HASH_FORM, sql: "encode(address_hash, 'hex')" }),
  campaign_id: readable(z.uuid().nullable()),
  player_id: readable(z.uuid().nullable(), { concise: true }),
  lifted_at: readable(timestamp().nullable(), { concise: true }),
  lifted_by: readable(z.uuid().nullable()),
};

export default table({
  name: "suppressions",
  noun: "suppression",
  description:
    "A suppression blocks an address on a channel, or on all. It is never removed: deleting one lifts it and keeps it as evidence.",
  verbs: ["list", "get", "create"],
  events: { create: "player.suppressed" },
  columns,
  beforeWrite,
});

async function beforeWrite(
  { sql, property }: Context,
  { verb, input }: Change<typeof columns>,
): Promise<Values> {
  if (verb !== "create") return {};
  const { channel, address, reason, expires_at = null } = input;
  if (address === null) throw invalid("address", "must be an email address or a phone number");
  if (PERMANENT_REASONS.includes(reason)) {
    throw invalid("reason", `cannot be ${reason} here; use data_deletion or create_self_exclusion`);
  }
  if (reason === BANNED) throw invalid("reason", "cannot be banned here; use set_player_status");
  const listed = addressOf(property, channel, address);
  // A suppression without an end takes the place of one that ends with a player's hold.
  const [found] = await sql<{ active: boolean; late: boolean }[]>`
    with clock as materialized (select now() as moment), active as materialized (
      select s.id, coalesce(s.expires_at <= clock.moment, false)
        or ${expires_at}::timestamptz is null and ${ENDS_WITH_STATUS} as yields
      from suppressions s, clock
      where s.property_id = ${property.id} and s.address_hash = ${listed.hash} and s.channel = ${channel}
        and s.reason = ${reason} and s.lifted_at is null
    ), ended as (
      update suppressions s set lifted_at = least(s.expires_at, clock.moment), updated_at = clock.moment
      from active a, clock
      where s.property_id = ${property.id} and s.id = a.id and a.yields)
    select ${expires_at}::timestamptz <= (select moment from clock) as late,
      exists (select from active where not yields) as active`;
  if (found?.late) throw invalid("expires_at", "has passed already");
  if (found?.active) {
    throw new Fault("conflict", { message: `This address is already suppressed (${channel}, ${reason}).` });
  }
  // With an end, open sends stay: they are judged again when they are due.
  if (expires_at === null && reason !== "needs_review") {
    const channels = CHANNELS.filter((one) => channel === "all" || one === channel);
    await stopAddressSends({ sql, property }, listed.hash, channels, "suppressed");
  }
  return { ...input, address: await keptAddress({ sql, property }, listed), address_hash: listed.hash };
}
