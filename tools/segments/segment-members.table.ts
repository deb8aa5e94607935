import { z } from "zod";
import { Fault } from "#runtime/faults.ts";
import { createOnly, readable, timestamp } from "#runtime/operation/columns.ts";
import { table } from "#runtime/operation/table.ts";
import { askAboutList } from "./list-in-use.ts";
import refreshSegment from "./refresh-segment.job.ts";

/** A list that is filled one by one is counted once in this many seconds. */
const SOON = 5;

export default table({
  name: "segment_members",
  noun: "segment_member",
  description:
    "A segment member puts one player on a static segment's list. Members of source rule belong to a dynamic segment; they exist only while an endpoint subscribes to its entries and exits.",
  verbs: ["list", "get", "create", "delete"],
  asks: ["create"],
  events: { create: "player.segment_entered", delete: "player.segment_exited" },
  columns: {
    segment_id: createOnly(z.uuid().describe("A static segment, from list_segments")),
    player_id: createOnly(z.uuid().describe("The player's id, from list_players")),
    source: readable(z.enum(["manual", "import", "rule"])),
    added_at: readable(timestamp()),
  },
  async beforeWrite({ sql, property }, { verb, input, current }) {
    if (current?.source === "rule") throw follows();
    if (verb !== "create") return {};
    const [segment] = await sql<{ type: string }[]>`
      select type from segments
      where property_id = ${property.id} and id = ${input.segment_id} and deleted_at is null`;
    if (!segment)
      throw new Fault("not_found", { message: `segment_id: no such segment. See list_segments.` });
    if (segment.type !== "static") throw follows();
    return input;
  },
  async afterWrite(context, { row }) {
    const { enqueue } = context;
    const { segment_id: segmentId } = row;
    await askAboutList(context, segmentId);
    enqueue(refreshSegment, { segmentId }, { dedupe: segmentId, runAt: SOON });
  },
});

function follows(): Fault {
  return new Fault("conflict", {
    message: "The rules of a dynamic segment decide its members. Change the rules, or use a static segment.",
  });
}
