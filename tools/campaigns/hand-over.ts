import { setTimeout } from "node:timers/promises";
import type { Messages, SendingChannel, SendOutcome } from "#runtime/channels/channel.ts";
import type { Sender } from "#runtime/channels/index.ts";

// A vendor's silence lasts for many seconds, and what others' messages became is not to be lost in them.
const SILENCE_MS = 1_000;

interface Silence {
  /** Is given those that the vendor has taken, so that they are known to be sent whatever becomes of this process. */
  record(taken: SendOutcome[]): Promise<unknown>;
  /** Whether so many messages may be left behind, of a vendor that takes others. */
  mayLeave(silent: number): boolean;
}

interface Handed {
  /** What the vendor has said so far. */
  known: readonly SendOutcome[];
  /** Of how many messages it has said nothing yet; 0 when it has ended. */
  silent: number;
  /** Resolves with all outcomes. */
  ended: Promise<SendOutcome[]>;
}

/** Hands messages to a provider, and waits for what becomes of them, or of all but a few that it is silent about. */
export async function handOverTo<C extends SendingChannel>(
  sender: Sender<C>,
  messages: Messages[C][],
  options: { signal: AbortSignal; startBy: number },
  { record, mayLeave }: Silence,
): Promise<Handed> {
  const known: SendOutcome[] = [];
  const taken: SendOutcome[] = [];
  const told = (outcome: SendOutcome) => {
    known.push(outcome);
    if (outcome.status === "sent") taken.push(outcome);
  };
  const sending = sender.send(messages, { ...options, told });
  const hasEnded = sending.then(
    () => true,
    () => true,
  );
  while (!(await Promise.race([hasEnded, setTimeout(SILENCE_MS, false, { ref: false })]))) {
    if (taken.length > 0) await record(taken.splice(0));
    const silent = messages.length - known.length;
    const takesOthers = known.some(({ status }) => status === "sent");
    if (silent > 0 && takesOthers && mayLeave(silent)) return { known, silent, ended: sending };
  }
  return { known, silent: 0, ended: sending };
}
