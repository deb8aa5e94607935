import type { StoredMessage } from "#runtime/channels/provider/channel.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import { keywordsOf } from "#tools/sms/keywords.ts";
import { stopReader } from "#tools/voice/engine/heard.ts";
import { personaOf } from "#tools/voice/simulator/personas.ts";
import { simulateCall } from "#tools/voice/simulator/simulate.ts";
import { emitCallEvents } from "./events.ts";

type KeptCall = Extract<StoredMessage, { channel: "voice" }>;

/**
 * Plays the simulator's calls and stores each once. Nobody was called: a made-up person's stop revokes no consent, and
 * the call counts as no contact.
 */
export async function storeSimulatedCalls(context: Tenant, kept: readonly KeptCall[]): Promise<void> {
  const { sql, property } = context;
  const isStop = stopReader(await keywordsOf(context));
  const ids = kept.map(({ message }) => ({ id: message.id }));
  const sends = await sql<{ id: string; campaign_id: string | null; player_id: string | null }[]>`
    select s.id, s.campaign_id, s.player_id from json_to_recordset(${ids}::json) as i(id uuid)
      join campaign_sends s on s.property_id = ${property.id} and s.id = i.id`;
  const bySend = new Map(sends.map((send) => [send.id, send]));
  const rows = kept.flatMap(({ message, providerMessageId, seed = "" }) => {
    const send = bySend.get(message.id);
    if (!send) return [];
    const persona = personaOf(`${send.campaign_id}|${send.player_id}|${seed}`);
    const { transcript, ...played } = simulateCall(message.script, persona, isStop);
    return { send_id: message.id, provider_call_id: providerMessageId, persona, ...played, transcript };
  });
  const stored = await sql<{ id: string }[]>`
    insert into voice_calls (property_id, send_id, campaign_id, player_id, provider, provider_call_id, simulated,
      persona, status, outcome, answered_by, seconds, transcript, started_at, ended_at)
    select ${property.id}, r.send_id, s.campaign_id, s.player_id, 'simulator', r.provider_call_id, true, r.persona,
      'ended', r.outcome, r.answered_by, r.seconds, r.transcript, case when r.answered_by is not null then now() - make_interval(secs => r.seconds) end,
      now()
    from json_to_recordset(${rows}::json) as r(send_id uuid, provider_call_id text, persona text, outcome text,
        answered_by text, seconds int, transcript jsonb)
      join campaign_sends s on s.property_id = ${property.id} and s.id = r.send_id
    order by r.send_id
    on conflict (property_id, send_id) do nothing returning id`;
  await emitCallEvents(
    context,
    "campaign.call_completed",
    stored.map(({ id }) => id),
  );
}
