import type { Sql } from "#db/client.ts";
import type { KeptMessage } from "#runtime/channels/channel.ts";
import type { Context } from "#runtime/context.ts";
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
  await sql`
    insert into mailbox_messages (property_id, id, channel, recipient, sender, subject, text, html, headers)
    select ${property.id}, m.* from ${listOf(sql, messages)} m
    on conflict (property_id, id) do nothing`;
}

/** As `keepMessages`, for the platform's own mail. */
export async function keepPlatformMessages(sql: Sql, messages: KeptMessage[]): Promise<void> {
  const mail = messages.filter((kept) => kept.channel !== "inbox");
  await sql`
    insert into platform_messages (id, channel, recipient, sender, subject, text, html, headers)
    select m.* from ${listOf(sql, mail)} m
    on conflict (id) do nothing`;
}

/** A list for each column: PostgreSQL reads them in half the time that it needs for JSON. */
function listOf(sql: Sql, messages: KeptMail[]) {
  const rows = messages.map(toRow);
  const texts = (name: Exclude<keyof MailRow, "id" | "headers">) =>
    sql`${rows.map((row) => row[name])}::text[]`;
  const headers = rows.map((row) => JSON.stringify(row.headers));
  return sql`unnest(${rows.map(({ id }) => id)}::uuid[], ${texts("channel")}, ${texts("recipient")},
    ${texts("sender")}, ${texts("subject")}, ${texts("text")}, ${texts("html")}, ${headers}::jsonb[])`;
}

interface MailRow {
  id: string;
  channel: string;
  recipient: string;
  sender: string | null;
  subject: string | null;
  text: string | null;
  html: string | null;
  headers: Record<string, string>;
}

function toRow(kept: KeptMail): MailRow {
  const { channel, message } = kept;
  const row = { id: message.id, channel, recipient: message.to, text: message.text ?? null };
  if (channel === "sms")
    return { ...row, sender: message.from ?? null, subject: null, html: null, headers: {} };
  const { from, subject, html, headers, replyTo } = kept.message;
  return {
    ...row,
    sender: from.name ? `${from.name} <${from.email}>` : from.email,
    subject,
    html: html ?? null,
    headers: { ...headers, ...(replyTo && { "Reply-To": replyTo }) },
  };
}
