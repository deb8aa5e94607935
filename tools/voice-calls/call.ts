import { z } from "zod";
import { literals } from "#db/sql.ts";
import type { CallScript, VoiceMessage } from "#runtime/channels/provider/call.ts";
import type { Context, Tenant } from "#runtime/operation/context.ts";
import { type CallState, RINGING } from "#tools/voice/engine/engine.ts";
import type { CallOutcome } from "#tools/voice/engine/outcomes.ts";
import type { TranscriptLine } from "#tools/voice/engine/transcript.ts";
import { longestCall, voiceLaws } from "#tools/voice/law/law.ts";
import { OPEN_CALLS } from "./voice-calls.table.ts";

/** Our next words and act in a live call. */
export interface Answer {
  say: readonly string[];
  /** As in a step. `end`: the call is over. `refused`: another WebSocket has led this call. */
  act: "listen" | "close" | "pause" | "end" | "none" | "refused";
}

/** The answer to the last request about a call. */
export interface Answered extends Answer {
  requestId: string;
}

/** A call as it is stored. */
export interface StoredCall {
  id: string;
  send_id: string;
  campaign_id: string | null;
  player_id: string | null;
  /** Stands for a person whose data was erased. */
  anon_id: string | null;
  provider_id: string | null;
  status: "queued" | "ringing" | "in_progress" | "ended" | "unknown";
  outcome: CallOutcome | null;
  answered_by: "human" | "machine" | null;
  script: CallScript | null;
  state: (CallState & { answered?: Answered }) | null;
  transcript: TranscriptLine[];
  disclosed_at: string | null;
  error_code: string | null;
  /** Seconds since the answer. */
  age: number | null;
  /** Seconds between its writing and the time by which it must be over; null without such a time. */
  open_seconds: number | null;
  /** The time by which the call must be over has come. */
  is_late: boolean;
}

/** The job that asks vendors for the calls that they have not reported. It stands above this domain. */
export const SETTLE_CALLS = { name: "settle_calls", attempts: 20, input: z.object({}) };

/** The time in which a vendor reports a call, after the longest that the call can take. */
const REPORT_SECONDS = 600;

/** Seconds from a call's hand-over to the time when its vendor must have reported it. */
export async function reportedWithin(tenant: Tenant): Promise<number> {
  return longestCall(await voiceLaws(tenant)) + REPORT_SECONDS;
}

/** Settles the property's calls without news, `seconds` from now; as soon as a new call must have been reported by default. */
export async function settleCallsLater(context: Context, seconds?: number): Promise<void> {
  const runAt = seconds ?? (await reportedWithin(context));
  context.enqueue(SETTLE_CALLS, {}, { dedupe: context.property.id, runAt });
}

/** The job that has vendors end calls with persons who were barred meanwhile. It stands above this domain. */
export const WATCH_CALLS = { name: "watch_calls", attempts: 20, input: z.object({}) };

/** Seconds between two looks at the live calls of a property. */
const LOOK_EVERY = 2;

/** Looks at the property's live calls soon. */
export function watchCalls({ enqueue, property }: Pick<Context, "enqueue" | "property">): void {
  enqueue(WATCH_CALLS, {}, { dedupe: property.id, runAt: LOOK_EVERY });
}

/** The error of a call whose vendor has told no end of it. */
export const NO_REPORT = "no_report";

/** Settles and watches a call that lives, though it was given up for want of news. */
export async function watchRevived(
  context: Context,
  { status, error_code }: Pick<StoredCall, "status" | "error_code">,
): Promise<void> {
  if (status === "unknown") await settleCallsLater(context);
  if (error_code === NO_REPORT) watchCalls(context);
}

/**
 * Writes the calls of a claim before the vendor is asked for them: its news may come before its answer. A call is
 * written once, however often its claim is repeated.
 */
export async function openCalls(
  context: Context,
  provider: { name: string; id: string | null },
  messages: readonly VoiceMessage[],
): Promise<void> {
  const { sql, property } = context;
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
  watchCalls(context);
  await settleCallsLater(context);
}

/** The call of a send; undefined where there is none. `lock` locks it to the end of the transaction. */
export async function findCall(
  { sql, property }: Tenant,
  sendId: string,
  { lock = false }: { lock?: boolean } = {},
): Promise<StoredCall | undefined> {
  const [call] = await sql<StoredCall[]>`
    select id, send_id, campaign_id, player_id, anon_id, provider_id, status, outcome, answered_by, script, state, transcript,
      disclosed_at, error_code, extract(epoch from clock_timestamp() - started_at)::double precision as age,
      extract(epoch from latest - created_at)::double precision as open_seconds,
      coalesce(latest <= clock_timestamp(), false) as is_late
    from voice_calls where property_id = ${property.id} and send_id = ${sendId}
    ${lock ? sql`for no key update` : sql``}`;
  return call;
}

/** How many calls of a provider are under way. */
export async function countOpenCalls({ sql, property }: Tenant, providerId: string): Promise<number> {
  const [row] = await sql<[{ open: number }]>`
    select count(*)::int as open from voice_calls
    where property_id = ${property.id} and provider_id = ${providerId} and status in (${literals(OPEN_CALLS)})`;
  return row.open;
}

/** The time in which news of a call comes. Later there is none. */
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
      where property_id = ${property.id} and provider_id = ${id} and status in (${literals(OPEN_CALLS)})
        and created_at > now() - make_interval(hours => ${LIVE_HOURS})
      union
      select id from campaign_sends
      where property_id = ${property.id} and provider_id = ${id} and channel = 'voice' and status = 'sending'
        and claimed_at > now() - make_interval(hours => ${LIVE_HOURS})) l`;
  return Math.max(0, maxConcurrent - row.live);
}
