import type { CallScript } from "#runtime/channels/provider/call.ts";
import type { Notice } from "#runtime/channels/provider/channel.ts";
import type { Context } from "#runtime/operation/context.ts";
import { verdictsOn } from "#tools/compliance/verdicts.ts";
import { keywordsOf } from "#tools/sms/keywords.ts";
import { type CallState, type Heard, nextStep, type Step } from "#tools/voice/engine/engine.ts";
import { hasStopKey, type IsStop, stopReader } from "#tools/voice/engine/heard.ts";
import type { CallOutcome } from "#tools/voice/engine/outcomes.ts";
import { secondsToSay, stepLines, theirLines } from "#tools/voice/engine/transcript.ts";
import { longestCall, voiceLaws } from "#tools/voice/law/law.ts";
import { LISTEN_SECONDS } from "#tools/voice/problems.ts";
import { type Answer, type Answered, findCall, type StoredCall, watchRevived } from "./call.ts";
import { endCall, endStopped } from "./end.ts";
import { emitCallEvents } from "./events.ts";
import { revokeBySpeech } from "./stop.ts";

/** The next words and act of a live call, and the notices that settle its send. */
export interface Reply extends Answer {
  notices: Notice[];
}

const NOTHING: Reply = { say: [], act: "none", notices: [] };

/**
 * The next step of a live call. The heard words, the answer and its effects are stored before the caller says a word: a
 * stop is in force before the call ends. A call that is over says nothing any more. A request that is repeated, because
 * the answer to its commit was lost, gets the stored answer, and is heard once.
 */
export async function hear(
  context: Context,
  sendId: string,
  heard: Heard,
  providerCallId?: string,
): Promise<Reply> {
  const seen = await findCall(context, sendId);
  if (!seen) return { ...NOTHING, act: "end" };
  // A revocation locks players first, as every other writer does.
  await lockPlayer(context, seen);
  const call = await findCall(context, sendId, { lock: true });
  if (!call?.script || !call.state) return { ...NOTHING, act: "end" };
  const { requestId } = context.call;
  const { answered } = call.state;
  if (answered?.requestId === requestId) return { say: answered.say, act: answered.act, notices: [] };
  const reply = await replyTo(context, call as LiveCall, heard, providerCallId);
  const { say, act } = reply;
  // The call is another WebSocket's.
  if (act !== "refused") await remember(context, call, { requestId, say, act });
  return reply;
}

type LiveCall = StoredCall & { script: CallScript; state: CallState };

async function remember({ sql, property }: Context, { id }: StoredCall, answered: Answered): Promise<void> {
  await sql`
    update voice_calls set state = state || ${{ answered }}::jsonb
    where property_id = ${property.id} and id = ${id}`;
}

async function replyTo(
  context: Context,
  call: LiveCall,
  heard: Heard,
  providerCallId: string | undefined,
): Promise<Reply> {
  const isStop = stopReader(await keywordsOf(context));
  const stops = asksToStop(heard, isStop);
  // The address of a WebSocket leads one call once.
  if (heard.kind === "person" && (call.state.phase !== "ringing" || call.status === "ended"))
    return { ...NOTHING, act: "refused" };
  if (call.status === "ended") return afterTheEnd(context, call, heard, stops);
  const barred = heard.kind === "person" ? await isBarred(context, call) : false;
  if (barred) return { ...NOTHING, act: "end", notices: await endCall(context, call, "barred") };
  // A carrier may take a person for a machine. A stop counts all the same.
  const isMachine =
    call.answered_by === "machine" &&
    call.state.phase !== "ringing" &&
    call.state.outcome !== "voicemail_left";
  const actual: Heard = isMachine && !stops && heard.kind !== "hung_up" ? { kind: "machine" } : heard;
  const next = nextStep(call.script, call.state, actual, isStop);
  const step = (await fits(context, call, next))
    ? next
    : nextStep(call.script, call.state, { kind: "time_up" }, isStop);
  await store(context, call, actual, step, providerCallId);
  if (step.act === "none") return NOTHING;
  const notices = step.outcome === null ? [] : await endCall(context, call, step.outcome);
  return {
    say: step.say.map(({ text }) => text),
    act: step.act === "hang_up" || step.act === "stop" ? "end" : step.act,
    notices,
  };
}

/** About the time of the last sentence. */
const CLOSING_SECONDS = 10;
/** The time by which a carrier lets a phone ring longer than it is told. */
const RING_SECONDS = 5;

