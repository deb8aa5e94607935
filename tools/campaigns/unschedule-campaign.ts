import { tool } from "#runtime/operation/operation.ts";
import { statusChange } from "./status-change.ts";

export default tool({
  name: "unschedule_campaign",
  title: "Unschedule a campaign",
  description: "Turns a scheduled campaign back into a draft.",
  ...statusChange("unschedule", { scheduled_at: null, approved: null, approved_state: null }),
});
