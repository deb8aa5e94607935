import { z } from "zod";
import type { Tenant } from "#runtime/operation/context.ts";
import type { RowOf } from "#runtime/operation/table.ts";
import { EXIT_REASONS } from "#tools/enrollments/exit-reasons.ts";
import type { Definition, Node } from "#tools/journeys/definition/definition.ts";
import { targetOf } from "#tools/journeys/definition/graph.ts";
import type enrollments from "#tools/journeys/enrollment/journey-enrollments.table.ts";
import { minutesOf } from "#tools/journeys/nodes/duration.ts";
import { filterPath } from "#tools/journeys/nodes/event-filter.ts";
import { TIMED_OUT, YES } from "#tools/journeys/nodes/wait-until.ts";

type Enrollment = RowOf<typeof enrollments.columns>;

/** A place in the line at a rate limit, 1 for the first, and the earliest time of passing. */
export interface Turn {
  place: number;
  at: string;
}

/** Why the journey is over for the person. */
export function placeWords({ exit_reason, ended_at, current_node_id }: Enrollment): string {
  const reasons: Readonly<Record<string, string>> = EXIT_REASONS;
  const why = reasons[exit_reason ?? ""] ?? `left with the reason ${exit_reason}`;
  return `The player ${why}, at ${current_node_id}, ${ended_at}.`;
}

/** Why the person is still at the node. `turn`: at the earliest, in a line. */
export async function whyWords(
  tenant: Tenant,
  enrollment: Enrollment,
  { node, turn }: { node: Node; turn: Turn | null },
): Promise<string> {
  const { phase, wake_at, arrived_at, send_id } = enrollment;
  if (await isPaused(tenant, enrollment))
    return `The journey is paused; nobody moves. The player is at ${node.id}.`;
  if (phase === "sending" && send_id) return sendWords(tenant, node.id, send_id);
  if (turn) return `The player is number ${turn.place} in the line at ${node.id}: until ${turn.at} or later.`;
  if (phase === "ready") return `The node ${node.id} acts at the next step.`;
  switch (node.type) {
    case "delay":
      return `The player waits at ${node.id} since ${arrived_at}, until ${wake_at}.`;
    case "wait_until": {
      const thing = node.config.event
        ? `the event ${JSON.stringify(node.config.event.name)}`
        : "the conditions";
      return `The player waits for ${thing} since ${arrived_at}, until ${wake_at} at the latest.`;
    }
    case "time_window":
      return `The window of ${node.id} is closed by the player's clock; it opens at ${wake_at}.`;
    default:
      return `The player is at ${node.id}.`;
  }
}

async function isPaused({ sql, property }: Tenant, { journey_id }: Enrollment): Promise<boolean> {
  const [journey] = await sql<{ status: string }[]>`
    select status from journeys where property_id = ${property.id} and id = ${journey_id}`;
  return journey?.status === "paused";
}

async function sendWords({ sql, property }: Tenant, node: string, sendId: string): Promise<string> {
  const [send] = await sql<{ status: string; skip_reasons: string[]; scheduled_for: string | null }[]>`
    select status, skip_reasons, to_json(scheduled_for) #>> '{}' as scheduled_for from campaign_sends
    where property_id = ${property.id} and id = ${sendId}`;
  if (!send) return `The message of ${node} is under way.`;
  const why = send.skip_reasons.length > 0 ? ` because of ${send.skip_reasons.join(" and ")}` : "";
  const when = send.scheduled_for === null ? "" : ` until ${send.scheduled_for}`;
  return `The message of ${node} is ${send.status}${why}${when}.`;
}

/** A person reads no more. */
const MOST = 20;

export const LateEvent = z.object({
  node: z.string().describe("The wait"),
  event: z.string(),
  occurred_at: z.string(),
  reported_at: z.string(),
});
export type LateEvent = z.output<typeof LateEvent>;

/** A wait for an event that timed out. */
interface Wait {
  node: string;
  event: string;
  filter: string | null;
  from: string;
  until: string;
  left: string;
}

/** Events that happened within a wait of this person, and were reported after its time-out was taken. */
export async function lateEvents(
  { sql, property }: Tenant,
  enrollment: Enrollment,
  definition: Definition,
): Promise<LateEvent[]> {
  const waits = timedOutWaits(enrollment, definition);
  if (waits.length === 0 || enrollment.player_id === null) return [];
  return sql<LateEvent[]>`
    select w.node, v.name as event, to_json(v.occurred_at) #>> '{}' as occurred_at,
      to_json(v.created_at) #>> '{}' as reported_at
    from jsonb_to_recordset(${waits}::jsonb) w(node text, event text, filter text, "from" timestamptz,
        "until" timestamptz, "left" timestamptz)
      join player_events v on v.property_id = ${property.id} and v.player_id = ${enrollment.player_id}
        and v.name = w.event and v.occurred_at >= w."from" and v.occurred_at < least(w."until", w."left")
    where v.created_at >= w."left" and (w.filter is null or v.properties @@ w.filter::jsonpath)
    order by v.occurred_at, v.id limit ${MOST}::int`;
}

function timedOutWaits({ history, ended_at }: Enrollment, definition: Definition): Wait[] {
  return history.flatMap(({ node_id: id, at: from }, index): Wait[] => {
    const node = definition.nodes.find((one) => one.id === id);
    const left = history[index + 1]?.at ?? ended_at;
    if (node?.type !== "wait_until" || !node.config.event || !left) return [];
    const [onYes, onTimeout] = [YES, TIMED_OUT].map((label) => targetOf(definition, id, label));
    const next = history[index + 1]?.node_id ?? null;
    if (next === onYes && onYes !== onTimeout) return [];
    const { name, properties } = node.config.event;
    const until = new Date(Date.parse(from) + minutesOf(node.config.timeout) * 60_000).toISOString();
    return [{ node: id, event: name, filter: filterPath(properties), from, until, left }];
  });
}
