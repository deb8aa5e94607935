import { z } from "zod";
import type { Context, JobReference } from "#runtime/operation/context.ts";
import { type Action, CampaignView, changeStatus, lockFor } from "./campaign/campaign.ts";

/** The shared parts of operations that only change a campaign's status. They enqueue `job`, if there is one. */
export function statusChange(
  action: Action,
  values: object = {},
  job: JobReference<{ campaignId: string }> | null = null,
) {
  return {
    scope: "write" as const,
    effect: "change" as const,
    property: "propertyId" as const,
    input: {
      campaignId: z.uuid().describe("From list_campaigns"),
      propertyId: z.uuid(),
    },
    output: z.object({ success: z.literal(true), campaign: CampaignView }),
    faults: ["not_found", "conflict"] as const,
    async handler(context: Context, { campaignId }: { campaignId: string }) {
      await lockFor(context, campaignId, action);
      const campaign = await changeStatus(context, campaignId, action, values);
      if (job) context.enqueue(job, { campaignId }, { dedupe: campaignId });
      return { success: true as const, campaign };
    },
  };
}
