import { z } from "zod";
import { readable } from "#runtime/columns.ts";
import { table } from "#runtime/operation.ts";

export default table({
  name: "mailbox_messages",
  noun: "mailbox_message",
  concise: ["channel", "recipient", "sender", "subject", "text", "created_at"],
  description:
    "What the built-in mailbox was given instead of a real mail server: each message as its recipient would have it. The id is the campaign send's.",
  verbs: ["list", "get"],
  columns: {
    channel: readable(z.string()),
    recipient: readable(z.string()),
    sender: readable(z.string().nullable()),
    subject: readable(z.string().nullable()),
    text: readable(z.string().nullable()),
    html: readable(z.string().nullable()),
    headers: readable(z.record(z.string(), z.string())),
  },
});
