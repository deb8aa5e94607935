import { randomUUID } from "node:crypto";
import type { Sql } from "#db/database.ts";
import type { StoredMessage } from "#runtime/channels/provider/channel.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import { storeInboxMessages } from "#tools/inbox/store-messages.ts";
import { storeSimulatedCalls } from "#tools/voice-calls/simulated.ts";

type KeptMail = Exclude<StoredMessage, { channel: "inbox" | "voice" }>;

/** Stores each message once, however often it is handed over. */
export async function storeMessages(context: Tenant, messages: StoredMessage[]): Promise<void> {
  const inbox = messages.filter((kept) => kept.channel === "inbox");
  const calls = messages.filter((kept) => kept.channel === "voice");
  const mail = messages.filter((kept) => kept.channel !== "inbox" && kept.channel !== "voice");
  if (inbox.length > 0) await storeInboxMessages(context, inbox);
  if (calls.length > 0) await storeSimulatedCalls(context, calls);
  if (mail.length > 0) await storeMail(context, mail);
}

async function storeMail({ sql, property }: Tenant, messages: KeptMail[]): Promise<void> {
  await sql`
    insert into mailbox_messages (property_id, id, channel, recipient, sender, subject, text, html, headers)
    select ${property.id}, m.* from ${listOf(sql, messages)} m
    on conflict (property_id, id) do nothing`;
}

/** As `storeMessages`, for the platform's own mail. */
export async function storePlatformMessages(sql: Sql, messages: StoredMessage[]): Promise<void> {
  const mail = messages.filter((kept) => kept.channel !== "inbox" && kept.channel !== "voice");
  await sql`
    insert into platform_messages (id, channel, recipient, sender, subject, text, html, headers)
    select m.* from ${listOf(sql, mail)} m
    on conflict (id) do nothing`;
}

/**
 * One list a column, joined by a mark that no message can contain: no side must scan a mail for characters to quote. An
 * empty part is null.
 */
function listOf(sql: Sql, messages: KeptMail[]) {
  const rows = messages.map(toRow);
  const mark = randomUUID();
  const list = (name: keyof MailRow) =>
    sql`string_to_array(${rows.map((row) => row[name]).join(mark)}, ${mark}, '')`;
  return sql`unnest(${list("id")}::uuid[], ${list("channel")}, ${list("recipient")}, ${list("sender")},
    ${list("subject")}, ${list("text")}, ${list("html")}, ${list("headers")}::jsonb[])`;
}

interface MailRow {
  id: string;
  channel: string;
  recipient: string;
  sender: string | null;
  subject: string | null;
  text: string | null;
  html: string | null;
  headers: string;
}

function toRow(kept: KeptMail): MailRow {
  const { channel, message } = kept;
  const row = { id: message.id, channel, recipient: message.to, text: message.text ?? null, html: null };
  if (channel === "sms") return { ...row, sender: message.from ?? null, subject: null, headers: "{}" };
  if (channel === "push") {
    const { title, url, topic, ttl } = message;
    return {
      ...row,
      sender: null,
      subject: title,
      headers: JSON.stringify({ url, topic, ttl: String(ttl) }),
    };
  }
  const { from, subject, html, headers, replyTo } = kept.message;
  return {
    ...row,
    sender: from.name ? `${from.name} <${from.email}>` : from.email,
    subject,
    html: html ?? null,
    headers: JSON.stringify({ ...headers, ...(replyTo && { "Reply-To": replyTo }) }),
  };
}
