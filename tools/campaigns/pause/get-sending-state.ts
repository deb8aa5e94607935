import { z } from "zod";
import { timestamp } from "#runtime/operation/columns.ts";
import { tool } from "#runtime/operation/operation.ts";
import { findPause } from "#tools/campaigns/campaign/property-pause.ts";

export default tool({
  name: "get_sending_state",
  title: "Whether all sending is paused",
  description: "Answers whether pause_all_sending holds the property's messages back, since when and why.",
  scope: "read",
  effect: "read",
  property: "propertyId",
  input: { propertyId: z.uuid() },
  output: z.object({
    paused: z.boolean(),
    since: timestamp().nullable(),
    reason: z.string().nullable(),
    campaigns: z.int().describe("Campaigns that go on with resume_all_sending"),
  }),
  faults: [],
  async handler(context) {
    const pause = await findPause(context);
    return {
      paused: pause !== null,
      since: pause?.since ?? null,
      reason: pause?.reason ?? null,
      campaigns: pause?.campaign_ids.length ?? 0,
    };
  },
});
