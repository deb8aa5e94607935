import { createSecretKey } from "node:crypto";
import type { AppSecret, Config } from "#runtime/config.ts";
import { packId, readLink, signLink, unpackId } from "#runtime/secrets/links.ts";

const CLICK = "click";
const OPEN = "open";

export interface OpenToken {
  propertyId: string;
  sendId: string;
}

export interface ClickToken extends OpenToken {
  linkId: string;
  /** The address, where this recipient has an own one. */
  url: string | null;
}

/** Makes the tracked links of a property's messages, and the picture that shows an opening. */
export function trackedLinks(config: AppSecret & Pick<Config, "baseUrl">, propertyId: string) {
  const secret = keyOf(config);
  const p = packId(propertyId);
  return {
    click(sendId: string, linkId: string, url?: string): string {
      const payload = { p, s: packId(sendId), l: packId(linkId), ...(url !== undefined && { u: url }) };
      return `${config.baseUrl}/c/${signLink(secret, CLICK, payload)}`;
    },
    open: (sendId: string): string =>
      `${config.baseUrl}/o/${signLink(secret, OPEN, { p, s: packId(sendId) })}`,
  };
}

/** The contents of a link's token; null for a token that is not ours. */
export function readClickToken(config: AppSecret, token: string): ClickToken | null {
  const payload = readLink(keyOf(config), CLICK, token);
  if (!payload) return null;
  const url = typeof payload.u === "string" ? payload.u : null;
  return { ...openOf(payload), linkId: unpackId(String(payload.l)), url };
}

/** The contents of a picture's token; null for a token that is not ours. */
export function readOpenToken(config: AppSecret, token: string): OpenToken | null {
  const payload = readLink(keyOf(config), OPEN, token);
  return payload && openOf(payload);
}

function openOf({ p, s }: Record<string, unknown>): OpenToken {
  return { propertyId: unpackId(String(p)), sendId: unpackId(String(s)) };
}

function keyOf({ appSecret }: AppSecret) {
  return createSecretKey(Buffer.from(appSecret));
}
