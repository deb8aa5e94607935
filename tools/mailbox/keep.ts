import type { KeptMessage } from "#runtime/channels/channel.ts";
import type { Context } from "#runtime/operation.ts";

/** Keeps each message once, however often it is handed over. */
export async function keepMessages(
  { sql, property }: Pick<Context, "sql" | "property">,
  messages: KeptMessage[],
): Promise<void> {
  const rows = messages.map(({ channel, message }) => ({
    id: message.id,
    channel,
    recipient: message.to,
    sender: message.from.name ? `${message.from.name} <${message.from.email}>` : message.from.email,
    subject: message.subject,
    text: message.text,
    html: message.html ?? null,
    headers: { ...message.headers, ...(message.replyTo && { "Reply-To": message.replyTo }) },
  }));
  await sql`
    insert into mailbox_messages (property_id, id, channel, recipient, sender, subject, text, html, headers)
    select ${property.id}, id, channel, recipient, sender, subject, text, html, headers
    from json_to_recordset(${rows as never}::json) as m(id uuid, channel text, recipient text, sender text,
      subject text, text text, html text, headers jsonb)
    on conflict (property_id, id) do nothing`;
}
