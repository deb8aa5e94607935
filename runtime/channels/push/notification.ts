import type { PushMessage } from "../provider/channel.ts";

/** A push service takes 4,096 bytes, and the encryption of RFC 8291 adds 103 to the text. */
export const MOST_BYTES = 3_993;

/**
 * The notification in the form of Declarative Web Push. Browsers that know the form show it themselves; in the others
 * our service worker shows the same.
 */
export function payloadOf({
  title,
  text,
  url,
  topic,
}: Omit<PushMessage, "id" | "to" | "devices" | "ttl">): string {
  const notification = { title, body: text, navigate: url, tag: topic, dir: "auto" };
  return JSON.stringify({ web_push: 8030, notification });
}
