import { HttpResponse, http } from "msw";
import { setupServer } from "msw/node";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { PROVIDERS } from "#runtime/channels/index.ts";
import type { SendOutcome } from "#runtime/channels/provider/channel.ts";
import { sourcesIn, textOf } from "../../support/checkout/source-files.ts";
import { openProvider } from "../../support/provider.ts";
import { bare, email, keepNothing, never } from "./email/smtp-server.ts";

const server = setupServer();
beforeAll(() => server.listen({ onUnhandledFrame: "error" }));
afterEach(() => server.resetHandlers());
afterAll(() => server.close());

const SES = "https://email.us-east-1.amazonaws.com/v2/email/outbound-emails";
const SENDGRID = "https://api.sendgrid.com/v3/mail/send";
const RESEND = "https://api.resend.com/emails";
const VENDORS = {
  ses: {
    url: SES,
    settings: { region: "us-east-1", access_key_id: "AKIAEXAMPLE", secret_access_key: "s3cret" },
    taken: () => HttpResponse.json({ MessageId: "vendor-1" }),
  },
  sendgrid: {
    url: SENDGRID,
    settings: { api_key: "SG.key" },
    taken: () => new HttpResponse(null, { status: 202, headers: { "X-Message-Id": "vendor-1" } }),
  },
  resend: {
    url: RESEND,
    settings: { api_key: "re_key" },
    taken: () => HttpResponse.json({ id: "vendor-1" }),
  },
};
type Name = keyof typeof VENDORS;
const NAMES = Object.keys(VENDORS) as Name[];

/** Providers that msw cannot answer for. Each has tests in a file of its own. */
const APART = ["mailbox", "smtp"];

test("every email vendor takes the common tests, or has a file of its own", () => {
  expect(
    Object.keys(PROVIDERS.email).sort(),
    "Add the provider to VENDORS and to `own` here; or to APART, with a test file of its own.",
  ).toEqual([...NAMES, ...APART].sort());
});

test("every vendor of another channel is opened by a test", () => {
  const texts = sourcesIn("tests")
    .filter((path) => path.endsWith(".test.ts"))
    .map(textOf);
  const vendors = Object.entries(PROVIDERS).flatMap(([channel, providers]) =>
    channel === "email" ? [] : Object.keys(providers),
  );
  expect(
    vendors.filter((name) => !texts.some((text) => text.includes(`"${name}"`))),
    "Write a test of the provider's requests and answers, as tests/runtime/channels/sms/twilio.test.ts has them.",
  ).toEqual([]);
});

const message = email({
  subject: "Tu bono está aquí",
  html: "<p>Hola</p>",
  replyTo: "host@casino.example",
  headers: {
    "List-Unsubscribe": "<https://casino.example/u/1>",
    "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
  },
});

async function send(name: Name, more: object = {}, given = message) {
  const vendor = openProvider("email", name, { ...VENDORS[name].settings, ...more }, keepNothing);
  const [outcome] = await vendor.send([given], { signal: never });
  return outcome!;
}

/** The request to the vendor: its headers and its body. */
async function sent(name: Name, more: object = {}, given = message) {
  const { promise, resolve } = Promise.withResolvers<{ headers: Headers; body: Record<string, unknown> }>();
  server.use(
    http.post(VENDORS[name].url, async ({ request }) => {
      resolve({ headers: request.headers, body: (await request.json()) as Record<string, unknown> });
      return VENDORS[name].taken();
    }),
  );
  const outcome = await send(name, more, given);
  expect(outcome).toEqual({ id: given.id, status: "sent", providerMessageId: "vendor-1" });
  return promise;
}

describe.each(NAMES)("%s", (name) => {
  test("is asked for nothing whose check is too old, nor once the service stops", async () => {
    let asked = 0;
    server.use(
      http.post(VENDORS[name].url, () => {
        asked += 1;
        return VENDORS[name].taken();
      }),
    );
    const vendor = openProvider("email", name, VENDORS[name].settings, keepNothing);
    const late = await vendor.send([message], { signal: never, startBy: performance.now() - 1 });
    const stopped = await vendor.send([message], { signal: AbortSignal.abort() });
    expect([...late, ...stopped]).toMatchObject([
      { id: message.id, status: "retry", code: "late" },
      { id: message.id, status: "retry", code: "aborted" },
    ]);
    expect(asked).toBe(0);
  });
});

