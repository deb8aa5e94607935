import { sql } from "#db/sql.ts";

/** The statuses of a send that waits for its time. */
export const WAITING_SENDS = ["pending", "deferred"] as const;
/** The statuses of a send that may still change to sent or to unsent. */
export const OPEN_SENDS = [...WAITING_SENDS, "sending", "unknown"] as const;
/** The statuses behind which a send does not change to unsent any more. */
export const SETTLED_SENDS = ["sent", "delivered", "bounced", "failed", "skipped", "cancelled"] as const;
export const SEND_STATUSES = [...OPEN_SENDS, ...SETTLED_SENDS] as const;
/**
 * Whether an erasure has left a send `s`, as SQL. It comes back only to sends that were under way, which keep their player
 * until then; a vendor's later words name the person.
 */
export const IS_ERASED = sql`(s.player_id is null and s.anon_id is not null)`;
