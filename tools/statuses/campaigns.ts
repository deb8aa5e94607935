/** The statuses of a campaign that has begun, and may send messages yet. */
export const BEGUN_CAMPAIGNS = ["queued", "sending", "paused"] as const;
/** The statuses of a campaign that may send messages without another order to send. */
export const LIVE_CAMPAIGNS = ["scheduled", ...BEGUN_CAMPAIGNS] as const;
export const CAMPAIGN_STATUSES = ["draft", ...LIVE_CAMPAIGNS, "sent", "cancelled", "failed"] as const;
export type CampaignStatus = (typeof CAMPAIGN_STATUSES)[number];
