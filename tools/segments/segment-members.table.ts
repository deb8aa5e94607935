import { z } from "zod";
import { createOnly, readable, timestamp } from "#runtime/columns.ts";
import { Fault } from "#runtime/faults.ts";
import { table } from "#runtime/operation.ts";

export default table({
  name: "segment_members",
  noun: "segment_member",
  description: "A segment member puts one player on a static segment's list.",
  verbs: ["list", "get", "create", "delete"],
  columns: {
    segment_id: createOnly(z.uuid().describe("A static segment, from list_segments")),
    player_id: createOnly(z.uuid().describe("The player's id, from list_players")),
    source: readable(z.enum(["manual", "import", "rule"])),
    added_at: readable(timestamp()),
  },
  async beforeWrite({ sql, property }, { verb, input }) {
    if (verb !== "create") return {};
    const [segment] = await sql<{ type: string }[]>`
      select type from segments
      where property_id = ${property.id} and id = ${input.segment_id as string} and deleted_at is null`;
    if (!segment)
      throw new Fault("not_found", { message: `segment_id: no such segment. See list_segments.` });
    if (segment.type !== "static") {
      throw new Fault("conflict", { message: "A dynamic segment's members follow from its rules." });
    }
    return input;
  },
});
