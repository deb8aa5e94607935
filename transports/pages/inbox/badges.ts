import { Fault } from "#runtime/faults.ts";
import type { Service } from "#runtime/funnel/service.ts";
import { countInboxes, type InboxCounts } from "#tools/inbox/inbox.ts";
import { openTo } from "#tools/player-links/visitor.ts";
import type { Visit } from "#transports/pages/player/visit.ts";

/** One count a property serves all its open streams, so their number costs little. */
const COUNT_EVERY_MS = 3_000;
/** Keeps proxies from closing a silent stream. */
const SILENCE_MS = 20_000;
/** A client opens a new one: its token may have ended. */
const LONGEST_MS = 10 * 60_000;
const MOST_STREAMS = 5_000;
const MOST_OF_ONE = 4;

interface Stream {
  propertyId: string;
  playerId: string;
  last: string;
  spokeAt: number;
  openedAt: number;
  write(text: string): void;
  end(): void;
}

/** The open streams of inbox badges, counted together. */
export interface Badges {
  open(visit: Visit, stream: Pick<Stream, "write" | "end">): () => void;
  close(): void;
}

export function openBadges(service: Service, every = COUNT_EVERY_MS): Badges {
  const streams = new Set<Stream>();
  let timer: NodeJS.Timeout | undefined;
  const end = (stream: Stream): void => {
    if (streams.delete(stream)) stream.end();
    if (streams.size > 0) return;
    clearTimeout(timer);
    timer = undefined;
  };
  const round = async (): Promise<void> => {
    const now = performance.now();
    for (const stream of streams) if (now - stream.openedAt > LONGEST_MS) end(stream);
    const byProperty = Map.groupBy(streams, ({ propertyId }) => propertyId);
    for (const [propertyId, those] of byProperty) {
      await tell(service, propertyId, those, end).catch((error: unknown) =>
        service.log.warn({ err: error }, "inbox badges not counted; tried again"),
      );
    }
    if (streams.size > 0) timer = setTimeout(() => void round(), every);
  };
  return {
    open({ property, player }, { write, end: close }) {
      const own = [...streams].filter(({ playerId }) => playerId === player.id);
      if (streams.size >= MOST_STREAMS) throw new Fault("unavailable", { retryAfter: 60 });
      if (own.length >= MOST_OF_ONE) end(own[0]!);
      const now = performance.now();
      const about = { propertyId: property.id, playerId: player.id, last: "", spokeAt: now, openedAt: now };
      const stream: Stream = { ...about, write, end: close };
      streams.add(stream);
      timer ??= setTimeout(() => void round(), 0);
      return () => end(stream);
    },
    close() {
      for (const stream of streams) end(stream);
    },
  };
}

/** Tells each stream its counts when they have changed. Ends those of players to whom the inbox is closed now. */
async function tell(
  service: Service,
  propertyId: string,
  streams: readonly Stream[],
  end: (stream: Stream) => void,
): Promise<void> {
  const property = await service.directory.property(propertyId);
  if (!property) return streams.forEach(end);
  const players = [...new Set(streams.map(({ playerId }) => playerId))];
  const { counts, open } = await service.db.asProperty(
    property.id,
    async (sql) => ({
      counts: await countInboxes({ sql, property }, players),
      open: await openTo({ sql, property }, "inbox", players),
    }),
    { readOnly: true },
  );
  for (const stream of streams) {
    if (open.has(stream.playerId)) say(stream, counts.get(stream.playerId));
    else end(stream);
  }
}

function say(stream: Stream, counts: InboxCounts = { unseen: 0, unread: 0 }): void {
  const now = performance.now();
  const text = `event: badge\ndata: ${JSON.stringify(counts)}\n\n`;
  const isNews = text !== stream.last;
  if (!isNews && now - stream.spokeAt < SILENCE_MS) return;
  stream.write(isNews ? text : ":\n\n");
  stream.last = text;
  stream.spokeAt = now;
}

/** A visit's badge as server-sent events. */
export function openStream(badges: Badges, visit: Visit): Response {
  let leave = (): void => {};
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      const encoder = new TextEncoder();
      leave = badges.open(visit, {
        write: (text) => controller.enqueue(encoder.encode(text)),
        end: () => controller.close(),
      });
    },
    cancel: () => leave(),
  });
  return new Response(body, {
    headers: {
      "content-type": "text/event-stream",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
      "x-content-type-options": "nosniff",
    },
  });
}
