import type { z } from "zod";
import { Fault } from "../faults.ts";
import type { EmailMessage, Keep, OpenProvider, Provider, SendOutcome } from "./channel.ts";
import mailbox from "./email/mailbox.ts";
import smtp from "./email/smtp.ts";

/** Every provider, by name. */
export const PROVIDERS = { mailbox, smtp };

export type ProviderName = keyof typeof PROVIDERS;

/** A provider with its settings applied: what a delivery needs of it. */
export interface Sender {
  repeatable: boolean;
  /** The most messages to hand to one `send`. */
  concurrency: number;
  /** One outcome a message, in any order; never rejects for a vendor failure. */
  send(messages: EmailMessage[], options: { signal: AbortSignal }): Promise<SendOutcome[]>;
}

/** The process's open providers. */
export interface Channels {
  /** The same name and settings share one pool of connections. `invalid` names each wrong setting. */
  open(name: ProviderName, settings: unknown, keep: Keep): Sender;
  close(): Promise<void>;
}

/** Made once, by the composition root: a delivery job would else connect anew for each batch. */
export function openChannels(): Channels {
  const shared = new Map<string, OpenProvider<EmailMessage>>();
  return {
    open(name, settings, keep) {
      const { provider, parsed } = read(name, settings);
      const key = JSON.stringify([name, parsed]);
      const opened = shared.get(key) ?? provider.open(parsed);
      shared.set(key, opened);
      return bind(provider, parsed, opened, keep);
    },
    async close() {
      await Promise.all(Array.from(shared.values(), (opened) => opened.close()));
      shared.clear();
    },
  };
}

/** One provider by itself, which the caller closes. `invalid` names each wrong setting. */
export function openProvider(
  name: ProviderName,
  settings: unknown,
  keep: Keep,
): Sender & { close(): Promise<void> } {
  const { provider, parsed } = read(name, settings);
  const opened = provider.open(parsed);
  return { ...bind(provider, parsed, opened, keep), close: opened.close };
}

function read(name: ProviderName, settings: unknown) {
  // Each entry fits its own settings; the record cannot say so for a name known only at run time.
  const provider = PROVIDERS[name] as Provider<unknown, EmailMessage>;
  const result = provider.settings.safeParse(settings);
  if (!result.success) throw wrongSettings(name, result.error);
  return { provider, parsed: result.data };
}

function bind(
  { repeatable, concurrency }: Provider<unknown, EmailMessage>,
  settings: unknown,
  opened: OpenProvider<EmailMessage>,
  keep: Keep,
): Sender {
  return {
    repeatable,
    concurrency: concurrency(settings),
    send: (messages, { signal }) => opened.send(messages, { signal, keep }),
  };
}

function wrongSettings(name: string, error: z.ZodError): Fault {
  const details = error.issues.map(({ path, message }) => ({
    field: path.join(".") || "settings",
    message,
  }));
  const list = details.map(({ field, message }) => `${field}: ${message}`).join("; ");
  return new Fault("invalid", {
    message: `Settings of ${name}: ${list}`,
    details,
  });
}
