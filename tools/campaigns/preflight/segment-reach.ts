import { z } from "zod";
import { NIL_UUID } from "#db/types.ts";
import { invalid } from "#runtime/faults.ts";
import { tool } from "#runtime/operation/operation.ts";
import { sendingChannel } from "#tools/campaigns/campaign/campaign.ts";
import { NoConsent } from "#tools/campaigns/stats/answer.ts";
import { Condition, Group } from "#tools/segments/rules/compile.ts";
import { MESSAGE_CHANNELS } from "#tools/templates/channels.ts";
import { countAudience, Deferred } from "./count.ts";

const DEADLINE_MS = 30_000;
const COUNT_FOR_MS = 15_000;

export default tool({
  name: "segment_reach",
  title: "Count who of a segment can be reached",
  description:
    "Counts the players whom the compliance gate allows a message by one channel now, and the others by reason. Takes a saved segment, rules, or the whole property. Changes nothing.",
  scope: "read",
  effect: "read",
  property: "propertyId",
  heavy: true,
  deadline: DEADLINE_MS,
  input: {
    propertyId: z.uuid(),
    channel: z.enum(MESSAGE_CHANNELS).default("email").describe("The channel of the message"),
    segmentId: z.uuid().optional().describe("From list_segments. Without it and conditions: all players"),
    conditions: z.array(Condition).max(200).optional().describe("As in segment_preview"),
    logic: z.enum(["and", "or"]).default("and").describe("How the conditions join"),
    groups: z.array(Group).optional().describe("Nested rule groups"),
  },
  output: z.object({
    channel: z.string(),
    audience: z.int(),
    allowed: z.int().describe("Messages: players who share an address get one"),
    blocked: z.record(z.string(), z.int()).describe("Each blocked player once, under the first reason"),
    no_consent: NoConsent,
    deferred: Deferred,
    waiting: z.int().describe("Of the allowed: those who get it later, for open hours or a frequency rule"),
    warnings: z.array(z.string()),
  }),
  faults: ["invalid", "not_found"],
  async handler(context, { channel, segmentId, conditions, logic, groups }) {
    const isRules = conditions !== undefined || groups !== undefined;
    if (segmentId !== undefined && isRules) throw invalid("segmentId", "give either segmentId or conditions");
    sendingChannel({ channel });
    const counted = await countAudience(
      context,
      {
        ...NOBODYS,
        channel,
        segment_id: segmentId ?? null,
        conditions: isRules ? (conditions ?? []) : null,
        logic,
        groups,
        audience: segmentId === undefined && !isRules ? "all" : null,
      },
      COUNT_FOR_MS,
      { isStrict: true },
    );
    const { audience, allowed, blocked, noConsent, deferred, warnings } = counted;
    const waiting = Object.values(deferred).reduce((total, { count }) => total + count, 0);
    return { channel, audience, allowed, blocked, no_consent: noConsent, deferred, waiting, warnings };
  },
});

/** The settings of a campaign that has none. */
const NOBODYS = {
  id: NIL_UUID,
  quiet_hours: "defer" as const,
  exclude_segment_ids: [],
  holdout_percent: 0,
  is_transactional: false,
  ignore_frequency_cap: false,
  send_in_player_timezone: false,
  scheduled_at: null,
  fires_at: null,
  ab_test: null,
  ab_ends_at: null,
  tags: [],
};
