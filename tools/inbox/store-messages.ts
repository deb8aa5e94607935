import type { InboxMessage } from "#runtime/channels/provider/channel.ts";
import type { Tenant } from "#runtime/operation/context.ts";

/** Adds each message to its player's inbox once, however often it is handed over. */
export async function storeInboxMessages(
  { sql, property }: Tenant,
  messages: { message: InboxMessage }[],
): Promise<void> {
  const rows = messages.map(({ message: { id, to, title, text } }) => ({
    id,
    player_id: to,
    title,
    body: text,
  }));
  await sql`
    insert into inbox_messages (property_id, id, player_id, campaign_id, title, body)
    select ${property.id}, m.id, m.player_id, s.campaign_id, m.title, m.body
    from json_to_recordset(${rows}::json) as m(id uuid, player_id uuid, title text, body text)
    left join campaign_sends s on s.property_id = ${property.id} and s.id = m.id
    on conflict (property_id, id) do nothing`;
}
