import { setTimeout } from "node:timers/promises";
import type { Messages, SendingChannel, SendOutcome } from "#runtime/channels/channel.ts";
import type { Sender } from "#runtime/channels/index.ts";

// A vendor's silence lasts for many seconds, and what others' messages became is not to be lost in them.
const SILENCE_MS = 1_000;

/**
 * Hands messages to a provider. While it keeps some waiting, `record` is given those that it has taken, so that they
 * are known to be sent whatever becomes of this process.
 */
export async function handOverTo<C extends SendingChannel>(
  sender: Sender<C>,
  messages: Messages[C][],
  options: { signal: AbortSignal; startBy: number },
  record: (taken: SendOutcome[]) => Promise<unknown>,
): Promise<SendOutcome[]> {
  const taken: SendOutcome[] = [];
  const told = (outcome: SendOutcome) => {
    if (outcome.status === "sent") taken.push(outcome);
  };
  const sending = sender.send(messages, { ...options, told });
  const ended = sending.then(
    () => true,
    () => true,
  );
  while (!(await Promise.race([ended, setTimeout(SILENCE_MS, false, { ref: false })]))) {
    if (taken.length > 0) await record(taken.splice(0));
  }
  return sending;
}
