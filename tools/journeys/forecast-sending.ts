import { z } from "zod";
import { timestamp } from "#runtime/operation/columns.ts";
import { tool } from "#runtime/operation/operation.ts";
import { findPause, pauseWords } from "#tools/campaigns/campaign/property-pause.ts";
import { serviceWarnings } from "#tools/campaigns/campaign/service-sending.ts";
import { ComingCampaign, ComingJourney, comingCampaigns, comingJourneys } from "./forecast/coming.ts";
import { ComingMessages, comingMessages } from "./forecast/messages.ts";

const DAY_MS = 86_400_000;
/** Counting ends with time for the rest of the answer. Half of it is for the messages. */
const COUNT_FOR_MS = 15_000;

export default tool({
  name: "forecast_sending",
  title: "Forecast what goes out",
  description:
    "Shows what goes out in the next days: scheduled campaigns with their audience, campaigns under way, planned messages that wait, and when players enter active journeys. Drafts send nothing. Numbers are as of now, because rules and players change until then. Changes nothing.",
  scope: "read",
  effect: "read",
  property: "propertyId",
  heavy: true,
  deadline: 30_000,
  input: {
    propertyId: z.uuid(),
    days: z.int().min(1).max(31).default(7).describe("Days from now on"),
  },
  output: z.object({
    from: timestamp(),
    until: timestamp(),
    campaigns: z.array(ComingCampaign),
    messages: z
      .array(ComingMessages)
      .describe("Planned messages that wait, by day and campaign; those of a throttled campaign at its pace"),
    journeys: z.array(ComingJourney).describe("Active journeys"),
    warnings: z.array(z.string()),
  }),
  faults: ["invalid"],
  async handler(context, { days }) {
    const from = context.now();
    const startedAt = performance.now();
    const span = { from, until: from + days * DAY_MS, countUntil: startedAt + COUNT_FOR_MS };
    const pause = await findPause(context);
    const planned = { ...span, countUntil: startedAt + COUNT_FOR_MS / 2 };
    const { messages, uncounted } = await comingMessages(context, planned);
    const { campaigns, uncountable, isCut } = await comingCampaigns(context, span);
    const journeys = await comingJourneys(context, span);
    return {
      from: new Date(from).toISOString(),
      until: new Date(span.until).toISOString(),
      campaigns,
      messages,
      journeys: journeys.journeys,
      warnings: [
        ...(pause ? [pauseWords(pause)] : []),
        ...(await serviceWarnings(context)),
        ...uncountable,
        ...uncounted,
        ...(isCut ? [`only the first ${campaigns.length} campaigns are shown`] : []),
        ...(journeys.isCut ? [`only the first ${journeys.journeys.length} journeys are shown`] : []),
      ],
    };
  },
});
