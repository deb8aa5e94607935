import { html } from "hono/html";
import { writeAsService } from "#runtime/funnel/system-work.ts";
import { networkOf } from "#runtime/limits/rate-limit.ts";
import { openShare, readShareToken } from "#tools/shares/links.ts";
import { themeOf } from "#tools/themes/theme.ts";
import { isMachine } from "#tools/tracking/engagement.ts";
import { ADDRESS_LIMIT, addressOf } from "#transports/http/admission.ts";
import { playerPage } from "#transports/pages/frame/player-page.ts";
import { tokenOf, unknownLink } from "#transports/pages/player/player-link.ts";
import type { Mounting } from "#transports/pages/player/visit.ts";
import { speechOf } from "#transports/pages/words/words.ts";

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
    return playerPage(
      { property, theme, speech },
      {
        heading: thing.title,
        content: html`<p>${thing.text}</p>`,
        card: { ...thing, site: theme.name ?? property.name },
        headers: { "x-robots-tag": "noindex" },
      },
    );
  });
}
