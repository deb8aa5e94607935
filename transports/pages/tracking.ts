import type { Property } from "#runtime/directory.ts";
import type { Service } from "#runtime/invoke.ts";
import { writeAsService } from "#runtime/own-writes.ts";
import { networkOf } from "#runtime/rate-limit.ts";
import { recordEngagement } from "#tools/tracking/engagement.ts";
import { linkAddress } from "#tools/tracking/link-address.ts";
import { isMachine } from "#tools/tracking/machine.ts";
import { type ClickToken, readClickToken, readOpenToken } from "#tools/tracking/tokens.ts";
import { ADDRESS_LIMIT, addressOf, type Gate } from "../gate.ts";
import type { Http, HttpContext } from "../guarded.ts";
import { tokenOf } from "./message-link.ts";
import type { OpenCounter } from "./opens.ts";
import { page } from "./page.ts";

// Of a program that asks for its whole life, or of one address with many readers, the rest is not counted.
const MOST_KNOWN = 20_000;

/** Where the links and the picture of a message lead. Neither changes anything but counts. */
export function mountTracking(app: Http, gate: Gate, service: Service, opens: OpenCounter): void {
  const known = new Map<string, string>();
  app.get("/o/:token", async (c) => {
    const token = readOpenToken(service.config, tokenOf(c));
    // Asked now: what was opened while nothing is counted is not counted later. No database, no count.
    const property = token && (await service.directory.property(token.propertyId).catch(() => null));
    if (token && property?.tracking === "on") opens.count(token, machineOf(c));
    return picture();
  });
  app.get("/c/:token", async (c) => {
    const token = readClickToken(service.config, tokenOf(c));
    const property = token && (await service.directory.property(token.propertyId));
    if (!token || !property) return noLink();
    const address = networkOf(addressOf(gate, c.env.incoming) ?? "unknown");
    const counted =
      property.tracking === "on" && gate.limiter.take(`clicks:${address}`, ADDRESS_LIMIT).allowed;
    const place = `${token.propertyId}${token.linkId}`;
    const before = token.url ?? known.get(place) ?? null;
    const url = await follow(service, property, token, { before, counted, machine: machineOf(c) });
    if (url === null) return noLink();
    if (url === undefined) return later();
    if (token.url === null) {
      if (known.size >= MOST_KNOWN) known.clear();
      known.set(place, url);
    }
    return redirect(url);
  });
}

interface Click {
  /** Where the link leads, as far as that is known without the database. */
  before: string | null;
  counted: boolean;
  machine: boolean;
}

/**
 * Writes the click down before the player goes on. Who cannot be counted goes on all the same. Null: the link
 * leads nowhere; undefined: nobody can tell now.
 */
async function follow(
  service: Service,
  property: Property,
  { sendId, linkId }: ClickToken,
  { before, counted, machine }: Click,
): Promise<string | null | undefined> {
  if (before !== null && !counted) return before;
  try {
    return await writeAsService(service, property, async (context) => {
      const url = before ?? (await linkAddress(context, linkId));
      if (url !== null && counted)
        await recordEngagement(context, [{ kind: "clicked", sendId, linkId, machine }]);
      return url;
    });
  } catch (error) {
    service.log.warn({ err: error, sendId }, "click not counted");
    return before ?? undefined;
  }
}

function machineOf(c: HttpContext): boolean {
  return isMachine(c.req.method, c.req.header("user-agent"));
}

const UNSEEN = { "cache-control": "no-store", "referrer-policy": "no-referrer", "x-robots-tag": "noindex" };
// The smallest picture that nobody sees: 43 bytes.
const GIF = Uint8Array.from(
  Buffer.from("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7", "base64"),
);

function picture(): Response {
  return new Response(GIF, { headers: { ...UNSEEN, "content-type": "image/gif" } });
}

function redirect(url: string): Response {
  return new Response(null, { status: 302, headers: { ...UNSEEN, location: new URL(url).href } });
}

function noLink(): Response {
  return page(
    "Link not valid",
    "<h1>This link leads nowhere</h1><p>It may have been cut off on its way. Open it from the message itself once more.</p>",
    404,
  );
}

function later(): Response {
  return page("Try again", "<h1>That did not work</h1><p>Please try the link again in a minute.</p>", 503);
}
