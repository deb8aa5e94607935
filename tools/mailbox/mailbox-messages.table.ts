import { z } from "zod";
import { readable } from "#runtime/operation/columns.ts";
import { table } from "#runtime/operation/table.ts";
import { RECIPIENT_FORM, SENT_BY_FORM } from "#tools/people/address.ts";

const DAY = 86_400_000;

export default table({
  name: "mailbox_messages",
  noun: "mailbox_message",
  description:
    "A message in the built-in mailbox, which replaces a real mail server: exactly as its recipient would get it. The id is the campaign send's.",
  // A send gets its id when it is planned, and waits for days at most: for its hour, or the end of a test.
  monthly: { lag: 31 * DAY },
  verbs: ["list", "get"],
  columns: {
    channel: readable(z.string(), { concise: true, form: SENT_BY_FORM }),
    recipient: readable(z.string(), { concise: true, form: RECIPIENT_FORM }),
    sender: readable(z.string().nullable(), { concise: true }),
    subject: readable(z.string().nullable(), { concise: true, rendered: true }),
    text: readable(z.string().nullable(), { concise: true, rendered: true }),
    html: readable(z.string().nullable(), { rendered: true }),
    headers: readable(z.record(z.string(), z.string()), { rendered: true }),
  },
});
