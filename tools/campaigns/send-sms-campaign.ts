import { tool } from "#runtime/operation.ts";
import { CONFIRMED_DEADLINE_MS } from "./confirming.ts";
import { input, output, queueCampaign } from "./queue-campaign.ts";

export default tool({
  name: "send_sms_campaign",
  title: "Send an SMS campaign now",
  description:
    "Queues an SMS campaign to its audience. Every number passes the compliance gate (suppression, do-not-call, consent, self-exclusion); the blocked are skipped, with the reason. A text that does not say how to opt out gets the property's sms_opt_out_text at its end. dry_run changes nothing and answers the preflight.",
  scope: "write",
  effect: "contact",
  core: true,
  property: "propertyId",
  confirmedBy: "preflight_campaign",
  deadline: CONFIRMED_DEADLINE_MS,
  input,
  output,
  faults: ["invalid", "not_found", "conflict"],
  handler: (context, wanted) => queueCampaign(context, ["sms"], wanted),
});
