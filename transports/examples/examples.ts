import type { Operation } from "#runtime/operation/operation.ts";
import { CAMPAIGN_EXAMPLES } from "./campaigns.ts";
import { GAME_EXAMPLES } from "./games.ts";
import { JOURNEY_EXAMPLES } from "./journeys.ts";
import { PLATFORM_EXAMPLES } from "./platform.ts";
import { PLAYER_EXAMPLES } from "./players.ts";
import { exampleId } from "./record-ids.ts";

const EXAMPLES: Readonly<Record<string, object>> = {
  ...PLAYER_EXAMPLES,
  ...CAMPAIGN_EXAMPLES,
  ...JOURNEY_EXAMPLES,
  ...GAME_EXAMPLES,
  ...PLATFORM_EXAMPLES,
};

/**
 * An input of the operation that works in the demo, for its descriptions; a test runs every one. A call that reaches
 * people or cannot be taken back is a dry run there.
 */
export function exampleOf(operation: Operation): Record<string, unknown> {
  const { name, property, input } = operation;
  const namesProperty = property !== null && !input.shape[property]?.safeParse(undefined).success;
  return {
    ...(namesProperty && { [property]: exampleId("properties") }),
    ...(EXAMPLES[name] ?? plain(operation)),
  };
}

/** The example of an operation whose input is the same for every table. */
function plain({ crud }: Operation): object {
  const { table, verb } = crud ?? {};
  if (verb === "get") return { id: exampleId(table!.name) };
  if (verb === "delete") return { id: exampleId(table!.name), dry_run: true };
  if (verb === "list") return { order: "created_at.desc", limit: 5 };
  return {};
}