/** Whether the words, and the number behind them, can be said before the vendor cuts the call. */
async function fits(context: Context, call: StoredCall, { state, say }: Step): Promise<boolean> {
  if (call.state?.phase === "ringing" || say.length === 0) return true;
  const laws = await voiceLaws(context);
  const open = call.open_seconds ?? Number.POSITIVE_INFINITY;
  const most = Math.min(laws.most_call_seconds, open - longestCall({ ...laws, most_call_seconds: 0 }));
  const words = say.reduce((sum, { text }) => sum + secondsToSay(text), 0);
  // Behind the last words nothing has to be said.
  const later = state.phase === "closing" ? 0 : LISTEN_SECONDS + CLOSING_SECONDS;
  return (call.age ?? 0) + words + later + RING_SECONDS <= most;
}

function asksToStop(heard: Heard, isStop: IsStop): boolean {
  if (heard.kind === "keys") return hasStopKey(heard.keys);
  return heard.kind === "speech" && isStop(heard.text);
}

/** The vendor's news may end a call before its WebSocket tells the last words of the person. */
async function afterTheEnd(context: Context, call: StoredCall, heard: Heard, stops: boolean): Promise<Reply> {
  if (heard.kind !== "keys" && heard.kind !== "speech") return { ...NOTHING, act: "end" };
  const [line] = theirLines(heard, call.transcript.length, secondsOf(call));
  if (!stops || !line || call.outcome === "opted_out") return NOTHING;
  await endStopped(context, call, line);
  await revokeBySpeech(context, call, line);
  return { ...NOTHING, act: "end" };
}

/** Since the answer, in tenths. */
function secondsOf({ age }: StoredCall): number {
  return Math.round((age ?? 0) * 10) / 10;
}

async function lockPlayer({ sql, property }: Context, { player_id }: StoredCall): Promise<void> {
  if (player_id === null) return;
  await sql`select from players where property_id = ${property.id} and id = ${player_id} for no key update`;
}

/**
 * Since the vendor was asked for the call the gate may have closed, the hours may have ended, or the number may have
 * become another person's.
 */
async function isBarred(context: Context, { player_id, send_id, is_late }: StoredCall): Promise<boolean> {
  if (is_late) return true;
  if (player_id === null) return false;
  const { sql, property } = context;
  const [same] = await sql`
    select from campaign_sends s join players p on p.property_id = ${property.id} and p.id = ${player_id}
    where s.property_id = ${property.id} and s.id = ${send_id} and s.address_hash = p.phone_hash`;
  if (!same) return true;
  const [verdict] = await verdictsOn(context, "voice", [{ address: null, hash: null, player: player_id }]);
  return verdict!.reasons.length > 0;
}

async function store(
  context: Context,
  call: StoredCall,
  heard: Heard,
  step: Step,
  providerCallId: string | undefined,
): Promise<void> {
  const { sql, property } = context;
  const at = secondsOf(call);
  const lines = stepLines(heard, step, call.transcript.length, at);
  const answered = heard.kind === "person" && call.state?.phase === "ringing";
  const discloses = step.say.some(({ fixed }) => fixed === "opt_out");
  const by = outcomeBy(step.state.outcome ?? step.outcome) ?? (answered ? "human" : null);
  await sql`
    with clock as materialized (select statement_timestamp() as moment)
    update voice_calls c set state = ${step.state}::jsonb, transcript = c.transcript || ${lines}::jsonb,
      status = 'in_progress', started_at = coalesce(c.started_at, clock.moment),
      disclosed_at = coalesce(c.disclosed_at, case when ${discloses}::boolean then clock.moment end),
      answered_by = coalesce(${by}::text, c.answered_by), error_code = null,
      provider_call_id = coalesce(c.provider_call_id, ${providerCallId ?? null}::text), updated_at = clock.moment
    from clock
    where c.property_id = ${property.id} and c.id = ${call.id}`;
  await watchRevived(context, call);
  if (answered) await emitCallEvents(context, "campaign.call_answered", [call.id]);
  const [stop] = step.act === "stop" ? lines : [];
  if (stop) await revokeBySpeech(context, call, stop);
}

function outcomeBy(outcome: CallOutcome | null): "machine" | null {
  return outcome === "voicemail_left" || outcome === "voicemail_skipped" ? "machine" : null;
}

/** The line to the vendor broke in a call: the vendor's own news tells how it ended. */
export async function noteBreak({ sql, property }: Context, sendId: string): Promise<void> {
  await sql`
    update voice_calls set error_code = 'relay_closed', updated_at = now()
    where property_id = ${property.id} and send_id = ${sendId} and status <> 'ended'`;
}
