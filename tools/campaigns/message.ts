import { setImmediate } from "node:timers/promises";
import type { EmailMessage, SendOutcome } from "#runtime/channels/channel.ts";
import { toFault } from "#runtime/faults.ts";
import type { Recipient } from "./claim.ts";
import type { Mail } from "./content.ts";
import { listUnsubscribeHeaders, playerVariables } from "./render.ts";

export interface Rendered {
  messages: EmailMessage[];
  /** What cannot be rendered has failed; what the time did not suffice for is given back. */
  refused: SendOutcome[];
}

// So that requests to the same process are answered in between.
const AT_ONCE = 25;

/** The messages of a claim, as far as they are ready by `deadline` (performance.now()). */
export async function renderMessages(
  mail: Mail,
  recipients: Recipient[],
  linkOf: (sendId: string) => string,
  deadline: number,
): Promise<Rendered> {
  const rendered: Rendered = { messages: [], refused: [] };
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
      rendered.messages.push(messageFor(mail, recipient, linkOf(id)));
    } catch (error) {
      const fault = toFault(error);
      if (fault.code !== "invalid") throw error;
      rendered.refused.push({ id, status: "failed", code: "template_error", message: fault.message });
    }
  }
  return rendered;
}

function messageFor(mail: Mail, recipient: Recipient, link: string): EmailMessage {
  const variables = playerVariables(recipient, mail.property, { unsubscribe_url: link });
  const name = [recipient.first_name, recipient.last_name].filter(Boolean).join(" ");
  const toName = name.replace(/[\s\p{Cc}]+/gu, " ").trim();
  return {
    id: recipient.send_id,
    to: recipient.address,
    from: mail.from,
    ...(toName !== "" && { toName }),
    ...(mail.replyTo && { replyTo: mail.replyTo }),
    ...mail.compiled.render(variables),
    headers: listUnsubscribeHeaders(link),
  };
}
