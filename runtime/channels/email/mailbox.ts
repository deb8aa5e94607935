import { z } from "zod";
import { provider } from "../provider/channel.ts";
import { openMailbox } from "../provider/mailbox-store.ts";
import { flaw } from "./flaws.ts";

/** The embedded default: it stores every message where it can be listed and read, and sends nothing. */
export default provider({
  channel: "email",
  name: "mailbox",
  settings: z.strictObject({}),
  repeatable: true,
  concurrency: () => 1_500,
  open: () => openMailbox("email", flaw),
});
