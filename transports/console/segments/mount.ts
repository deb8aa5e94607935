import type { Desk } from "#transports/console/desk.ts";
import { mountDesk } from "#transports/console/mount-desk.ts";
import type { Mounting } from "#transports/pages/player/visit.ts";
import { buildSegment, editSegmentPage, newSegmentPage } from "./builder.ts";
import { PART, segmentsPage } from "./list.ts";
import { deleteSegment, segmentPage, segmentPlayersPage, segmentReachPage } from "./segment.ts";

/** Mounts the pages of segments: the list, one segment, and the form of its rules. */
export function mountSegments(mounting: Mounting): void {
  const get = (path: string, work: (desk: Desk) => Promise<Response>) =>
    mountDesk(mounting, "get", PART + path, work);
  const post = (path: string, work: (desk: Desk) => Promise<Response>) =>
    mountDesk(mounting, "post", PART + path, work);
  get("", segmentsPage);
  get("/new", newSegmentPage);
  post("/new", buildSegment);
  get("/:id", segmentPage);
  get("/:id/players", segmentPlayersPage);
  get("/:id/reach", segmentReachPage);
  get("/:id/edit", editSegmentPage);
  post("/:id/edit", buildSegment);
  post("/:id/delete", deleteSegment);
}
