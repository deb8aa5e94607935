import { z } from "zod";
import { provider } from "../provider/channel.ts";
import { openMailbox } from "../provider/mailbox-store.ts";

/** The branded inbox: storing a message for its player is its delivery. */
export default provider({
  channel: "inbox",
  name: "mailbox",
  settings: z.strictObject({}),
  repeatable: true,
  concurrency: () => 1_500,
  open: () => openMailbox("inbox", () => undefined),
});
