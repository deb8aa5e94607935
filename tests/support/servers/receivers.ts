import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";

export interface Mail {
  to: string;
  /** The whole message as it arrived. */
  raw: string;
}

/** A real SMTP server that takes everything. It tells of each mail, and acknowledges it when it is told back. */
export async function mailServer(
  onMail: (mail: Mail) => unknown = () => {},
): Promise<{ url: string; mails: Mail[]; stop(): Promise<void> }> {
  const mails: Mail[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS", "AUTH"],
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", async () => {
        const raw = Buffer.concat(chunks).toString("utf8");
        for (const { address } of session.envelope.rcptTo) {
          mails.push({ to: address, raw });
          await onMail({ to: address, raw });
        }
        done();
      });
    },
  });
  // A client that is killed resets its connections.
  server.on("error", () => {});
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.server.address() as AddressInfo;
  return {
    url: `smtp://127.0.0.1:${port}`,
    mails,
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

export interface Received {
  headers: IncomingHttpHeaders;
  /** The body's bytes, as text. */
  raw: string;
  /** performance.now() of its arrival. */
  at: number;
}

export interface Reply {
  status?: number;
  headers?: Record<string, string>;
  body?: string;
  /** Never answers. */
  hangs?: boolean;
  /** Ends the connection without an answer. */
  closes?: boolean;
  /** Answers once this has resolved. */
  after?: Promise<void>;
}

/** A customer's HTTP server. `reply` decides each answer, from the request and how many came before it. */
export async function webhookReceiver(
  reply: (request: Received, before: number) => Reply = () => ({}),
): Promise<{ url: string; received: Received[]; stop(): Promise<void> }> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const raw = Buffer.concat(await request.toArray()).toString("utf8");
    const one = { headers: request.headers, raw, at: performance.now() };
    received.push(one);
    const answer = reply(one, received.length - 1);
    await answer.after;
    if (answer.closes) request.socket.destroy();
    else if (!answer.hangs) response.writeHead(answer.status ?? 200, answer.headers).end(answer.body ?? "ok");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
