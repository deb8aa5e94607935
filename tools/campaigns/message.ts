import { setImmediate } from "node:timers/promises";
import type { Messages, SendingChannel, SendOutcome } from "#runtime/channels/channel.ts";
import { toFault } from "#runtime/faults.ts";
import type { Recipient } from "./claim.ts";
import type { Content } from "./content.ts";
import { ranOutOfTime } from "./liquid.ts";

export interface Rendered<C extends SendingChannel> {
  messages: Messages[C][];
  /** What cannot be rendered has failed; what the time did not suffice for is given back, to be tried again. */
  refused: SendOutcome[];
}

// So that requests to the same process are answered in between.
const AT_ONCE = 25;

/** The messages of a claim, as far as they are ready by `deadline` (performance.now()). */
export async function renderMessages<C extends SendingChannel>(
  content: Content<C>,
  recipients: Recipient[],
  linkOf: (sendId: string) => string,
  deadline: number,
): Promise<Rendered<C>> {
  const rendered: Rendered<C> = { messages: [], refused: [] };
  for (const [index, recipient] of recipients.entries()) {
    if (index % AT_ONCE === AT_ONCE - 1) await setImmediate();
    const id = recipient.send_id;
    if (performance.now() > deadline) {
      rendered.refused.push({
        id,
        status: "retry",
        code: "late",
        message: "Checked too long ago to be sent.",
      });
      continue;
    }
    try {
      rendered.messages.push(content.messageTo(recipient, linkOf(id)));
    } catch (error) {
      const fault = toFault(error);
      if (fault.code !== "invalid") throw error;
      const { message } = fault;
      rendered.refused.push(
        ranOutOfTime(fault)
          ? { id, status: "retry", code: "template_slow", message }
          : { id, status: "failed", code: "template_error", message },
      );
    }
  }
  return rendered;
}
