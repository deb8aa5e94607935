import type { z } from "zod";
import { storable } from "#db/text.ts";
import { Fault, invalid } from "../faults.ts";
import { withoutEchoes } from "../secrets/sealed-fields.ts";
import { providerCalls, messages as sentMessages } from "../telemetry/metrics.ts";
import mailbox from "./email/mailbox.ts";
import resend from "./email/resend.ts";
import sendgrid from "./email/sendgrid.ts";
import ses from "./email/ses.ts";
import smtp from "./email/smtp.ts";
import inboxMailbox from "./inbox/mailbox.ts";
import type { CallTimes, RelayHandshake } from "./provider/call.ts";
import type {
  CallbackRequest,
  CallReading,
  Messages,
  Notice,
  OpenProvider,
  PlacedCall,
  Provider,
  PushKeys,
  Reach,
  SendingChannel,
  SendOptions,
  SendOutcome,
  StoreMessages,
} from "./provider/channel.ts";
import pushMailbox from "./push/mailbox.ts";
import webpush from "./push/webpush.ts";
import smsMailbox from "./sms/mailbox.ts";
import twilio from "./sms/twilio.ts";
import bland from "./voice/bland.ts";
import conversationRelay from "./voice/conversation-relay.ts";
import retell from "./voice/retell.ts";
import simulator from "./voice/simulator.ts";
import vapi from "./voice/vapi.ts";

/** Every provider, by channel and name. */
export const PROVIDERS = {
  email: { mailbox, resend, sendgrid, ses, smtp },
  sms: { mailbox: smsMailbox, twilio },
  voice: { simulator, "conversation-relay": conversationRelay, vapi, retell, bland },
  push: { mailbox: pushMailbox, webpush },
  inbox: { mailbox: inboxMailbox },
};

/** A provider by name, with its settings to apply. `id` is its record's id, null for the configured default. */
export interface ChosenProvider {
  id: string | null;
  name: string;
  settings: unknown;
  /** The operator's own settings, which may name a private address. */
  trusted: boolean;
  callbackUrl?: string;
  pushKeys?: readonly PushKeys[];
}

/** A provider with its settings applied, ready for a delivery. */
export interface Sender<C extends SendingChannel = SendingChannel> {
  repeatable: boolean;
  /** The most messages to hand to one `send`. */
  concurrency: number;
  /** Answers one outcome per message, in any order; never rejects for a vendor failure. */
  send(messages: Messages[C][], options: Omit<SendOptions, "store">): Promise<SendOutcome[]>;
}

/** The process's open providers. */
export interface Channels {
  /** Equal names and settings share one pool of connections. Throws `invalid`, naming each wrong setting. */
  open<C extends SendingChannel>(
    channel: C,
    chosen: Omit<ChosenProvider, "id">,
    store: StoreMessages,
  ): Sender<C>;
  close(): Promise<void>;
}

/** Opened once, by the composition root: a delivery job would otherwise connect anew for each batch. */
export function openChannels({ allowPrivate }: Reach): Channels {
  const shared = new Map<string, OpenProvider<never>>();
  return {
    open(channel, { name, settings, trusted, callbackUrl, pushKeys }, store) {
      const { provider, parsed } = read(channel, name, settings);
      const reach = {
        allowPrivate: trusted || allowPrivate,
        ...(callbackUrl && { callbackUrl }),
        ...(pushKeys && { pushKeys }),
      };
      const key = JSON.stringify([channel, name, parsed, reach]);
      const opened = (shared.get(key) ?? provider.open(parsed, reach)) as ReturnType<typeof provider.open>;
      shared.set(key, opened as OpenProvider<never>);
      return bind(provider, parsed, opened, store);
    },
    async close() {
      await Promise.all(Array.from(shared.values(), (opened) => opened.close()));
      shared.clear();
    },
  };
}

