import type { z } from "zod";

export type Channel = "email" | "sms" | "voice" | "push";

export interface EmailMessage {
  /** The send's id (a uuid): the idempotency key towards the vendor. */
  id: string;
  to: string;
  toName?: string;
  from: { email: string; name?: string };
  replyTo?: string;
  subject: string;
  html?: string;
  text: string;
  headers: Record<string, string>;
}

interface Trouble {
  id: string;
  /** A stable token for `error_code`; an SMTP reply is `smtp_550`. */
  code: string;
  message: string;
}

/**
 * What became of one message.
 * `failed`: refused for good. `retry`: known not to be sent, may be tried again. `unknown`: nobody can tell
 * whether the vendor took it. `fatal` says that the vendor refuses the sender and not this message: no other
 * message will pass until the settings are repaired.
 */
export type SendOutcome =
  | { id: string; status: "sent"; providerMessageId: string }
  | (Trouble & { status: "failed" })
  | (Trouble & { status: "retry"; retryAfter?: number; fatal?: true })
  | (Trouble & { status: "unknown" });

export interface SendOptions {
  /** Aborted: what has not started comes back as `retry`; of what is on its way, whatever is known. */
  signal: AbortSignal;
  keep: Keep;
}

export interface OpenProvider<Message> {
  /** Sends at most `concurrency` messages. One outcome a message, in any order; never rejects for a vendor failure. */
  send(messages: Message[], options: SendOptions): Promise<SendOutcome[]>;
  close(): Promise<void>;
}

/** A message that `mailbox` was given. */
export interface KeptMessage {
  channel: "email";
  providerMessageId: string;
  message: EmailMessage;
}

/** Where `mailbox` puts what it was given. Must keep a message id once, however often it is handed over. */
export type Keep = (messages: KeptMessage[]) => Promise<void>;

/** An adapter to one vendor. It knows nothing of tenants, SQL or HTTP servers. */
export interface Provider<Settings, Message> {
  channel: Channel;
  name: string;
  settings: z.ZodType<Settings>;
  /** The vendor honors the message id: sending twice delivers once. */
  repeatable: boolean;
  /**
   * The most messages that one `send` may be given, and so the claim size: they all start within a second,
   * because no message may start long after its compliance check.
   */
  concurrency(settings: Settings): number;
  open(settings: Settings): OpenProvider<Message>;
}

/** A provider as it is, with its settings and message types inferred. */
export function provider<Settings, Message>(
  definition: Provider<Settings, Message>,
): Provider<Settings, Message> {
  return definition;
}
