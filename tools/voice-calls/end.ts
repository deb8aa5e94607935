import { z } from "zod";
import { sql as fragment } from "#db/sql.ts";
import type { Notice } from "#runtime/channels/provider/channel.ts";
import type { Context } from "#runtime/operation/context.ts";
import type { CallOutcome } from "#tools/voice/engine/engine.ts";
import type { StoredCall } from "./call.ts";
import { emitCallEvents } from "./events.ts";

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

/** No carrier tells what a relayed call has cost: each begun minute of an answered one, by the provider's unit_price. */
const MINUTE_PRICE = fragment`
  case when v.provider = 'conversation-relay' and v.started_at is not null then p.unit_price end`;

/** Ends a locked call, once. Answers the notice by which its send is settled. */
export async function endCall(
  context: Context,
  call: Pick<StoredCall, "id" | "send_id" | "campaign_id">,
  outcome: CallOutcome,
): Promise<Notice[]> {
  const { sql, property, now, enqueue } = context;
  const by = answeredBy(outcome);
  const ended = await sql`
    with talked as materialized (
      select v.id, statement_timestamp() as moment,
        greatest(0, extract(epoch from statement_timestamp() - v.started_at))::int as seconds,
        ${MINUTE_PRICE} as minute_price, p.price_currency
      from voice_calls v
        left join message_providers p on p.property_id = ${property.id} and p.id = v.provider_id
      where v.property_id = ${property.id} and v.id = ${call.id}
    )
    update voice_calls c set status = 'ended', outcome = ${outcome}, ended_at = coalesce(c.ended_at, t.moment),
      seconds = coalesce(c.seconds, t.seconds), answered_by = ${by}::text,
      cost = coalesce(c.cost, t.minute_price * greatest(1, ceil(coalesce(c.seconds, t.seconds) / 60.0))::double precision),
      cost_currency = coalesce(c.cost_currency, case when t.minute_price is not null then t.price_currency end),
      updated_at = t.moment
    from talked t
    where c.property_id = ${property.id} and c.id = t.id and c.status <> 'ended'
    returning c.id`;
  if (ended.length === 0) return [];
  await emitCallEvents(context, "campaign.call_completed", [call.id]);
  if (outcome === "abandoned" && call.campaign_id) {
    enqueue(HOLD_ABANDONING, { campaignId: call.campaign_id }, { dedupe: call.campaign_id });
  }
  const about = { eventId: `call:${call.id}`, at: new Date(now()).toISOString(), sendId: call.send_id };
  return [
    MISSED.has(outcome) ? { ...about, kind: "failed", code: outcome } : { ...about, kind: "delivered" },
  ];
}
