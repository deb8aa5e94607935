import type { Context } from "#runtime/operation/context.ts";
import type { OnPublish } from "#tools/journeys/journey/columns.ts";
import type { Journey } from "#tools/journeys/journey/journey.ts";
import refreshSegment from "#tools/segments/refresh-segment.job.ts";
import { ENTER_JOURNEY, enterLater } from "./entering.ts";
import { placeInside } from "./people-inside.ts";
import { journeyReferences } from "./references.ts";
import { writeVersion } from "./version.ts";

/** Makes a version of a locked journey's draft, and opens its ways in. Answers the version's number. */
export async function publishDraft(
  context: Context,
  journey: Journey,
  { onPublish, backfill }: { onPublish: OnPublish; backfill: boolean },
): Promise<number> {
  const { draft_definition: definition, goal, exit_conditions } = journey;
  const version = await writeVersion(context, journey);
  const referred = await journeyReferences(context, { definition, goal, exit_conditions });
  await placeInside(context, journey, { version, referred, onPublish });
  for (const node of definition.nodes) {
    if (node.type !== "trigger") continue;
    enterLater(context, journey.id, { version, node });
    const { config } = node;
    if (config.on !== "segment_enter" && config.on !== "segment_exit") continue;
    context.enqueue(refreshSegment, { segmentId: config.segment_id }, { dedupe: config.segment_id });
    if (!backfill || config.on !== "segment_enter") continue;
    context.enqueue(ENTER_JOURNEY, { journeyId: journey.id, version, node: node.id, backfill: true });
  }
  return version;
}
