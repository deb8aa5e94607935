import { isUuid } from "#db/text.ts";
import { invalid } from "#runtime/faults.ts";
import { WATCHED, type Watched } from "#tools/jobs/versions.ts";
import type { Desk } from "#transports/console/desk.ts";
import { mountDesk } from "#transports/console/mount-desk.ts";
import { streamAnswer } from "#transports/http/event-streams.ts";
import type { Mounting } from "#transports/pages/player/visit.ts";
import type { Live, LiveSubject } from "./watch.ts";

const RECORDS = ["campaign", "job", "journey", "segment"] as const;

/** Mounts the stream that tells an open page when what it shows has changed. */
export function mountLive(mounting: Mounting, live: Live): void {
  mountDesk(mounting, "get", "/console/live", async (desk) => {
    const subject = subjectOf(desk);
    return streamAnswer((sink) => live.open(subject, sink));
  });
}

function subjectOf(desk: Desk): LiveSubject {
  const { searchParams } = new URL(desk.c.req.url);
  const ids = RECORDS.flatMap((name) => searchParams.getAll(name)).slice(0, 50);
  const wrong = ids.find((id) => !isUuid(id));
  if (wrong !== undefined) throw invalid("id", "must be a uuid");
  const wanted = searchParams.getAll("list");
  const lists = WATCHED.filter((name) => wanted.includes(name)) as Watched[];
  const { id: userId, session, signedInAt = 0, signedInUntil = 0 } = desk.user;
  return { propertyId: desk.property.id, userId, session, signedInAt, signedInUntil, ids, lists };
}
