import { z } from "zod";
import type { Tenant } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { findJourney } from "./journey/journey.ts";
import { findVersion } from "./journey/version.ts";
import { Figures, figuresOf, NodeFigures, nodeFigures } from "./report/figures.ts";

/** Seconds by which a person may be late. */
const LATE_SECONDS = 60;

/** A million entries are counted within seconds, on a busy machine within some more. */
const DEADLINE_MS = 30_000;

export default tool({
  name: "journey_report",
  title: "Report on a journey",
  description:
    "The figures of a journey's version: entries, who is inside, who left and why, and each node with its edges. They add up at any moment; verify_journey recounts them.",
  scope: "read",
  effect: "read",
  property: "propertyId",
  deadline: DEADLINE_MS,
  input: {
    journeyId: z.uuid().describe("From list_journeys"),
    propertyId: z.uuid(),
    version: z.int().min(1).optional().describe("Default: the current one"),
  },
  output: z.object({
    journey_id: z.uuid(),
    version: z.int(),
    all_versions: Figures,
    figures: Figures.describe("Of this version"),
    nodes: z.array(NodeFigures),
    overdue: z.int().describe("Players whose time came more than a minute ago; 0 while the journey keeps up"),
  }),
  faults: ["not_found"],
  async handler(context, { journeyId, version: wanted }) {
    const journey = await findJourney(context, journeyId);
    const { version, definition } = await findVersion(context, journeyId, wanted ?? journey.current_version);
    const figures = await figuresOf(context, journeyId, version);
    return {
      journey_id: journeyId,
      version,
      all_versions: journey.current_version === 1 ? figures : await figuresOf(context, journeyId, null),
      figures,
      nodes: await nodeFigures(context, { journeyId, version, definition }),
      overdue: await overdue(context, journeyId),
    };
  },
});

async function overdue({ sql, property }: Tenant, journeyId: string): Promise<number> {
  const [counted] = await sql<[{ count: number }]>`
    select count(*)::int as count from journey_enrollments
    where property_id = ${property.id} and journey_id = ${journeyId} and status = 'active'
      and wake_at < now() - make_interval(secs => ${LATE_SECONDS})`;
  return counted.count;
}
