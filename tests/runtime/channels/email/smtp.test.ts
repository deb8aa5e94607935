import { expect, test } from "vitest";
import { openProvider } from "../../../support/provider.ts";
import { headersOf, parts, words } from "./mime.ts";
import {
  bare,
  brokenServer,
  closing,
  email,
  keepNothing,
  never,
  open,
  refusing,
  sendOne,
  smtpServer,
} from "./smtp-server.ts";

test("an email arrives with its headers, its accents and its long lines whole", async () => {
  const { port, received } = await smtpServer();
  const url = `https://casino.example/u/${"k".repeat(300)}`;
  const message = email({
    toName: 'Ana "La Reina" Muñoz',
    replyTo: "host@casino.example",
    subject: `Tu bono está aquí 🎰 ${"muy ".repeat(40)}bien`,
    text: `Señora,\n${"larga ".repeat(400)}\n.\nfin`,
    html: `<p>${"é".repeat(3000)}</p>`,
    headers: {
      "List-Unsubscribe": `<${url}>`,
      "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
    },
  });
  const outcome = await sendOne(port, message);

  const messageId = `<${message.id}@casino.example>`;
  expect(outcome).toEqual({
    id: message.id,
    status: "sent",
    providerMessageId: messageId,
  });
  expect(received).toHaveLength(1);
  const { raw, envelope } = received[0] ?? fail();
  expect(envelope).toEqual({
    from: "offers@casino.example",
    to: ["ana@example.com"],
  });
  const headers = headersOf(raw);
  expect(headers["message-id"]).toBe(messageId);
  expect(headers["list-unsubscribe"]).toBe(`<${url}>`);
  expect(headers["list-unsubscribe-post"]).toBe("List-Unsubscribe=One-Click");
  expect(headers["reply-to"]).toBe("host@casino.example");
  expect(words(headers.subject)).toBe(message.subject);
  expect(words(headers.from)).toBe("Casino Étoile <offers@casino.example>");
  expect(words(headers.to)).toContain("Muñoz");
  expect(Math.max(...raw.split("\r\n").map((line) => line.length))).toBeLessThan(999);
  const [text, html] = parts(raw);
  expect(text?.replaceAll("\r\n", "\n").trimEnd()).toBe(message.text);
  expect(html?.trimEnd()).toBe(message.html);
});

test("many emails share a few connections and each gets its own outcome", async () => {
  const sessions = new Set<string>();
  const { port, received } = await smtpServer({
    onConnect(session, done) {
      sessions.add(session.id);
      done();
    },
  });
  const provider = open(port, { maxConnections: 3 });
  expect(provider).toMatchObject({ concurrency: 24, repeatable: false });
  const messages = Array.from({ length: 24 }, (_, i) => email({ to: `p${i}@example.com` }));
  const outcomes = await provider.send(messages, { signal: never });

  expect(outcomes.filter((outcome) => outcome.status === "sent")).toHaveLength(24);
  expect(new Set(outcomes.map(({ id }) => id))).toEqual(new Set(messages.map(({ id }) => id)));
  expect(new Set(received.flatMap(({ envelope }) => envelope.to)).size).toBe(24);
  expect(sessions.size).toBeLessThanOrEqual(3);
});

test("the server is asked for its bounces at the envelope sender of the settings", async () => {
  const { port, received } = await smtpServer();
  await sendOne(port, email(), { from: "bounces@casino.example" });
  expect(received[0]?.envelope.from).toBe("bounces@casino.example");
});

test.each([
  {
    reply: 550,
    hook: "onRcptTo",
    becomes: { status: "failed", code: "smtp_550" },
  },
  {
    reply: 451,
    hook: "onRcptTo",
    becomes: { status: "retry", code: "smtp_451" },
  },
  {
    reply: 553,
    hook: "onMailFrom",
    becomes: { status: "failed", code: "smtp_553" },
  },
  {
    reply: 421,
    hook: "onMailFrom",
    becomes: { status: "retry", code: "smtp_421" },
  },
  {
    reply: 554,
    hook: "onData",
    becomes: { status: "failed", code: "smtp_554" },
  },
  {
    reply: 452,
    hook: "onData",
    becomes: { status: "retry", code: "smtp_452" },
  },
  {
    reply: 530,
    hook: "onMailFrom",
    becomes: { status: "retry", code: "provider_auth", fatal: true },
  },
] as const)("a $reply reply to $hook becomes $becomes.status", async ({ reply, hook, becomes }) => {
  const { port } = await smtpServer(refusing(reply, hook));
  const outcome = await sendOne(port);
  expect(bare(outcome)).toEqual(becomes);
});

test("one refused email leaves the others of its batch alone", async () => {
  const { port, received } = await smtpServer({
    onRcptTo(address, _session, done) {
      const gone = address.address.startsWith("gone");
      done(gone ? Object.assign(new Error("no such user"), { responseCode: 550 }) : undefined);
    },
  });
  const gone = email({ to: "gone@example.com" });
  const messages = [email(), gone, email(), email()];
  const outcomes = await open(port, { maxConnections: 1 }).send(messages, {
    signal: never,
  });
  expect(outcomes.map(({ status }) => status)).toEqual(["sent", "failed", "sent", "sent"]);
  expect(received).toHaveLength(3);
});

