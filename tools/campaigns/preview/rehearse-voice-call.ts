import { z } from "zod";
import { NIL_UUID } from "#db/types.ts";
import { invalid } from "#runtime/faults.ts";
import { inTurns } from "#runtime/limits/turns.ts";
import { tool } from "#runtime/operation/operation.ts";
import { findCampaign } from "#tools/campaigns/campaign/campaign.ts";
import { compileContent, notReady } from "#tools/campaigns/preflight/readiness.ts";
import { keywordsOf } from "#tools/sms/keywords.ts";
import { completePlayer } from "#tools/templates/rendering/liquid.ts";
import { stopReader } from "#tools/voice/engine/heard.ts";
import { type CallOutcome, OUTCOMES } from "#tools/voice/engine/outcomes.ts";
import { TranscriptLine } from "#tools/voice/engine/transcript.ts";
import { PERSONAS, type Persona } from "#tools/voice/simulator/personas.ts";
import { simulateCall } from "#tools/voice/simulator/simulate.ts";

export default tool({
  name: "rehearse_voice_call",
  title: "Rehearse a call",
  description:
    "Plays the call of a voice campaign with a made-up person and sample values, and answers the transcript. Nobody is called, and nothing is stored.",
  scope: "read",
  effect: "read",
  property: "propertyId",
  input: {
    campaignId: z.uuid().describe("From list_campaigns, of the channel voice"),
    propertyId: z.uuid(),
    persona: z
      .enum(Object.keys(PERSONAS) as [Persona, ...Persona[]])
      .default("picks_up")
      .describe("How the person answers"),
    variantId: z.string().optional().describe("Of the campaign's ab_test. Default: the first"),
  },
  output: z.object({
    outcome: z.enum(Object.keys(OUTCOMES) as [CallOutcome, ...CallOutcome[]]),
    meaning: z.string(),
    answered_by: z.enum(["human", "machine"]).nullable(),
    seconds: z.int().describe("About the length of the call"),
    transcript: z.array(TranscriptLine),
    simulated: z.literal(true),
  }),
  faults: ["invalid", "not_found"],
  heavy: true,
  async handler(context, { campaignId, persona, variantId }) {
    const campaign = await findCampaign(context, campaignId);
    if (campaign.channel !== "voice")
      throw invalid("campaignId", `is a campaign by ${campaign.channel}, not by voice`);
    const { content, problems } = await compileContent("voice", context, {
      ...campaign,
      audience: "all",
      segment_id: null,
      conditions: null,
    });
    if (!content) throw notReady(problems);
    const variant_id = variantId ?? content.variants?.[0];
    const sample = {
      ...completePlayer(content.variables),
      send_id: NIL_UUID,
      address: "+12025550100",
      ...(variant_id && { variant_id }),
    };
    const { script } = await inTurns(context.property.id, () => content.messageTo(sample, ""));
    if (script.turns.length === 0)
      throw invalid("campaignId", "has instructions for a vendor's agent, and no turns to play");
    const call = simulateCall(script, persona, stopReader(await keywordsOf(context)));
    return { ...call, meaning: OUTCOMES[call.outcome], simulated: true as const };
  },
});
