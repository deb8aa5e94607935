import eventWebhook from "@sendgrid/eventwebhook";
import { HttpResponse, http } from "msw";
import { setupServer } from "msw/node";
import { Webhook } from "standardwebhooks";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { callbacksOf } from "#runtime/channels/index.ts";
import {
  amazon,
  CERTIFICATE_URL,
  type Posted,
  RESEND_SECRET,
  resendPost,
  sendgrid,
  TOPIC,
} from "../../tools/providers/vendor-signing.ts";

const aws = amazon();
const grid = sendgrid();
const ses = callbacksOf("email", "ses", {
  region: "us-east-1",
  access_key_id: "AKIAEXAMPLE",
  secret_access_key: "s3cret",
  topic_arn: TOPIC,
})!;
const sg = callbacksOf("email", "sendgrid", { api_key: "SG.key", webhook_public_key: grid.publicKey })!;
const resend = callbacksOf("email", "resend", { api_key: "re_key", webhook_secret: RESEND_SECRET })!;

let fetched = 0;
const server = setupServer();
beforeAll(() => server.listen({ onUnhandledFrame: "error" }));
beforeEach(() =>
  server.use(
    http.get(CERTIFICATE_URL, () => {
      fetched += 1;
      return HttpResponse.text(aws.certificate);
    }),
  ),
);
afterEach(() => server.resetHandlers());
afterAll(() => server.close());

const request = ({ body, headers }: Posted) => ({
  url: "https://service.example/api/callbacks/x/y",
  headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
  body: Buffer.from(body),
  at: Date.now(),
});
const changed = ({ body, headers }: Posted, from: string, to: string): Posted => ({
  body: body.replace(from, to),
  headers,
});

const mail = { messageId: "ses-1", destination: ["ana@example.com"], tags: { send_id: ["0198-send"] } };
const bounce = (type: string, ...recipients: object[]) => ({
  eventType: "Bounce",
  mail,
  bounce: {
    bounceType: type,
    bounceSubType: "General",
    timestamp: "2026-01-31T12:00:00.000Z",
    bouncedRecipients: recipients,
  },
});

