import { createHash } from "node:crypto";
import { HttpResponse, http } from "msw";
import { setupServer } from "msw/node";
import twilio from "twilio";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { CallbackRequest, Notice } from "#runtime/channels/provider/channel.ts";
import provider from "#runtime/channels/sms/twilio.ts";

const server = setupServer();
beforeAll(() => server.listen({ onUnhandledFrame: "error" }));
afterEach(() => server.resetHandlers());
afterAll(() => server.close());

const SID = `AC${"0a".repeat(16)}`;
const TOKEN = "a-secret-token";
const SERVICE = `MG${"1b".repeat(16)}`;
const API = `https://api.twilio.com/2010-04-01/Accounts/${SID}/Messages.json`;
const settings = { account_sid: SID, auth_token: TOKEN };
const message = {
  id: "0192-send",
  to: "+17025550101",
  text: "Double points & more\nReply STOP",
  segments: 1,
};
const signal = new AbortController().signal;

async function send(more: object = {}, given: object = {}, callbackUrl?: string) {
  const reach = { allowPrivate: false, ...(callbackUrl !== undefined && { callbackUrl }) };
  const opened = provider.open(provider.settings.parse({ ...settings, ...more }), reach);
  const [outcome] = await opened.send([{ ...message, ...given }], { signal, store: async () => {} });
  return outcome!;
}

/** The requests to Twilio. */
async function sent(...given: Parameters<typeof send>) {
  const { promise, resolve } = Promise.withResolvers<{ form: object; headers: Headers }>();
  server.use(
    http.post(API, async ({ request }) => {
      const form = Object.fromEntries(new URLSearchParams(await request.text()));
      resolve({ form, headers: request.headers });
      return HttpResponse.json({ sid: "SM1", status: "queued", num_segments: "1" }, { status: 201 });
    }),
  );
  const outcome = await send(...given);
  return { outcome, ...(await promise) };
}

describe("a text to Twilio", () => {
  test("is one form with the account's credentials", async () => {
    const { outcome, form, headers } = await sent(
      {},
      { from: "+18005550000" },
      "https://casino.example/cb/1",
    );
    expect(outcome).toEqual({ id: message.id, status: "sent", providerMessageId: "SM1" });
    expect(form).toEqual({
      To: "+17025550101",
      From: "+18005550000",
      Body: "Double points & more\nReply STOP",
      StatusCallback: "https://casino.example/cb/1?send_id=0192-send",
    });
    expect(headers.get("authorization")).toBe(`Basic ${Buffer.from(`${SID}:${TOKEN}`).toString("base64")}`);
  });

  test("goes by the messaging service where nobody names a number", async () => {
    const { form } = await sent({ messaging_service_sid: SERVICE });
    expect(form).toEqual({ To: message.to, MessagingServiceSid: SERVICE, Body: message.text });
  });

  const refusals: [string, number, object, object][] = [
    [
      "an opted-out number",
      400,
      { code: 21610, message: "unsubscribed" },
      { status: "failed", code: "opted_out", optedOut: true },
    ],
    [
      "a bad number",
      400,
      { code: 21211, message: "+17025550101 is not a number" },
      { status: "failed", code: "twilio_21211", message: "<recipient> is not a number" },
    ],
    [
      "a country that is off",
      403,
      { code: 21408, message: "off" },
      { status: "failed", code: "twilio_21408" },
    ],
    [
      "refused credentials",
      401,
      { code: 20003, message: "Authenticate" },
      { status: "retry", code: "twilio_20003", fatal: true },
    ],
    ["a sender that is not ours", 400, { code: 21606, message: "From" }, { status: "retry", fatal: true }],
    [
      "too many requests",
      429,
      { code: 20429, message: "slow down" },
      { status: "retry", code: "twilio_20429", retryAfter: 7 },
    ],
    ["a full queue", 400, { code: 21611, message: "queue" }, { status: "retry", code: "twilio_21611" }],
    ["a 503 of a gateway", 503, {}, { status: "unknown", code: "http_503" }],
    [
      "a 503 of their own",
      503,
      { code: 20503, message: "overload" },
      { status: "retry", code: "twilio_20503", busy: true },
    ],
    ["an error of their own", 500, {}, { status: "unknown", code: "http_500" }],
    ["an answer that is no JSON", 201, { strange: true }, { status: "unknown" }],
  ];
  test.each(refusals)("that meets %s", async (_, status, body, outcome) => {
    server.use(http.post(API, () => HttpResponse.json(body, { status, headers: { "Retry-After": "7" } })));
    expect(await send()).toMatchObject({ id: message.id, ...outcome });
  });

  test("whose answer is lost is unknown, and is never repeated", async () => {
    server.use(http.post(API, () => HttpResponse.error()));
    expect((await send()).status).toBe("unknown");
    expect(provider.repeatable).toBe(false);
  });
});

