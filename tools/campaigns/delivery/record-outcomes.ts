import { setTimeout } from "node:timers/promises";
import { cte, type Fragment, join, sql } from "#db/sql.ts";
import { storable } from "#db/text.ts";
import type { Messages, SendingChannel, SendOutcome } from "#runtime/channels/provider/channel.ts";
import { toFault } from "#runtime/faults.ts";
import type { Context, Tenant } from "#runtime/operation/context.ts";
import type { EventName } from "#runtime/operation/events.ts";
import type { JobContext } from "#runtime/operation/job.ts";
import { changeStatus } from "#tools/campaigns/campaign/campaign.ts";
import { settleLater } from "#tools/campaigns/campaign/jobs.ts";
import takeOverOptOuts from "#tools/consent/take-over-opt-outs.job.ts";
import { NOT_TRIED } from "#tools/providers/routes.ts";
import { IS_ERASED } from "#tools/statuses/sends.ts";
import { closeUnplaced } from "#tools/voice-calls/unplaced.ts";
import { emitSendEvents, withIds } from "./send-events.ts";

const MOST_ATTEMPTS = 5;
const LONGEST_MESSAGE = 500;
/** Seconds until a busy provider is asked again, where it names no time. */
export const BUSY_SECONDS = 2;

const LONGEST_PAUSE_MS = 1_000;
// A stopping worker gives its jobs back after seven seconds.
const TRIES_AFTER_STOP = 10;

/** A recorded send. */
export interface Recorded {
  id: string;
  campaign_id: string | null;
  channel: SendingChannel;
  /** The status before: `sending`, unless the vendor's notice came first. */
  was: string;
  status: string;
  outcome: SendOutcome["status"];
  /** The vendor has it, and no earlier notice said so. */
  newly_sent: boolean;
  opted_out: boolean;
}

interface Outcomes {
  outcomes: readonly SendOutcome[];
  messages: readonly Messages[SendingChannel][];
  /** The vendor recognizes a message: one without an outcome is sent once more, after a new check. */
  repeatable?: boolean;
}

/**
 * Records the outcomes of messages that this job had claimed, each once however often it is called, and emits their
 * events. A message to be retried waits a minute, doubled each time, or as long as the vendor says; the fifth refusal is
 * final. A busy provider's answer is no refusal. A vendor's earlier notice stands. A message that an earlier attempt may
 * have sent never counts as failed. Answers the recorded sends in the order of the outcomes.
 */
export async function recordOutcomes(
  context: Context,
  jobId: string,
  { outcomes, messages, repeatable = false }: Outcomes,
): Promise<Recorded[]> {
  const parts = join([
    cte("answered", answeredSends(context, jobId, rowsOf(outcomes, messages)), "materialized"),
    cte("judged", judgedSends(repeatable), "materialized"),
    cte("written", writtenSends(context)),
  ]);
  const recorded = await context.sql<Recorded[]>`
    with ${parts}
    select id, campaign_id, channel, was, status, outcome, newly_sent, opted_out from written order by n`;
  enqueueFollowUps(context, recorded);
  await closeUnplaced(
    context,
    recorded.filter(isRefusedCall).map(({ id }) => id),
  );
  await emitOutcomes(context, recorded);
  return [...recorded];
}

function isRefusedCall({ channel, outcome }: Recorded): boolean {
  return channel === "voice" && (outcome === "failed" || outcome === "retry");
}

