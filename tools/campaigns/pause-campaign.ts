import { tool } from "#runtime/operation/operation.ts";
import { statusChange } from "./status-change.ts";

export default tool({
  name: "pause_campaign",
  title: "Pause a campaign",
  description:
    "Stops a campaign that is sending. Messages already handed to the provider are not called back.",
  ...statusChange("pause"),
});
