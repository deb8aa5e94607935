import { html } from "hono/html";
import { writeAsService } from "#runtime/funnel/system-work.ts";
import { networkOf } from "#runtime/limits/rate-limit.ts";
import { deviceHash, deviceMark } from "#tools/shares/devices.ts";
import { openShare, readShareToken, type SharedThing } from "#tools/shares/links.ts";
import { shownName, themeOf } from "#tools/themes/theme.ts";
import { isMachine } from "#tools/tracking/engagement.ts";
import { ADDRESS_LIMIT, addressOf } from "#transports/http/admission.ts";
import { type House, playerPage } from "#transports/pages/frame/player-page.ts";
import { emblemOf } from "#transports/pages/games/stage.ts";
import { type Device, deviceOf } from "#transports/pages/player/device.ts";
import { tokenOf, unknownLink } from "#transports/pages/player/player-link.ts";
import type { Mounting } from "#transports/pages/player/visit.ts";
import { type Speech, speechOf } from "#transports/pages/words/words.ts";

/** Mounts the page behind a shared link. It changes nothing but counts. */
export function mountShares({ app, control, service }: Mounting): void {
  app.get("/s/:token", async (c) => {
    const accepted = c.req.header("accept-language");
    const token = readShareToken(service.config, tokenOf(c));
    const property = token && (await service.directory.property(token.propertyId));
    if (!token || !property) return unknownLink(speechOf(accepted));
    const address = networkOf(addressOf(control, c.env.incoming) ?? "unknown");
    const counted =
      property.tracking === "on" && control.limiter.take(`shares:${address}`, ADDRESS_LIMIT).allowed;
    const machine = isMachine(c.req.method, c.req.header("user-agent"));
    const opened = await writeAsService(service, property, async (context) => ({
      thing: await openShare(context, token.shareId, { counted, machine }),
      theme: await themeOf(context),
    }));
    const { thing, theme } = opened;
    if (!thing) return unknownLink(speechOf(accepted));
    const speech = speechOf(accepted, theme.language);
    const device = deviceOf(c, service.config, property);
    return sharePage({ property, theme, speech }, thing, { shareId: token.shareId, device });
  });
}

interface Click {
  shareId: string;
  device: Device | null;
}

/** The words of the thing, and the way on to the casino's own page for people who join. */
function sharePage(house: House, thing: SharedThing, click: Click): Promise<Response> {
  const { property, theme, speech } = house;
  const name = shownName(theme, property);
  const title = thing.title ?? name;
  const text = thing.text ?? textOf(thing, speech, name);
  const way = theme.join_url === null ? null : joinAddress(theme.join_url, house, click);
  const words = thing.kind === "game" ? speech.say("share_play") : speech.say("share_visit", { name });
  const picture = thing.game ? emblemOf({ ...thing.game, prizes: { length: thing.game.prizes } }) : "";
  return playerPage(house, {
    heading: title,
    content: html`<article class="game">${picture}<h1>${title}</h1><p class="lead">${text}</p>${way ? html`<a class="button" href="${way}" rel="noreferrer">${words}</a>` : ""}</article>`,
    form: "list",
    styles: ["games.css"],
    card: { title, text, site: name },
    headers: { "x-robots-tag": "noindex", ...(way && click.device && { "set-cookie": click.device.cookie }) },
  });
}

function textOf({ kind }: SharedThing, { say }: Speech, name: string): string {
  if (kind === "over") return say("share_over");
  return say(kind === "game" ? "share_game" : "shared", { name });
}

/** The casino's page with the share's id and the browser's mark, for record_referral after a sign-up. */
function joinAddress(url: string, { property }: House, { shareId, device }: Click): string {
  const address = new URL(url);
  address.searchParams.set("share", shareId);
  if (device) address.searchParams.set("device", deviceMark(deviceHash(property, device.name), shareId));
  return address.href;
}
