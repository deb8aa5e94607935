import { Fault } from "#runtime/faults.ts";
import type { Service } from "#runtime/funnel/service.ts";
import { shownVersions, versionsOf, type Watched } from "#tools/jobs/versions.ts";

/** One look a property serves all its open pages, so their number costs little. */
const LOOK_EVERY_MS = 1_000;
/** Keeps proxies from closing a silent stream. */
const SILENCE_MS = 15_000;
/** The browser opens a new one, and its session is checked again. */
const LONGEST_MS = 5 * 60_000;
const MOST_STREAMS = 2_000;
const MOST_OF_ONE = 12;

/** The records and lists that a page shows. */
export interface Subject {
  propertyId: string;
  userId: string;
  ids: readonly string[];
  lists: readonly Watched[];
}

interface Stream extends Subject {
  last: string | null;
  spokeAt: number;
  openedAt: number;
  write(text: string): void;
  end(): void;
}

/** The open pages, told when what they show has changed. */
export interface Live {
  open(subject: Subject, stream: Pick<Stream, "write" | "end">): () => void;
  close(): void;
}

/** Looks once a second for all open pages of this process, and not at all without one. */
export function openLive(service: Service, every = LOOK_EVERY_MS): Live {
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
    for (const [propertyId, those] of Map.groupBy(streams, (stream) => stream.propertyId)) {
      await tell(service, propertyId, those).catch((error: unknown) =>
        service.log.debug({ err: error, propertyId }, "a look for open pages failed; the next one follows"),
      );
    }
    timer = streams.size > 0 ? setTimeout(() => void round(), every) : undefined;
  };
  return {
    open(subject, { write, end: close }) {
      if (streams.size >= MOST_STREAMS) throw new Fault("unavailable", { retryAfter: 60 });
      const own = [...streams].filter(({ userId }) => userId === subject.userId);
      if (own.length >= MOST_OF_ONE) end(own[0]!);
      const now = performance.now();
      const stream: Stream = { ...subject, last: null, spokeAt: now, openedAt: now, write, end: close };
      streams.add(stream);
      timer ??= setTimeout(() => void round(), 0);
      return () => end(stream);
    },
    close() {
      for (const stream of streams) end(stream);
    },
  };
}

async function tell(service: Service, propertyId: string, streams: readonly Stream[]): Promise<void> {
  const ids = [...new Set(streams.flatMap((stream) => stream.ids))];
  const lists = [...new Set(streams.flatMap((stream) => stream.lists))];
  const versions = await service.db.asProperty(
    propertyId,
    async (sql) => {
      const resources = ids.length > 0 ? await versionsOf(sql, propertyId, ids) : new Map<string, string>();
      return { resources, others: await shownVersions(sql, propertyId, { ids, lists }) };
    },
    { readOnly: true },
  );
  for (const stream of streams) say(stream, seenBy(stream, versions));
}

/** All versions of what the page shows, as one text. */
function seenBy(
  { ids, lists }: Stream,
  { resources, others }: { resources: ReadonlyMap<string, string>; others: ReadonlyMap<string, string> },
): string {
  const named = ids.map((id) => [
    resources.get(`campaign://${id}`),
    resources.get(`job://${id}`),
    others.get(id),
  ]);
  return JSON.stringify([named, lists.map((name) => others.get(name))]);
}

/** The first look is the page as it was read a moment ago, so it is told too: a change in between is not lost. */
function say(stream: Stream, seen: string): void {
  const now = performance.now();
  const isNews = seen !== stream.last;
  if (!isNews && now - stream.spokeAt < SILENCE_MS) return;
  stream.write(isNews ? "event: changed\ndata: \n\n" : ":\n\n");
  stream.last = seen;
  stream.spokeAt = now;
}
