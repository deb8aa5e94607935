import { createSecretKey, type KeyObject } from "node:crypto";
import { z } from "zod";
import type { AppSecret, Config } from "#runtime/config.ts";
import { packId, readLink, signLink, unpackId } from "#runtime/secrets/links.ts";
import { readTimedToken, timedToken } from "#runtime/secrets/timed-links.ts";

/**
 * The pages that a player's link opens: the path of each, whether barred players may open it, and whether it names the
 * browser, by which referrals of oneself are found.
 */
export const PLAYER_PAGES = {
  inbox: { path: "/inbox", forBarred: false, namesDevice: true },
  game: { path: "/games", forBarred: false, namesDevice: true },
  push: { path: "/push", forBarred: false, namesDevice: false },
  // The law wants a way to stop messages, also for a player who has excluded themselves.
  preferences: { path: "/preferences", forBarred: true, namesDevice: false },
} as const;
export type PlayerPage = keyof typeof PLAYER_PAGES;
export const PageName = z.enum(Object.keys(PLAYER_PAGES) as [PlayerPage, ...PlayerPage[]]);

/** The days after its sending in which a message's link opens its page. */
export const MESSAGE_LINK_DAYS = 30;

/** The player of a link, by their id, or as the recipient of a send. */
export type LinkSubject = { propertyId: string } & ({ playerId: string } | { sendId: string });

/** The token of a link for one player, property and page, until a time (Unix seconds). */
export function playerToken(
  config: AppSecret,
  to: PlayerPage,
  { propertyId, playerId, until }: { propertyId: string; playerId: string; until: number },
): string {
  const payload = { p: packId(propertyId), u: packId(playerId), e: until };
  return signLink(keyOf(config), purposeOf(to), payload);
}

/** The variables of messages that are links to a player's own page. */
const PAGE_VARIABLES = { inbox_url: "inbox", game_url: "game" } as const;
type PageVariable = keyof typeof PAGE_VARIABLES;
export type PageLinks = Partial<Record<PageVariable, string>>;

/**
 * Makes those links of a message that its template names, among them `{{ game_url }}`. They name the send: it knows its
 * player and its time.
 */
export function messageLinks(
  config: AppSecret & Pick<Config, "baseUrl">,
  propertyId: string,
  named: readonly string[],
): (sendId: string) => PageLinks {
  const secret = keyOf(config);
  const p = packId(propertyId);
  const wanted = Object.entries(PAGE_VARIABLES).filter(([name]) => named.includes(name));
  return (sendId) =>
    Object.fromEntries(
      wanted.map(([name, to]) => {
        const token = signLink(secret, purposeOf(to), { p, s: packId(sendId) });
        return [name, `${config.baseUrl}${PLAYER_PAGES[to].path}/${token}`];
      }),
    );
}

/** A token for the casino's own app, which acts for the player on one page for minutes. */
export function subjectToken(
  config: AppSecret,
  to: PlayerPage,
  now: number,
  { propertyId, playerId }: { propertyId: string; playerId: string },
): { token: string; expires_at: string } {
  return timedToken(config, `subject ${to}`, now, { propertyId, playerId });
}

/** The player whom a link or a subject token names for this page; null for any other token. `now` in milliseconds. */
export function readPlayerToken(
  config: AppSecret,
  to: PlayerPage,
  now: number,
  token: string,
): LinkSubject | null {
  const payload = readLink(keyOf(config), purposeOf(to), token);
  if (!payload) return readTimedToken<LinkSubject>(config, `subject ${to}`, now, token);
  const propertyId = unpackId(String(payload.p));
  if (typeof payload.s === "string") return { propertyId, sendId: unpackId(payload.s) };
  if (typeof payload.e !== "number" || payload.e * 1000 <= now) return null;
  return { propertyId, playerId: unpackId(String(payload.u)) };
}

const UNSUBSCRIBE = "unsubscribe";

/** Makes the unsubscribe links of messages, which need no sign-in. They never expire: the law sets no last day. */
export function unsubscribeLinks(config: AppSecret & Pick<Config, "baseUrl">) {
  const secret = keyOf(config);
  return (propertyId: string, sendId: string): string =>
    `${config.baseUrl}/u/${signLink(secret, UNSUBSCRIBE, { p: packId(propertyId), s: packId(sendId) })}`;
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
  const payload = readLink(keyOf(config), UNSUBSCRIBE, token);
  return payload && { propertyId: unpackId(String(payload.p)), sendId: unpackId(String(payload.s)) };
}

function purposeOf(to: PlayerPage): string {
  return `player ${to}`;
}

function keyOf({ appSecret }: AppSecret): KeyObject {
  return createSecretKey(Buffer.from(appSecret));
}
