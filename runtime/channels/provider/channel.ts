import type { z } from "zod";
import type { CallNews, CallTimes, RelayHandshake, VoiceMessage } from "./call.ts";

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
  /** The number of parts that carry the text and are paid for. */
  segments: number;
}

/** A message in the branded inbox, which the service stores itself. */
export interface InboxMessage {
  /** The send's id (a uuid). */
  id: string;
  /** The player's id. */
  to: string;
  title: string;
  text: string;
  /** Its further columns as the inbox stores them, such as the offer. */
  parts?: object;
}

/** A browser that a player has subscribed, as RFC 8291 names its parts. */
export interface PushDevice {
  /** The subscription's id (a uuid). */
  id: string;
  endpoint: string;
  /** Base64url. */
  p256dh: string;
  /** Base64url. */
  auth: string;
  /** The property's public key that it was made with. */
  key: string;
}

/** A notification for all browsers of a player. */
export interface PushMessage {
  /** The send's id (a uuid). */
  id: string;
  /** The player's id. */
  to: string;
  title: string;
  text: string;
  /** A click opens it. */
  url: string;
  /** A browser shows only the newest notification of a topic. At most 32 characters of base64url. */
  topic: string;
  /** Seconds that a push service keeps it for a browser that is off. */
  ttl: number;
  devices: readonly PushDevice[];
}

/** The channels of messages, and the message type of each. */
export interface Messages {
  email: EmailMessage;
  sms: SmsMessage;
  voice: VoiceMessage;
  push: PushMessage;
  inbox: InboxMessage;
}

export type SendingChannel = keyof Messages;

interface Trouble {
  id: string;
  /** A stable token for `error_code`; an SMTP reply is `smtp_550`. */
  code: string;
  message: string;
}

/** The answer for one browser: it took the notification, or will take none any more. */
export interface DeviceResult {
  id: string;
  is: "reached" | "gone" | "bad_keys";
}

/** The answers for the browsers of one recipient; absent on other channels. */
interface OfDevices {
  devices?: readonly DeviceResult[];
}

/**
 * The outcome of one message. `failed`: refused for good. `retry`: certainly not sent, may be tried again. `unknown`:
 * the vendor may have taken it. `fatal`: the vendor refuses the sender, so every message fails until the settings are
 * repaired. `busy`: the vendor takes no message at the moment. `optedOut`: the vendor keeps the recipient's STOP.
 * `skipped`: the provider reaches nobody, and says so.
 */
export type SendOutcome = OfDevices &
  (
    | { id: string; status: "sent"; providerMessageId: string }
    | (Trouble & { status: "failed"; optedOut?: true })
    | (Trouble & { status: "retry"; retryAfter?: number; fatal?: true; busy?: true })
    | (Trouble & { status: "unknown" | "skipped" })
  );

export interface SendOptions {
  /** When aborted, unstarted messages come back as `retry`, and started ones with their known outcome. */
  signal: AbortSignal;
  /**
   * performance.now() after which no message may start, because its compliance check is too old. Later ones come back
   * as `retry`.
   */
  startBy?: number;
  /** Called with each outcome as soon as it is known, while other messages still wait for theirs. */
  onOutcome?: ((outcome: SendOutcome) => void) | undefined;
  store: StoreMessages;
}

export interface OpenProvider<Message> {
  /**
   * Sends at most `concurrency` messages. Answers one outcome per message, in any order; never rejects for a vendor
   * failure.
   */
  send(messages: Message[], options: SendOptions): Promise<SendOutcome[]>;
  close(): Promise<void>;
}

/** A message that the mailbox provider was given. */
export type StoredMessage = {
  [C in SendingChannel]: {
    channel: C;
    providerMessageId: string;
    message: Messages[C];
    /** Of a simulated call: another seed has other people. */
    seed?: string;
  };
}[SendingChannel];

/**
 * Stores the mailbox provider's messages. It must store a message id once, however often the message is handed over.
 */
export type StoreMessages = (messages: StoredMessage[]) => Promise<void>;

/** A vendor's HTTP request as it arrived: its signature covers the raw body. */
export interface CallbackRequest {
  /** The address that the vendor was given, with its query. */
  url: string;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  body: Buffer;
  /** The arrival, in milliseconds since 1970 by the database's clock. */
  at: number;
}

