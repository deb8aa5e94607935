import { connect, type Socket } from "node:net";
import type { Readable } from "node:stream";
import { createTransport } from "nodemailer";
import { z } from "zod";
import { semaphore } from "#db/semaphore.ts";
import { AddressRefused, publicLookup, refuseHost } from "#runtime/network/public-address.ts";
import {
  type EmailMessage,
  each,
  type OpenProvider,
  provider,
  type Reach,
  type SendOutcome,
} from "../provider/channel.ts";
import { flaw } from "./flaws.ts";
import { troubleOf } from "./smtp-trouble.ts";

const CONNECT_MS = 10_000;
const LOOPBACK = /^(localhost|127\.[\d.]+|::1)$/;

const settings = z
  .strictObject({
    url: z.string().transform(fromUrl).optional(),
    host: z.string().min(1).optional(),
    port: z.int().min(1).max(65535).optional(),
    secure: z.boolean().default(false),
    user: z.string().min(1).optional(),
    pass: z.string().min(1).optional(),
    maxConnections: z.int().min(1).max(100).default(5),
    /** The envelope sender, where bounces go. Without it, each message's own sender. */
    from: z.email().optional(),
  })
  .transform(({ url, host, ...rest }, context) => {
    if (url && host === undefined) return { ...rest, ...url };
    if (!url && host !== undefined) return { ...rest, host };
    context.addIssue({ code: "custom", message: "set either url or host" });
    return z.NEVER;
  })
  .refine(
    ({ user, pass }) => (user === undefined) === (pass === undefined),
    "set both user and pass, or neither",
  );

type Settings = z.output<typeof settings>;

/** Any SMTP server, through a pool of connections. The password never travels unencrypted over a network. */
export default provider({
  channel: "email",
  name: "smtp",
  settings,
  repeatable: false,
  // At 8 per connection all messages start within a second, if one takes no more than 140 ms.
  concurrency: ({ maxConnections }) => maxConnections * 8,
  open,
});

function open(settings: Settings, reach: Reach): OpenProvider<EmailMessage> {
  const { transport, bodies } = openTransport(settings, reach);
  const connected = semaphore(settings.maxConnections);

  async function transmit(message: EmailMessage, signal: AbortSignal): Promise<SendOutcome> {
    const refused = flaw(message);
    if (refused) return refused;
    const messageId = messageIdOf(message);
    const started: Readable[] = [];
    bodies.set(messageId, started);
    try {
      await transport.sendMail({
        ...compose(message, settings),
        messageId,
        ...{ signal },
      });
      return { id: message.id, status: "sent", providerMessageId: messageId };
    } catch (error) {
      const reason = error instanceof Error ? error : new Error(String(error));
      if (reason instanceof AddressRefused) {
        return { ...waited(message.id, "address_refused", reason.message), fatal: true };
      }
      const text = reason.message.replaceAll(message.to, "<recipient>");
      const bodyStarted = started.some((body) => body.readableDidRead);
      return troubleOf(message.id, { ...reason, message: text }, bodyStarted);
    } finally {
      bodies.delete(messageId);
    }
  }

  return {
    async send(messages, { signal, onOutcome, startBy = Number.POSITIVE_INFINITY }) {
      let refusal: SendOutcome | undefined;
      const sendOne = async (message: EmailMessage): Promise<SendOutcome> => {
        const { id } = message;
        // Each further login with a refused password brings a lock-out nearer.
        if (refusal) return { ...refusal, id };
        if (signal.aborted) return waited(id, "aborted", "Stopped before it was sent.");
        if (performance.now() > startBy) {
          return waited(id, "not_started", "The server was too slow to start this message in time.");
        }
        const outcome = await transmit(message, signal);
        if (outcome.status === "retry" && outcome.fatal) refusal = outcome;
        return outcome;
      };
      return each(messages, { signal, startBy, onOutcome }, (message) => connected(() => sendOne(message)));
    },
    close: async () => transport.close(),
  };
}

function openTransport(
  { host, port, secure, user, pass, maxConnections }: Settings,
  { allowPrivate }: Reach,
) {
  const options = {
    pool: true as const,
    host,
    port: port ?? (secure ? 465 : 587),
    secure,
    requireTLS: user !== undefined && !secure && !LOOPBACK.test(host),
    ...(user !== undefined && pass !== undefined && { auth: { user, pass } }),
    maxConnections,
    // Repeats only a message of which no byte was sent, because the server had dropped the connection.
    maxRequeues: 1,
    connectionTimeout: CONNECT_MS,
    greetingTimeout: 10_000,
    socketTimeout: 120_000,
    ...(!allowPrivate && { getSocket: connectPublic }),
  };
  const transport = createTransport(options);
  /** The body streams of messages on their way, by Message-ID. A stream that was read from has left the service. */
  const bodies = new Map<string, Readable[]>();
  transport.use("stream", ({ data, message }, done) => {
    const create = message.createReadStream.bind(message);
    message.createReadStream = (streamOptions) => {
      const body = create(streamOptions);
      bodies.get(String(data.messageId))?.push(body);
      return body;
    };
    done();
  });
  return { transport, bodies };
}

type Connected = (error: Error | null, opened?: { connection: Socket }) => void;

/** Connects only to addresses on the public internet, and to the very address that it has checked. */
function connectPublic(
  { host = "", port = 587 }: { host?: string | undefined; port?: number | string | undefined },
  done: Connected,
) {
  const refusal = refuseHost(host);
  if (refusal !== null) return void setImmediate(() => done(new AddressRefused(refusal)));
  const socket = connect({ host, port: Number(port), lookup: publicLookup() });
  const failed = (error: Error) => {
    socket.destroy();
    done(error);
  };
  socket.setTimeout(CONNECT_MS, () => socket.destroy(new Error("The server could not be reached in time.")));
  socket.once("error", failed);
  socket.once("connect", () => {
    socket.setTimeout(0);
    socket.off("error", failed);
    done(null, { connection: socket });
  });
}

function compose(message: EmailMessage, { from }: Settings) {
  const { html, replyTo, toName = "" } = message;
  return {
    from: { name: message.from.name ?? "", address: message.from.email },
    to: { name: toName, address: message.to },
    envelope: { from: from ?? message.from.email, to: [message.to] },
    subject: message.subject,
    text: message.text,
    headers: message.headers,
    xMailer: false as const,
    ...(html !== undefined && { html }),
    ...(replyTo !== undefined && { replyTo }),
  };
}

function messageIdOf({ id, from }: EmailMessage): string {
  return `<${id}@${from.email.slice(from.email.lastIndexOf("@") + 1)}>`;
}

function waited(id: string, code: string, message: string): SendOutcome & { status: "retry" } {
  return { id, status: "retry", code, message };
}

function fromUrl(text: string, context: z.RefinementCtx) {
  const url = URL.parse(text);
  const [user, pass] = [url?.username, url?.password].map(decoded);
  if (!url?.hostname || !/^smtps?:$/.test(url.protocol) || user === null || pass === null) {
    context.addIssue({
      code: "custom",
      message: "must be smtp://user:pass@host:port or smtps://…",
    });
    return z.NEVER;
  }
  return {
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? undefined : Number(url.port),
    secure: url.protocol === "smtps:",
    user,
    pass,
  };
}

function decoded(part: string | undefined): string | undefined | null {
  try {
    return part ? decodeURIComponent(part) : undefined;
  } catch {
    return null;
  }
}