test("SES is sent a signed request with the unsubscribe headers and our send's id", async () => {
  const { headers, body } = await sent("ses", { configuration_set: "events" });
  expect(headers.get("authorization")).toMatch(
    /^AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE\/\d{8}\/us-east-1\/ses\/aws4_request, SignedHeaders=.*host.*, Signature=[0-9a-f]{64}$/,
  );
  expect(body).toEqual({
    FromEmailAddress: `=?UTF-8?B?${Buffer.from("Casino Éto").toString("base64")}?= =?UTF-8?B?${Buffer.from("ile").toString("base64")}?= <offers@casino.example>`,
    Destination: { ToAddresses: ["ana@example.com"] },
    ReplyToAddresses: ["host@casino.example"],
    Content: {
      Simple: {
        Subject: { Data: "Tu bono está aquí", Charset: "UTF-8" },
        Body: {
          Text: { Data: "Hello Ana", Charset: "UTF-8" },
          Html: { Data: "<p>Hola</p>", Charset: "UTF-8" },
        },
        Headers: [
          { Name: "List-Unsubscribe", Value: "<https://casino.example/u/1>" },
          { Name: "List-Unsubscribe-Post", Value: "List-Unsubscribe=One-Click" },
        ],
      },
    },
    ConfigurationSetName: "events",
    EmailTags: [{ Name: "send_id", Value: message.id }],
  });
});

test("SendGrid is sent one recipient, the unsubscribe headers and our send's id, and no more of the player", async () => {
  const { headers, body } = await sent("sendgrid");
  expect(headers.get("authorization")).toBe("Bearer SG.key");
  expect(body).toEqual({
    personalizations: [{ to: [{ email: "ana@example.com" }], custom_args: { send_id: message.id } }],
    from: { email: "offers@casino.example", name: "Casino Étoile" },
    reply_to: { email: "host@casino.example" },
    subject: "Tu bono está aquí",
    content: [
      { type: "text/plain", value: "Hello Ana" },
      { type: "text/html", value: "<p>Hola</p>" },
    ],
    headers: message.headers,
  });
});

test("Resend is sent the send's id as its Idempotency-Key", async () => {
  const { headers, body } = await sent("resend");
  expect(headers.get("authorization")).toBe("Bearer re_key");
  expect(headers.get("idempotency-key")).toBe(message.id);
  expect(body).toEqual({
    from: '"Casino Étoile" <offers@casino.example>',
    to: ["ana@example.com"],
    reply_to: "host@casino.example",
    subject: "Tu bono está aquí",
    text: "Hello Ana",
    html: "<p>Hola</p>",
    headers: message.headers,
    tags: [{ name: "send_id", value: message.id }],
  });
});

describe.each(NAMES)("%s", (name) => {
  const { url } = VENDORS[name];
  const answering = (status: number, headers: Record<string, string> = {}) =>
    server.use(
      http.post(url, () => HttpResponse.json({ message: "no, ana@example.com" }, { status, headers })),
    );

  test("that refuses our credentials refuses every message", async () => {
    for (const status of [401, 403]) {
      answering(status);
      expect(bare(await send(name))).toEqual({ status: "retry", code: "provider_auth", fatal: true });
    }
  });

  test("that is given too much is asked again when it says", async () => {
    answering(429, { "Retry-After": "7" });
    expect(bare(await send(name))).toMatchObject({ status: "retry", retryAfter: 7 });
    const own: Record<Name, object> = {
      ses: { __type: "ServiceUnavailableException" },
      sendgrid: { errors: [{ message: "service not available" }] },
      resend: { name: "service_unavailable" },
    };
    server.use(http.post(url, () => HttpResponse.json(own[name], { status: 503 })));
    expect(bare(await send(name))).toMatchObject({ status: "retry", busy: true });
  });

  test("that refuses a message for good has failed it, and its words do not name the recipient", async () => {
    answering(400);
    const outcome = await send(name);
    expect(outcome.status).toBe("failed");
    expect(JSON.stringify(outcome)).not.toContain("ana@example.com");
  });

  test("whose fault comes after it may have taken the message leaves it unknown", async () => {
    // 503 in words that are not the vendor's: a gateway in front of it.
    for (const status of [500, 502, 503, 504]) {
      answering(status);
      expect((await send(name)).status).toBe("unknown");
    }
    server.use(http.post(url, () => HttpResponse.error()));
    expect((await send(name)).status).toBe("unknown");
  });

  test("is not sent what would add a header or name a second recipient", async () => {
    for (const changes of [{ subject: "Hi\r\nBcc: b@example.com" }, { to: "a@example.com, b@example.com" }]) {
      expect(await send(name, {}, email(changes))).toMatchObject({
        status: "failed",
        code: "invalid_message",
      });
    }
  });
});

