import { z } from "zod";
import { timestamp } from "#runtime/operation/columns.ts";
import { tool } from "#runtime/operation/operation.ts";
import { countedApart, findPause, JOURNEY_MESSAGES } from "#tools/campaigns/campaign/property-pause.ts";
import {
  SERVICE_SENDING,
  type ServiceSending,
  serviceSending,
} from "#tools/campaigns/campaign/service-sending.ts";

export default tool({
  name: "get_sending_state",
  title: "Whether all sending is paused",
  description:
    "Answers whether pause_all_sending holds the property's messages back, since when and why, and whether the service sends at all.",
  scope: "read",
  effect: "read",
  property: "propertyId",
  input: { propertyId: z.uuid() },
  output: z.object({
    paused: z.boolean(),
    since: timestamp().nullable(),
    reason: z.string().nullable(),
    campaigns: z.int().describe("Campaigns that go on with resume_all_sending"),
    journey_messages: JOURNEY_MESSAGES,
    service: z
      .enum(Object.keys(SERVICE_SENDING) as [ServiceSending])
      .describe(
        "held: the database was restored or cloned, and waits for the operator's release_sending. off: started with SENDING=off. Messages wait then",
      ),
  }),
  faults: [],
  async handler(context) {
    const pause = await findPause(context);
    const paused = await context.sql<{ journey_id: string | null }[]>`
      select journey_id from campaigns
      where property_id = ${context.property.id} and id = any(${pause?.campaign_ids ?? []}::uuid[])`;
    return {
      paused: pause !== null,
      since: pause?.since ?? null,
      reason: pause?.reason ?? null,
      ...countedApart(paused),
      service: await serviceSending(context),
    };
  },
});
