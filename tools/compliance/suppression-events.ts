import { type Fragment, sql } from "#db/sql.ts";
import type { Context } from "#runtime/operation/context.ts";

export interface WrittenSuppression {
  id: string;
  channel: string;
  reason: string;
  campaign_id: string | null;
  player_id: string | null;
  /** The row is new, and not an earlier one that stands. */
  fresh: boolean;
}

/** The columns that an insert into `suppressions` returns for `announceSuppressed`. Neither the address nor the caller's own words leave the service. */
export const WRITTEN: Fragment = sql`id, channel, reason, campaign_id, player_id, xmax = 0 as fresh`;

/** Emits the event of each new suppression. */
export function announceSuppressed(
  { emit }: Pick<Context, "emit">,
  rows: Iterable<WrittenSuppression>,
): void {
  for (const { fresh, ...suppression } of rows) if (fresh) emit("player.suppressed", suppression);
}
