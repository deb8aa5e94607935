import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";

export interface Mail {
  to: string;
  /** The whole message as it arrived. */
  raw: string;
}

/** A real SMTP server that takes everything, and tells of each mail as it is taken. */
export async function mailServer(
  onMail: (mail: Mail) => void = () => {},
): Promise<{ url: string; mails: Mail[]; stop(): Promise<void> }> {
  const mails: Mail[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS", "AUTH"],
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        const raw = Buffer.concat(chunks).toString("utf8");
        for (const { address } of session.envelope.rcptTo) {
          mails.push({ to: address, raw });
          onMail({ to: address, raw });
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

export interface Callback {
  headers: IncomingHttpHeaders;
  /** The body's bytes, as text. */
  raw: string;
}

/** A real HTTP receiver that keeps what it is sent and answers 200. */
export async function webhookReceiver(): Promise<{
  url: string;
  callbacks: Callback[];
  stop(): Promise<void>;
}> {
  const callbacks: Callback[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      callbacks.push({ headers: request.headers, raw: Buffer.concat(chunks).toString("utf8") });
      response.end("ok");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    callbacks,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