describe("a callback", () => {
  const url = "https://casino.example/api/callbacks/twilio/1?send_id=5";
  const callbacks = provider.callbacks!;
  const request = (
    form: Record<string, string | string[]>,
    { at = url, signedAt = at, token = TOKEN }: { at?: string; signedAt?: string; token?: string } = {},
  ): CallbackRequest => {
    const body = new URLSearchParams(
      Object.entries(form).flatMap(([name, values]) =>
        [values].flat().map((value): [string, string] => [name, value]),
      ),
    );
    const signature = twilio.getExpectedTwilioSignature(token, signedAt, form);
    return {
      url: at,
      headers: { "x-twilio-signature": signature },
      body: Buffer.from(body.toString()),
      at: Date.now(),
    };
  };
  const form = { MessageSid: "SM1", MessageStatus: "delivered", To: "+17025550101", Body: "" };

  test.each([
    ["as Twilio's own library signs it", request(form)],
    ["with a name that repeats", request({ ...form, Media: ["b", "a", "b"] })],
    ["with umlauts and signs", request({ ...form, Body: "Grüße & 100 % +1 😀 =?" })],
    ["signed with the port", request(form, { signedAt: url.replace("example/", "example:443/") })],
    [
      "signed without the port",
      request(form, { at: url.replace("example/", "example:8443/"), signedAt: url }),
    ],
  ])("%s is believed", async (_, given) => {
    expect(await callbacks.verify(settings, given)).toBe(true);
  });

  const good = request(form);
  test.each<[string, CallbackRequest]>([
    ["with another token", request(form, { token: "another" })],
    ["for another address", request(form, { signedAt: `${url}6` })],
    [
      "with a field changed",
      { ...good, body: Buffer.from(String(good.body).replace("delivered", "failed")) },
    ],
    ["with a field added", { ...good, body: Buffer.from(`${good.body}&x=1`) }],
    ["without a signature", { ...good, headers: {} }],
    ["with an empty signature", { ...good, headers: { "x-twilio-signature": "" } }],
    ["for no address at all", { ...good, url: "nonsense" }],
  ])("%s is not", async (_, given) => {
    expect(await callbacks.verify(settings, given)).toBe(false);
  });

  test("of very many fields is judged in a moment", async () => {
    const names = Array.from({ length: 200_000 }, (_, n) => `${n.toString(36)}=`);
    const flood = { ...good, body: Buffer.from(names.join("&")) };
    const from = process.threadCpuUsage();
    expect(await callbacks.verify(settings, flood)).toBe(false);
    expect(process.threadCpuUsage(from).user / 1_000).toBeLessThan(5_000);
  });

  test("in JSON is known by the hash in its address", async () => {
    const body = Buffer.from('{"MessageSid":"SM1"}');
    const at = `${url}&bodySHA256=${createHash("sha256").update(body).digest("hex")}`;
    const headers = { "x-twilio-signature": twilio.getExpectedTwilioSignature(TOKEN, at, {}) };
    const posted = { url: at, headers, body, at: Date.now() };
    expect(await callbacks.verify(settings, posted)).toBe(true);
    expect(await callbacks.verify(settings, { ...posted, body: Buffer.from("{}") })).toBe(false);
  });

  const told = (fields: Record<string, string>): Notice[] => callbacks.parse(settings, request(fields));
  const notices: [string, Record<string, string>, object[]][] = [
    [
      "delivered",
      form,
      [{ kind: "delivered", eventId: "SM1:delivered", providerMessageId: "SM1", sendId: "5" }],
    ],
    ["queued", { ...form, MessageStatus: "queued" }, []],
    [
      "failed",
      { ...form, MessageStatus: "failed", ErrorCode: "30007" },
      [{ kind: "failed", code: "twilio_30007" }],
    ],
    [
      "to a landline",
      { ...form, MessageStatus: "undelivered", ErrorCode: "30006" },
      [{ kind: "bounced", permanent: true }],
    ],
    [
      "opted out",
      { ...form, MessageStatus: "failed", ErrorCode: "21610" },
      [{ kind: "failed" }, { kind: "unsubscribed", address: "+17025550101" }],
    ],
    [
      "written by a player",
      { MessageSid: "SM2", SmsStatus: "received", From: "+17025550101", To: "+18005550000", Body: "STOP " },
      [{ kind: "inbound", eventId: "SM2", from: "+17025550101", to: "+18005550000", text: "STOP " }],
    ],
    [
      "written by a player whom Twilio has answered",
      { MessageSid: "SM3", From: "whatsapp:+17025550101", To: "+1", Body: "Stop", OptOutType: "STOP" },
      [{ kind: "inbound", from: "+17025550101", optOut: "stop" }],
    ],
    ["of nothing", { Foo: "bar" }, []],
  ];
  test.each(notices)("of a message that is %s", (_, fields, expected) => {
    expect(told(fields)).toEqual(expected.map((one) => expect.objectContaining(one)));
  });
});
