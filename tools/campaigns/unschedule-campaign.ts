import { tool } from "#runtime/operation/operation.ts";
import { statusChange } from "./status-change.ts";

export default tool({
  name: "unschedule_campaign",
  title: "Unschedule a campaign",
  description: "Takes a scheduled campaign back to draft.",
  ...statusChange("unschedule", { scheduled_at: null }),
});
