import type { Messages, SendingChannel, SendOutcome } from "#runtime/channels/channel.ts";
import { storable } from "#runtime/channels/words.ts";
import type { Context } from "#runtime/context.ts";
import type { EventName } from "#runtime/events.ts";
import takeOverOptOuts from "#tools/consent/take-over-opt-outs.job.ts";
import { NOT_TRIED } from "#tools/providers/routes.ts";
import { announceSends, withIds } from "./announce.ts";
import { settleLater } from "./settle-sends.job.ts";

const MOST_ATTEMPTS = 5;
const LONGEST_MESSAGE = 500;
/** A provider that takes no more is left alone for so many seconds, where it does not say for how many. */
export const BUSY_SECONDS = 2;

/** What became of a claimed send, in the order of the outcomes. */
export interface Recorded {
  id: string;
  campaign_id: string | null;
  channel: SendingChannel;
  /** Before, `sending` unless the vendor's notice was faster. */
  was: string;
  status: string;
  outcome: SendOutcome["status"];
  /** The vendor has it, and no notice of its has said so before. */
  newly_sent: boolean;
  opted_out: boolean;
}

interface Batch {
  outcomes: readonly SendOutcome[];
  messages: readonly Messages[SendingChannel][];
  /** The vendor knows a message again: what it may have is sent once more, after a new check. */
  repeatable?: boolean;
}

/**
 * Writes what became of the messages that this job had claimed, each once however often it is called, and tells who
 * has asked. What may be tried again waits a minute, doubled each time, or as long as the vendor says; the fifth
 * refusal is final. What a busy provider sends back is no refusal. What a vendor's notice has said already stands.
 * Of what an earlier attempt may have sent, nobody can tell that it has failed.
 */
export async function recordOutcomes(
  context: Context,
  jobId: string,
  { outcomes, messages, repeatable = false }: Batch,
): Promise<Recorded[]> {
  const { sql, property } = context;
  const segments = new Map(
    messages.map((message) => [message.id, "segments" in message ? message.segments : null]),
  );
  const rows = outcomes.map((outcome, n) => ({
    n,
    id: outcome.id,
    status: outcome.status,
    tried: outcome.status === "sent" || !NOT_TRIED.includes(outcome.code),
    fatal: outcome.status === "retry" && outcome.fatal === true,
    busy: outcome.status === "retry" && outcome.busy === true,
    wait: outcome.status === "retry" ? (outcome.retryAfter ?? null) : null,
    segments: segments.get(outcome.id) ?? null,
    message_id: outcome.status === "sent" ? outcome.providerMessageId : null,
    code: outcome.status === "sent" ? null : outcome.code,
    message: outcome.status === "sent" ? null : storable(outcome.message, LONGEST_MESSAGE),
    opted_out: outcome.status === "failed" && outcome.optedOut === true,
  }));
  const recorded = await sql<Recorded[]>`
    with told as materialized (
      select o.*, s.status as was, s.repeats, o.status = 'sent' and s.sent_at is null as newly_sent,
        o.tried and not o.fatal and not o.busy as counts, s.attempts + 1 < ${MOST_ATTEMPTS} as has_tries
      from json_to_recordset(${rows as never}::json) as o(n int, id uuid, status text, tried boolean, fatal boolean,
        busy boolean, wait double precision, segments int, message_id text, code text, message text, opted_out boolean)
      join campaign_sends s on s.property_id = ${property.id} and s.id = o.id and s.claimed_by = ${jobId}
      order by o.id for no key update of s
    ), judged as materialized (
      select t.*, t.status = 'unknown' and has_tries and ${repeatable} as again,
        case when t.status = 'retry' and (has_tries or not counts) then 'pending'
          when t.status in ('retry', 'failed') then case when t.repeats then 'unknown' else 'failed' end
          else t.status end as next
      from told t
    ), written as (
      update campaign_sends s
      set status = case when j.was <> 'sending' then j.was when j.again then 'pending' else j.next end,
        claimed_by = null, repeats = s.repeats or j.was = 'sending' and j.again,
        attempts = s.attempts + j.counts::int,
        scheduled_for = case when j.was <> 'sending' then s.scheduled_for
          when j.again or j.status = 'retry' and j.tried and not j.fatal then now() + make_interval(secs =>
            coalesce(j.wait, case when j.busy then ${BUSY_SECONDS}::int else 60 * 2 ^ s.attempts end)) end,
        sent_at = coalesce(s.sent_at, case when j.status = 'sent' then now() end),
        provider = case when j.tried or j.repeats or j.was <> 'sending' then s.provider end,
        provider_id = case when j.tried or j.repeats or j.was <> 'sending' then s.provider_id end,
        provider_message_id = coalesce(s.provider_message_id, j.message_id), segments = j.segments,
        error_code = case when j.was = 'sending' then j.code else s.error_code end,
        error_message = case when j.was = 'sending' then j.message else s.error_message end, updated_at = now()
      from judged j where s.property_id = ${property.id} and s.id = j.id
      returning j.n, s.id, s.campaign_id, s.channel, j.was, s.status, j.status as outcome, j.newly_sent, j.opted_out
    )
    select id, campaign_id, channel, was, status, outcome, newly_sent, opted_out from written order by n`;
  follow(context, recorded);
  await announce(context, recorded);
  return [...recorded];
}

/** What is open is settled later, and a STOP that the vendor keeps is taken over, whatever becomes of this process. */
function follow(context: Context, recorded: readonly Recorded[]): void {
  const open = recorded.filter(({ status }) => status === "unknown");
  for (const campaignId of new Set(open.flatMap(({ campaign_id }) => campaign_id ?? []))) {
    settleLater(context, { campaignId });
  }
  for (const { id, campaign_id } of open) if (campaign_id === null) settleLater(context, { sendId: id });
  const stops = recorded.filter(({ opted_out }) => opted_out);
  const [stop] = stops;
  // The inbox is our own.
  if (!stop || stop.channel === "inbox") return;
  context.enqueue(takeOverOptOuts, { channel: stop.channel, sendIds: stops.map(({ id }) => id) });
}

async function announce(context: Context, recorded: readonly Recorded[]): Promise<void> {
  const sent = recorded.filter(({ newly_sent }) => newly_sent);
  const failed = recorded.filter(({ was, status }) => was === "sending" && status === "failed");
  const told: [EventName, Recorded[]][] = [
    ["campaign.message_sent", sent],
    ["campaign.message_failed", failed],
  ];
  for (const [event, sends] of told) {
    const ids = sends.map(({ id }) => id);
    if (ids.length > 0) await announceSends(context, event, withIds(context, ids));
  }
}
