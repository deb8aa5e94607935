import { BLOCK_REASONS, CALL_REASONS } from "#tools/compliance/gate.ts";
import { DEFER_REASONS } from "#tools/compliance/hours.ts";

/** The reasons for leaving a recipient out or for waiting, each as a sentence. */
export const reasons = {
  ...(BLOCK_REASONS as Readonly<Record<keyof typeof BLOCK_REASONS, string>>),
  ...(DEFER_REASONS as Readonly<Record<keyof typeof DEFER_REASONS, string>>),
  holdout: "Chance put the address into the campaign's holdout, which gets nothing, to compare with.",
  duplicate_address: "Another player of the audience has the same address, and an address gets one copy.",
  address_changed: "The player's address changed after the campaign was planned.",
  expired: "The message waited longer than the campaign allows.",
};

/** Those that mean more for a call. */
export const callReasons: Readonly<Record<keyof typeof CALL_REASONS, string>> = CALL_REASONS;
