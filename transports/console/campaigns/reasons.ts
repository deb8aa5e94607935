import { BLOCK_REASONS } from "#tools/compliance/gate.ts";
import { DEFER_REASONS } from "#tools/compliance/hours.ts";

/** The reasons for leaving a recipient out, each as a sentence. */
export const REASONS: Readonly<Record<string, string>> = {
  ...BLOCK_REASONS,
  ...DEFER_REASONS,
  holdout: "Chance put the address into the campaign's holdout, which gets nothing, to compare with.",
  duplicate_address: "Another player of the audience has the same address, and an address gets one copy.",
  address_changed: "The player's address changed after the campaign was planned.",
  expired: "The message waited longer than the campaign allows.",
};
