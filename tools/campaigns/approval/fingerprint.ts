import { z } from "zod";
import { Fault } from "#runtime/faults.ts";
import { canonicalHash } from "#runtime/funnel/audit.ts";
import type { Prints } from "#tools/approvals/approval.ts";
import type { Campaign } from "#tools/campaigns/campaign/campaign.ts";

/** The input of an operation that sends only the campaign that was checked. */
export const fingerprintInput = z
  .string()
  .optional()
  .describe(
    "From preflight_campaign: refused where the message, the audience or the provider is another one by now",
  );

/** The fingerprint of all that a campaign sends. Its hour is left out: scheduling sets it after the check. */
export function fingerprintOf(
  { id }: Pick<Campaign, "id">,
  { time: _, flags = {}, ...prints }: Prints,
): string {
  const { clock: __, ...rules } = flags;
  return canonicalHash({ id, ...prints, flags: rules }).toString("hex");
}

/** Throws `conflict` unless the campaign is the one that was checked. */
export function checkFingerprint(campaign: Campaign, prints: Prints, checked: string | undefined): void {
  if (checked === undefined || checked === fingerprintOf(campaign, prints)) return;
  const message = "is not that of the campaign, which has changed since; preflight_campaign checks it again";
  throw new Fault("conflict", { message, details: [{ field: "fingerprint", message }] });
}
