import { z } from "zod";
import { sql } from "#db/sql.ts";
import { Fault, invalid } from "#runtime/faults.ts";
import { timestamp } from "#runtime/operation/columns.ts";
import type { Context } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { QUIET_ACTIONS } from "#tools/compliance/quiet-hours-rules.table.ts";
import { audienceOf } from "#tools/segments/rules/references.ts";
import { type Definition, ExitConditions, JourneyGoal } from "./definition/definition.ts";
import { DraftDefinition } from "./definition/draft.ts";
import { mermaidOf } from "./drawing/mermaid.ts";
import { pictureOf } from "./drawing/picture.ts";
import { findJourney, type Journey } from "./journey/journey.ts";
import { draftProblems, unpublishable } from "./publishing/problems.ts";
import { Figures, figuresOf, NodeFigures, nodeFigures } from "./report/figures.ts";
import { SimulatedOutcome } from "./simulation/answer.ts";
import { Assume } from "./simulation/assumptions.ts";
import { type Simulation, simulate, unsaved } from "./simulation/simulate.ts";

const MOST_PLAYERS = 10_000;
const MOST_DAYS = 90;
const DEADLINE_MS = 60_000;
/** A start that lies further back than this is refused as past. */
const SLACK_MS = 60_000;

export default tool({
  name: "simulate_journey",
  title: "Simulate a journey",
  description:
    "Lets real players walk through a journey's draft by a clock of its own. The real compliance gate, quiet hours and frequency rules judge each message. Shows what would happen. Nothing is written or sent. Times are rounded up to 15 minutes; every sent message counts as delivered; each player enters once, at the start.",
  scope: "read",
  effect: "read",
  property: "propertyId",
  discarded: true,
  deadline: DEADLINE_MS,
  input: {
    propertyId: z.uuid(),
    journeyId: z.uuid().optional().describe("From list_journeys: its draft"),
    definition: DraftDefinition.optional().describe("Instead of journeyId: a definition that is not saved"),
    goal: JourneyGoal.optional().describe("With definition"),
    exit_conditions: ExitConditions.optional().describe("With definition"),
    quiet_hours: z
      .enum(QUIET_ACTIONS)
      .optional()
      .describe(
        "With definition: what a message does at closed hours, as a journey's setting. Default: defer",
      ),
    playerIds: z.array(z.uuid()).min(1).max(MOST_PLAYERS).optional().describe("From list_players"),
    segmentId: z.uuid().optional().describe("From list_segments: its first 10,000 players enter"),
    from: timestamp().optional().describe("When everybody enters. Default: now"),
    days: z.int().min(1).max(MOST_DAYS).default(30).describe("How long the clock runs"),
    seed: z
      .string()
      .max(100)
      .default("1")
      .describe("Decides the chances of assume; the same seed, the same answer"),
    assume: Assume,
  },
  output: z.object({
    from: z.string(),
    to: z.string(),
    entered: z.int(),
    barred: z.int().describe("Deleted, erased, banned, deceased or self-excluded: they do not enter"),
    left_out: z.int().describe("Players of the segment beyond the first 10,000"),
    events: z.int().describe("Assumed events"),
    figures: Figures,
    nodes: z.array(NodeFigures),
    ...SimulatedOutcome.shape,
    mermaid: z.string().describe("The picture, with the players on each edge"),
  }),
  faults: ["invalid", "not_found", "conflict"],
  async handler(context, input) {
    const draft = await draftOf(context, input);
    const { errors } = await draftProblems(context, draft);
    if (errors.length > 0) throw unpublishable(errors);
    const { players, leftOut } = await playersOf(context, input);
    const from = startOf(context, input.from);
    await takeTurn(context);
    const { days, seed, assume } = input;
    const simulated = await simulate(context, { draft, players, period: { from, days, seed }, assume });
    const { journeyId, version, entries, events, outcome } = simulated;
    const definition = draft.draft_definition;
    const found = await nodeFigures(context, { journeyId, version, definition });
    // The campaigns are gone with the answer.
    const nodes = found.map((node) => ({ ...node, campaign_id: null }));
    return {
      from,
      to: new Date(Date.parse(from) + days * 86_400_000).toISOString(),
      entered: entries.entered,
      barred: entries.barred,
      left_out: leftOut,
      events,
      figures: await figuresOf(context, journeyId, version),
      nodes,
      ...outcome,
      mermaid: mermaidOf(pictureOf(`${draft.name} (simulated)`, definition, nodes)),
    };
  },
});

interface Given {
  journeyId?: string | undefined;
  definition?: Definition | undefined;
  goal?: JourneyGoal | undefined;
  exit_conditions?: ExitConditions | undefined;
  quiet_hours?: Journey["quiet_hours"] | undefined;
}

async function draftOf(context: Context, given: Given): Promise<Simulation["draft"]> {
  const { journeyId, definition, goal, exit_conditions, quiet_hours } = given;
  if ((journeyId === undefined) === (definition === undefined)) {
    throw invalid("journeyId", "or definition: give one of them");
  }
  if (journeyId) {
    const [ignored] = Object.entries({ goal, exit_conditions, quiet_hours }).filter(
      ([, value]) => value !== undefined,
    );
    if (ignored) throw invalid(ignored[0], "goes with definition; a journey has its own");
    return findJourney(context, journeyId);
  }
  return {
    id: unsaved(),
    name: "Unsaved journey",
    draft_definition: definition!,
    goal: goal ?? null,
    exit_conditions: exit_conditions ?? null,
    priority: 0,
    quiet_hours: quiet_hours ?? "defer",
    ends_at: null,
  };
}

/** The players of the call, the first 10,000 of a segment. */
async function playersOf(
  { sql: transaction, property }: Context,
  { playerIds, segmentId }: { playerIds?: string[] | undefined; segmentId?: string | undefined },
) {
  if ((playerIds === undefined) === (segmentId === undefined)) {
    throw invalid("playerIds", "or segmentId: give one of them");
  }
  if (playerIds) {
    const ids = [...new Set(playerIds)];
    const found = await transaction<{ id: string }[]>`
      select id from players where property_id = ${property.id} and id = any(${ids}::uuid[]) and deleted_at is null`;
    if (found.length < ids.length) {
      const known = new Set(found.map(({ id }) => id));
      throw new Fault("not_found", {
        message: `No player ${ids.find((id) => !known.has(id))} in this property.`,
      });
    }
    return { players: sql`select unnest(${ids}::uuid[]) as id`, leftOut: 0 };
  }
  const audience = await audienceOf(transaction, property.id, segmentId!);
  const members = await transaction<{ id: string }[]>`
    select p.id from players p where p.property_id = ${property.id}::uuid and ${audience} order by p.id`;
  const ids = members.slice(0, MOST_PLAYERS).map(({ id }) => id);
  return { players: sql`select unnest(${ids}::uuid[]) as id`, leftOut: members.length - ids.length };
}

function startOf({ now }: Context, from: string | undefined): string {
  if (from === undefined) return new Date(now()).toISOString();
  if (Date.parse(from) < now() - SLACK_MS) throw invalid("from", "has passed; give a time to come");
  return new Date(from).toISOString();
}

/** One simulation at a time: each keeps a connection and a processor busy. */
async function takeTurn({ sql: transaction }: Context): Promise<void> {
  const [turn] = await transaction<[{ taken: boolean }]>`
    select pg_try_advisory_xact_lock(hashtext('simulate_journey')) as taken`;
  if (turn.taken) return;
  throw new Fault("conflict", {
    message: "Another simulation is running. Try again in some seconds.",
    retryAfter: 5,
  });
}
