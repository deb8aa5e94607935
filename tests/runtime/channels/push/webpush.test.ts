import { createECDH } from "node:crypto";
import { createRequire } from "node:module";
import { afterAll, beforeAll, expect, test } from "vitest";
import provider from "#runtime/channels/push/webpush.ts";
import { type Browser, decrypt, openPushService } from "../../../support/servers/push-service.ts";

let push: Awaited<ReturnType<typeof openPushService>>;
beforeAll(async () => {
  push = await openPushService();
});
afterAll(() => push?.close());

const pair = createECDH("prime256v1");
const pushKeys = { publicKey: pair.generateKeys("base64url"), privateKey: pair.getPrivateKey("base64url") };
const retired = createECDH("prime256v1");
const other = {
  publicKey: retired.generateKeys("base64url"),
  privateKey: retired.getPrivateKey("base64url"),
};
const subject = "mailto:push@casino.com";
const signal = new AbortController().signal;

const messageTo = (id: string, ...browsers: Browser[]) => ({
  id,
  to: "0192-player",
  title: "A table is free",
  text: "Come tonight – früh",
  url: "https://casino.example/seats",
  topic: "01920000000070008000000000000001",
  ttl: 3_600,
  devices: browsers.map(({ subscription }, index) => ({
    id: `${id}-${index}`,
    ...subscription,
    key: pushKeys.publicKey,
  })),
});

async function send(...messages: ReturnType<typeof messageTo>[]) {
  const opened = provider.open(provider.settings.parse({ subject }), {
    allowPrivate: true,
    pushKeys: [other, pushKeys],
  });
  try {
    return await opened.send(messages, { signal, store: async () => {} });
  } finally {
    await opened.close();
  }
}

const answering = (status: number, headers: Record<string, string> = {}): Browser => {
  const browser = push.browser();
  browser.answers.push({ status, headers });
  return browser;
};

const bytes = (text: string) => Buffer.from(text, "base64url");

/** RFC 8291, appendix A. */
const EXAMPLE = {
  text: "When I grow up, I want to be a watermelon",
  body: "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN",
  salt: "DGv6ra1nlYgDCS1FRnbzlw",
  sender: "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw",
  browser: {
    publicKey: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
    privateKey: "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94",
    auth: "BTBZMqHH6r4Tts7J_aSIgg",
  },
};

/** The encryption of the library that encrypts our messages. */
const ece: { encrypt(text: Buffer, parameters: object): Buffer } = createRequire(
  createRequire(import.meta.url).resolve("web-push"),
)("http_ece");

test("the decoder of these tests opens the example of RFC 8291, appendix A", () => {
  const { publicKey, privateKey, auth } = EXAMPLE.browser;
  const keys = { publicKey: bytes(publicKey), privateKey: bytes(privateKey), auth: bytes(auth) };
  expect(decrypt(bytes(EXAMPLE.body), keys)).toBe(EXAMPLE.text);
});

// Other decoders in npm open messages by this same library, so a second one would prove nothing; a real Firefox does.
test("the encryption of our messages makes the same example, byte for byte", () => {
  const sender = createECDH("prime256v1");
  sender.setPrivateKey(bytes(EXAMPLE.sender));
  const body = ece.encrypt(Buffer.from(EXAMPLE.text), {
    version: "aes128gcm",
    privateKey: sender,
    dh: EXAMPLE.browser.publicKey,
    authSecret: EXAMPLE.browser.auth,
    salt: EXAMPLE.salt,
  });
  expect(body.toString("base64url")).toBe(EXAMPLE.body);
});

test("a notification is encrypted for the browser, signed by the property's key, and says how long it is worth keeping", async () => {
  const browser = push.browser();
  const [outcome] = await send(messageTo("a", browser));
  expect(outcome).toMatchObject({ id: "a", status: "sent", devices: [{ id: "a-0", is: "reached" }] });
  const [{ headers, vapid, key, payload }] = browser.pushed as [(typeof browser.pushed)[0]];
  expect(key).toBe(pushKeys.publicKey);
  expect(vapid.sub).toBe(subject);
  expect(vapid.exp * 1000).toBeLessThanOrEqual(Date.now() + 24 * 3_600_000);
  expect(headers).toMatchObject({
    ttl: "3600",
    urgency: "normal",
    topic: "01920000000070008000000000000001",
    "content-encoding": "aes128gcm",
  });
  expect(JSON.parse(payload)).toEqual({
    web_push: 8030,
    notification: {
      title: "A table is free",
      body: "Come tonight – früh",
      navigate: "https://casino.example/seats",
      tag: "01920000000070008000000000000001",
      dir: "auto",
    },
  });
});

