import { quoted } from "#runtime/visible-text.ts";
import { plainText } from "./plain-text.ts";

/** A person who decides reads no more of one message. */
const MOST_CHARACTERS = 1_000;

/** The parts of a message, rendered or as templates. */
export interface MessageParts {
  subject?: string | null | undefined;
  html?: string | null | undefined;
  text?: string | null | undefined;
}

/** The words of a message's bodies for a person's consent, begun by `named`: those of the HTML are what most read. */
export function bodyWords({ html, text }: MessageParts, named: string): string[] {
  const read = html ? plainText(html) : null;
  // A text that is made of the HTML lacks the frame around it.
  const beside = text && !read?.includes(text) ? text : null;
  return [
    ...(read ? [`${named}: ${quoted(read, MOST_CHARACTERS)}`] : []),
    ...(beside ? [`${named}${read ? " without HTML" : ""}: ${quoted(beside, MOST_CHARACTERS)}`] : []),
  ];
}

/** The whole words of one message. A message without a subject is its text. */
export function messageWords({ subject, ...bodies }: MessageParts, named: string): string[] {
  if (subject) return [`${named}: ${quoted(subject, MOST_CHARACTERS)}`, ...bodyWords(bodies, "Its text")];
  return bodyWords(bodies, named);
}
