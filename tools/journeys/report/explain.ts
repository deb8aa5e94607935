import type { Tenant } from "#runtime/operation/context.ts";
import type { RowOf } from "#runtime/operation/table.ts";
import type { Node } from "#tools/journeys/definition/definition.ts";
import type enrollments from "#tools/journeys/enrollment/journey-enrollments.table.ts";

type Enrollment = RowOf<typeof enrollments.columns>;

const REASONS: Readonly<Record<string, string>> = {
  completed: "reached the end",
  goal_reached: "reached the goal",
  exit_condition: "came to fit the exit conditions",
  missing_date: "has no date to wait for",
  consent_revoked: "refused all channels of its messages",
  self_excluded: "is excluded from gambling",
  erased: "had the data erased",
  deleted: "was deleted",
  banned: "was banned",
  deceased: "has died",
  journey_archived: "was inside when it was archived",
  journey_ended: "was inside at its end",
  workflow_changed: "stood at a node that the new version has not",
  manual: "was taken out",
  loop_limit: "came to one node 100 times",
};

/** Why the journey is over for the person. */
export function placeWords({ exit_reason, ended_at, node }: Enrollment): string {
  const why = REASONS[exit_reason ?? ""] ?? `left with the reason ${exit_reason}`;
  return `The player ${why}, at ${node}, ${ended_at}.`;
}

/** Why the person is still at the node. */
export async function whyWords(tenant: Tenant, enrollment: Enrollment, node: Node): Promise<string> {
  const { phase, wake_at, arrived_at, send_id } = enrollment;
  if (await isPaused(tenant, enrollment))
    return `The journey is paused; nobody moves. The player is at ${node.id}.`;
  if (phase === "sending" && send_id) return sendWords(tenant, node.id, send_id);
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
    case "rate_limit":
      return `The player's turn at ${node.id} is at ${wake_at}.`;
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
