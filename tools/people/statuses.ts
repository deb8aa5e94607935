export const PLAYER_STATUSES = [
  "active",
  "inactive",
  "vip_hold",
  "banned",
  "self_excluded",
  "deceased",
  "erased",
] as const;
export type PlayerStatus = (typeof PLAYER_STATUSES)[number];

/** The statuses that callers may set and leave. */
export const FREE_STATUSES: readonly PlayerStatus[] = ["active", "inactive", "vip_hold"];

/** The knowledge about an email address. */
export const EMAIL_STATUSES = ["unknown", "deliverable", "risky", "undeliverable"] as const;
