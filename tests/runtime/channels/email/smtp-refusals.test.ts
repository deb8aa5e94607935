import { expect, test } from "vitest";
import { openProvider } from "../../../support/provider.ts";
import { bare, closing, email, keepNothing, never, sendOne, smtpServer } from "./smtp-server.ts";

test.each([
  { subject: "Hi\r\nBcc: rival@example.com" },
  { toName: "Ana\nBcc: rival@example.com" },
  {
    from: {
      email: "offers@casino.example",
      name: "Casino\r\nBcc: rival@example.com",
    },
  },
  { headers: { "X-Tag": "a\r\nBcc: rival@example.com" } },
  { headers: { "X-Tag: a\r\nBcc": "rival@example.com" } },
  { to: "ana@example.com, rival@example.com" },
  { to: "ana@example.com>\r\nRCPT TO:<rival@example.com" },
  { replyTo: "host@casino.example, rival@example.com" },
  { from: { email: "offers@casino.example\r\nX: y" } },
])("%j is refused before it reaches the server", async (changes) => {
  const { port, received } = await smtpServer();
  expect(bare(await sendOne(port, email(changes)))).toEqual({
    status: "failed",
    code: "invalid_message",
  });
  expect(received).toHaveLength(0);
});

test.each([
  [{}, "settings: set either url or host"],
  [{ url: "http://a.example" }, "url: must be smtp://"],
  [{ url: "smtp://u:%zz@a.example" }, "url: must be smtp://"],
  [{ host: "a.example", url: "smtp://a.example" }, "settings: set either url or host"],
  [{ host: "a.example", user: "casino" }, "settings: set both user and pass, or neither"],
  [{ host: "a.example", hots: "b" }, "hots"],
])("settings %j are refused and say why", (settings, why) => {
  expect(() => openProvider("email", "smtp", settings, keepNothing)).toThrow(why);
});

test("a property's own server is not reached at a private address", async () => {
  let connections = 0;
  const { port } = await smtpServer({
    onConnect: (_session, done) => {
      connections++;
      done();
    },
  });
  for (const host of ["127.0.0.1", "localhost", "::ffff:127.0.0.1"]) {
    const settings = { host, port };
    const guarded = openProvider("email", "smtp", settings, keepNothing, { allowPrivate: false });
    closing.push(guarded.close);
    const [outcome] = await guarded.send([email()], { signal: never });
    expect(bare(outcome), host).toEqual({ status: "retry", code: "address_refused", fatal: true });
  }
  expect(connections).toBe(0);
});