test("an outcome's message does not name the recipient", async () => {
  const refusal = Object.assign(new Error("<ana@example.com> unknown"), {
    responseCode: 550,
  });
  const { port } = await smtpServer({
    onRcptTo: (_address, _session, done) => done(refusal),
  });
  const outcome = await sendOne(port);
  expect(outcome).toMatchObject({
    message: expect.stringContaining("<recipient>"),
  });
  expect(JSON.stringify(outcome)).not.toContain("ana@example.com");
});

test("a refused password stops the batch after one login a connection", async () => {
  let logins = 0;
  const { port, received } = await smtpServer({
    onAuth(_auth, _session, done) {
      logins++;
      done(Object.assign(new Error("wrong password"), { responseCode: 535 }));
    },
  });
  const messages = Array.from({ length: 16 }, () => email());
  const provider = open(port, {
    user: "casino",
    pass: "wrong",
    maxConnections: 2,
  });
  const outcomes = await provider.send(messages, { signal: never });
  expect(outcomes.map(bare)).toEqual(
    messages.map(() => ({
      status: "retry",
      code: "provider_auth",
      fatal: true,
    })),
  );
  expect(new Set(outcomes.map(({ id }) => id))).toEqual(new Set(messages.map(({ id }) => id)));
  expect(logins).toBeLessThanOrEqual(2);
  expect(received).toHaveLength(0);
});

test("a password that cannot be checked just now is tried again later", async () => {
  const { port } = await smtpServer({
    onAuth: (_auth, _session, done) => done(Object.assign(new Error("later"), { responseCode: 454 })),
  });
  const outcome = await sendOne(port, email(), {
    user: "casino",
    pass: "right",
  });
  expect(bare(outcome)).toEqual({ status: "retry", code: "smtp_454" });
});

test("a login by url decodes its user and password", async () => {
  const seen: string[] = [];
  const { port } = await smtpServer({
    onAuth(auth, _session, done) {
      seen.push(`${auth.username} ${auth.password}`);
      done(null, { user: auth.username });
    },
  });
  const url = `smtp://me%40casino:p%2Fss@127.0.0.1:${port}`;
  const provider = openProvider("email", "smtp", { url }, keepNothing);
  closing.push(provider.close);
  const outcomes = await provider.send([email()], { signal: never });
  expect(outcomes).toMatchObject([{ status: "sent" }]);
  expect(seen).toEqual(["me@casino p/ss"]);
});

test("nobody can tell what became of an email whose connection broke after its body", async () => {
  const { port, connections } = await brokenServer("body", (socket) => socket.destroy());
  expect(bare(await sendOne(port))).toMatchObject({ status: "unknown" });
  expect(connections()).toBe(1);
});

test("a reply to the body in another protocol settles nothing", async () => {
  const { port, connections } = await brokenServer("body", (socket) => socket.write("what?\r\n"));
  expect(bare(await sendOne(port))).toMatchObject({ status: "unknown" });
  expect(connections()).toBe(1);
});

test("a reply to the body that breaks off settles nothing", async () => {
  const { port } = await brokenServer("body", (socket) => socket.end("554 5."));
  expect(bare(await sendOne(port))).toMatchObject({ status: "unknown" });
});

test.each(["RCPT", "DATA"] as const)("a connection that breaks at %s has sent nothing", async (command) => {
  const { port } = await brokenServer(command, (socket) => socket.destroy());
  expect(bare(await sendOne(port))).toMatchObject({ status: "retry" });
});

test("a server that is not there has sent nothing", async () => {
  const { port } = await brokenServer("DATA", () => {});
  await closing.pop()?.();
  expect(bare(await sendOne(port))).toEqual({
    status: "retry",
    code: "smtp_esocket",
    busy: true,
  });
});

test("a server that greets with a refusal is no fault of the message", async () => {
  const { port } = await smtpServer({
    onConnect: (_session, done) => done(Object.assign(new Error("blocked"), { responseCode: 554 })),
  });
  expect(bare(await sendOne(port))).toEqual({
    status: "retry",
    code: "smtp_554",
  });
});

test("stopping gives back what has not started and tells nothing of what is on its way", async () => {
  const stop = new AbortController();
  const { port } = await brokenServer("body", () => stop.abort());
  const messages = [email(), email()];
  const outcomes = await open(port, { maxConnections: 1 }).send(messages, {
    signal: stop.signal,
  });
  expect(outcomes.map(bare)).toEqual([
    { status: "unknown", code: "smtp_eabort" },
    { status: "retry", code: "aborted" },
  ]);
});

test("an email whose check grew old before its turn came goes back to be checked again", async () => {
  const { port, received } = await smtpServer({
    onMailFrom: (_address, _session, done) => void setTimeout(done, received.length === 0 ? 350 : 0),
  });
  const outcomes = await open(port, { maxConnections: 1 }).send([email(), email()], {
    signal: never,
    startBy: performance.now() + 300,
  });
  expect(outcomes.map(bare)).toEqual([{ status: "sent" }, { status: "retry", code: "not_started" }]);
});

function fail(): never {
  throw new Error("nothing was received");
}
