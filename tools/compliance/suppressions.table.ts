import { z } from "zod";
import { createOnly, readable, timestamp } from "#runtime/columns.ts";
import type { Context } from "#runtime/context.ts";
import { Fault, invalid } from "#runtime/faults.ts";
import { type Change, table } from "#runtime/operation.ts";
import { CHANNELS } from "./channels.ts";
import { addressOf, keptAddress } from "./listed-address.ts";
import { haltAddress } from "./open-sends.ts";

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
] as const;
export type SuppressionReason = (typeof SUPPRESSION_REASONS)[number];

/** What only the service writes, and nobody lifts. */
export const PERMANENT_REASONS: readonly SuppressionReason[] = ["erased", "self_excluded"];

export default table({
  name: "suppressions",
  noun: "suppression",
  concise: ["channel", "address", "reason", "source", "expires_at", "player_id", "lifted_at", "created_at"],
  description:
    "A suppression blocks an address on a channel, or on all. It is never removed: deleting one lifts it and keeps it as evidence.",
  verbs: ["list", "get", "create"],
  events: { create: "player.suppressed" },
  columns: {
    channel: createOnly(z.enum(["all", ...CHANNELS])),
    address: createOnly(z.string().min(1).max(320).nullable().describe("An email address or a phone number")),
    reason: createOnly(z.enum(SUPPRESSION_REASONS).default("manual")),
    source: createOnly(z.string().trim().min(1).max(200).nullish().describe("Where it comes from")),
    expires_at: createOnly(timestamp().nullish().describe("When it ends. Default: it does not")),
    address_hash: readable(z.string(), "encode(address_hash, 'hex')"),
    campaign_id: readable(z.uuid().nullable()),
    player_id: readable(z.uuid().nullable()),
    lifted_at: readable(timestamp().nullable()),
    lifted_by: readable(z.uuid().nullable()),
  },
  beforeWrite,
});

async function beforeWrite({ sql, property }: Context, { input }: Change): Promise<Record<string, unknown>> {
  const { channel, address, reason } = input as {
    channel: string;
    address: string | null;
    reason: SuppressionReason;
  };
  if (address === null) throw invalid("address", "must be an email address or a phone number");
  if (PERMANENT_REASONS.includes(reason)) {
    throw invalid("reason", `${reason} is written by its own function: data_deletion, create_self_exclusion`);
  }
  const listed = addressOf(property, channel, address);
  const [found] = await sql<{ active: boolean; late: boolean }[]>`
    with ended as (
      update suppressions set lifted_at = expires_at, updated_at = now()
      where property_id = ${property.id} and address_hash = ${listed.hash} and channel = ${channel}
        and reason = ${reason} and lifted_at is null and expires_at <= now())
    select ${(input.expires_at as string) ?? null}::timestamptz <= now() as late,
      exists (select from suppressions where property_id = ${property.id} and address_hash = ${listed.hash}
        and channel = ${channel} and reason = ${reason} and lifted_at is null
        and (expires_at is null or expires_at > now())) as active`;
  if (found?.late) throw invalid("expires_at", "has passed already");
  if (found?.active) {
    throw new Fault("conflict", { message: `This address is suppressed already (${channel}, ${reason}).` });
  }
  // What is held for a while only is judged again when it is due.
  if (input.expires_at == null && reason !== "needs_review") {
    const channels = CHANNELS.filter((one) => channel === "all" || one === channel);
    await haltAddress({ sql, property }, listed.hash, channels, "suppressed");
  }
  return { ...input, address: await keptAddress({ sql, property }, listed), address_hash: listed.hash };
}
