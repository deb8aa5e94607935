import { z } from "zod";
import type { Notice } from "#runtime/channels/provider/channel.ts";
import type { Context, Tenant } from "#runtime/operation/context.ts";
import type { CallOutcome } from "#tools/voice/engine/outcomes.ts";
import type { TranscriptLine } from "#tools/voice/engine/transcript.ts";
import { voiceLaws } from "#tools/voice/law/law.ts";
import type { StoredCall } from "./call.ts";
import { emitCallEvents } from "./events.ts";
import { isAbandoned } from "./figures.ts";
import { ENDED_CALL_ID } from "./voice-calls.table.ts";

/** The job that pauses a campaign with too many abandoned calls. It stands above this domain. */
export const HOLD_ABANDONING = {
  name: "hold_abandoning_campaign",
  attempts: 20,
  input: z.object({ campaignId: z.uuid() }),
};

/** Outcomes of calls with a person. */
const SPOKEN: ReadonlySet<CallOutcome> = new Set([
  "completed",
  "opted_out",
  "hung_up",
  "abandoned",
  "time_up",
  "dropped",
]);

/** Outcomes behind which neither a person nor a machine has the message. */
const MISSED: ReadonlySet<CallOutcome> = new Set([
  "no_answer",
  "busy",
  "failed",
  "abandoned",
  "barred",
  "voicemail_skipped",
]);

/** The side that answered a call of this outcome; null where nobody did, or nothing was said. */
function answeredBy(outcome: CallOutcome): "human" | "machine" | null {
  if (outcome === "voicemail_left" || outcome === "voicemail_skipped") return "machine";
  return SPOKEN.has(outcome) ? "human" : null;
}

/**
 * Prices a relayed call that is over: no carrier tells its whole cost, so each begun minute of an answered one costs the
 * provider's unit_price. Again when the carrier tells its true length.
 */
export async function priceCall({ sql, property }: Tenant, id: string): Promise<void> {
  await sql`
    update voice_calls c
    set cost = p.unit_price * greatest(1, ceil(c.seconds / 60.0))::double precision, cost_currency = p.price_currency
    from message_providers p
    where c.property_id = ${property.id} and c.id = ${id} and c.provider = 'conversation-relay'
      and c.status = 'ended' and c.started_at is not null and c.seconds is not null
      and p.property_id = ${property.id} and p.id = c.provider_id and p.unit_price is not null`;
}

/**
 * Notes a stop in a call that is over: it was said over our last words, or a vendor told it later. `line` is new in the
 * transcript.
 */
export async function endStopped(
  { sql, property }: Tenant,
  { id }: Pick<StoredCall, "id">,
  line: TranscriptLine | null,
): Promise<void> {
  await sql`
    update voice_calls c set outcome = 'opted_out', answered_by = 'human', transcript = c.transcript || ${line === null ? [] : [line]}::jsonb, updated_at = now()
    where c.property_id = ${property.id} and c.id = ${id} and c.status = 'ended'`;
}

/** Ends a locked call, once. Answers the notice by which its send is settled. */
export async function endCall(
  context: Context,
  call: Pick<StoredCall, "id" | "send_id" | "campaign_id">,
  outcome: CallOutcome,
): Promise<Notice[]> {
  const { sql, property, now, enqueue } = context;
  const by = answeredBy(outcome);
  const laws = await voiceLaws(context);
  const ended = await sql<{ cost: number | null; is_abandoned: boolean }[]>`
    with talked as materialized (
      select v.id, statement_timestamp() as moment,
        greatest(0, extract(epoch from statement_timestamp() - v.started_at))::int as seconds
      from voice_calls v
      where v.property_id = ${property.id} and v.id = ${call.id}
    ),
    ended as (
      update voice_calls c set status = 'ended', outcome = ${outcome}, ended_at = coalesce(c.ended_at, t.moment),
        seconds = coalesce(c.seconds, t.seconds), answered_by = ${by}::text,
        provider_call_id = ${ENDED_CALL_ID}, updated_at = t.moment
      from talked t
      where c.property_id = ${property.id} and c.id = t.id and c.status <> 'ended'
      returning c.cost, c.status, c.outcome, c.answered_by, c.disclosed_at, c.started_at
    )
    select c.cost, ${isAbandoned(laws)} as is_abandoned from ended c`;
  if (ended.length === 0) return [];
  if (ended[0]!.cost === null) await priceCall(context, call.id);
  await emitCallEvents(context, "campaign.call_completed", [call.id]);
  if (ended[0]!.is_abandoned && call.campaign_id) {
    enqueue(HOLD_ABANDONING, { campaignId: call.campaign_id }, { dedupe: call.campaign_id });
  }
  const about = { eventId: `call:${call.id}`, at: new Date(now()).toISOString(), sendId: call.send_id };
  return [
    MISSED.has(outcome) ? { ...about, kind: "failed", code: outcome } : { ...about, kind: "delivered" },
  ];
}
