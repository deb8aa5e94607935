import type { CallScript, VoiceMessage } from "#runtime/channels/provider/call.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import { type CallOutcome, type CallState, RINGING } from "#tools/voice/engine/engine.ts";
import type { TranscriptLine } from "#tools/voice/engine/transcript.ts";

/** A call as it is stored. */
export interface StoredCall {
  id: string;
  send_id: string;
  campaign_id: string | null;
  player_id: string | null;
  provider_id: string | null;
  status: "queued" | "ringing" | "in_progress" | "ended" | "unknown";
  outcome: CallOutcome | null;
  answered_by: "human" | "machine" | null;
  script: CallScript | null;
  state: CallState | null;
  transcript: TranscriptLine[];
  disclosed_at: string | null;
  error_code: string | null;
  /** Seconds since the answer. */
  age: number | null;
  /** The time by which the call must be over has come. */
  is_late: boolean;
}

/**
 * Writes the calls of a claim before the vendor is asked for them: its news may come before its answer. A call is
 * written once, however often its claim is repeated.
 */
export async function openCalls(
  { sql, property }: Tenant,
  provider: { name: string; id: string | null },
  messages: readonly VoiceMessage[],
): Promise<void> {
  const rows = messages.map(({ id, script, latest }) => ({ send_id: id, script, latest }));
  await sql`
    insert into voice_calls (property_id, send_id, campaign_id, player_id, provider, provider_id, status, script, state,
      latest)
    select ${property.id}, r.send_id, s.campaign_id, s.player_id, ${provider.name}, ${provider.id}::uuid, 'queued', r.script,
      ${RINGING}::jsonb, r.latest
    from json_to_recordset(${rows}::json) as r(send_id uuid, script jsonb, latest timestamptz)
      join campaign_sends s on s.property_id = ${property.id} and s.id = r.send_id
    order by r.send_id
    on conflict (property_id, send_id) do nothing`;
}

/** The call of a send; undefined where there is none. `lock` locks it to the end of the transaction. */
export async function findCall(
  { sql, property }: Tenant,
  sendId: string,
  { lock = false }: { lock?: boolean } = {},
): Promise<StoredCall | undefined> {
  const [call] = await sql<StoredCall[]>`
    select id, send_id, campaign_id, player_id, provider_id, status, outcome, answered_by, script, state, transcript,
      disclosed_at, error_code, extract(epoch from clock_timestamp() - started_at)::double precision as age,
      coalesce(latest <= clock_timestamp(), false) as is_late
    from voice_calls where property_id = ${property.id} and send_id = ${sendId}
    ${lock ? sql`for no key update` : sql``}`;
  return call;
}

/** The calls of these sends have had no news for a day: nobody knows whether they were made. */
export async function loseCalls({ sql, property }: Tenant, sendIds: readonly string[]): Promise<void> {
  await sql`
    update voice_calls set status = 'unknown', updated_at = now()
    where property_id = ${property.id} and send_id = any(${[...sendIds]}::uuid[]) and status <> 'ended'`;
}

/** News of a call comes within so long, or never. */
const LIVE_HOURS = 2;

/** How many calls more a provider may make at once. Locks the provider to the end of the transaction, where it has a limit. */
export async function roomForCalls(
  { sql, property }: Tenant,
  { id, maxConcurrent }: { id: string | null; maxConcurrent: number | null },
): Promise<number> {
  if (id === null || maxConcurrent === null) return Number.POSITIVE_INFINITY;
  await sql`select from message_providers where property_id = ${property.id} and id = ${id} for no key update`;
  // A claimed send has no call yet, so both are counted.
  const [row] = await sql<[{ live: number }]>`
    select count(*)::int as live from (
      select send_id as id from voice_calls
      where property_id = ${property.id} and provider_id = ${id} and status in ('queued', 'ringing', 'in_progress')
        and created_at > now() - make_interval(hours => ${LIVE_HOURS})
      union
      select id from campaign_sends
      where property_id = ${property.id} and provider_id = ${id} and channel = 'voice' and status = 'sending'
        and claimed_at > now() - make_interval(hours => ${LIVE_HOURS})) l`;
  return Math.max(0, maxConcurrent - row.live);
}
