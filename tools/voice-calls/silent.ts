import { literals } from "#db/sql.ts";
import type { CallReading } from "#runtime/channels/provider/channel.ts";
import type { Context, Tenant } from "#runtime/operation/context.ts";
import { NO_REPORT, reportedWithin, settleCallsLater } from "./call.ts";
import { emitCallEvents } from "./events.ts";
import { ENDED_CALL_ID, OPEN_CALLS } from "./voice-calls.table.ts";

/** A call that its vendor should have reported by now. */
export interface SilentCall {
  id: string;
  send_id: string;
  provider_id: string | null;
  /** Null where the vendor has named none. */
  call_id: string | null;
  /** It was handed over so long ago that the vendor is not asked again. */
  is_old: boolean;
}

const AT_ONCE = 100;
/** The time after which a vendor is asked again that knows no end of a call. */
const AGAIN_SECONDS = 900;
const GIVE_UP_SECONDS = 24 * 3600;

/** The calls whose vendors are asked now, those first that have had no news for the longest time. */
export async function silentCalls(tenant: Tenant): Promise<SilentCall[]> {
  const { sql, property } = tenant;
  const within = await reportedWithin(tenant);
  return sql<SilentCall[]>`
    select c.id, c.send_id, c.provider_id, coalesce(c.provider_call_id, s.provider_message_id) as call_id,
      c.created_at < now() - make_interval(secs => ${GIVE_UP_SECONDS}) as is_old
    from voice_calls c join campaign_sends s on s.property_id = ${property.id} and s.id = c.send_id
    where c.property_id = ${property.id} and c.status in (${literals(OPEN_CALLS)})
      and c.created_at <= now() - make_interval(secs => ${within}::double precision)
      and (c.updated_at = c.created_at or c.updated_at <= now() - make_interval(secs => ${AGAIN_SECONDS}))
    order by c.updated_at, c.id limit ${AT_ONCE}`.then((rows) => [...rows]);
}

type Answer = Exclude<CallReading["state"], "told">;

const REASONS: Record<Answer | "no_id", string> = {
  no_id: "The vendor has named no call and reported none.",
  no_such_call: "The vendor has reported no call, and knows none by its id.",
  unavailable: "The vendor has reported no call, and could not be asked for a day.",
  live: "The vendor has reported no end of the call for a day.",
};

/**
 * Writes that a vendor has told no end of a call: it is asked again, or the call ends as unknown. Nobody knows whether
 * it was made, so it is never placed again.
 */
export async function noteSilence(
  context: Tenant,
  call: SilentCall,
  answer: Answer | "no_id",
): Promise<void> {
  const { sql, property } = context;
  const isLost = call.is_old || answer === "no_id" || answer === "no_such_call";
  const written = await sql<{ id: string }[]>`
    with clock as materialized (select statement_timestamp() as moment)
    update voice_calls c set status = case when ${isLost}::boolean then 'unknown' else c.status end,
      error_code = case when ${isLost}::boolean then ${NO_REPORT} else c.error_code end,
      error_message = case when ${isLost}::boolean then ${REASONS[answer]} else c.error_message end,
      provider_call_id = case when ${isLost}::boolean then ${ENDED_CALL_ID} else c.provider_call_id end,
      updated_at = clock.moment
    from clock
    where c.property_id = ${property.id} and c.id = ${call.id} and c.status in (${literals(OPEN_CALLS)})
    returning c.id`;
  if (isLost) {
    await emitCallEvents(
      context,
      "campaign.call_unknown",
      written.map(({ id }) => id),
    );
  }
}

/** Looks again when the next call without an end must have been reported. */
export async function settleNext(context: Context): Promise<void> {
  const { sql, property } = context;
  const within = await reportedWithin(context);
  const [open] = await sql<{ wait: number | null }[]>`
    select extract(epoch from min(greatest(c.created_at + make_interval(secs => ${within}::double precision),
      case when c.updated_at > c.created_at then c.updated_at + make_interval(secs => ${AGAIN_SECONDS})
        else c.created_at end)) - now())::double precision as wait
    from voice_calls c
    where c.property_id = ${property.id} and c.status in (${literals(OPEN_CALLS)})`;
  if (open?.wait != null) await settleCallsLater(context, Math.max(0, open.wait) + 1);
}
