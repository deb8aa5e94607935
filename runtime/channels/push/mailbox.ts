import { z } from "zod";
import { provider } from "../provider/channel.ts";
import { openMailbox } from "../provider/mailbox-store.ts";

/** The embedded default: it stores every notification where it can be listed and read, and shows none. */
export default provider({
  channel: "push",
  name: "mailbox",
  settings: z.strictObject({}),
  repeatable: true,
  concurrency: () => 1_500,
  open: () => openMailbox("push", () => undefined),
});
