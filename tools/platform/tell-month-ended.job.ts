import { z } from "zod";
import { writeAuditRow } from "#runtime/funnel/audit.ts";
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
  handler: ({ transact }, ended) =>
    transact(async (context) => {
      await writeAuditRow(context, "end_retention", { diff: ended });
      context.emit("retention.ended", ended);
    }),
});
