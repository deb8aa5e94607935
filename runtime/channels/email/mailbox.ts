import { z } from "zod";
import { type EmailMessage, type KeptMessage, provider, type SendOutcome } from "../channel.ts";
import { flaw } from "./flaws.ts";

/** The embedded default: keeps every message where it can be listed and read, and sends nothing. */
export default provider({
  channel: "email",
  name: "mailbox",
  settings: z.strictObject({}),
  repeatable: true,
  concurrency: () => 500,
  open: () => ({
    async send(messages: EmailMessage[], { keep }): Promise<SendOutcome[]> {
      const refused = messages.map(flaw).filter((outcome) => outcome !== undefined);
      const flawed = new Set(refused.map((outcome) => outcome.id));
      const kept = messages.filter((message) => !flawed.has(message.id)).map(toKept);
      if (kept.length === 0) return refused;
      try {
        await keep(kept);
        return [...refused, ...kept.map(sent)];
      } catch (error) {
        // A keep that failed halfway may be repeated: it keeps an id once.
        return [...refused, ...kept.map((each) => unavailable(each, error))];
      }
    },
    close: async () => {},
  }),
});

function toKept(message: EmailMessage): KeptMessage {
  return {
    channel: "email",
    providerMessageId: `mailbox:${message.id}`,
    message,
  };
}

function sent({ providerMessageId, message }: KeptMessage): SendOutcome {
  return { id: message.id, status: "sent", providerMessageId };
}

function unavailable({ message }: KeptMessage, error: unknown): SendOutcome {
  const reason = error instanceof Error ? error.message : String(error);
  return {
    id: message.id,
    status: "retry",
    code: "mailbox_unavailable",
    message: reason,
  };
}