describe("Amazon's notifications", () => {
  test("are believed in both signature versions, and the certificate is fetched once", async () => {
    fetched = 0;
    for (const version of ["1", "2", "2"] as const) {
      expect(await ses.verify(request(aws.event({ eventType: "Delivery", mail }, version)))).toBe(true);
    }
    expect(await ses.verify(request(aws.post({ Message: "x", Subject: "About Ñ" })))).toBe(true);
    expect(fetched).toBe(1);
  });

  test("are not believed when they were changed, are of another topic, or name another host's certificate", async () => {
    const good = aws.event({ eventType: "Delivery", mail });
    const hostile = [
      changed(good, "Delivery", "Complaint"),
      aws.post({ Message: "x", TopicArn: TOPIC.replace("feedback", "rival") }),
      ...[
        "https://evil.example/SimpleNotificationService-abc123.pem",
        "https://sns.us-east-1.amazonaws.com.evil.example/SimpleNotificationService-abc123.pem",
        "https://sns.us-east-1.amazonaws.com@evil.example/SimpleNotificationService-abc123.pem",
        "https://sns.us-east-1.amazonaws.com/../SimpleNotificationService-abc123.pem",
        "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-abc123.pem",
        "http://sns.us-east-1.amazonaws.com/SimpleNotificationService-abc123.pem",
        "https://169.254.169.254/SimpleNotificationService-abc123.pem",
      ].map((SigningCertURL) => aws.post({ Message: "x", SigningCertURL })),
      { body: "[]", headers: {} },
      { body: "not json", headers: {} },
      { body: good.body.replace(/"Signature":"[^"]+"/, '"Signature":""'), headers: {} },
    ];
    for (const posted of hostile) expect(await ses.verify(request(posted)), posted.body).toBe(false);
    const noTopic = callbacksOf("email", "ses", {
      region: "us-east-1",
      access_key_id: "a",
      secret_access_key: "b",
    })!;
    expect(await noTopic.verify(request(good))).toBe(false);
  });

  test("whose certificate is out of reach now are left for later", async () => {
    const elsewhere = CERTIFICATE_URL.replace("abc123", "def456");
    server.use(http.get(elsewhere, () => new HttpResponse(null, { status: 503 })));
    await expect(
      ses.verify(request(aws.post({ Message: "x", SigningCertURL: elsewhere }))),
    ).rejects.toThrow();
    server.use(http.get(elsewhere, () => HttpResponse.text(aws.certificate)));
    expect(await ses.verify(request(aws.post({ Message: "x", SigningCertURL: elsewhere })))).toBe(true);
  });

  test("tell of each recipient, and a domain that does not exist is a permanent bounce", () => {
    const event = bounce(
      "Transient",
      { emailAddress: "ana@example.com", status: "4.2.2", diagnosticCode: "full" },
      { emailAddress: "eva@example.com", status: "5.4.4" },
    );
    const about = { sendId: "0198-send", providerMessageId: "ses-1", at: "2026-01-31T12:00:00.000Z" };
    expect(ses.parse(request(aws.event(event)))).toMatchObject([
      {
        ...about,
        kind: "bounced",
        permanent: false,
        address: "ana@example.com",
        code: "4.2.2",
        message: "full",
      },
      { ...about, kind: "bounced", permanent: true, address: "eva@example.com", code: "5.4.4" },
    ]);
    const kinds = (given: object) => ses.parse(request(aws.event(given))).map(({ kind }) => kind);
    expect(kinds(bounce("Permanent", { emailAddress: "a@example.com" }))).toEqual(["bounced"]);
    expect(kinds({ notificationType: "Delivery", mail })).toEqual(["delivered"]);
    const complaint = (complaintFeedbackType: string) => ({
      eventType: "Complaint",
      mail,
      complaint: { complaintFeedbackType, complainedRecipients: [{ emailAddress: "a@example.com" }] },
    });
    expect(kinds(complaint("abuse"))).toEqual(["complained"]);
    expect(kinds(complaint("not-spam"))).toEqual([]);
    expect(kinds({ eventType: "DeliveryDelay", mail })).toEqual([]);
    expect(kinds({ eventType: "constructor", mail })).toEqual([]);
  });

  test("a subscription is confirmed at Amazon's own host alone", async () => {
    const url = "https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription&Token=t";
    const posted = aws.post({
      Type: "SubscriptionConfirmation",
      Message: "x",
      Token: "t",
      SubscribeURL: url,
    });
    expect(await ses.verify(request(posted))).toBe(true);
    expect(ses.parse(request(posted))).toMatchObject([{ kind: "subscription", url }]);
    let confirmed = 0;
    server.use(
      http.get("https://sns.us-east-1.amazonaws.com/", () => {
        confirmed += 1;
        return HttpResponse.text("<ok/>");
      }),
    );
    await ses.confirm(url);
    expect(confirmed).toBe(1);
    for (const other of [
      "https://evil.example/?Action=ConfirmSubscription",
      "https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription",
      "https://sns.us-east-1.amazonaws.com/?Action=DeleteTopic",
    ]) {
      await expect(ses.confirm(other)).rejects.toThrow();
    }
  });
});

describe("SendGrid's events", () => {
  const events = [
    {
      event: "delivered",
      sg_event_id: "e1",
      sg_message_id: "m1.filter0",
      email: "ana@example.com",
      send_id: "s1",
      timestamp: 1769860800,
    },
  ];

  test("that its own library signs for are believed, and no others", () => {
    const good = grid.post(events);
    const peer = new eventWebhook.EventWebhook();
    const key = peer.convertPublicKeyToECDSA(grid.publicKey);
    const {
      "X-Twilio-Email-Event-Webhook-Signature": signature,
      "X-Twilio-Email-Event-Webhook-Timestamp": at,
    } = good.headers;
    expect(peer.verifySignature(key, good.body, signature!, at!)).toBe(true);
    expect(sg.verify(request(good))).toBe(true);
    expect(sg.verify(request(changed(good, "ana", "eva")))).toBe(false);
    expect(
      sg.verify(
        request({ ...good, headers: { ...good.headers, "X-Twilio-Email-Event-Webhook-Timestamp": "1" } }),
      ),
    ).toBe(false);
    expect(sg.verify(request({ ...good, headers: {} }))).toBe(false);
    expect(
      sg.verify(
        request({ ...good, headers: { ...good.headers, "X-Twilio-Email-Event-Webhook-Signature": "x" } }),
      ),
    ).toBe(false);
    expect(sg.verify(request(sendgrid().post(events)))).toBe(false);
    expect(callbacksOf("email", "sendgrid", { api_key: "SG.key" })!.verify(request(good))).toBe(false);
  });

  test("become notices, each with its own id", () => {
    const parse = (event: object) =>
      sg
        .parse(request(grid.post([{ ...events[0], ...event }])))
        .map(({ at: _at, address: _to, ...rest }) => rest);
    const about = { eventId: "e1", providerMessageId: "m1", sendId: "s1" };
    expect(sg.parse(request(grid.post(events)))).toEqual([
      { ...about, kind: "delivered", at: "2026-01-31T12:00:00.000Z", address: "ana@example.com" },
    ]);
    const bounced = { event: "bounce", type: "bounce", status: "5.1.1", reason: "no such user" };
    expect(parse(bounced)).toEqual([
      { ...about, kind: "bounced", permanent: true, code: "5.1.1", message: "no such user" },
    ]);
    expect(parse({ event: "bounce", type: "blocked", status: "5.7.1" })).toMatchObject([
      { permanent: false },
    ]);
    expect(parse({ event: "dropped", reason: "Bounced Address" })).toMatchObject([
      { kind: "bounced", permanent: true },
    ]);
    expect(parse({ event: "dropped", reason: "Spam Reporting Address" }).map(({ kind }) => kind)).toEqual([
      "failed",
      "complained",
    ]);
    expect(parse({ event: "dropped", reason: "Invalid SMTPAPI header" }).map(({ kind }) => kind)).toEqual([
      "failed",
    ]);
    expect(parse({ event: "group_unsubscribe" }).map(({ kind }) => kind)).toEqual(["unsubscribed"]);
    expect(parse({ event: "open", useragent: "Mozilla" })).toMatchObject([
      { kind: "opened", userAgent: "Mozilla" },
    ]);
    expect(parse({ event: "processed" })).toEqual([]);
    expect(sg.parse(request({ body: '[null, 1, {"event":{}}]', headers: {} }))).toEqual([]);
  });
});

test("a notice without a time, or of one that lies ahead, is of the moment when it came, by any clock of this machine", () => {
  const came = Date.UTC(2026, 0, 31, 12);
  const [now, ahead] = [new Date(came).toISOString(), "2026-01-31T12:10:00.000Z"];
  const twilio = callbacksOf("sms", "twilio", { account_sid: `AC${"0".repeat(32)}`, auth_token: "t" })!;
  const form = new URLSearchParams({
    MessageSid: "SM1",
    From: "+17025550101",
    To: "+17025550102",
    Body: "STOP",
  });
  const told = [
    twilio.parse({ ...request({ body: String(form), headers: {} }), at: came }),
    sg.parse({ ...request(grid.post([{ event: "unsubscribe", timestamp: came / 1000 + 600 }])), at: came }),
    resend.parse({
      ...request(resendPost({ type: "email.complained", created_at: ahead, data: {} })),
      at: came,
    }),
    ses.parse({ ...request(aws.event({ eventType: "Reject", mail })), at: came }),
    ses.parse({
      ...request(
        aws.event({
          eventType: "Complaint",
          mail,
          complaint: { complainedRecipients: [{ emailAddress: "ana@example.com" }], timestamp: ahead },
        }),
      ),
      at: came,
    }),
  ];
  expect(told.map((notices) => notices.map(({ at }) => at))).toEqual(told.map(() => [now]));
});

describe("Resend's webhooks", () => {
  const event = {
    type: "email.bounced",
    created_at: "2026-01-31T12:00:00.000Z",
    data: {
      email_id: "re-1",
      to: ["ana@example.com"],
      tags: { send_id: "s1" },
      bounce: { type: "Permanent", subType: "Suppressed", message: "gone" },
    },
  };

  test("that a Standard Webhooks library signs are believed while they are fresh", () => {
    const good = resendPost(event);
    const id = good.headers["svix-id"]!;
    const timestamp = good.headers["svix-timestamp"]!;
    const signature = new Webhook(RESEND_SECRET).sign(id, new Date(Number(timestamp) * 1000), good.body);
    const headers = { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature };
    expect(resend.verify(request({ ...good, headers }))).toBe(true);
    expect(resend.verify(request(good))).toBe(true);
    expect(resend.verify(request(changed(good, "ana", "eva")))).toBe(false);
    expect(resend.verify(request(resendPost(event, Date.now() - 400_000)))).toBe(false);
    expect(resend.verify(request(resendPost(event, Date.now() + 400_000)))).toBe(false);
    expect(resend.verify(request({ ...good, headers: {} }))).toBe(false);
    expect(resend.verify(request({ ...good, headers: { ...good.headers, "svix-id": "other" } }))).toBe(false);
    expect(callbacksOf("email", "resend", { api_key: "re_key" })!.verify(request(good))).toBe(false);
  });

  test("become notices", () => {
    const posted = resendPost(event);
    expect(resend.parse(request(posted))).toEqual([
      {
        kind: "bounced",
        eventId: posted.headers["svix-id"],
        at: "2026-01-31T12:00:00.000Z",
        address: "ana@example.com",
        providerMessageId: "re-1",
        sendId: "s1",
        permanent: true,
        code: "Suppressed",
        message: "gone",
      },
    ]);
    const listed = { ...event, data: { ...event.data, tags: [{ name: "send_id", value: "s2" }] } };
    expect(resend.parse(request(resendPost(listed)))).toMatchObject([{ sendId: "s2" }]);
    expect(resend.parse(request(resendPost({ ...event, type: "email.delivery_delayed" })))).toEqual([]);
    expect(resend.parse(request(resendPost({ type: "contact.created" })))).toEqual([]);
  });
});
