import type { EmailMessage, SendOutcome } from "../provider/channel.ts";

// A comma or a bracket in an address could name a second recipient.
const ADDRESS = /^[^\s\p{Cc}<>()[\]\\,;:"@]+@[^\s\p{Cc}<>()[\]\\,;:"@]+$/u;
const LINE_BREAK = /[\r\n\0]/;
const HEADER_NAME = /^[!-9;-~]+$/;

/** The reason why an email can never be sent, such as a bad address or a header that would add another one. */
export function flaw(message: EmailMessage): (SendOutcome & { status: "failed" }) | undefined {
  const found = unsafe(message) ?? badAddress(message);
  return found === undefined
    ? undefined
    : {
        id: message.id,
        status: "failed",
        code: "invalid_message",
        message: found,
      };
}

function unsafe({ subject, toName, from, headers }: EmailMessage): string | undefined {
  if (LINE_BREAK.test(subject)) return "The subject holds a line break.";
  if (toName !== undefined && LINE_BREAK.test(toName)) return "The to name holds a line break.";
  if (from.name !== undefined && LINE_BREAK.test(from.name)) return "The from name holds a line break.";
  for (const name in headers) {
    if (LINE_BREAK.test(headers[name]!)) return `The ${name} holds a line break.`;
    if (!HEADER_NAME.test(name)) return `${JSON.stringify(name)} is not a header name.`;
  }
  return undefined;
}

function badAddress({ to, from, replyTo }: EmailMessage): string | undefined {
  if (!ADDRESS.test(to)) return notOne(to);
  if (!ADDRESS.test(from.email)) return notOne(from.email);
  return replyTo === undefined || ADDRESS.test(replyTo) ? undefined : notOne(replyTo);
}

function notOne(address: string): string {
  return `${JSON.stringify(address)} is not one email address.`;
}
