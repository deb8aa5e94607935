import { z } from "zod";
import { UUID } from "#db/text.ts";
import { invalid } from "#runtime/faults.ts";
import { timestamp } from "#runtime/operation/columns.ts";
import { tool } from "#runtime/operation/operation.ts";

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
    "Lists the messages of the built-in mailbox that belong to no property, such as password resets, newest first. Messages are deleted after a day.",
  scope: "read",
  effect: "read",
  access: "operator",
  realm: "system",
  input: {
    limit: z.int().min(1).max(100).default(20).describe("Messages to return"),
    cursor: z.string().optional().describe("Empty for the first page, then the last answer's next_cursor."),
  },
  output: z.object({
    messages: z.array(Message),
    page: z.object({ next_cursor: z.string().nullable(), has_more: z.boolean() }),
  }),
  faults: ["invalid"],
  async handler({ sql }, { limit, cursor }) {
    const before = positionIn(cursor);
    const rows = await sql<(z.output<typeof Message> & { position: string })[]>`
      select id, channel, recipient, sender, subject, text, html, created_at,
        (extract(epoch from created_at) * 1000000)::bigint || '.' || id as position
      from platform_messages
      ${before ? sql`where (created_at, id) < ('epoch'::timestamptz + ${before.at}::bigint * interval '1 microsecond', ${before.id}::uuid)` : sql``}
      order by created_at desc, id desc limit ${limit + 1}`;
    const messages = rows.slice(0, limit);
    const has_more = rows.length > limit;
    return {
      messages: messages.map(({ position: _, ...message }) => message),
      page: { next_cursor: has_more ? messages.at(-1)!.position : null, has_more },
    };
  },
});

const PLACE = new RegExp(`^(?<at>\\d{1,17})\\.(?<id>${UUID})$`);

/** The start of a page: before the message that the cursor names. Null for the first page. */
function positionIn(cursor: string | undefined): { at: string; id: string } | null {
  if (cursor === undefined || cursor === "") return null;
  const { at, id } = PLACE.exec(cursor)?.groups ?? {};
  if (at && id) return { at, id };
  throw invalid("cursor", "is not a cursor of this list; start again with an empty one");
}