function rowsOf(outcomes: readonly SendOutcome[], messages: readonly Messages[SendingChannel][]) {
  const segments = new Map(
    messages.map((message) => [message.id, "segments" in message ? message.segments : null]),
  );
  return outcomes.map((outcome, n) => ({
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
}

/**
 * The outcomes with their sends, locked in the order of their ids; only sends that this job still has. Each is looked up
 * by its id: for a join the planner expects one send of a job, as there was none before, and compares all with all.
 */
function answeredSends({ property }: Tenant, jobId: string, rows: object[]): Fragment {
  return sql`
    select o.*, s.status as was, s.repeats, s.attempts, o.status = 'sent' and s.sent_at is null as newly_sent,
      o.tried and not o.fatal and not o.busy as counts, s.attempts + 1 < ${MOST_ATTEMPTS} as has_tries
    from (
      select * from json_to_recordset(${rows}::json) as o(n int, id uuid, status text, tried boolean, fatal boolean,
        busy boolean, wait double precision, segments int, message_id text, code text, message text, opted_out boolean)
      order by id
    ) o cross join lateral (
      select status, repeats, attempts, sent_at from campaign_sends
      where property_id = ${property.id} and id = o.id and claimed_by = ${jobId}
      for no key update
    ) s`;
}

/** The same with the next status of each, whether it is sent again, and when. */
function judgedSends(repeatable: boolean): Fragment {
  return sql`
    select j.*, now() as moment, case when again or status = 'retry' and tried and not fatal then
        now() + make_interval(secs => coalesce(wait, case when busy then ${BUSY_SECONDS}::int else 60 * 2 ^ attempts end))
      end as due_at
    from (
      select a.*, a.status = 'unknown' and has_tries and ${repeatable} as again,
        case when a.status = 'retry' and (has_tries or not counts) then 'pending'
          when a.status in ('retry', 'failed') then case when a.repeats then 'unknown' else 'failed' end
          else a.status end as next
      from answered a
    ) j`;
}

/** Writes the outcomes. A send that a vendor's notice has changed keeps its status and its error. */
function writtenSends({ property }: Tenant): Fragment {
  return sql`
    update campaign_sends s
    set status = case when j.was <> 'sending' then j.was when j.again then 'pending' else j.next end,
      claimed_by = null, repeats = s.repeats or j.was = 'sending' and j.again,
      attempts = s.attempts + j.counts::int,
      scheduled_for = case when j.was <> 'sending' then s.scheduled_for else j.due_at end,
      sent_at = coalesce(s.sent_at, case when j.status = 'sent' then j.moment end),
      provider = case when j.tried or j.repeats or j.was <> 'sending' then s.provider end,
      provider_id = case when j.tried or j.repeats or j.was <> 'sending' then s.provider_id end,
      provider_message_id = case when not ${IS_ERASED} then coalesce(s.provider_message_id, j.message_id) end,
      segments = j.segments,
      skip_reasons = case when j.status = 'skipped' then array[j.code] else s.skip_reasons end,
      error_code = case when j.status = 'skipped' then null when j.was = 'sending' then j.code else s.error_code end,
      error_message = case when j.status = 'skipped' then null when j.was = 'sending' then j.message else s.error_message end, updated_at = now()
    from judged j where s.property_id = ${property.id} and s.id = j.id
    returning j.n, s.id, s.campaign_id, s.channel, j.was, s.status, j.status as outcome, j.newly_sent, j.opted_out`;
}

/** Sends without an outcome are settled later. A STOP that the vendor keeps is taken over by a job. */
function enqueueFollowUps(context: Context, recorded: readonly Recorded[]): void {
  const open = recorded.filter(({ status }) => status === "unknown");
  for (const campaignId of new Set(open.flatMap(({ campaign_id }) => campaign_id ?? []))) {
    settleLater(context, { campaignId });
  }
  for (const { id, campaign_id } of open) if (campaign_id === null) settleLater(context, { sendId: id });
  const stops = recorded.filter(({ opted_out }) => opted_out);
  const [stop] = stops;
  // The inbox is ours, and keeps no STOP.
  if (!stop || stop.channel === "inbox") return;
  context.enqueue(takeOverOptOuts, { channel: stop.channel, sendIds: stops.map(({ id }) => id) });
}

async function emitOutcomes(context: Context, recorded: readonly Recorded[]): Promise<void> {
  const sent = recorded.filter(({ newly_sent }) => newly_sent);
  const ended = (as: string) => recorded.filter(({ was, status }) => was === "sending" && status === as);
  const events: [EventName, Recorded[]][] = [
    ["campaign.message_sent", sent],
    ["campaign.message_failed", ended("failed")],
    ["campaign.message_skipped", ended("skipped")],
  ];
  for (const [event, sends] of events) {
    const ids = sends.map(({ id }) => id);
    if (ids.length > 0) await emitSendEvents(context, event, withIds(ids));
  }
}

/** The failures of a batch since its last success. A success ends the campaign's count of failures in a row. */
export async function failedInRow(
  { sql, property }: Tenant,
  campaignId: string,
  recorded: readonly Recorded[],
): Promise<number> {
  const ended = recorded.filter(({ outcome, status }) => outcome === "sent" || status === "failed");
  const last = ended.findLastIndex(({ outcome }) => outcome === "sent");
  if (last >= 0) {
    await sql`
      update campaigns set errors_in_row = 0
      where property_id = ${property.id} and id = ${campaignId} and errors_in_row > 0`;
  }
  return ended.length - 1 - last;
}

/** Adds failures to the campaign's count, over all jobs. Pauses the campaign after too many in a row. */
export async function countErrors(context: Context, campaignId: string, failed: number): Promise<void> {
  const { sql, property } = context;
  const [counted] = await sql<{ errors: number; most: number }[]>`
    update campaigns set errors_in_row = errors_in_row + ${failed}::int
    where property_id = ${property.id} and id = ${campaignId} and status = 'sending' and deleted_at is null
    returning errors_in_row as errors, max_send_errors as most`;
  if (!counted || counted.errors <= counted.most) return;
  await sql`
    update campaigns set errors_in_row = 0 where property_id = ${property.id} and id = ${campaignId}`;
  const reason = `${counted.errors} messages in a row have failed; see error_code of its campaign_sends. Repair the cause, then resume it.`;
  await changeStatus(context, campaignId, "pause", { status_reason: reason });
  context.log.error({ campaignId, errors: counted.errors }, "campaign paused: too many errors in a row");
}

/**
 * Runs a transaction that stores outcomes, which must not be lost. It begins again while the database is unavailable or
 * a lock cannot be had, as long as the job's lease stands.
 */
export async function untilRecorded<T>(job: JobContext, work: (context: Context) => Promise<T>): Promise<T> {
  let afterStop = 0;
  for (let pause = 50; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    try {
      return await job.transact(work);
    } catch (error) {
      if (job.signal.aborted) afterStop += 1;
      if (toFault(error).code !== "unavailable" || afterStop > TRIES_AFTER_STOP) throw error;
      job.log.warn({ err: error }, "outcomes of messages are not recorded yet; trying again");
      await setTimeout(pause * (0.5 + Math.random() / 2));
    }
  }
}
