import { HttpResponse, http } from "msw";
import { setupServer } from "msw/node";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { checkSettings, type PROVIDERS } from "#runtime/channels/index.ts";
import { openProvider } from "../../support/provider.ts";
import { email, keepNothing, never, open, smtpServer } from "./email/smtp-server.ts";

const server = setupServer();
beforeAll(() => server.listen({ onUnhandledFrame: "error" }));
afterEach(() => server.resetHandlers());
afterAll(() => server.close());

const PASSWORD = "c%nary pässword";
const COMMANDS = {
  PLAIN: Buffer.from(`\0casino\0${PASSWORD}`).toString("base64"),
  LOGIN: Buffer.from(PASSWORD).toString("base64"),
};

test.each(Object.entries(COMMANDS))(
  "an SMTP server that repeats the password of AUTH %s has its words kept without it",
  async (_name, command) => {
    const { port } = await smtpServer({
      authMethods: ["PLAIN"],
      onAuth: (_auth, _session, done) =>
        done(Object.assign(new Error(`Unknown command "${command}" of ${PASSWORD}`), { responseCode: 535 })),
    });
    const sender = open(port, { user: "casino", pass: PASSWORD });
    const [outcome] = await sender.send([email()], { signal: never });
    expect(outcome).toMatchObject({ status: "retry", code: "provider_auth", fatal: true });
    expect(outcome).toHaveProperty("message", expect.stringContaining('Unknown command "•••" of •••'));
  },
);

test("a short password is taken out as a word, and not out of longer words", async () => {
  const { port } = await smtpServer({
    authMethods: ["PLAIN"],
    onAuth: (_auth, _session, done) =>
      done(Object.assign(new Error('The latest test of "test": dGVzdA==, testing'), { responseCode: 454 })),
  });
  for (const [pass, code, words] of [
    ["test", "smtp_454", 'The latest ••• of "•••": •••, testing'],
    ["smtp", "smtp_454", 'The latest test of "test": dGVzdA==, testing'],
  ] as const) {
    const [outcome] = await open(port, { user: "casino", pass }).send([email()], { signal: never });
    expect(outcome).toMatchObject({ code, message: expect.stringContaining(words) });
  }
});

test("a vendor that repeats our key has its words kept without it", async () => {
  const api_key = "SG.canary+key/==";
  server.use(
    http.post("https://api.sendgrid.com/v3/mail/send", () =>
      HttpResponse.json(
        { errors: [{ message: `key ${api_key} (${encodeURIComponent(api_key)}) may not send to nobody` }] },
        { status: 401 },
      ),
    ),
  );
  const vendor = openProvider("email", "sendgrid", { api_key }, keepNothing);
  const seen: unknown[] = [];
  const outcomes = await vendor.send([email()], { signal: never, onOutcome: (one) => seen.push(one) });
  expect(seen).toEqual(outcomes);
  expect(outcomes).toMatchObject([{ message: "key ••• (•••) may not send to nobody" }]);
});

const SID = `AC${"0".repeat(32)}`;
const SECRETS: [keyof typeof PROVIDERS, string, string, object][] = [
  ["email", "resend", "api_key", {}],
  ["email", "sendgrid", "api_key", {}],
  ["email", "ses", "access_key_id", { region: "us-east-1", secret_access_key: "secret" }],
  ["email", "ses", "secret_access_key", { region: "us-east-1", access_key_id: "AKIA" }],
  ["sms", "twilio", "auth_token", { account_sid: SID }],
  ["voice", "conversation-relay", "auth_token", { carrier: "twilio", account_sid: SID }],
  ["voice", "vapi", "api_key", { phone_number_id: "number", webhook_secret: "long secret" }],
  ["voice", "retell", "api_key", { agent_id: "agent" }],
  ["voice", "bland", "api_key", { webhook_secret: "long secret" }],
];

test.each(SECRETS)("%s: %s refuses a %s that no request can carry", (channel, name, field, others) => {
  for (const secret of ["key…", "key\nnext", "key word", "\u200bkey"]) {
    expect(() => checkSettings(channel, name, { ...others, [field]: secret }), secret).toThrow(
      `${field}: has a space or another character that no key has: copy it again`,
    );
  }
  expect(() => checkSettings(channel, name, { ...others, [field]: "SG.key_-+/=~" })).not.toThrow();
});
