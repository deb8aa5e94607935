import type { CallNews } from "#runtime/channels/provider/call.ts";
import type { Notice } from "#runtime/channels/provider/channel.ts";
import type { Context } from "#runtime/operation/context.ts";
import { keywordsOf } from "#tools/sms/keywords.ts";
import { saysOpening } from "#tools/voice/agent.ts";
import { hasStopKey, isGreeting, stopReader } from "#tools/voice/engine/heard.ts";
import type { CallOutcome } from "#tools/voice/engine/outcomes.ts";
import type { TranscriptLine } from "#tools/voice/engine/transcript.ts";
import { findCall, type StoredCall, watchRevived } from "./call.ts";
import { endCall, endStopped, priceCall } from "./end.ts";
import { emitCallEvents } from "./events.ts";
import { revokeBySpeech } from "./stop.ts";

export type CallNotice = Extract<Notice, { kind: "call" }>;

/**
 * Writes a vendor's news into its call, in any order: an ended call stays ended, and only learns its cost and its
 * words. A stop in any report revokes, even where the vendor's agent went on. A longer transcript replaces one. The words
 * of a person whose data was erased are not kept. Answers the notices for the send. News of another provider's call
 * changes nothing.
 */
export async function applyCallNews(
  context: Context,
  providerId: string,
  news: CallNotice,
): Promise<Notice[]> {
  const sendId = news.sendId ?? (await sendOf(context, providerId, news.providerMessageId));
  const seen = sendId === undefined ? undefined : await findCall(context, sendId);
  if (!seen || seen.provider_id !== providerId) return [];
  const { sql, property } = context;
  if (seen.player_id !== null) {
    await sql`select from players where property_id = ${property.id} and id = ${seen.player_id} for no key update`;
  }
  const call = (await findCall(context, seen.send_id, { lock: true }))!;
  const notice = call.anon_id === null ? news : withoutPerson(news, call);
  const told = linesOf(notice);
  const lines = isLonger(told, call.transcript) ? told : [];
  const ours = lines.flatMap(({ by, text }) => (by === "us" ? [text] : []));
  const discloses = call.script !== null && ours.length > 0 && saysOpening(call.script, ours);
  await learn(context, call, notice, { lines, discloses });
  const heard = call.outcome === "opted_out" ? undefined : await stopIn(context, told);
  // The stop of a shorter report goes behind the lines that are kept.
  const stop = heard && lines.length === 0 ? { ...heard, n: call.transcript.length } : heard;
  if (stop) await revokeBySpeech(context, call, stop);
  if (notice.state !== "ended") return [];
  if (call.status === "ended" && notice.seconds !== undefined && notice.cost === undefined)
    await priceCall(context, call.id);
  const outcome = stop ? "opted_out" : outcomeOf(call, notice, { lines, discloses });
  const notices = await endCall(context, call, outcome);
  if (stop) await endStopped(context, call, lines.length > 0 ? null : stop);
  return notices;
}

/** The vendor's id of a live call stays: by it the call is ended. */
function withoutPerson(
  { lines: _, message: __, providerMessageId, ...notice }: CallNotice,
  { status }: StoredCall,
): CallNotice {
  const isLive = status !== "ended" && notice.state !== "ended";
  return isLive && providerMessageId !== undefined ? { ...notice, providerMessageId } : notice;
}

async function sendOf({ sql, property }: Context, providerId: string, callId: string | undefined) {
  if (!callId) return undefined;
  const [found] = await sql<{ id: string }[]>`
    select coalesce(
      (select send_id from voice_calls
        where property_id = ${property.id} and provider_id = ${providerId} and provider_call_id = ${callId} limit 1),
      (select id from campaign_sends
        where property_id = ${property.id} and provider_id = ${providerId} and provider_message_id = ${callId} limit 1)) as id`;
  return found?.id ?? undefined;
}

/** The words of a call, as a vendor tells them at its end. */
interface Told {
  lines: readonly TranscriptLine[];
  /** The agent began with the fixed sentences. */
  discloses: boolean;
}

