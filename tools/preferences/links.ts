import { createSecretKey, type KeyObject } from "node:crypto";
import type { AppSecret, Config } from "#runtime/config.ts";
import { packId, readLink, signLink, unpackId } from "#runtime/secrets/links.ts";

const PURPOSE = "unsubscribe";

/** Makes the unsubscribe links of messages, which need no sign-in. They never expire: the law sets no last day. */
export function unsubscribeLinks(config: AppSecret & Pick<Config, "baseUrl">) {
  const secret = keyOf(config);
  return (propertyId: string, sendId: string): string =>
    `${config.baseUrl}/u/${signLink(secret, PURPOSE, { p: packId(propertyId), s: packId(sendId) })}`;
}

/** The link to the preference page of all channels, with the same token. */
export function preferencesUrl(unsubscribeUrl: string): string {
  return unsubscribeUrl.replace(/\/u\/(?=[^/]*$)/, "/preferences/");
}

/** The property and the send that a link's token names; null for a token that is not ours. */
export function readUnsubscribeToken(
  config: AppSecret,
  token: string,
): { propertyId: string; sendId: string } | null {
  const payload = readLink(keyOf(config), PURPOSE, token);
  return payload && { propertyId: unpackId(String(payload.p)), sendId: unpackId(String(payload.s)) };
}

function keyOf({ appSecret }: AppSecret): KeyObject {
  return createSecretKey(Buffer.from(appSecret));
}
