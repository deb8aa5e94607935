import type { Keep, KeptMessage, Messages, OpenProvider, SendingChannel, SendOutcome } from "./channel.ts";

/**
 * The mailbox provider of a channel: it stores its messages. `flaw` refuses a message that every vendor would refuse.
 */
export function keeping<C extends SendingChannel>(
  channel: C,
  flaw: (message: Messages[C]) => (SendOutcome & { status: "failed" }) | undefined,
): OpenProvider<Messages[C]> {
  return {
    async send(messages, { keep }) {
      const refused = messages.map(flaw).filter((outcome) => outcome !== undefined);
      const flawed = new Set(refused.map((outcome) => outcome.id));
      const kept = messages.filter(({ id }) => !flawed.has(id)).map((message) => toKept(channel, message));
      return [...refused, ...(kept.length > 0 ? await tryKeep(keep, kept) : [])];
    },
    close: async () => {},
  };
}

/** A failed store may repeat: it stores an id once. */
async function tryKeep(keep: Keep, kept: KeptMessage[]): Promise<SendOutcome[]> {
  try {
    await keep(kept);
    return kept.map(({ message, providerMessageId }) => ({
      id: message.id,
      status: "sent",
      providerMessageId,
    }));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return kept.map(({ message: { id } }) => ({ id, status: "retry", code: "mailbox_unavailable", message }));
  }
}

function toKept<C extends SendingChannel>(channel: C, message: Messages[C]): KeptMessage {
  return { channel, providerMessageId: `mailbox:${message.id}`, message } as KeptMessage;
}
