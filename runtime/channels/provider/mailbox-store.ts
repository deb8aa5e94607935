import type {
  Messages,
  OpenProvider,
  SendingChannel,
  SendOutcome,
  StoredMessage,
  StoreMessages,
} from "./channel.ts";

/**
 * The mailbox provider of a channel: it stores its messages. `flaw` refuses a message that every vendor would refuse.
 */
export function openMailbox<C extends SendingChannel>(
  channel: C,
  flaw: (message: Messages[C]) => (SendOutcome & { status: "failed" }) | undefined,
): OpenProvider<Messages[C]> {
  return {
    async send(messages, { store }) {
      const refused = messages.map(flaw).filter((outcome) => outcome !== undefined);
      const flawed = new Set(refused.map((outcome) => outcome.id));
      const accepted = messages
        .filter(({ id }) => !flawed.has(id))
        .map((message) => toStored(channel, message));
      return [...refused, ...(accepted.length > 0 ? await tryStore(store, accepted) : [])];
    },
    close: async () => {},
  };
}

/** A failed store may repeat: it stores an id once. */
async function tryStore(store: StoreMessages, accepted: StoredMessage[]): Promise<SendOutcome[]> {
  try {
    await store(accepted);
    return accepted.map(({ message, providerMessageId }) => ({
      id: message.id,
      status: "sent",
      providerMessageId,
    }));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return accepted.map(({ message: { id } }) => ({
      id,
      status: "retry",
      code: "mailbox_unavailable",
      message,
    }));
  }
}

function toStored<C extends SendingChannel>(channel: C, message: Messages[C]): StoredMessage {
  return { channel, providerMessageId: `mailbox:${message.id}`, message } as StoredMessage;
}