test("SES' faults of the account stop everything, its quota waits", async () => {
  const answering = (type: string, message = "") =>
    server.use(
      http.post(SES, () =>
        HttpResponse.json({ message }, { status: 400, headers: { "x-amzn-ErrorType": `${type}:http://x/` } }),
      ),
    );
  answering("SendingPausedException");
  expect(bare(await send("ses"))).toMatchObject({
    status: "retry",
    code: "ses_SendingPausedException",
    fatal: true,
  });
  answering("MessageRejected", "Email address is not verified.");
  expect(bare(await send("ses"))).toMatchObject({ fatal: true });
  answering("LimitExceededException");
  expect(bare(await send("ses"))).toEqual({ status: "retry", code: "ses_LimitExceededException" });
  answering("MessageRejected", "Transaction failed.");
  expect(bare(await send("ses"))).toEqual({ status: "failed", code: "ses_MessageRejected" });
});

test("Resend is asked once more, with the same key, what became of a message", async () => {
  const keys: (string | null)[] = [];
  server.use(
    http.post(RESEND, ({ request }) => {
      keys.push(request.headers.get("idempotency-key"));
      return keys.length === 1 ? HttpResponse.error() : HttpResponse.json({ id: "vendor-1" });
    }),
  );
  expect(await send("resend")).toMatchObject({ status: "sent", providerMessageId: "vendor-1" });
  expect(keys).toEqual([message.id, message.id]);
});

test("Resend is not asked again for a message whose check has grown old meanwhile", async () => {
  let asked = 0;
  const startBy = performance.now() + 60_000;
  server.use(
    http.post(RESEND, () => {
      asked += 1;
      vi.spyOn(performance, "now").mockReturnValue(startBy + 1);
      return HttpResponse.error();
    }),
  );
  const vendor = openProvider("email", "resend", VENDORS.resend.settings, keepNothing);
  const [outcome] = await vendor.send([message], { signal: never, startBy });
  vi.restoreAllMocks();
  expect(outcome!.status).toBe("unknown");
  expect(asked).toBe(1);
});

test("settings are checked, and faults are reported without their values", () => {
  const opening = (name: Name, settings: object) => () => openProvider("email", name, settings, keepNothing);
  expect(opening("ses", { ...VENDORS.ses.settings, region: "evil.example/" })).toThrow(/region: must be/);
  expect(opening("sendgrid", { api_key: "SG.key", webhook_public_key: "c2VjcmV0" })).toThrow(
    /verification key/,
  );
  expect(opening("resend", { api_key: "re_key", webhook_secret: "s3cret" })).not.toThrow(/s3cret/);
  expect(opening("resend", { key: "re_key" })).toThrow(/api_key/);
});

test.each(NAMES)("%s tells of a message that was taken while another has no answer yet", async (name) => {
  const silence = Promise.withResolvers<void>();
  let asked = 0;
  server.use(
    http.post(VENDORS[name].url, async () => {
      asked += 1;
      if (asked === 1) await silence.promise;
      return VENDORS[name].taken();
    }),
  );
  const vendor = openProvider("email", name, VENDORS[name].settings, keepNothing);
  const first = Promise.withResolvers<SendOutcome>();
  const two = [message, { ...message, id: "00000000-0000-7000-8000-000000000002" }];
  const all = vendor.send(two, { signal: never, onOutcome: first.resolve });
  expect(await first.promise).toMatchObject({ status: "sent" });
  silence.resolve();
  expect((await all).map(({ status }) => status)).toEqual(["sent", "sent"]);
});
