import { job } from "#runtime/operation/job.ts";
import { HOLD_ABANDONING } from "#tools/voice-calls/end.ts";
import { abandonedShare } from "#tools/voice-calls/figures.ts";
import { allows, changeStatus, findCampaign, nullIfDeleted } from "./campaign/campaign.ts";

/** One abandoned call says nothing of a share. */
const LEAST_ABANDONED = 2;

/** Pauses a campaign whose calls are abandoned more often than the law of calls allows. */
export default job({
  ...HOLD_ABANDONING,
  handler: ({ transact, log }, { campaignId }) =>
    transact(async (context) => {
      const campaign = await findCampaign(context, campaignId, { lock: true }).catch(nullIfDeleted);
      if (!campaign || !allows(campaign.status, "pause")) return;
      const { percent, abandoned, answered, most_percent, days } = await abandonedShare(context, campaignId);
      if (percent === null || percent <= most_percent || abandoned < LEAST_ABANDONED) return;
      const status_reason = `${abandoned} of ${answered} answered calls of the last ${days} days were abandoned, and the law of calls allows ${most_percent} percent. See the ended calls whose disclosed_at is missing or late, repair the cause, then resume it.`;
      await changeStatus(context, campaignId, "pause", { status_reason });
      log.error({ campaignId, abandoned, answered }, "campaign paused: too many abandoned calls");
    }),
});
