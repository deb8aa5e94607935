import { isUuid } from "#db/text.ts";
import { invalid } from "#runtime/faults.ts";
import { WATCHED, type Watched } from "#tools/jobs/versions.ts";
import type { Desk } from "#transports/console/desk.ts";
import { mountDesk } from "#transports/console/mount-desk.ts";
import type { Mounting } from "#transports/pages/player/visit.ts";
import type { Live, Subject } from "./watch.ts";

const RECORDS = ["campaign", "job", "journey", "segment"] as const;

/** Mounts the stream that tells an open page when what it shows has changed. */
export function mountLive(mounting: Mounting, live: Live): void {
  mountDesk(mounting, "get", "/console/live", async (desk) => streamOf(live, subjectOf(desk)));
}

function subjectOf(desk: Desk): Subject {
  const { searchParams } = new URL(desk.c.req.url);
  const ids = RECORDS.flatMap((name) => searchParams.getAll(name)).slice(0, 50);
  const wrong = ids.find((id) => !isUuid(id));
  if (wrong !== undefined) throw invalid("id", "must be a uuid");
  const wanted = searchParams.getAll("list");
  const lists = WATCHED.filter((name) => wanted.includes(name)) as Watched[];
  return { propertyId: desk.property.id, userId: desk.user.id, ids, lists };
}

function streamOf(live: Live, subject: Subject): Response {
  let leave = (): void => {};
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      const encoder = new TextEncoder();
      leave = live.open(subject, {
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