/** A provider's callbacks with its settings applied. */
export interface BoundCallbacks {
  verify(request: CallbackRequest): boolean | Promise<boolean>;
  parse(request: CallbackRequest): Notice[];
  confirm(url: string): Promise<void>;
  /** Null where the provider makes no calls. */
  read: ((call: PlacedCall) => Promise<CallReading>) | null;
  /** Null where the provider makes no calls. */
  end: ((call: Pick<PlacedCall, "sendId" | "callId">) => Promise<boolean>) | null;
  /** Null where calls need no WebSocket. */
  verifyRelay: ((handshake: RelayHandshake) => boolean) | null;
  answer: { contentType: string; body: string } | undefined;
}

/** The reader of a provider's callbacks; null when it has none. Throws `invalid`, naming each wrong setting. */
export function callbacksOf(channel: SendingChannel, name: string, settings: unknown): BoundCallbacks | null {
  const { provider, parsed } = read(channel, name, settings);
  const { callbacks } = provider;
  if (!callbacks) return null;
  return {
    verify: (request) => callbacks.verify(parsed, request),
    parse: (request) => callbacks.parse(parsed, request),
    confirm: async (url) => callbacks.confirm?.(parsed, url),
    read: callbacks.read ? (call) => callbacks.read!(parsed, call) : null,
    end: callbacks.end ? (call) => callbacks.end!(parsed, call) : null,
    verifyRelay: callbacks.verifyRelay ? (handshake) => callbacks.verifyRelay!(parsed, handshake) : null,
    answer: callbacks.answer,
  };
}

/** How a provider of calls ends them; null of one that calls nobody. */
export function callTimesOf(name: string): CallTimes | null {
  const voice: Record<string, { callTimes?: CallTimes }> = PROVIDERS.voice;
  return voice[name]?.callTimes ?? null;
}

/** Throws `invalid`, naming each setting that the provider does not take. */
export function checkSettings(channel: SendingChannel, name: string, settings: unknown): void {
  read(channel, name, settings);
}

function read<C extends SendingChannel>(channel: C, name: string, settings: unknown) {
  const named = PROVIDERS[channel] as Record<string, unknown>;
  if (!Object.hasOwn(named, name)) {
    throw invalid("provider", `${channel} has no provider ${name}; it has ${Object.keys(named).join(", ")}`);
  }
  // Each entry fits its own settings; the type cannot say so for a name that is known only at run time.
  const provider = named[name] as Provider<unknown, C>;
  const result = provider.settings.safeParse(settings);
  if (!result.success) throw wrongSettings(name, result.error);
  return { provider, parsed: result.data };
}

function bind<C extends SendingChannel>(
  { channel, name, repeatable, concurrency }: Provider<unknown, C>,
  settings: unknown,
  opened: OpenProvider<Messages[C]>,
  store: StoreMessages,
): Sender<C> {
  const shown = withoutEchoes(settings);
  const kept = (outcome: SendOutcome) => inStorableWords(outcome, shown);
  return {
    repeatable,
    concurrency: concurrency(settings),
    send: async (messages, { onOutcome, ...options }) => {
      const cleaned = onOutcome && ((outcome: SendOutcome) => onOutcome(kept(outcome)));
      const labels = { channel, provider: name };
      const ended = providerCalls.startTimer(labels);
      const given = await opened.send(messages, { ...options, onOutcome: cleaned, store });
      ended();
      for (const { status } of given) sentMessages.inc({ ...labels, outcome: status });
      return given.map(kept);
    },
  };
}

const MOST_WORDS = 500;
/** The length to which a vendor's ids and codes are stored and compared. */
export const LONGEST_ID = 320;

/**
 * Makes a vendor's texts storable: one outcome that cannot be recorded would lose a whole batch. People and agents read
 * them, so they hold no secret of the provider.
 */
function inStorableWords(outcome: SendOutcome, shown: (text: string) => string): SendOutcome {
  if (outcome.status === "sent") {
    return { ...outcome, providerMessageId: storable(outcome.providerMessageId, LONGEST_ID) };
  }
  const { code, message } = outcome;
  const words = storable(shown(message), MOST_WORDS);
  return { ...outcome, code: storable(shown(code), LONGEST_ID), message: words };
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
