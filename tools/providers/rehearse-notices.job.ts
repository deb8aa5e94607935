import { job } from "#runtime/operation/job.ts";
import { applyNotices } from "./apply-notices.ts";
import { RehearseNotices } from "./rehearsal.ts";

/** Applies the notices of a rehearsal, as those of a vendor are. */
export default job({
  ...RehearseNotices,
  handler: ({ transact }, { providerId, notices }) =>
    transact((context) =>
      applyNotices(context, { id: providerId, channel: "email", kind: "mailbox" }, notices),
    ),
});
