import { isDeepStrictEqual } from "node:util";
import { Fault } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import { type Preflight, preflight } from "#tools/campaigns/preflight/preflight.ts";
import type { Definition, NodeOf } from "#tools/journeys/definition/definition.ts";
import { findJourney, type Journey } from "#tools/journeys/journey/journey.ts";
import { keepMembers } from "#tools/segments/refresh-segment.job.ts";
import { lockUses } from "#tools/uses/refuse-used.ts";
import { asCampaign, messageValues } from "./messages.ts";

/** A person reads no more. */
const MOST_SEGMENTS = 2;
const MOST_MESSAGES = 5;
/** Milliseconds for counting one message's audience. */
const COUNT_FOR = 1_000;

/** For each message of a draft, how many players of its triggers' segments get it, why others do not, and its cost. */
export async function entrantWords(context: Context, journey: Journey): Promise<string[]> {
  const { nodes } = journey.draft_definition;
  const segments = nodes.flatMap((node) =>
    node.type === "trigger" && "segment_id" in node.config && node.config.segment_id
      ? [{ trigger: node.id, segmentId: node.config.segment_id }]
      : [],
  );
  const messages = nodes.filter((node) => node.type === "message");
  const words: string[] = [];
  for (const { trigger, segmentId } of segments.slice(0, MOST_SEGMENTS)) {
    for (const [index, message] of messages.slice(0, MOST_MESSAGES).entries()) {
      const counted = await counting(context, journey, message, segmentId);
      if (index === 0) words.push(`Players in the segment of ${trigger} now: ${counted.audience}.`);
      words.push(messageWords(message.id, counted));
    }
  }
  return words;
}

async function counting(
  context: Context,
  journey: Journey,
  message: NodeOf<"message">,
  segmentId: string,
): Promise<Preflight> {
  const values = await messageValues(context, journey, message);
  const stored = { ...values, status: "draft", journey_id: null, journey_node: null, segment_id: segmentId };
  return preflight(context, await asCampaign(context, stored), COUNT_FOR);
}

function messageWords(id: string, { allowed, blocked, estimated_cost }: Preflight): string {
  const reasons = Object.entries(blocked).map(([reason, people]) => `${people} ${reason}`);
  const excluded = reasons.length === 0 ? "nobody is excluded" : `excluded are ${reasons.join(", ")}`;
  const { amount, currency } = estimated_cost ?? { amount: null, currency: null };
  const cost = amount === null ? "its cost is unknown" : `it costs ${amount} ${currency ?? ""}`.trim();
  return `Of these ${allowed} could get ${id}; ${excluded}; ${cost}.`;
}

/** The segments that players enter a draft by, or leave. */
function entrySegments({ nodes }: Definition): string[] {
  const ids = nodes.flatMap(({ type, config }) =>
    type === "trigger" && (config.on === "segment_enter" || config.on === "segment_exit")
      ? [config.segment_id]
      : [],
  );
  return [...new Set(ids)].toSorted();
}

/**
 * Locks the records that a journey's draft names, against their deletion. Before the journey: a refresh locks its
 * segment before the journeys that begin with it, and the two would wait for one another. Answers the locked journey.
 * Throws `conflict` where its draft has changed meanwhile: that may name others.
 */
export async function lockWithNamed(context: Context, journeyId: string): Promise<Journey> {
  const { sql, property } = context;
  const before = await findJourney(context, journeyId);
  await sql`
    select from segments where property_id = ${property.id} and id = any(${entrySegments(before.draft_definition)}::uuid[])
    order by id for no key update`;
  const named = JSON.stringify(namesOf(before)).match(UUID) ?? [];
  await sql`
    select from segments where property_id = ${property.id} and id = any(${named}::uuid[]) order by id for key share`;
  await sql`
    select from games where property_id = ${property.id} and id = any(${named}::uuid[]) order by id for key share`;
  await sql`
    select from message_providers where property_id = ${property.id} and id = any(${named}::uuid[]) order by id for key share`;
  await sql`select from custom_fields where property_id = ${property.id} order by id for key share`;
  await lockUses(context);
  const journey = await findJourney(context, journeyId, { lock: "change" });
  if (!isDeepStrictEqual(namesOf(journey), namesOf(before))) {
    throw new Fault("conflict", {
      message: "The journey's draft has just been changed. Read it, and publish again.",
    });
  }
  return journey;
}

const namesOf = ({ draft_definition, goal, exit_conditions }: Journey) => [
  draft_definition,
  goal,
  exit_conditions,
];

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi;

/**
 * Brings the members of the draft's segments up to date by the ways in that are open so far. So a player who fits
 * already stays out of the new version.
 */
export async function keepEntrants(context: Context, definition: Definition): Promise<void> {
  for (const id of entrySegments(definition)) await keepMembers(context, id);
}
