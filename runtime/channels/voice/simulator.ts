import { z } from "zod";
import { provider, type SendOutcome } from "../provider/channel.ts";

/**
 * The embedded default. It calls nobody: the service plays each call with a made-up person, and keeps the transcript.
 * Such a call never counts as sent.
 */
export default provider({
  channel: "voice",
  name: "simulator",
  settings: z.strictObject({ seed: z.string().max(100).optional() }),
  repeatable: true,
  concurrency: () => 300,
  open: ({ seed = "" }) => ({
    async send(messages, { store }) {
      const outcome = (id: string): SendOutcome => {
        return { id, status: "skipped", code: "simulated", message: "Nobody was called." };
      };
      try {
        await store(
          messages.map((message) => {
            return { channel: "voice" as const, providerMessageId: `simulator:${message.id}`, message, seed };
          }),
        );
        return messages.map(({ id }) => outcome(id));
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        return messages.map(({ id }) => ({ id, status: "retry", code: "simulator_unavailable", message }));
      }
    },
    close: async () => {},
  }),
});
