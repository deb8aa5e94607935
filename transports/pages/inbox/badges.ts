import type { Service } from "#runtime/funnel/service.ts";
import { countInboxes } from "#tools/inbox/inbox.ts";
import { openTo } from "#tools/player-links/visitor.ts";
import {
  type EventStream,
  type EventStreams,
  openEventStreams,
  say,
  streamAnswer,
} from "#transports/http/event-streams.ts";
import type { Visit } from "#transports/pages/player/visit.ts";

const COUNT_EVERY_MS = 3_000;
const SILENCE_MS = 20_000;

interface Subject {
  propertyId: string;
  playerId: string;
}

/** The open streams of inbox badges, counted together. */
export type Badges = EventStreams<Subject>;

export function openBadges(service: Service, everyMs = COUNT_EVERY_MS): Badges {
  return openEventStreams<Subject>({
    everyMs,
    silenceMs: SILENCE_MS,
    longestMs: 10 * 60_000,
    most: 5_000,
    mostOfOne: 4,
    ownerOf: ({ playerId }) => playerId,
    tell: (streams, end) => tell(service, streams, end),
    log: service.log,
  });
}

type Stream = EventStream<Subject>;

/** Tells each stream its counts when they have changed. Ends those of players to whom the inbox is closed now. */
async function tell(
  service: Service,
  streams: readonly Stream[],
  end: (stream: Stream) => void,
): Promise<void> {
  const property = await service.directory.property(streams[0]!.subject.propertyId);
  if (!property) return streams.forEach(end);
  const players = [...new Set(streams.map(({ subject }) => subject.playerId))];
  const { counts, open } = await service.db.asProperty(
    property.id,
    async (sql) => ({
      counts: await countInboxes({ sql, property }, players),
      open: await openTo({ sql, property }, "inbox", players),
    }),
    { readOnly: true },
  );
  for (const stream of streams) {
    const { playerId } = stream.subject;
    if (!open.has(playerId)) {
      end(stream);
      continue;
    }
    const event = `event: badge\ndata: ${JSON.stringify(counts.get(playerId) ?? { unseen: 0, unread: 0 })}\n\n`;
    say(stream, { event, seen: event, silenceMs: SILENCE_MS });
  }
}

/** A visit's badge as server-sent events. */
export function openStream(badges: Badges, { property, player }: Visit): Response {
  const subject = { propertyId: property.id, playerId: player.id };
  return streamAnswer((sink) => badges.open(subject, sink));
}
