import { z } from "zod";
import { Fault } from "#runtime/faults.ts";
import { createOnly, readable, timestamp } from "#runtime/operation/columns.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import { table } from "#runtime/operation/table.ts";
import refreshSegment from "./refresh-segment.job.ts";

/** A list that is filled one by one is counted once in this many seconds. */
const SOON = 5;

export default table({
  name: "segment_members",
  noun: "segment_member",
  description:
    "A segment member puts one player on a static segment's list. Members of source rule belong to a dynamic segment; they exist only while an endpoint subscribes to its entries and exits.",
  verbs: ["list", "get", "create", "delete"],
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
    await checkPlayer({ sql, property }, input);
    return input;
  },
  async afterWrite({ enqueue }, { row }) {
    const { segment_id: segmentId } = row;
    enqueue(refreshSegment, { segmentId }, { dedupe: segmentId, runAt: SOON });
  },
});

/** Says which field is wrong: the database's own refusals name none. */
async function checkPlayer(
  { sql, property }: Tenant,
  { segment_id, player_id }: { segment_id: string; player_id: string },
): Promise<void> {
  const [found] = await sql<{ player: boolean; member: boolean }[]>`
    select exists (select from players
        where property_id = ${property.id} and id = ${player_id} and deleted_at is null) as player,
      exists (select from segment_members where property_id = ${property.id}
        and segment_id = ${segment_id} and player_id = ${player_id}) as member`;
  if (found?.member) {
    throw new Fault("conflict", { message: "player_id: this player is in the segment already." });
  }
  if (!found?.player) {
    throw new Fault("not_found", { message: `player_id: no player ${player_id} in this property.` });
  }
}

function follows(): Fault {
  return new Fault("conflict", {
    message: "The rules of a dynamic segment decide its members. Change the rules, or use a static segment.",
  });
}
