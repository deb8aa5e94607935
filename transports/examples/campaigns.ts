import { exampleId } from "./record-ids.ts";

const campaign = { campaignId: exampleId("campaigns") };
const TIERS = { field: "tier", operator: "in", value: ["Gold", "Platinum", "Diamond"] };
const LATER = "2036-12-24T18:00:00-05:00";

/** Inputs about segments, campaigns, texts and their delivery. */
export const CAMPAIGN_EXAMPLES = {
  create_segment: {
    name: "High rollers in Nevada",
    conditions: [TIERS, { field: "state", operator: "eq", value: "NV" }],
  },
  update_segment: { id: exampleId("segments"), description: "Players of the three highest tiers" },
  segment_preview: { conditions: [TIERS] },
  add_segment_members: { segmentId: exampleId("static segments"), conditions: [TIERS] },
  remove_segment_members: { segmentId: exampleId("static segments"), playerIds: [exampleId("players")] },
  create_segment_member: { segment_id: exampleId("static segments"), player_id: exampleId("players") },
  create_template: {
    name: "Birthday",
    channel: "email",
    subject: 'Happy birthday, {{ first_name | default: "friend" }}',
    html: "<p>Your gift waits at the players club.</p>",
  },
  update_template: { id: exampleId("templates"), subject: "Your birthday gift waits" },
  list_campaigns: { filters: { "status.in": "(draft,scheduled)" }, order: "created_at.desc", limit: 5 },
  create_campaign: {
    name: "Double points",
    channel: "email",
    segment_id: exampleId("segments"),
    subject: "Double points this weekend",
    body_html:
      '<p>Hello {{ first_name | default: "friend" }}, points count double from Friday to Sunday.</p>',
  },
  update_campaign: { id: exampleId("campaigns"), preheader: "From Friday to Sunday." },
  preflight_campaign: campaign,
  preview_campaign: { ...campaign, playerId: exampleId("players") },
  segment_reach: { segmentId: exampleId("segments"), channel: "email" },
  send_test_message: { ...campaign, to: "admin@demo.example", dry_run: true },
  rehearse_voice_call: { campaignId: exampleId("voice campaigns"), persona: "says_stop" },
  send_campaign: { ...campaign, dry_run: true },
  send_sms_campaign: { campaignId: exampleId("sms campaigns"), dry_run: true },
  schedule_campaign: {
    campaign_id: exampleId("campaigns"),
    scheduled_at: LATER,
    segment_id: exampleId("segments"),
    dry_run: true,
  },
  unschedule_campaign: campaign,
  pause_campaign: campaign,
  resume_campaign: { ...campaign, dry_run: true },
  cancel_campaign: campaign,
  duplicate_campaign: { ...campaign, name: "Weekend free play, once more" },
  campaign_stats: campaign,
  campaign_hours: campaign,
  get_sending_state: {},
  list_campaign_sends: { filters: { "status.eq": "skipped" }, select: "player_id,skip_reasons", limit: 20 },
  get_preferences: { sendId: exampleId("campaign_sends") },
  save_preferences: { sendId: exampleId("campaign_sends"), off: ["sms"] },
  unsubscribe: { sendId: exampleId("campaign_sends") },
  create_message_provider: {
    channel: "email",
    kind: "mailbox",
    name: "Rehearsals",
    from_address: "offers@demo-casino.example",
    allows_gaming: true,
  },
  update_message_provider: { id: exampleId("message_providers"), rate_per_second: 20 },
  create_sms_keyword: { text: "basta", action: "stop", match: "message", language: "es" },
  update_sms_keyword: { id: exampleId("sms_keywords"), note: "Asked for by Spanish speakers" },
  read_sms_text: { text: "please stop texting me" },
  receive_sms: { from: "+17025550199", text: "STOP", dry_run: true },
  resolve_sms_review: { messageId: exampleId("inbound_messages"), decision: "revoke" },
  list_mailbox_messages: { select: "recipient,subject,created_at", order: "created_at.desc", limit: 5 },
};
