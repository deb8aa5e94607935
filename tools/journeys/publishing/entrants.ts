import type { Context } from "#runtime/operation/context.ts";
import { type Preflight, preflight } from "#tools/campaigns/preflight/preflight.ts";
import type { NodeOf } from "#tools/journeys/definition/definition.ts";
import type { Journey } from "#tools/journeys/journey/journey.ts";
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
      if (index === 0) words.push(`${counted.audience} players are in the segment of ${trigger} now.`);
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
