import { Fault } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import { type Change, table, type Values } from "#runtime/operation/table.ts";
import { refuseCarrying } from "#tools/templates/masked-content.ts";
import { columns } from "./journey/columns.ts";

export default table({
  name: "journeys",
  noun: "journey",
  key: ["name"],
  called: "name",
  description:
    "A journey moves players from node to node: messages, waits, branches, actions. Edits change its draft alone; publish_journey makes a version of it, which people enter. validate_journey names every problem of the draft.",
  softDelete: true,
  columns,
  beforeWrite,
});

async function beforeWrite(
  context: Context,
  { verb, input, current }: Change<typeof columns>,
): Promise<Values> {
  if (verb !== "delete") await refuseCarrying(context, input.draft_definition);
  if (verb === "create") return input;
  if (verb === "update") return { ...input, version: current.version + 1 };
  if (current.status === "draft" || current.status === "archived") return {};
  throw new Fault("conflict", {
    message: `The journey is ${current.status}; archive_journey ends it, and then it can be deleted.`,
  });
}
