import type { z } from "zod";

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

export interface SmsMessage {
  /** The send's id (a uuid). */
  id: string;
  /** E.164. */
  to: string;
  /** A number or a sender's name; the provider's own when left out. */
  from?: string;
  text: string;
  /** How many texts it is carried, and paid for, as. */
  segments: number;
}

/** A message in the branded inbox, which the service keeps itself. */
export interface InboxMessage {
  /** The send's id (a uuid). */
  id: string;
  /** The player's id. */
  to: string;
  title: string;
  text: string;
}

/** The channels that messages go out by, and what a message is on each. */
export interface Messages {
  email: EmailMessage;
  sms: SmsMessage;
  inbox: InboxMessage;
}

export type SendingChannel = keyof Messages;

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
 * message will pass until the settings are repaired. `busy`: it takes
 * no more for now, whichever message it is. `optedOut`: the vendor keeps the recipient's STOP.
 */
export type SendOutcome =
  | { id: string; status: "sent"; providerMessageId: string }
  | (Trouble & { status: "failed"; optedOut?: true })
  | (Trouble & { status: "retry"; retryAfter?: number; fatal?: true; busy?: true })
  | (Trouble & { status: "unknown" });

export interface SendOptions {
  /** Aborted: what has not started comes back as `retry`; of what is on its way, whatever is known. */
  signal: AbortSignal;
  /** performance.now() after which no message may start, because its compliance check is too old; those come back as `retry`. */
  startBy?: number;
  /** Called with each outcome as soon as it is known, while a vendor keeps others waiting for theirs. */
  told?: ((outcome: SendOutcome) => void) | undefined;
  keep: Keep;
}

export interface OpenProvider<Message> {
  /** Sends at most `concurrency` messages. One outcome a message, in any order; never rejects for a vendor failure. */
  send(messages: Message[], options: SendOptions): Promise<SendOutcome[]>;
  close(): Promise<void>;
}

/** A message that `mailbox` was given. */
export type KeptMessage = {
  [C in SendingChannel]: { channel: C; providerMessageId: string; message: Messages[C] };
}[SendingChannel];

/** Where `mailbox` puts what it was given. Must keep a message id once, however often it is handed over. */
export type Keep = (messages: KeptMessage[]) => Promise<void>;

/** What a vendor posts to us, as it came: its signature covers the raw body. */
export interface CallbackRequest {
  /** The address that the vendor was given, with its query. */
  url: string;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  body: Buffer;
  /** When it came, in milliseconds since 1970 by the database's clock. */
  at: number;
}

interface Told {
  /** The vendor's own id of the notice: a repeated one changes nothing. */
  eventId: string;
  /** ISO time by the vendor's clock, but no later than the request came. */
  at: string;
  /** Our send's id, where the vendor gives it back. */
  sendId?: string | undefined;
  providerMessageId?: string | undefined;
  /** The recipient's address. */
  address?: string | undefined;
  code?: string | undefined;
  message?: string | undefined;
}

/** What a vendor tells of a message after it has taken it, or of a player who writes to us. */
export type Notice =
  | (Told & { kind: "delivered" | "failed" | "complained" | "unsubscribed" })
  | (Told & { kind: "bounced"; permanent: boolean })
  | (Told & { kind: "opened" | "clicked"; userAgent?: string | undefined })
  /** The vendor asks whether it may call us: `url` is where to say yes. */
  | (Told & { kind: "subscription"; url: string })
  | (Told & {
      kind: "inbound";
      from: string;
      to: string;
      text: string;
      optOut?: "stop" | "start" | "help" | undefined;
    });

/** How a vendor's callbacks are read. */
export interface Callbacks<Settings> {
  /** Whether the vendor sent it. Rejects when that cannot be told now. */
  verify(settings: Settings, request: CallbackRequest): boolean | Promise<boolean>;
  /** The notices in a verified request; those that we have no use for are left out. */
  parse(settings: Settings, request: CallbackRequest): Notice[];
  /** Says yes to a `subscription`. */
  confirm?(settings: Settings, url: string): Promise<void>;
  /** The answer's body where the vendor wants one. */
  answer?: { contentType: string; body: string };
}

/** How far a provider may reach: the operator's own settings anywhere, a property's only to the public internet. */
export interface Reach {
  allowPrivate: boolean;
  /** Where the vendor is to post its callbacks, for those that are told with each message. */
  callbackUrl?: string;
}

/** An adapter to one vendor. It knows nothing of tenants, SQL or HTTP servers. */
export interface Provider<Settings, C extends SendingChannel> {
  channel: C;
  name: string;
  settings: z.ZodType<Settings>;
  /** The vendor honors the message id: sending twice delivers once. */
  repeatable: boolean;
  /**
   * The most messages that one `send` may be given, and so the claim size: they all start within a second,
   * because no message may start long after its compliance check.
   */
  concurrency(settings: Settings): number;
  open(settings: Settings, reach: Reach): OpenProvider<Messages[C]>;
  callbacks?: Callbacks<NoInfer<Settings>>;
}

/** Sends messages one by one, all at once, and tells of each. None starts that may not any more. */
export function each<Message extends { id: string }>(
  messages: readonly Message[],
  options: Pick<SendOptions, "signal" | "startBy" | "told">,
  send: (message: Message) => Promise<SendOutcome>,
): Promise<SendOutcome[]> {
  return Promise.all(
    messages.map(async (message) => {
      const outcome = notStarted(message, options) ?? (await send(message));
      options.told?.(outcome);
      return outcome;
    }),
  );
}

function notStarted(
  { id }: { id: string },
  { signal, startBy = Number.POSITIVE_INFINITY }: Pick<SendOptions, "signal" | "startBy">,
): SendOutcome | null {
  if (signal.aborted) return { id, status: "retry", code: "aborted", message: "Stopped before it was sent." };
  if (performance.now() <= startBy) return null;
  return { id, status: "retry", code: "late", message: "Checked too long ago to be sent." };
}

/** A provider as it is, with the types of its settings and channel inferred. */
export function provider<Settings, C extends SendingChannel>(
  definition: Provider<Settings, C>,
): Provider<Settings, C> {
  return definition;
}
