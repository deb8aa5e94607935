import { z } from "zod";
import { invalid, one } from "#runtime/faults.ts";
import { columnNames, viewOf } from "#runtime/operation/columns.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import type { RowOf } from "#runtime/operation/table.ts";
import type { Definition, Node } from "./definition/definition.ts";
import { labelsOf, targetOf } from "./definition/graph.ts";
import enrollments from "./enrollment/journey-enrollments.table.ts";
import { LateEvent, lateEvents, placeWords, whyWords } from "./report/explain.ts";
import { placeInLine } from "./steps/line.ts";

type Enrollment = RowOf<typeof enrollments.columns>;

export default tool({
  name: "explain_enrollment",
  title: "Explain where a player is in a journey",
  description:
    "Says why a player is at a node, until when, and what comes then; or why the journey ended. Give an enrollment, or a journey and a player.",
  scope: "read",
  effect: "read",
  property: "propertyId",
  input: {
    propertyId: z.uuid(),
    enrollmentId: z.uuid().optional().describe("From list_journey_enrollments"),
    journeyId: z.uuid().optional().describe("With playerId: the player's last entry"),
    playerId: z.uuid().optional().describe("From list_players"),
  },
  output: z.object({
    enrollment: viewOf(enrollments),
    why: z.string().describe("Why the player is there, or why the journey ended"),
    until: z
      .string()
      .nullable()
      .describe(
        "When the player moves on at the latest; in the line of a rate limit at the earliest. Null where no time is set",
      ),
    next: z
      .array(z.object({ label: z.string(), to: z.string().nullable() }))
      .describe("Where the ways out lead; to null: the journey ends"),
    path: z.array(z.object({ node: z.string(), type: z.string().nullable(), at: z.string() })),
    late_events: z
      .array(LateEvent)
      .describe("Events within a wait that were reported after it was over; they changed nothing"),
  }),
  faults: ["invalid", "not_found"],
  async handler(context, input) {
    if (!input.enrollmentId && !(input.journeyId && input.playerId)) {
      throw invalid("enrollmentId", "or journeyId and playerId: give one of them");
    }
    const enrollment = await find(context, input);
    const definition = await definitionOf(context, enrollment);
    const node = definition.nodes.find(({ id }) => id === enrollment.current_node_id);
    const isInside = enrollment.status === "active";
    const turn = isInside && enrollment.phase === "in_line" ? await placeInLine(context, enrollment) : null;
    return {
      enrollment,
      why: isInside && node ? await whyWords(context, enrollment, { node, turn }) : placeWords(enrollment),
      until: isInside ? (turn?.at ?? enrollment.wake_at) : null,
      next: isInside && node ? waysOut(definition, node) : [],
      path: enrollment.history.map(({ node_id, at }) => ({
        node: node_id,
        type: definition.nodes.find(({ id }) => id === node_id)?.type ?? null,
        at,
      })),
      late_events: await lateEvents(context, enrollment, definition),
    };
  },
});

interface Wanted {
  enrollmentId?: string | undefined;
  journeyId?: string | undefined;
  playerId?: string | undefined;
}

async function find(
  { sql, property }: Tenant,
  { enrollmentId, journeyId, playerId }: Wanted,
): Promise<Enrollment> {
  const rows = await sql<{ row: Enrollment }[]>`
    select row_to_json(v) as row from (
      select ${columnNames(enrollments)} from journey_enrollments
      where property_id = ${property.id} and ${
        enrollmentId
          ? sql`id = ${enrollmentId}`
          : sql`journey_id = ${journeyId ?? null} and player_id = ${playerId ?? null}`
      }
      order by entered_at desc, id desc limit 1) v`;
  const found = rows.map(({ row }) => row);
  return one(
    found,
    "journey enrollment",
    enrollmentId ?? `of player ${playerId ?? "?"} in journey ${journeyId ?? "?"}`,
  );
}

async function definitionOf(
  { sql, property }: Tenant,
  { journey_id, version }: Enrollment,
): Promise<Definition> {
  const [found] = await sql<[{ definition: Definition }]>`
    select definition from journey_versions
    where property_id = ${property.id} and journey_id = ${journey_id} and version = ${version}`;
  return found.definition;
}

function waysOut(definition: Definition, node: Node) {
  return labelsOf(node).map((label) => ({ label, to: targetOf(definition, node.id, label) }));
}
