import { scopesIn } from "#runtime/funnel/access.ts";
import type { Service } from "#runtime/funnel/service.ts";
import { type SignIn, signedInUser } from "#runtime/identity/sessions.ts";
import { shownVersions, versionsOf, type Watched } from "#tools/jobs/versions.ts";
import {
  type EventStream,
  type EventStreams,
  openEventStreams,
  say,
} from "#transports/http/event-streams.ts";

const LOOK_EVERY_MS = 1_000;
const SILENCE_MS = 15_000;

/** The records and lists that a page shows. */
export interface LiveSubject extends SignIn {
  propertyId: string;
  userId: string;
  ids: readonly string[];
  lists: readonly Watched[];
}

/** The open pages, told when what they show has changed. */
export type Live = EventStreams<LiveSubject>;

/** Looks once a second for all open pages of this process, and rests while there are none. */
export function openLive(service: Service, everyMs = LOOK_EVERY_MS): Live {
  const live = openEventStreams<LiveSubject>({
    everyMs,
    silenceMs: SILENCE_MS,
    longestMs: 5 * 60_000,
    most: 2_000,
    mostOfOne: 12,
    ownerOf: ({ userId }) => userId,
    tell: (streams, end) => tell(service, streams, end),
    log: service.log,
  });
  // A new password, an ended session and a lost role end the streams of all processes at once.
  service.directory.onChange(live.look);
  return live;
}

type Stream = EventStream<LiveSubject>;

/** Tells each page when it has changed. Ends those of people who do not work in the property any more. */
async function tell(
  service: Service,
  streams: readonly Stream[],
  end: (stream: Stream) => void,
): Promise<void> {
  const staying: Stream[] = [];
  for (const stream of streams) {
    if (await worksThere(service, stream.subject)) staying.push(stream);
    else end(stream);
  }
  if (staying.length === 0) return;
  const { propertyId } = staying[0]!.subject;
  const ids = [...new Set(staying.flatMap(({ subject }) => subject.ids))];
  const lists = [...new Set(staying.flatMap(({ subject }) => subject.lists))];
  const versions = await service.db.asProperty(
    propertyId,
    async (sql) => {
      const resources = ids.length > 0 ? await versionsOf(sql, propertyId, ids) : new Map<string, string>();
      return { resources, others: await shownVersions(sql, propertyId, { ids, lists }) };
    },
    { readOnly: true },
  );
  for (const stream of staying) {
    // The first look is the page as it was read a moment ago, so it is told too: a change in between is not lost.
    const seen = seenBy(stream.subject, versions);
    say(stream, { event: "event: changed\ndata: \n\n", seen, silenceMs: SILENCE_MS });
  }
}

/** Whether the person is still signed in and has the property: from the cache of users, where nothing has changed. */
async function worksThere(
  { directory }: Service,
  { userId, propertyId, ...signIn }: LiveSubject,
): Promise<boolean> {
  const user = await signedInUser(directory, userId, signIn);
  return user !== null && scopesIn(user, propertyId).includes("read");
}

/** All versions of what the page shows, as one text. */
function seenBy(
  { ids, lists }: LiveSubject,
  { resources, others }: { resources: ReadonlyMap<string, string>; others: ReadonlyMap<string, string> },
): string {
  const named = ids.map((id) => [
    resources.get(`campaign://${id}`),
    resources.get(`job://${id}`),
    others.get(id),
  ]);
  return JSON.stringify([named, lists.map((name) => others.get(name))]);
}
