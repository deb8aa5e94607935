import type { Messages, SendingChannel, SendOutcome } from "#runtime/channels/channel.ts";
import type { Context } from "#runtime/operation.ts";
import { emitMany } from "#runtime/outbox.ts";
import { NOT_TRIED } from "#tools/providers/routes.ts";

const MOST_ATTEMPTS = 5;
/** A provider that takes no more is left alone for so many seconds, where it does not say for how many. */
export const BUSY_SECONDS = 2;

const EVENTS = { sent: "campaign.message_sent", failed: "campaign.message_failed" } as const;

/**
 * Writes what became of the messages that this job had claimed, in one statement, and tells who has asked. What
 * may be tried again waits a minute, doubled each time, or as long as the vendor says; the fifth refusal is final. What a busy provider sends back is no refusal.
 */
export async function recordOutcomes(
  context: Context,
  jobId: string,
  { outcomes, messages }: { outcomes: readonly SendOutcome[]; messages: readonly Messages[SendingChannel][] },
): Promise<void> {
  const { sql, property } = context;
  const segments = new Map(
    messages.map((message) => [message.id, "segments" in message ? message.segments : null]),
  );
  const rows = outcomes.map((outcome) => ({
    id: outcome.id,
    status: outcome.status,
    tried: outcome.status === "sent" || !NOT_TRIED.includes(outcome.code),
    fatal: outcome.status === "retry" && outcome.fatal === true,
    busy: outcome.status === "retry" && outcome.busy === true,
    wait: outcome.status === "retry" ? (outcome.retryAfter ?? null) : null,
    segments: segments.get(outcome.id) ?? null,
    message_id: outcome.status === "sent" ? outcome.providerMessageId : null,
    code: outcome.status === "sent" ? null : outcome.code,
    message: outcome.status === "sent" ? null : outcome.message.slice(0, 500),
  }));
  const recorded = await sql<Recorded[]>`
    update campaign_sends s
    set status = case
        when o.status <> 'retry' then o.status
        when o.tried and not o.fatal and not o.busy and s.attempts + 1 >= ${MOST_ATTEMPTS} then 'failed'
        else 'pending' end,
      attempts = s.attempts + (o.tried and not o.fatal and not o.busy)::int,
      scheduled_for = case when o.status = 'retry' and o.tried and not o.fatal
        then now() + make_interval(secs => coalesce(o.wait, case when o.busy then ${BUSY_SECONDS}::int else 60 * 2 ^ s.attempts end)) end,
      sent_at = case when o.status = 'sent' then now() end,
      provider = case when o.tried or s.repeats then s.provider end,
      provider_id = case when o.tried or s.repeats then s.provider_id end, provider_message_id = o.message_id,
      segments = o.segments,
      error_code = o.code, error_message = o.message, updated_at = now()
    from json_to_recordset(${rows as never}::json) as o(id uuid, status text, tried boolean, fatal boolean,
      busy boolean, wait double precision, segments int, message_id text, code text, message text)
    where s.property_id = ${property.id} and s.id = o.id and s.status = 'sending' and s.claimed_by = ${jobId}
    returning s.id, s.status`;
  await announce(context, recorded);
}

interface Recorded {
  id: string;
  status: string;
}

/** A test's sends belong to no campaign, and are nobody's business. */
async function announce({ sql, property }: Context, recorded: Recorded[]): Promise<void> {
  for (const [wanted, event] of Object.entries(EVENTS)) {
    const ids = recorded.filter(({ status }) => status === wanted).map(({ id }) => ({ id }));
    if (ids.length === 0) continue;
    await emitMany(
      sql,
      property.id,
      event,
      sql`
        select jsonb_build_object('id', s.id, 'campaign_id', s.campaign_id, 'player_id', s.player_id,
          'channel', s.channel, 'status', s.status, 'error_code', s.error_code) as object
        from json_to_recordset(${ids as never}::json) as i(id uuid)
        join campaign_sends s on s.property_id = ${property.id} and s.id = i.id and s.campaign_id is not null`,
    );
  }
}
