import { createServer, type Socket } from "node:net";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { afterEach } from "vitest";
import type { EmailMessage, SendOutcome } from "#runtime/channels/provider/channel.ts";
import { openProvider } from "../../../support/provider.ts";

interface Received {
  raw: string;
  envelope: { from: string; to: string[] };
}

export const closing: (() => Promise<void>)[] = [];
export const keepNothing = async () => {};
export const never = new AbortController().signal;

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

export function email(changes: Partial<EmailMessage> = {}): EmailMessage {
  return {
    id: crypto.randomUUID(),
    to: "ana@example.com",
    from: { email: "offers@casino.example", name: "Casino Étoile" },
    subject: "Hello",
    text: "Hello Ana",
    headers: {},
    ...changes,
  };
}

/** A real SMTP server on a free port, and what it received. */
export async function smtpServer(options: SMTPServerOptions = {}) {
  const received: Received[] = [];
  const server = new SMTPServer({
    authOptional: true,
    hideSTARTTLS: true,
    allowInsecureAuth: true,
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        const { mailFrom, rcptTo } = session.envelope;
        const from = mailFrom === false ? "" : mailFrom.address;
        const to = rcptTo.map(({ address }) => address);
        received.push({
          raw: Buffer.concat(chunks).toString(),
          envelope: { from, to },
        });
        done();
      });
    },
    ...options,
  });
  server.on("error", () => {});
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  closing.push(() => new Promise((done) => server.close(done)));
  return { port: portOf(server.server.address()), received };
}

/** A server that speaks SMTP up to `breakAt`, and there does what `act` says. */
export async function brokenServer(breakAt: "DATA" | "body" | "RCPT", act: (socket: Socket) => void) {
  let accepted = 0;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    accepted++;
    sockets.add(socket);
    socket.on("error", () => {});
    socket.write("220 broken\r\n");
    let inBody = false;
    let buffer = "";
    socket.on("data", (chunk) => {
      buffer += chunk;
      if (inBody) {
        if (buffer.includes("\r\n.\r\n")) act(socket);
        return;
      }
      const lines = buffer.split("\r\n");
      buffer = lines.pop() ?? "";
      for (const line of lines) {
        if (line.startsWith(breakAt)) return act(socket);
        inBody = line === "DATA";
        socket.write(inBody ? "354 go on\r\n" : "250 fine\r\n");
      }
    });
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  closing.push(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((done) => server.close(done));
  });
  return { port: portOf(server.address()), connections: () => accepted };
}

function portOf(address: ReturnType<ReturnType<typeof createServer>["address"]>): number {
  if (typeof address !== "object" || address === null) throw new Error("not listening");
  return address.port;
}

export function open(port: number, more: Record<string, unknown> = {}) {
  const provider = openProvider("email", "smtp", { host: "127.0.0.1", port, ...more }, keepNothing);
  closing.push(provider.close);
  return provider;
}

export async function sendOne(port: number, message = email(), more: Record<string, unknown> = {}) {
  const [outcome] = await open(port, more).send([message], { signal: never });
  return outcome;
}

export function refusing(code: number, hook: "onMailFrom" | "onRcptTo" | "onData"): SMTPServerOptions {
  const refusal = Object.assign(new Error("no thanks"), { responseCode: code });
  if (hook !== "onData")
    return {
      [hook]: (_a: unknown, _s: unknown, done: (e: Error) => void) => done(refusal),
    };
  return {
    onData: (stream, _session, done) => stream.on("end", () => done(refusal)).resume(),
  };
}

/** An outcome without its id and its words. */
export function bare(outcome: SendOutcome | undefined) {
  const {
    id: _id,
    message: _message,
    providerMessageId: _sent,
    ...rest
  } = { ...outcome } as Record<string, unknown>;
  return rest;
}
