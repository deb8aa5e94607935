import { randomUUIDv7 } from "node:crypto";
import { cast, type Fragment, sql } from "#db/sql.ts";
import { Fault, toFault } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import { insert } from "#runtime/operation/rows.ts";
import { type Entries, enroll } from "#tools/enrollments/enroll.ts";
import { findJourney, type Journey } from "#tools/journeys/journey/journey.ts";
import journeys from "#tools/journeys/journeys.table.ts";
import { journeyReferences } from "#tools/journeys/publishing/references.ts";
import { writeVersion } from "#tools/journeys/publishing/version.ts";
import { StepFailure } from "#tools/journeys/steps/step.ts";
import type { SimulatedOutcome } from "./answer.ts";
import { type Assume, assumeEvents, type Period } from "./assumptions.ts";
import { drive } from "./drive.ts";
import { noteDeferred, outcomeOf, prepareNotes } from "./outcome.ts";
import { ASSUMED_EVENTS, compact, shadowTables } from "./shadows.ts";

const DAY = 24 * 3_600_000;
/** Moves, a person and in all, behind which the rows that they have replaced cost more than a new table. */
const MOVES_A_PERSON = 3;
const LEAST_MOVES = 5_000;

export interface Simulation {
  /** A draft without problems. */
  draft: Pick<
    Journey,
    "id" | "name" | "draft_definition" | "goal" | "exit_conditions" | "priority" | "quiet_hours" | "ends_at"
  >;
  /** Rows of `id`. */
  players: Fragment;
  period: Period;
  assume: Assume;
}

/** A simulated journey's tables are those of the transaction that is left; read them before it ends. */
export interface Simulated {
  journeyId: string;
  version: number;
  entries: Entries;
  events: number;
  outcome: SimulatedOutcome;
}

/**
 * Lets the players walk through the draft by the real steps, over temporary tables and by a clock of its own. The
 * transaction can write nothing else, and is to be rolled back. Throws `invalid` where a rule of a node fails.
 */
export async function simulate(
  context: Context,
  { draft, players, period, assume }: Simulation,
): Promise<Simulated> {
  const silent: Context = { ...context, emit: () => {}, enqueue: () => {}, audit: () => {} };
  await prepareNotes(context);
  await shadowTables(context, players, draft.id);
  const version = await writeVersion(silent, await saved(silent, draft));
  const { from, days } = period;
  await startCampaigns(context, from);
  const trigger = draft.draft_definition.nodes.find(({ type }) => type === "trigger")!;
  const entrants = sql`
    select ${draft.id}::uuid as journey_id, ${version}::int as version, ${trigger.id}::text as node,
      '{"mode": "never"}'::jsonb as reentry, w.id as player_id, ''::text as entry_key, '{}'::jsonb as context
    from (${players}) w`;
  const entries = await enroll(silent, entrants, from);
  await context.sql`analyze journey_enrollments`;
  const events = await assumeEvents(context, assume, period);
  const until = Date.parse(from) + days * DAY;
  const referred = await journeyReferences(context, {
    definition: draft.draft_definition,
    goal: draft.goal,
    exit_conditions: draft.exit_conditions,
  });
  let moves = 0;
  await drive(silent, {
    journeyId: draft.id,
    definition: draft.draft_definition,
    referred,
    from: Date.parse(from),
    until,
    events: events > 0 ? ASSUMED_EVENTS : null,
    async onTick(at, moved) {
      await noteDeferred(context, at);
      moves += moved;
      if (moves < Math.max(LEAST_MOVES, MOVES_A_PERSON * entries.entered)) return;
      await compact(context);
      moves = 0;
    },
  }).catch(explain);
  return { journeyId: draft.id, version, entries, events, outcome: await outcomeOf(context, draft.id) };
}

/** The draft as an active journey that everybody enters once. */
async function saved(context: Context, draft: Simulation["draft"]): Promise<Journey> {
  const { id, name, draft_definition, goal, exit_conditions, priority, quiet_hours, ends_at } = draft;
  const parts = { id, name, draft_definition, goal, exit_conditions, priority, quiet_hours, ends_at };
  await insert(context, journeys, {
    ...parts,
    reentry: { mode: "never" },
    status: "active",
    current_version: 1,
  });
  return findJourney(context, id);
}

/** The campaigns of the messages begin with the clock: their messages expire by their own age. */
async function startCampaigns({ sql: transaction, property }: Context, from: string): Promise<void> {
  await transaction`
    update campaigns set started_at = ${cast(from, "timestamptz")}
    where property_id = ${property.id} and journey_node is not null and status = 'sending'`;
}

function explain(error: unknown): never {
  if (!(error instanceof StepFailure)) throw error;
  const { message, status } = toFault(error.cause);
  if (status >= 500) throw error;
  throw new Fault("invalid", { message: `The node ${error.node}: ${message}`, cause: error });
}

/** The id of a draft that is no journey yet. */
export const unsaved = (): string => randomUUIDv7();
