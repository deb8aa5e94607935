import { z } from "zod";
import { job } from "#runtime/operation.ts";

const BATCH = 10_000;

/**
 * Removes what has run out: recorded answers after their 24 hours, counts of windows and reset links long past, and
 * the vendors' notices that none of them repeats any more.
 */
export default job({
  name: "forget_expired",
  attempts: 3,
  every: "7 * * * *",
  input: z.object({}),
  async handler({ transactSystem, signal }) {
    await transactSystem(
      (sql) => sql`
      delete from rate_windows where window_start < extract(epoch from now()) - 3600`,
    );
    await transactSystem(async (sql) => {
      await sql`delete from password_resets where expires_at < now()`;
      await sql`delete from platform_messages where created_at < now() - interval '1 day'`;
    });
    await transactSystem(
      (sql) => sql`delete from provider_notices where received_at < now() - interval '30 days'`,
    );
    for (let removed = BATCH; removed === BATCH && !signal.aborted; ) {
      const rows = await transactSystem(
        (sql) => sql`
        delete from idempotency_records where (property_id, key) in (
          select property_id, key from idempotency_records where expires_at <= now() limit ${BATCH})`,
      );
      removed = rows.count;
    }
  },
});
