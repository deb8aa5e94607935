import { writeAsService } from "#runtime/funnel/system-work.ts";
import { networkOf } from "#runtime/limits/rate-limit.ts";
import { openShare, readShareToken } from "#tools/shares/links.ts";
import { isMachine } from "#tools/tracking/engagement.ts";
import { ADDRESS_LIMIT, addressOf } from "#transports/http/admission.ts";
import { type Mounting, tokenOf } from "./message-link.ts";
import { escapeHtml, page } from "./page.ts";

/** Mounts the page behind a shared link. It changes nothing but counts. */
export function mountShares({ app, control, service }: Mounting): void {
  app.get("/s/:token", async (c) => {
    const token = readShareToken(service.config, tokenOf(c));
    const property = token && (await service.directory.property(token.propertyId));
    if (!token || !property) return noLink();
    const address = networkOf(addressOf(control, c.env.incoming) ?? "unknown");
    const counted =
      property.tracking === "on" && control.limiter.take(`shares:${address}`, ADDRESS_LIMIT).allowed;
    const machine = isMachine(c.req.method, c.req.header("user-agent"));
    const thing = await writeAsService(service, property, (context) =>
      openShare(context, token.shareId, { counted, machine }),
    );
    if (!thing) return noLink();
    const [title, text] = [escapeHtml(thing.title), escapeHtml(thing.text)];
    return page(
      thing.title,
      `<p class="from">${escapeHtml(property.name)}</p><h1>${title}</h1><p>${text}</p>`,
      200,
      { "cache-control": "no-store", "x-robots-tag": "noindex" },
    );
  });
}

function noLink(): Response {
  return page(
    "Link not valid",
    "<h1>This link leads nowhere</h1><p>What was shared is not there any more.</p>",
    404,
  );
}
