import { randomUUIDv7 } from "node:crypto";
import { z } from "zod";
import { appendRows } from "#runtime/ledgers.ts";
import { job } from "#runtime/operation/job.ts";

/** Tells a property that rows of a month were dropped: by its audit log, and by an event. */
export default job({
  name: "tell_month_ended",
  attempts: 20,
  input: z.object({
    kept: z.enum(["audit_logs", "mailbox_messages", "webhooks"]),
    month: z.string(),
    rows: z.int(),
  }),
  async handler({ transact, jobId }, ended) {
    await transact(async ({ sql, property, emit }) => {
      const done = { actor_type: "system", actor_id: null, client: "job", action: "end_retention" };
      const row = { id: randomUUIDv7(), ...done, entity: null, entity_id: null, diff: ended, ip: null };
      await appendRows(sql, "audit_logs", [{ ...row, request_id: jobId, property_id: property.id }]);
      emit("retention.ended", ended);
    });
  },
});
