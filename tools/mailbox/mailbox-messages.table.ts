import { z } from "zod";
import { readable } from "#runtime/operation/columns.ts";
import { table } from "#runtime/operation/table.ts";

export default table({
  name: "mailbox_messages",
  noun: "mailbox_message",
  description:
    "What the built-in mailbox was given instead of a real mail server: each message as its recipient would have it. The id is the campaign send's.",
  verbs: ["list", "get"],
  columns: {
    channel: readable(z.string(), { concise: true }),
    recipient: readable(z.string(), { concise: true }),
    sender: readable(z.string().nullable(), { concise: true }),
    subject: readable(z.string().nullable(), { concise: true }),
    text: readable(z.string().nullable(), { concise: true }),
    html: readable(z.string().nullable()),
    headers: readable(z.record(z.string(), z.string())),
  },
});
