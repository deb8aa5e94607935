import { Fault } from "#runtime/faults.ts";
import type { Log } from "#runtime/log.ts";

/** The open end of one client's stream. */
interface Sink {
  write(text: string): void;
  end(): void;
}

export interface EventStream<S> extends Sink {
  subject: S;
  /** The last notice to the client. */
  last: string | null;
  spokeAt: number;
  openedAt: number;
}

interface Rules<S> {
  /** Milliseconds between two looks; only while a stream is open. */
  everyMs: number;
  /** A comment after this time keeps proxies from closing a silent stream. */
  silenceMs: number;
  /** The client opens a new one then, and its credential is checked again. */
  longestMs: number;
  most: number;
  /** A further stream of one owner ends the oldest. */
  mostOfOne: number;
  ownerOf(subject: S): string;
  /** Tells the streams of one property. One look serves all, so their number costs little. */
  tell(streams: readonly EventStream<S>[], end: (stream: EventStream<S>) => void): Promise<void>;
  log: Log;
}

/** Streams of server-sent events about records of properties. */
export interface EventStreams<S> {
  /** Answers the function that leaves the stream. Throws `unavailable` where too many are open, and once it closes. */
  open(subject: S, sink: Sink): () => void;
  /** Looks now, not at the next turn. */
  look(): void;
  /** Ends the streams, opens no new one, and waits for the look that is under way. */
  close(): Promise<void>;
}

export function openEventStreams<S extends { propertyId: string }>(rules: Rules<S>): EventStreams<S> {
  const streams = new Set<EventStream<S>>();
  let closed = false;
  const end = (stream: EventStream<S>): void => {
    if (streams.delete(stream)) stream.end();
    if (streams.size === 0) looks.pause();
  };
  const look = async (): Promise<void> => {
    const now = performance.now();
    for (const stream of streams) if (now - stream.openedAt > rules.longestMs) end(stream);
    for (const [propertyId, those] of Map.groupBy(streams, ({ subject }) => subject.propertyId)) {
      await rules
        .tell(those, end)
        .catch((error: unknown) =>
          rules.log.debug({ err: error, propertyId }, "a look for open streams failed; the next one follows"),
        );
    }
  };
  const looks = openLooks(look, rules.everyMs, () => streams.size > 0);
  return {
    open(subject, sink) {
      if (closed || streams.size >= rules.most) throw new Fault("unavailable", { retryAfter: 60 });
      const owner = rules.ownerOf(subject);
      const own = [...streams].filter((stream) => rules.ownerOf(stream.subject) === owner);
      if (own.length >= rules.mostOfOne) end(own[0]!);
      const now = performance.now();
      const stream: EventStream<S> = {
        subject,
        last: null,
        spokeAt: now,
        openedAt: now,
        write: (text) => sink.write(text),
        end: () => sink.end(),
      };
      streams.add(stream);
      looks.begin();
      return () => end(stream);
    },
    look: looks.now,
    async close() {
      closed = true;
      for (const stream of streams) end(stream);
      await looks.ended();
    },
  };
}

/** Looks again and again while there is somebody to tell, once at a time. */
function openLooks(look: () => Promise<void>, everyMs: number, isWatched: () => boolean) {
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> | null = null;
  let isAskedAgain = false;
  const round = async (): Promise<void> => {
    do {
      isAskedAgain = false;
      await look();
    } while (isAskedAgain);
    looking = null;
    timer = isWatched() ? setTimeout(start, everyMs) : undefined;
  };
  const start = (): void => {
    looking = round();
  };
  const pause = (): void => {
    clearTimeout(timer);
    timer = undefined;
  };
  const now = (): void => {
    isAskedAgain = looking !== null;
    if (looking || !isWatched()) return;
    clearTimeout(timer);
    timer = setTimeout(start, 0);
  };
  return {
    now,
    pause,
    /** Looks now, unless the next look is planned. */
    begin: (): void => {
      if (timer === undefined) now();
    },
    ended: async (): Promise<void> => {
      await looking;
    },
  };
}

/** Writes the event where it is news for the client, by `seen`; after a long silence a comment. */
export function say<S>(
  stream: EventStream<S>,
  { event, seen, silenceMs }: { event: string; seen: string; silenceMs: number },
): void {
  const now = performance.now();
  const isNews = seen !== stream.last;
  if (!isNews && now - stream.spokeAt < silenceMs) return;
  stream.write(isNews ? event : ":\n\n");
  stream.last = seen;
  stream.spokeAt = now;
}

/** A stream as an answer; `open` gets its sink, and answers the function that leaves it. */
export function streamAnswer(open: (sink: Sink) => () => void): Response {
  let leave = (): void => {};
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      const encoder = new TextEncoder();
      leave = open({
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
