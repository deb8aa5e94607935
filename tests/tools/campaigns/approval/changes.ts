import type { Approved, Fields } from "./scenario.ts";

export const OTHER_PROVIDER = {
  ...{ channel: "email", kind: "mailbox", name: "Other", from_address: "other@example.com" },
  allows_gaming: true,
};

/** Everything by which a call changes what the approved campaign sends, to whom, when or how. */
export const CHANGES: [string, (made: Approved) => [string, Fields]][] = [
  ["another subject", ({ id }) => ["update_campaign", { id, subject: "Nobody approved this" }]],
  ["another body", ({ id }) => ["update_campaign", { id, body_html: "<p>Nobody approved this</p>" }]],
  ["another sender", ({ id }) => ["update_campaign", { id, from_email: "evil@example.com" }]],
  ["everybody", ({ id }) => ["update_campaign", { id, audience: "all", segment_id: null }]],
  [
    "wider rules",
    ({ gold }) => ["update_segment", { id: gold, conditions: [{ field: "email", operator: "is_set" }] }],
  ],
  [
    "a segment of another kind",
    ({ vips }) => [
      "update_segment",
      { id: vips, type: "dynamic", conditions: [{ field: "tier", operator: "eq", value: "None" }] },
    ],
  ],
  ["no exclusions", ({ gold }) => ["update_segment", { id: gold, exclude_segment_ids: [] }]],
  [
    "another text in the template",
    ({ template }) => ["update_template", { id: template, html: "<p>Evil</p>" }],
  ],
  [
    "another subject in the template",
    ({ template }) => ["update_template", { id: template, subject: "Evil" }],
  ],
  ["no frequency rules", ({ id }) => ["update_campaign", { id, ignore_frequency_cap: true }]],
  ["no holdout", ({ id }) => ["update_campaign", { id, holdout_percent: 90 }]],
  ["other tags", ({ id }) => ["update_campaign", { id, tags: ["uncapped"] }]],
  [
    "variants",
    ({ id }) => [
      "update_campaign",
      {
        id,
        goal: { event: "deposit" },
        ab_test: { variants: [{ id: "a", subject: "Evil" }, { id: "b" }], metric: "conversion" },
      },
    ],
  ],
  ["another provider", () => ["create_message_provider", { ...OTHER_PROVIDER, is_default: true }]],
  ["a provider where there was none", () => ["create_message_provider", OTHER_PROVIDER]],
  ["links with other parameters", ({ id }) => ["update_campaign", { id, utm: { source: "evil" } }]],
  [
    "another time",
    ({ id, gold }) => [
      "schedule_campaign",
      { campaign_id: id, segment_id: gold, scheduled_at: new Date(Date.now() + 86_400_000).toISOString() },
    ],
  ],
  ["sending at once", ({ id }) => ["send_campaign", { campaignId: id }]],
];
