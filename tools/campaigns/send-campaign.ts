import { tool } from "#runtime/operation/operation.ts";
import { sendingBy } from "./sending.ts";

export default tool({
  name: "send_campaign",
  title: "Send a campaign now",
  description:
    "Queues a campaign by email, push, voice or the branded inbox (loyaltyvip) to its audience. Every recipient passes the compliance gate; blocked recipients are skipped, with the reason. A failed campaign continues where it stopped: nobody gets it twice. dry_run changes nothing and answers the preflight, as preflight_campaign does.",
  ...sendingBy(["email", "inbox", "push", "voice"]),
});