const ANSWERS: [number, Record<string, string>, object][] = [
  [404, {}, { status: "failed", code: "subscription_gone", devices: [{ is: "gone" }] }],
  [410, {}, { status: "failed", code: "subscription_gone", devices: [{ is: "gone" }] }],
  [413, {}, { status: "failed", code: "too_large" }],
  [429, { "retry-after": "120" }, { status: "retry", retryAfter: 120 }],
  [400, {}, { status: "failed", code: "provider_auth" }],
  [403, {}, { status: "failed", code: "provider_auth" }],
  [500, {}, { status: "retry", code: "http_500" }],
  [302, { location: "http://127.0.0.1/" }, { status: "failed", code: "http_302" }],
];

test.each(ANSWERS)("the answer %i", async (status, headers, expected) => {
  const [outcome] = await send(messageTo("a", answering(status, headers)));
  expect(outcome).toMatchObject({ id: "a", ...expected });
  expect(outcome).not.toHaveProperty("busy");
  expect(outcome).not.toHaveProperty("fatal");
});

test("one browser that takes it is enough, and the others are told apart", async () => {
  const [outcome] = await send(messageTo("a", answering(410), push.browser(), answering(500)));
  expect(outcome).toMatchObject({
    status: "sent",
    devices: [
      { id: "a-0", is: "gone" },
      { id: "a-1", is: "reached" },
    ],
  });
});

test("a player's own address stops nobody else's messages, and only many refusals are the settings' fault", async () => {
  const liar = () => messageTo("x", answering(403));
  expect(await send(liar(), liar(), liar(), liar())).toMatchObject(Array(4).fill({ status: "failed" }));
  expect(
    (await send(...Array.from({ length: 9 }, liar), messageTo("a", push.browser()))).at(-1),
  ).toMatchObject({ status: "sent" });
  for (const outcome of await send(...Array.from({ length: 5 }, liar)))
    expect(outcome).toMatchObject({ status: "retry", fatal: true, code: "provider_auth" });
});

test("keys that cannot encrypt, no browser, and a place where nobody listens", async () => {
  const message = messageTo("a", push.browser());
  const [device] = message.devices;
  const [flawed] = await send({ ...message, devices: [{ ...device!, p256dh: "AAAA" }] });
  expect(flawed).toMatchObject({
    status: "failed",
    code: "bad_keys",
    devices: [{ id: "a-0", is: "bad_keys" }],
  });
  expect((await send({ ...message, devices: [] }))[0]).toMatchObject({
    status: "failed",
    code: "no_subscription",
  });
  const closed = await openPushService();
  const gone = messageTo("a", closed.browser());
  await closed.close();
  expect((await send(gone))[0]).toMatchObject({ status: "retry", code: "not_connected" });
});

test("each browser gets the key that it subscribed with, and one of an unknown key is tried again", async () => {
  const older = push.browser();
  const message = messageTo("a", older);
  const [device] = message.devices;
  const to = (key: string) => send({ ...message, devices: [{ ...device!, key }] });
  expect((await to(other.publicKey))[0]).toMatchObject({ status: "sent" });
  expect(older.pushed[0]!.key).toBe(other.publicKey);
  expect((await to("unknown"))[0]).toMatchObject({ status: "retry", code: "other_key" });
});

test("no address of the inner network is called", async () => {
  const opened = provider.open({ subject }, { allowPrivate: false, pushKeys: [pushKeys] });
  const message = messageTo("a", push.browser());
  const devices = message.devices.map((device) => ({
    ...device,
    endpoint: device.endpoint.replace("http:", "https:"),
  }));
  const [outcome] = await opened.send([{ ...message, devices }], { signal, store: async () => {} });
  await opened.close();
  expect(outcome).toMatchObject({ status: "failed", code: "address_refused" });
});

test.each([
  ["mailto:push@casino.com", true],
  ["https://www.casino.com/contact", true],
  ["mailto:push@localhost", false],
  ["mailto:push@casino.local", false],
  ["mailto:push@casino.invalid", false],
  ["mailto:push@10.0.0.1", false],
  ["http://www.casino.com/", false],
  ["push@casino.com", false],
])("the subject %s", (given, isGood) => {
  expect(provider.settings.safeParse({ subject: given }).success).toBe(isGood);
});
