import type { Sql } from "#db/client.ts";
import type { KeptMessage } from "#runtime/channels/channel.ts";
import type { Context } from "#runtime/operation.ts";
import { keepInboxMessages } from "#tools/inbox/keep.ts";

type Kept = Pick<Context, "sql" | "property">;
type KeptMail = Exclude<KeptMessage, { channel: "inbox" }>;

/** Keeps each message once, however often it is handed over. */
export async function keepMessages(context: Kept, messages: KeptMessage[]): Promise<void> {
  const inbox = messages.filter((kept) => kept.channel === "inbox");
  const mail = messages.filter((kept) => kept.channel !== "inbox");
  if (inbox.length > 0) await keepInboxMessages(context, inbox);
  if (mail.length > 0) await keepMail(context, mail);
}

async function keepMail({ sql, property }: Kept, messages: KeptMail[]): Promise<void> {
  const rows = messages.map(toRow);
  await sql`
    insert into mailbox_messages (property_id, id, channel, recipient, sender, subject, text, html, headers)
    select ${property.id}, id, channel, recipient, sender, subject, text, html, headers
    from json_to_recordset(${rows as never}::json) as m(id uuid, channel text, recipient text, sender text,
      subject text, text text, html text, headers jsonb)
    on conflict (property_id, id) do nothing`;
}

/** As `keepMessages`, for the platform's own mail. */
export async function keepPlatformMessages(sql: Sql, messages: KeptMessage[]): Promise<void> {
  const rows = messages.filter((kept) => kept.channel !== "inbox").map(toRow);
  await sql`
    insert into platform_messages (id, channel, recipient, sender, subject, text, html, headers)
    select id, channel, recipient, sender, subject, text, html, headers
    from json_to_recordset(${rows as never}::json) as m(id uuid, channel text, recipient text, sender text,
      subject text, text text, html text, headers jsonb)
    on conflict (id) do nothing`;
}

function toRow(kept: KeptMail) {
  const { channel, message } = kept;
  const row = { id: message.id, channel, recipient: message.to, text: message.text };
  if (channel === "sms") return { ...row, sender: message.from ?? null, headers: {} };
  const { from, subject, html, headers, replyTo } = kept.message;
  return {
    ...row,
    sender: from.name ? `${from.name} <${from.email}>` : from.email,
    subject,
    html,
    headers: { ...headers, ...(replyTo && { "Reply-To": replyTo }) },
  };
}
