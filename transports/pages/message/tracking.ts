import type { Service } from "#runtime/funnel/service.ts";
import { writeAsService } from "#runtime/funnel/system-work.ts";
import { networkOf } from "#runtime/limits/rate-limit.ts";
import type { Property } from "#runtime/operation/property.ts";
import { isMachine } from "#tools/tracking/engagement.ts";
import { readClickToken, readOpenToken } from "#tools/tracking/tokens.ts";
import { linkAddress } from "#tools/tracking/track-mail.ts";
import { ADDRESS_LIMIT, addressOf } from "#transports/http/admission.ts";
import type { HttpContext } from "#transports/http/handlers.ts";
import { UNSEEN } from "#transports/pages/frame/page.ts";
import { strangerPage } from "#transports/pages/frame/player-page.ts";
import { failedPage, tokenOf } from "#transports/pages/player/player-link.ts";
import type { Mounting } from "#transports/pages/player/visit.ts";
import { speechOf } from "#transports/pages/words/words.ts";
import { clickRecorder } from "./clicks.ts";
import type { OpenCounter } from "./opens.ts";

/** Addresses of links that are kept in memory, before all are dropped. */
const MAX_KNOWN = 20_000;

/** Mounts the addresses of a message's links and picture. They change nothing but counts. */
export function mountTracking({ app, control, service }: Mounting, opens: OpenCounter): void {
  const known = new Map<string, string>();
  const recordClick = clickRecorder(service);
  app.get("/o/:token", async (c) => {
    const token = readOpenToken(service.config, tokenOf(c));
    // The setting is read now: an open while tracking is off is not counted later. Counting needs the database.
    const property = token && (await service.directory.property(token.propertyId).catch(() => null));
    if (token && property?.tracking === "on") opens.count(token, machineOf(c));
    return picture();
  });
  app.get("/c/:token", async (c) => {
    const token = readClickToken(service.config, tokenOf(c));
    const property = token && (await service.directory.property(token.propertyId));
    if (!token || !property) return noLink(c);
    const address = networkOf(addressOf(control, c.env.incoming) ?? "unknown");
    // A program may follow links without end: above the limit of its address they are not counted.
    const counted =
      property.tracking === "on" && control.limiter.take(`clicks:${address}`, ADDRESS_LIMIT).allowed;
    const key = `${token.propertyId}${token.linkId}`;
    const url = token.url ?? known.get(key) ?? (await addressOfLink(service, property, token.linkId));
    if (url === null) return noLink(c);
    if (url === undefined) return failedPage(speechOf(c.req.header("accept-language")), { status: 503 });
    if (token.url === null) {
      if (known.size >= MAX_KNOWN) known.clear();
      known.set(key, url);
    }
    if (counted) {
      const { sendId, linkId } = token;
      const click = { kind: "clicked", sendId, linkId, machine: machineOf(c) } as const;
      // The link leads on also where the click cannot be counted.
      await recordClick(property, click).catch((error: unknown) =>
        service.log.warn({ err: error, sendId }, "click not counted"),
      );
    }
    return redirect(url);
  });
}

/** The link's address. Null: there is no such link; undefined: the database cannot be asked now. */
async function addressOfLink(
  service: Service,
  property: Property,
  linkId: string,
): Promise<string | null | undefined> {
  try {
    return await writeAsService(service, property, (context) => linkAddress(context, linkId));
  } catch (error) {
    service.log.warn({ err: error, linkId }, "link not looked up");
    return undefined;
  }
}

function machineOf(c: HttpContext): boolean {
  return isMachine(c.req.method, c.req.header("user-agent"));
}

// The smallest transparent GIF: 43 bytes.
const GIF = Uint8Array.from(
  Buffer.from("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7", "base64"),
);

function picture(): Response {
  return new Response(GIF, { headers: { ...UNSEEN, "content-type": "image/gif" } });
}

function redirect(url: string): Response {
  return new Response(null, { status: 302, headers: { ...UNSEEN, location: new URL(url).href } });
}

function noLink(c: HttpContext): Promise<Response> {
  const speech = speechOf(c.req.header("accept-language"));
  const { say } = speech;
  return strangerPage(speech, { heading: say("link_nowhere"), text: say("link_nowhere_help"), status: 404 });
}
