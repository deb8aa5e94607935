import type { EmailMessage, SendOutcome } from "../channel.ts";

// A comma or a bracket in an address could name a second recipient.
const ADDRESS = /^[^\s\p{Cc}<>()[\]\\,;:"@]+@[^\s\p{Cc}<>()[\]\\,;:"@]+$/u;
const HEADER_NAME = /^[!-9;-~]+$/;

/** Why an email can never be sent (a header that would add another one, a bad address), or nothing. */
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

function unsafe(message: EmailMessage): string | undefined {
  const lines: [string, string | undefined][] = [
    ["subject", message.subject],
    ["to name", message.toName],
    ["from name", message.from.name],
    ...Object.entries(message.headers),
  ];
  for (const [name, value] of lines) {
    if (value !== undefined && /[\r\n\0]/.test(value)) return `The ${name} holds a line break.`;
  }
  const header = Object.keys(message.headers).find((name) => !HEADER_NAME.test(name));
  return header === undefined ? undefined : `${JSON.stringify(header)} is not a header name.`;
}

function badAddress({ to, from, replyTo }: EmailMessage): string | undefined {
  const bad = [to, from.email, replyTo].find((address) => address !== undefined && !ADDRESS.test(address));
  return bad === undefined ? undefined : `${JSON.stringify(bad)} is not one email address.`;
}
