/** The statuses of players who may get messages. */
export const CONTACTABLE_STATUSES = ["active", "inactive"] as const;

/** The statuses that callers may set and leave. */
export const FREE_STATUSES = [...CONTACTABLE_STATUSES, "vip_hold"] as const;

/**
 * Statuses that no API key lifts, the one that goes before all others last, as the alphabet has it. The number of such a
 * record means its person, also after its deletion.
 */
export const KEPT_BY_NUMBER = ["banned", "deceased", "self_excluded"] as const;
export type KeptByNumber = (typeof KEPT_BY_NUMBER)[number];

/** The statuses of players who get no message, no journey, no game, no ticket and no prize. */
export const BARRED_STATUSES = [...KEPT_BY_NUMBER, "erased"] as const;
export type BarredStatus = (typeof BARRED_STATUSES)[number];

export const PLAYER_STATUSES = [...FREE_STATUSES, ...BARRED_STATUSES] as const;
export type PlayerStatus = (typeof PLAYER_STATUSES)[number];

/** The statuses against messages: the gate has a reason for each. */
export type BarringStatus = Exclude<PlayerStatus, (typeof CONTACTABLE_STATUSES)[number]>;

/** Whether a status is among others, such as those that may get messages. */
export function isStatus<S extends PlayerStatus>(among: readonly S[], status: unknown): status is S {
  return (among as readonly unknown[]).includes(status);
}

/** The knowledge about an email address. */
export const EMAIL_STATUSES = ["unknown", "deliverable", "risky", "undeliverable"] as const;
