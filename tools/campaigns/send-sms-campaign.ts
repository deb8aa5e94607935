import { tool } from "#runtime/operation/operation.ts";
import { sendingBy } from "./sending.ts";

export default tool({
  name: "send_sms_campaign",
  title: "Send an SMS campaign now",
  description:
    "Queues an SMS campaign to its audience. Every number passes the compliance gate (suppression, do-not-call, consent, self-exclusion); blocked recipients are skipped, with the reason. A text that lacks opt-out instructions gets the property's sms_opt_out_text at its end. dry_run answers the preflight and changes nothing.",
  ...sendingBy(["sms"]),
});
