import { setTimeout } from "node:timers/promises";
import type { Sender } from "#runtime/channels/index.ts";
import type { Messages, SendingChannel, SendOutcome } from "#runtime/channels/provider/channel.ts";

// A vendor may be silent for many seconds. The outcomes of other messages must not be lost meanwhile.
const SILENCE_MS = 1_000;

interface SilenceRules {
  /** Stores messages that the vendor has taken, so that a crash of this process cannot lose them. */
  record(taken: SendOutcome[]): Promise<unknown>;
  /** Whether the caller may go on while this number of messages has no outcome, and the vendor takes others. */
  mayLeave(unanswered: number): boolean;
}

interface Sending {
  /** The vendor's outcomes so far. */
  known: readonly SendOutcome[];
  /** The number of messages without an outcome; 0 at the end. */
  unanswered: number;
  /** Resolves with all outcomes. */
  ended: Promise<SendOutcome[]>;
}

/** Sends messages by a provider. Waits for all outcomes, or for all but a few that the vendor keeps back. */
export async function sendMessages<C extends SendingChannel>(
  sender: Sender<C>,
  messages: Messages[C][],
  options: { signal: AbortSignal; startBy: number },
  { record, mayLeave }: SilenceRules,
): Promise<Sending> {
  const known: SendOutcome[] = [];
  const taken: SendOutcome[] = [];
  const onOutcome = (outcome: SendOutcome) => {
    known.push(outcome);
    if (outcome.status === "sent") taken.push(outcome);
  };
  const sending = sender.send(messages, { ...options, onOutcome });
  const hasEnded = sending.then(
    () => true,
    () => true,
  );
  while (!(await Promise.race([hasEnded, setTimeout(SILENCE_MS, false, { ref: false })]))) {
    if (taken.length > 0) await record(taken.splice(0));
    const unanswered = messages.length - known.length;
    const takesOthers = known.some(({ status }) => status === "sent");
    if (unanswered > 0 && takesOthers && mayLeave(unanswered)) return { known, unanswered, ended: sending };
  }
  return { known, unanswered: 0, ended: sending };
}
