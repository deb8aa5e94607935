import { randomUUID } from "node:crypto";
import { loggedFault } from "#runtime/faults.ts";
import { PLAYER_PAGES, type PlayerPage } from "#tools/player-links/links.ts";
import type { HttpContext } from "#transports/http/handlers.ts";
import { type House, strangerPage } from "#transports/pages/frame/player-page.ts";
import { type Speech, speechOf } from "#transports/pages/words/words.ts";
import { noteVisit } from "./device.ts";
import { type Mounting, type Visit, visitBy } from "./visit.ts";

/** A visit of a player to a page of their own. */
export interface PageVisit extends Visit, House {
  c: HttpContext;
  /** The address of the page, with its token. */
  here: string;
}

/** The token in a link's address, without a bracket, full stop or slash that a mail program added. */
export function tokenOf(c: HttpContext): string {
  return /^[\w-]+\.[\w-]+/.exec(c.req.param("token") ?? "")?.[0] ?? "";
}

/**
 * Mounts an address below a player's page, such as "" or "/:id". A link that is not ours, has ended, or whose player is
 * gone gets one and the same page.
 */
export function mountPlayerLink(
  mounting: Mounting,
  to: PlayerPage,
  method: "get" | "post",
  below: string,
  answer: (visit: PageVisit) => Promise<Response>,
): void {
  const { path } = PLAYER_PAGES[to];
  mounting.app[method](`${path}/:token${below}`, (c) => answerVisit(mounting, to, c, answer));
}

/** Answers the request of a link's holder. */
export async function answerVisit(
  mounting: Mounting,
  to: PlayerPage,
  c: HttpContext,
  answer: (visit: PageVisit) => Promise<Response>,
): Promise<Response> {
  const accepted = c.req.header("accept-language");
  const token = tokenOf(c);
  try {
    const visit = await visitBy(mounting, to, c, token);
    if (!visit) return unknownLink(speechOf(accepted));
    const speech = speechOf(visit.player.language, accepted, visit.theme.language);
    const response = await answer({ ...visit, speech, c, here: `${PLAYER_PAGES[to].path}/${token}` });
    const cookie =
      PLAYER_PAGES[to].namesDevice && c.req.method === "GET" && (await noteVisit(mounting, visit, c));
    if (cookie) response.headers.append("set-cookie", cookie);
    return response;
  } catch (error) {
    const fault = loggedFault(mounting.service.log, error, { path: to, requestId: randomUUID() });
    return fault.status === 404 ? unknownLink(speechOf(accepted)) : failedPage(speechOf(accepted), fault);
  }
}

export function unknownLink({ say, ...rest }: Speech): Promise<Response> {
  const page = { heading: say("link_invalid"), text: say("link_invalid_help"), status: 404 };
  return strangerPage({ say, ...rest }, page);
}

/** Limits of a minute end in one, and those of a day tomorrow. */
export function failedPage(
  { say, ...rest }: Speech,
  { status, retryAfter = 60 }: { status: number; retryAfter?: number | undefined },
): Promise<Response> {
  const text = say(retryAfter > 60 ? "failed_tomorrow" : "failed_minute");
  return strangerPage({ say, ...rest }, { heading: say("failed"), text, status });
}