interface NoticeFacts {
  /** The vendor's own id of the notice: a repeated notice changes nothing. */
  eventId: string;
  /** ISO time by the vendor's clock, but not after the request's arrival. */
  at: string;
  /** Our send's id, where the vendor returns it. */
  sendId?: string | undefined;
  providerMessageId?: string | undefined;
  /** The recipient's address. */
  address?: string | undefined;
  code?: string | undefined;
  message?: string | undefined;
}

/** A vendor's notice about a message that it has taken, or about a player who writes to us. */
export type Notice =
  | (NoticeFacts & { kind: "delivered" | "failed" | "complained" | "unsubscribed" })
  | (NoticeFacts & { kind: "bounced"; permanent: boolean })
  | (NoticeFacts & { kind: "opened" | "clicked"; userAgent?: string | undefined })
  /** The vendor asks for permission to call us; a request to `url` grants it. */
  | (NoticeFacts & { kind: "subscription"; url: string })
  | (NoticeFacts & CallNews)
  | (NoticeFacts & {
      kind: "inbound";
      from: string;
      to: string;
      text: string;
      optOut?: "stop" | "start" | "help" | undefined;
    });

/** A call that a vendor has taken. */
export interface PlacedCall {
  sendId: string;
  callId: string;
  /** The time of the question, in milliseconds since 1970. */
  at: number;
}

/**
 * The vendor's own record of a call. `told`: its end. `live`: it has not ended. `unavailable`: the vendor cannot be
 * asked now. `no_such_call`: the vendor knows none.
 */
export type CallReading =
  | { state: "told"; notices: Notice[] }
  | { state: "live" | "unavailable" | "no_such_call" };

/** Verifies and reads a vendor's callbacks. */
export interface Callbacks<Settings> {
  /** Asks the vendor for a call that it has not reported; absent where it has no calls. */
  read?(settings: Settings, call: PlacedCall): Promise<CallReading>;
  /** Ends a live call. Answers whether the vendor has taken the request; absent where it has no calls. */
  end?(settings: Settings, call: Pick<PlacedCall, "sendId" | "callId">): Promise<boolean>;
  /** Whether the vendor opens the WebSocket of a call; absent where calls need none. */
  verifyRelay?(settings: Settings, handshake: RelayHandshake): boolean;
  /** Whether the vendor sent the request. Rejects when that is not known yet. */
  verify(settings: Settings, request: CallbackRequest): boolean | Promise<boolean>;
  /** The notices in a verified request, without the irrelevant ones. */
  parse(settings: Settings, request: CallbackRequest): Notice[];
  /** Grants a `subscription`. */
  confirm?(settings: Settings, url: string): Promise<void>;
  /** The answer's body, where the vendor requires one. */
  answer?: { contentType: string; body: string };
}

/** A VAPID key of a property, base64url. */
export interface PushKeys {
  publicKey: string;
  privateKey: string;
}

/** A provider's network reach: the operator's settings reach any address, a property's only the public internet. */
export interface Reach {
  allowPrivate: boolean;
  /** The property's keys, for web push, the current one first. */
  pushKeys?: readonly PushKeys[];
  /** The address for callbacks, for vendors that take it with each message. */
  callbackUrl?: string;
}

/** An adapter to one vendor. It knows nothing of tenants, SQL or HTTP servers. */
export interface Provider<Settings, C extends SendingChannel> {
  channel: C;
  name: string;
  settings: z.ZodType<Settings>;
  /** The vendor recognizes the message id: sending twice delivers once. */
  repeatable: boolean;
  /**
   * The most messages per `send`, and so the claim size. All of them start within a second, because no message may
   * start long after its compliance check.
   */
  concurrency(settings: Settings): number;
  /** Of calls: how the vendor ends them. */
  callTimes?: CallTimes;
  open(settings: Settings, reach: Reach): OpenProvider<Messages[C]>;
  callbacks?: Callbacks<NoInfer<Settings>>;
}

/**
 * Sends all messages at once, each by itself, and reports each outcome. No message starts after an abort or
 * `startBy`.
 */
export function each<Message extends { id: string }>(
  messages: readonly Message[],
  options: Pick<SendOptions, "signal" | "startBy" | "onOutcome">,
  send: (message: Message) => Promise<SendOutcome>,
): Promise<SendOutcome[]> {
  return Promise.all(
    messages.map(async (message) => {
      const outcome = notStarted(message, options) ?? (await send(message));
      options.onOutcome?.(outcome);
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

/** The definition itself, with the types of its settings and channel inferred. */
export function provider<Settings, C extends SendingChannel>(
  definition: Provider<Settings, C>,
): Provider<Settings, C> {
  return definition;
}
