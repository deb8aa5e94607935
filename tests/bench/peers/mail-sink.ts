import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";

// An SMTP server that takes everything. It counts, and forgets what it has told the benchmark.
let seen = { messages: 0, ids: new Set<string>(), recipients: new Set<string>() };

const server = new SMTPServer({
  authOptional: true,
  disabledCommands: ["STARTTLS", "AUTH"],
  onData(stream, session, done) {
    const chunks: Buffer[] = [];
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("end", () => {
      const [, id = ""] = /^Message-ID: (.+)$/im.exec(Buffer.concat(chunks).toString("latin1")) ?? [];
      seen.messages++;
      seen.ids.add(id);
      for (const { address } of session.envelope.rcptTo) seen.recipients.add(address);
      done();
    });
  },
});
server.on("error", () => {});
server.listen(0, "127.0.0.1", () => {
  process.send!({ port: (server.server.address() as AddressInfo).port });
});
process.on("message", () => {
  const { messages, ids, recipients } = seen;
  seen = { messages: 0, ids: new Set(), recipients: new Set() };
  process.send!({ messages, ids: ids.size, recipients: recipients.size });
});
process.on("disconnect", () => process.exit(0));
