import type { InboxMessage } from "#runtime/channels/provider/channel.ts";
import type { Tenant } from "#runtime/operation/context.ts";

/** Adds each message to its player's inbox once, however often it is handed over. */
export async function storeInboxMessages(
  { sql, property }: Tenant,
  messages: { message: InboxMessage }[],
): Promise<void> {
  const rows = messages.map(({ message: { id, to, title, text, parts = {} } }) => ({
    ...parts,
    id,
    player_id: to,
    title,
    body: text,
  }));
  await sql`
    insert into inbox_messages (property_id, id, player_id, campaign_id, journey_id, title, body, category, image_url,
      cta_label, cta_url, priority, pinned, offer, expires_at)
    select ${property.id}, m.id, m.player_id, s.campaign_id, c.journey_id, m.title, m.body, m.category, m.image_url,
      m.cta_label, m.cta_url, coalesce(m.priority, 0), coalesce(m.pinned, false),
      (m.offer - 'valid_days') || case when m.offer ? 'valid_days'
        then jsonb_build_object('expires_at', now() + make_interval(days => (m.offer ->> 'valid_days')::int))
        else '{}' end,
      coalesce(m.expires_at, now() + make_interval(days => m.expires_after_days))
    from json_to_recordset(${rows}::json) as m(id uuid, player_id uuid, title text, body text, category text,
      image_url text, cta_label text, cta_url text, priority int, pinned boolean, offer jsonb, expires_at timestamptz,
      expires_after_days int)
    left join campaign_sends s on s.property_id = ${property.id} and s.id = m.id
    left join campaigns c on c.property_id = ${property.id} and c.id = s.campaign_id
    on conflict (property_id, id) do nothing`;
}
