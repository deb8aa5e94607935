import { tool } from "#runtime/operation/operation.ts";
import cancelSends from "./cancel-sends.job.ts";
import { statusChange } from "./status-change.ts";

export default tool({
  name: "cancel_campaign",
  title: "Cancel a campaign",
  description:
    "Ends a campaign that is scheduled, queued, sending or paused. Sent messages stay sent; the rest is never sent.",
  ...statusChange("cancel", { finished_at: "now" }, cancelSends),
});