/** Takes over a vendor's news. A call's status never goes back. */
async function learn(
  context: Context,
  call: StoredCall,
  { state, result, answeredBy, seconds, cost, currency, code, message, providerMessageId }: CallNotice,
  { lines, discloses }: Told,
): Promise<void> {
  const { sql, property } = context;
  const isFirst = call.status === "queued" || call.status === "unknown";
  const next = state === "ringing" ? "ringing" : "in_progress";
  const moves = isFirst || (call.status === "ringing" && next === "in_progress");
  const isNewlyAnswered = state === "answered" && moves;
  const wasAnswered =
    state === "answered" || answeredBy !== undefined || (result === "completed" && (seconds ?? 0) > 0);
  // Of a call that is over only its words still tell that it was answered.
  const answered = lines.length > 0 || (wasAnswered && call.status !== "ended");
  // Late news of an unanswered call says nothing about the length of one that is over.
  const isLength = state === "ended" && (call.status !== "ended" || result === "completed");
  const length = isLength ? (seconds ?? null) : null;
  await sql`
    with clock as materialized (
      select statement_timestamp() as moment,
        statement_timestamp() - make_interval(secs => ${length ?? 0}::double precision) as picked_up
    )
    update voice_calls c set
      status = case when ${moves && state !== "ended"}::boolean then ${next} else c.status end,
      started_at = case when ${answered}::boolean
        then coalesce(c.started_at, clock.picked_up) else c.started_at end,
      answered_by = case when c.status = 'ended' then c.answered_by
        else coalesce(${answeredBy ?? null}::text, c.answered_by) end,
      provider_call_id = coalesce(c.provider_call_id, ${providerMessageId ?? null}::text),
      seconds = coalesce(${length}::int, c.seconds),
      cost = coalesce(${cost ?? null}::double precision, c.cost),
      cost_currency = coalesce(${currency ?? null}::text, c.cost_currency),
      disclosed_at = coalesce(c.disclosed_at, case when ${discloses}::boolean
        then coalesce(c.started_at, clock.picked_up) end),
      transcript = case when ${lines.length > 0}::boolean then ${lines}::jsonb else c.transcript end,
      error_code = coalesce(${code ?? null}::text, c.error_code),
      error_message = coalesce(${message ?? null}::text, c.error_message), updated_at = clock.moment
    from clock
    where c.property_id = ${property.id} and c.id = ${call.id}`;
  if (state !== "ended") await watchRevived(context, call);
  if (isNewlyAnswered) await emitCallEvents(context, "campaign.call_answered", [call.id]);
}

function linesOf({ lines = [] }: CallNews): TranscriptLine[] {
  return lines.map(({ by, text, keys }, n) => ({
    n,
    at: 0,
    by,
    text,
    turn: null,
    fixed: null,
    keys: keys ?? null,
  }));
}

function isLonger(told: readonly TranscriptLine[], known: readonly TranscriptLine[]): boolean {
  if (told.length !== known.length) return told.length > known.length;
  const characters = (lines: readonly TranscriptLine[]) =>
    lines.reduce((sum, { text }) => sum + text.length, 0);
  return characters(told) > characters(known);
}

/** Whether a person says or presses stop in a report of a call. */
export async function saysStop(context: Context, notice: CallNotice): Promise<boolean> {
  return (await stopIn(context, linesOf(notice))) !== undefined;
}

async function stopIn(
  context: Context,
  lines: readonly TranscriptLine[],
): Promise<TranscriptLine | undefined> {
  const theirs = lines.filter(({ by }) => by === "them");
  if (theirs.length === 0) return undefined;
  const isStop = stopReader(await keywordsOf(context));
  return theirs.find(({ text, keys }) => (keys !== null && hasStopKey(keys)) || isStop(text));
}

const RESULTS: Partial<Record<NonNullable<CallNews["result"]>, CallOutcome>> = {
  busy: "busy",
  no_answer: "no_answer",
  failed: "failed",
};

function outcomeOf(call: StoredCall, notice: CallNotice, { lines, discloses }: Told): CallOutcome {
  const result = notice.result && RESULTS[notice.result];
  if (result) return result;
  // An agent must say who calls: otherwise it has abandoned the person, even if it said other words.
  const said = discloses || call.disclosed_at !== null;
  const isMachine =
    (notice.answeredBy ?? call.answered_by) === "machine" ||
    firstWords(lines).some(({ text }) => isGreeting(text));
  if (isMachine) return call.script?.voicemail && said ? "voicemail_left" : "voicemail_skipped";
  if (!said) return "abandoned";
  if (call.error_code === "relay_closed") return "dropped";
  return lines.length > 0 ? "completed" : "hung_up";
}

/** The other side's words before the agent answered them. Later in a call a person may speak of a voicemail. */
function firstWords(lines: readonly TranscriptLine[]): readonly TranscriptLine[] {
  const heard = lines.slice(
    Math.max(
      0,
      lines.findIndex(({ by }) => by === "them"),
    ),
  );
  const answer = heard.findIndex(({ by }) => by === "us");
  return answer < 0 ? heard : heard.slice(0, answer);
}
