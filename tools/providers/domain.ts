import type { Domain } from "#runtime/operation/catalog.ts";
import settleCalls from "./calls/settle-calls.job.ts";
import watchCalls from "./calls/watch-calls.job.ts";
import messageProviders from "./message-providers.table.ts";
import receiveNotices from "./receive-notices.job.ts";
import rehearseNotices from "./rehearse-notices.job.ts";

export const providers: Domain = {
  name: "providers",
  title: "Message providers",
  tables: [messageProviders],
  jobs: [receiveNotices, rehearseNotices, settleCalls, watchCalls],
};
