import { Fault, invalid } from "#runtime/faults.ts";
import { afterChange } from "#runtime/operation/columns.ts";
import type { Context } from "#runtime/operation/context.ts";
import { type Change, table, type Values } from "#runtime/operation/table.ts";
import { refuseUsed } from "#tools/uses/refuse-used.ts";
import { columns } from "./game/columns.ts";

export default table({
  name: "games",
  noun: "game",
  key: ["name"],
  called: "name",
  description:
    "A game draws prizes for players on the server, and proves each draw. create_game_prize adds its prizes, preview_game shows odds, cost and law, activate_game freezes it and lets players in.",
  softDelete: true,
  events: { create: "game.created" },
  columns,
  beforeWrite,
});

async function beforeWrite(context: Context, change: Change<typeof columns>): Promise<Values> {
  const { sql, property } = context;
  const { verb, input, current } = change;
  if (verb === "delete") {
    if (current.status !== "draft" && current.status !== "archived") {
      throw new Fault("conflict", {
        message: `The game is ${current.status}; archive_game puts an ended one away, and then it can be deleted.`,
      });
    }
    await refuseUsed(context, { noun: "game", id: current.id });
    return {};
  }
  const { starts_at, ends_at } = afterChange(columns, change);
  if (starts_at && ends_at && Date.parse(starts_at) >= Date.parse(ends_at)) {
    throw invalid("ends_at", "must be later than starts_at");
  }
  if (input.segment_id) {
    const found = await sql`
      select from segments
      where property_id = ${property.id} and id = ${input.segment_id} and deleted_at is null`;
    if (found.length === 0) throw invalid("segment_id", "names no segment of this property");
  }
  if (verb === "create") return { ...input, draw: input.draw ?? DEFAULT_DRAWS[input.type] };
  return { ...input, version: current.version + 1 };
}

/** Cards and instant wins are tickets, whose number and cost are known before; a wheel turns as often as one likes. */
const DEFAULT_DRAWS = {
  spin_wheel: "independent",
  scratch_card: "deck",
  mystery_box: "independent",
  instant_win: "deck",
} as const;
