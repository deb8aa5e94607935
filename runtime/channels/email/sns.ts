import { createVerify, X509Certificate } from "node:crypto";
import { z } from "zod";

/** A message that Amazon SNS posts. */
const SnsMessage = z.object({
  Type: z.enum(["Notification", "SubscriptionConfirmation", "UnsubscribeConfirmation"]),
  MessageId: z.string().min(1).max(200),
  TopicArn: z.string(),
  Message: z.string(),
  Timestamp: z.string(),
  SignatureVersion: z.enum(["1", "2"]),
  Signature: z.string(),
  SigningCertURL: z.string().max(500),
  Subject: z.string().optional(),
  SubscribeURL: z.string().max(2000).optional(),
  Token: z.string().optional(),
});
export type SnsMessage = z.output<typeof SnsMessage>;

const TIMEOUT_MS = 5_000;
const MOST_BYTES = 65_536;
const MOST_CERTIFICATES = 50;

/** An SNS message from its raw body; null when the body is not one. */
export function readSns(body: Buffer): SnsMessage | null {
  try {
    return SnsMessage.parse(JSON.parse(body.toString("utf8")));
  } catch {
    return null;
  }
}

/**
 * Whether Amazon signed the message, for this topic. The certificate comes only from Amazon's own host in the topic's
 * region. Rejects when the certificate is unavailable, so that the sender tries again.
 */
export async function verifySns(message: SnsMessage, topicArn: string): Promise<boolean> {
  if (message.TopicArn !== topicArn || !isCertificateUrl(message.SigningCertURL, topicArn)) return false;
  const certificate = await certificateAt(message.SigningCertURL);
  const algorithm = message.SignatureVersion === "1" ? "RSA-SHA1" : "RSA-SHA256";
  return createVerify(algorithm)
    .update(signedText(message))
    .verify(certificate.publicKey, message.Signature, "base64");
}

/** Confirms a subscription, only at Amazon's own host in the topic's region. */
export async function confirmSns(url: string, topicArn: string): Promise<void> {
  const parsed = URL.parse(url);
  const isAction = parsed?.searchParams.get("Action") === "ConfirmSubscription";
  if (!isAction || parsed?.origin !== originOf(topicArn)) {
    throw new Error("The subscription's confirmation address is not Amazon's.");
  }
  const response = await fetch(parsed, { redirect: "error", signal: AbortSignal.timeout(TIMEOUT_MS) });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`Amazon answered the confirmation with ${response.status}.`);
}

// https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message-verify-message-signature.html
function signedText(message: SnsMessage): string {
  const isNotification = message.Type === "Notification";
  const names = isNotification
    ? (["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"] as const)
    : (["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"] as const);
  return names
    .flatMap((name) => (message[name] === undefined ? [] : [`${name}\n${message[name]}\n`]))
    .join("");
}

function originOf(topicArn: string): string {
  const region = topicArn.split(":")[3]!;
  return `https://sns.${region}.amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}`;
}

function isCertificateUrl(text: string, topicArn: string): boolean {
  const origin = originOf(topicArn);
  return (
    text.startsWith(`${origin}/`) &&
    /^\/SimpleNotificationService-[a-z0-9]+\.pem$/.test(text.slice(origin.length))
  );
}

const certificates = new Map<string, Promise<X509Certificate>>();

function certificateAt(url: string): Promise<X509Certificate> {
  if (certificates.has(url)) return certificates.get(url)!;
  if (certificates.size >= MOST_CERTIFICATES) certificates.clear();
  const fetched = fetchCertificate(url);
  certificates.set(url, fetched);
  fetched.catch(() => certificates.delete(url));
  return fetched;
}

async function fetchCertificate(url: string): Promise<X509Certificate> {
  const response = await fetch(url, { redirect: "error", signal: AbortSignal.timeout(TIMEOUT_MS) });
  const pem = response.ok ? await response.text() : "";
  if (pem === "" || pem.length > MOST_BYTES)
    throw new Error(`No certificate at ${url} (${response.status}).`);
  return new X509Certificate(pem);
}
