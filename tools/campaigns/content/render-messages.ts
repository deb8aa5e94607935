import { setImmediate } from "node:timers/promises";
import type { Messages, SendingChannel, SendOutcome } from "#runtime/channels/provider/channel.ts";
import { toFault } from "#runtime/faults.ts";
import { inSlices } from "#runtime/limits/turns.ts";
import { ranOutOfTime } from "#tools/templates/rendering/liquid.ts";
import type { Content, Recipient } from "./content.ts";

interface Rendered<C extends SendingChannel> {
  messages: Messages[C][];
  /** Failed: it cannot be rendered. To be retried: the time was over. */
  unrendered: SendOutcome[];
}

/** Milliseconds of rendering after which the process answers waiting requests. */
const SLICE_MS = 10;

/** Renders the messages of a claim until `deadline` (performance.now()). */
export async function renderMessages<C extends SendingChannel>(
  content: Content<C>,
  recipients: Recipient[],
  linkOf: (sendId: string) => string,
  deadline: number,
): Promise<Rendered<C>> {
  const rendered: Rendered<C> = { messages: [], unrendered: [] };
  let sliceEnds = performance.now() + SLICE_MS;
  let isHeavy = false;
  for (const recipient of recipients) {
    if (performance.now() > sliceEnds) {
      await setImmediate();
      sliceEnds = performance.now() + SLICE_MS;
    }
    const id = recipient.send_id;
    if (performance.now() > deadline) {
      rendered.unrendered.push({
        id,
        status: "retry",
        code: "late",
        message: "The compliance check of this message is too old.",
      });
      continue;
    }
    try {
      const from = performance.now();
      const render = () => content.messageTo(recipient, linkOf(id));
      // Slices cost a light message more than its render.
      rendered.messages.push(isHeavy ? await inSlices(render) : render());
      isHeavy ||= performance.now() - from > SLICE_MS;
    } catch (error) {
      isHeavy = true;
      const fault = toFault(error);
      if (fault.code !== "invalid") throw error;
      const { message } = fault;
      rendered.unrendered.push(
        ranOutOfTime(fault)
          ? { id, status: "retry", code: "template_slow", message }
          : { id, status: "failed", code: "template_error", message },
      );
    }
  }
  return rendered;
}
