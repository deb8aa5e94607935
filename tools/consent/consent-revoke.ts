import { z } from "zod";
import { invalid } from "#runtime/faults.ts";
import { ipAddress, pastTime, timestamp } from "#runtime/operation/columns.ts";
import type { Context } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { CHANNELS } from "#tools/compliance/channels.ts";
import { addressOf, type ListedAddress } from "#tools/compliance/listed-address.ts";
import { REVOCATION_METHODS, revoke, revokedWith } from "./revoke.ts";

export default tool({
  name: "consent_revoke",
  title: "Revoke consent",
  description:
    "Records that a player, or the owner of a phone or email, wants no more marketing on one channel or on all. It takes effect at once: the address is suppressed and pending sends are cancelled. Safe to repeat; works for addresses without a player.",
  scope: "write",
  effect: "change",
  core: true,
  property: "propertyId",
  input: {
    propertyId: z.uuid(),
    playerId: z.uuid().optional().describe("Exactly one of playerId, phone and email"),
    phone: z.string().max(60).optional().describe("As dialed, or E.164"),
    email: z.string().max(320).optional().describe("An address, also of nobody who is known"),
    channel: z
      .enum([...CHANNELS, "all"])
      .default("all")
      .describe("The channel that the person wants no more"),
    reason: z.string().max(500).optional().describe("The person's own words, for the record"),
    consentSource: z.string().max(500).optional().describe("Where the person said it, such as a call center"),
    method: z.enum(REVOCATION_METHODS).default("api").describe("How the person revoked"),
    requestedAt: pastTime().optional().describe("When the person asked; not in the future. Default: now"),
    ipAddress: ipAddress().optional().describe("The person's own; never the calling server's"),
  },
  output: z.object({
    success: z.literal(true),
    revoked: z.array(z.enum(CHANNELS)),
    effective_at: timestamp(),
    confirm_by: timestamp().describe("Ten business days after the request"),
  }),
  faults: ["invalid", "not_found"],
  async handler(context, input) {
    const done = await revoke(context, {
      ...subjectOf(context, input),
      channels: input.channel === "all" ? [...CHANNELS] : revokedWith(context, input.channel),
      reason: input.reason,
      source: input.consentSource,
      method: input.method,
      requestedAt: input.requestedAt,
      ip: input.ipAddress,
    });
    context.audit({
      entity: "players",
      entityId: done.playerIds[0] ?? null,
      diff: { revoked: done.revoked },
    });
    const { revoked, effective_at, confirm_by } = done;
    return { success: true as const, revoked, effective_at, confirm_by };
  },
});

interface Subject {
  playerId?: string | undefined;
  phone?: string | undefined;
  email?: string | undefined;
}

function subjectOf(
  { property }: Context,
  { playerId, phone, email }: Subject,
): { playerId?: string; address?: ListedAddress } {
  const named = [playerId, phone, email].filter((one) => one !== undefined);
  if (named.length !== 1) throw invalid("playerId", "give exactly one of playerId, phone and email");
  if (playerId !== undefined) return { playerId };
  const isPhone = phone !== undefined;
  return { address: addressOf(property, isPhone ? "sms" : "email", named[0]!, isPhone ? "phone" : "email") };
}
