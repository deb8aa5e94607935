import type { Notice } from "#runtime/channels/provider/channel.ts";
import type { Context } from "#runtime/operation/context.ts";
import { verdictsOn } from "#tools/compliance/verdicts.ts";
import { keywordsOf } from "#tools/sms/keywords.ts";
import { type CallOutcome, type Heard, nextStep, type Step } from "#tools/voice/engine/engine.ts";
import { hasStopKey, type IsStop, stopReader } from "#tools/voice/engine/heard.ts";
import { ourLines, secondsToSay, theirLines } from "#tools/voice/engine/transcript.ts";
import { longestCall, voiceLaws } from "#tools/voice/law/law.ts";
import { LISTEN_SECONDS } from "#tools/voice/problems.ts";
import { findCall, type StoredCall, settleCallsLater } from "./call.ts";
import { endCall, endStopped } from "./end.ts";
import { emitCallEvents } from "./events.ts";
import { revokeBySpeech } from "./stop.ts";

/** The next words and act of a live call, and the notices that settle its send. */
export interface Reply {
  say: readonly string[];
  /** `listen`: wait for an answer. `end`: end the call after the words. `none`: nothing has changed. */
  act: "listen" | "end" | "none";
  /** The caller's name and the way to stop calls, where these are among the words: the person must hear both. */
  opening: readonly string[];
  notices: Notice[];
}

const NOTHING: Reply = { say: [], act: "none", opening: [], notices: [] };

/**
 * The next step of a live call. What was heard, what is said and what follows from it are stored before the caller says
 * a word: a stop is in force before the call ends. A call that is over says nothing any more.
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
  const isStop = stopReader(await keywordsOf(context));
  const stops = asksToStop(heard, isStop);
  if (call.status === "ended") return afterTheEnd(context, call, heard, stops);
  const barred = heard.kind === "person" ? await isBarred(context, call) : false;
  if (barred) return { ...NOTHING, act: "end", notices: await endCall(context, call, "barred") };
  // A carrier may take a person for a machine. A stop counts all the same.
  const isMachine = call.answered_by === "machine" && call.state.phase === "talking";
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
    act: step.act === "listen" ? "listen" : "end",
    opening: step.say.flatMap(({ fixed, text }) =>
      fixed === "identification" || fixed === "opt_out" ? [text] : [],
    ),
    notices,
  };
}

/** About the time of the last sentence, and of the seconds that a carrier lets a phone ring longer than it is told. */
const CLOSING_SECONDS = 15;

/** Whether the words, and the number behind them, can be said before the vendor cuts the call. */
async function fits(context: Context, call: StoredCall, { state, say, act }: Step): Promise<boolean> {
  if (call.state?.phase !== "talking" || act === "stop" || say.length === 0) return true;
  const laws = await voiceLaws(context);
  const open = call.open_seconds ?? Number.POSITIVE_INFINITY;
  const most = Math.min(laws.most_call_seconds, open - longestCall({ ...laws, most_call_seconds: 0 }));
  const words = say.reduce((sum, { text }) => sum + secondsToSay(text), 0);
  const listening = state.phase === "over" ? 0 : LISTEN_SECONDS;
  return (call.age ?? 0) + words + listening + CLOSING_SECONDS <= most;
}

function asksToStop(heard: Heard, isStop: IsStop): boolean {
  if (heard.kind === "keys") return hasStopKey(heard.keys);
  return heard.kind === "speech" && isStop(heard.text);
}

/** A call is over as soon as its last words are stored. The person still hears them, and may stop all calls. */
async function afterTheEnd(context: Context, call: StoredCall, heard: Heard, stops: boolean): Promise<Reply> {
  if (heard.kind === "person") return { ...NOTHING, act: "end" };
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

/** The gate may have closed, or the hours have ended, since the vendor was asked for the call. */
async function isBarred(context: Context, { player_id, is_late }: StoredCall): Promise<boolean> {
  if (is_late) return true;
  if (player_id === null) return false;
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
  const theirs = theirLines(heard, call.transcript.length, at);
  const lines = [...theirs, ...ourLines(step.say, call.transcript.length + theirs.length, at)];
  const answered = heard.kind === "person" && call.state?.phase === "ringing";
  const discloses = step.say.some(({ fixed }) => fixed === "opt_out");
  const by = outcomeBy(step.outcome) ?? (answered ? "human" : null);
  await sql`
    with clock as materialized (select statement_timestamp() as moment)
    update voice_calls c set state = ${step.state}::jsonb, transcript = c.transcript || ${lines}::jsonb,
      status = 'in_progress', started_at = coalesce(c.started_at, clock.moment),
      disclosed_at = coalesce(c.disclosed_at, case when ${discloses}::boolean then clock.moment end),
      answered_by = coalesce(${by}::text, c.answered_by), error_code = null,
      provider_call_id = coalesce(c.provider_call_id, ${providerCallId ?? null}::text), updated_at = clock.moment
    from clock
    where c.property_id = ${property.id} and c.id = ${call.id}`;
  if (call.status === "unknown") await settleCallsLater(context);
  if (answered) await emitCallEvents(context, "campaign.call_answered", [call.id]);
  const [stop] = step.act === "stop" ? theirs : [];
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
