import { z } from "zod";
import { timestamp } from "#runtime/columns.ts";
import { tool } from "#runtime/operation.ts";

const Message = z.object({
  id: z.uuid(),
  channel: z.string(),
  recipient: z.string(),
  sender: z.string().nullable(),
  subject: z.string().nullable(),
  text: z.string().nullable(),
  html: z.string().nullable(),
  created_at: timestamp(),
});

export default tool({
  name: "list_platform_messages",
  title: "List the platform's own mail",
  description:
    "Lists what the built-in mailbox was given that belongs to no property, such as password resets, newest first. Messages are kept for a day.",
  scope: "read",
  effect: "read",
  access: "operator",
  realm: "system",
  input: { limit: z.int().min(1).max(100).default(20) },
  output: z.object({ messages: z.array(Message) }),
  faults: [],
  async handler({ sql }, { limit }) {
    const messages = await sql<z.output<typeof Message>[]>`
      select id, channel, recipient, sender, subject, text, html, created_at
      from platform_messages order by created_at desc, id desc limit ${limit}`;
    return { messages: [...messages] };
  },
});
