import { execFileSync } from "node:child_process";
import { createHmac, createSign, generateKeyPairSync, randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A request as a vendor posts it. */
export interface Posted {
  body: string;
  headers: Record<string, string>;
}

export const TOPIC = "arn:aws:sns:us-east-1:123456789012:feedback";
export const CERTIFICATE_URL = "https://sns.us-east-1.amazonaws.com/SimpleNotificationService-abc123.pem";

/** A key pair and certificate as Amazon SNS has them, and what it posts. */
export function amazon() {
  const folder = mkdtempSync(join(tmpdir(), "sns-"));
  const file = (name: string) => join(folder, name);
  const subject = ["-subj", "/CN=sns.amazonaws.com", "-days", "2"];
  const output = ["-keyout", file("key.pem"), "-out", file("certificate.pem")];
  execFileSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", ...subject, ...output], {
    stdio: "ignore",
  });
  const key = readFileSync(file("key.pem"), "utf8");
  const certificate = readFileSync(file("certificate.pem"), "utf8");
  rmSync(folder, { recursive: true });
  // Written from Amazon's description, apart from the code under test.
  const post = (fields: Record<string, string>, version: "1" | "2" = "2"): Posted => {
    const message: Record<string, string> = {
      Type: "Notification",
      MessageId: randomUUID(),
      TopicArn: TOPIC,
      Timestamp: new Date().toISOString(),
      SignatureVersion: version,
      SigningCertURL: CERTIFICATE_URL,
      ...fields,
    };
    const signed = [
      "Message",
      "MessageId",
      "Subject",
      "SubscribeURL",
      "Timestamp",
      "Token",
      "TopicArn",
      "Type",
    ]
      .filter((name) => message[name] !== undefined)
      .map((name) => `${name}\n${message[name]}\n`)
      .join("");
    const signer = createSign(version === "1" ? "RSA-SHA1" : "RSA-SHA256").update(signed);
    const body = JSON.stringify({ ...message, Signature: signer.sign(key, "base64") });
    return { body, headers: { "content-type": "text/plain; charset=UTF-8" } };
  };
  return {
    certificate,
    post,
    event: (event: object, version?: "1" | "2") => post({ Message: JSON.stringify(event) }, version),
  };
}

/** SendGrid's event webhook: its key pair, and what it posts. */
export function sendgrid() {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  return {
    publicKey: publicKey.export({ format: "der", type: "spki" }).toString("base64"),
    post: (events: object[], timestamp = String(Math.floor(Date.now() / 1000))): Posted => {
      const body = `${JSON.stringify(events)}\r\n`;
      const signature = createSign("sha256")
        .update(timestamp + body)
        .sign(privateKey, "base64");
      return {
        body,
        headers: {
          "content-type": "application/json",
          "X-Twilio-Email-Event-Webhook-Signature": signature,
          "X-Twilio-Email-Event-Webhook-Timestamp": timestamp,
        },
      };
    },
  };
}

export const RESEND_SECRET = `whsec_${Buffer.alloc(24, 7).toString("base64")}`;

/** A callback as Resend posts it. */
export function resendPost(event: object, at = Date.now()): Posted {
  const id = `msg_${randomUUID()}`;
  const timestamp = String(Math.floor(at / 1000));
  const body = JSON.stringify(event);
  const key = Buffer.from(RESEND_SECRET.slice("whsec_".length), "base64");
  const mac = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  return {
    body,
    headers: {
      "content-type": "application/json",
      "svix-id": id,
      "svix-timestamp": timestamp,
      "svix-signature": `v1,bm90IHRoaXM= v1,${mac}`,
    },
  };
}

/** A form as Twilio posts it to an address of ours. */
export function twilioPost(url: string, form: Record<string, string>, token: string): Posted {
  const pairs = Object.entries(form).sort(([a], [b]) => (a < b ? -1 : 1));
  const signature = createHmac("sha1", token)
    .update(url + pairs.flat().join(""))
    .digest("base64");
  return {
    body: new URLSearchParams(form).toString(),
    headers: { "content-type": "application/x-www-form-urlencoded", "x-twilio-signature": signature },
  };
}
