/** The actions of each event category. An event's name is `<category>.<action>`. */
export const EVENTS = {
  campaign: [
    "created",
    "updated",
    "scheduled",
    "unscheduled",
    "started",
    "paused",
    "resumed",
    "sent",
    "cancelled",
    "failed",
    "message_sent",
    "message_delivered",
    "message_opened",
    "message_clicked",
    "message_bounced",
    "message_complained",
    "message_failed",
    "message_skipped",
    "unsubscribed",
    "converted",
    "winner_selected",
    "call_answered",
    "call_completed",
    "call_unknown",
  ],
  player: [
    "created",
    "updated",
    "deleted",
    "merged",
    "erased",
    "segment_entered",
    "segment_exited",
    "tier_changed",
    "self_excluded",
    "suppressed",
    "suppression_lifted",
    "inbox_read",
    "message_received",
    "journey_entered",
    "journey_goal_reached",
    "journey_exited",
    "journey_webhook",
    "shared",
    "referred",
  ],
  consent: ["granted", "denied", "revoked", "expired"],
  game: [
    "created",
    "activated",
    "ended",
    "played",
    "prize_won",
    "prize_claimed",
    "prize_redeemed",
    "prize_depleted",
  ],
  member: ["invited", "joined", "role_changed", "removed"],
  job: ["completed", "failed"],
  proposal: ["created", "approved", "refused", "withdrawn", "expired", "stale"],
  provider: ["failing", "recovered"],
  retention: ["ended"],
  webhook: ["test"],
} as const;

type Events = typeof EVENTS;
export type EventName = { [C in keyof Events]: `${C}.${Events[C][number]}` }[keyof Events];

export const EVENT_NAMES = Object.entries(EVENTS).flatMap(([category, actions]) =>
  actions.map((action) => `${category}.${action}`),
) as EventName[];

/** The names that an endpoint may subscribe to: `*`, `<category>.*`, or an event. */
export const SUBSCRIPTIONS: readonly string[] = [
  "*",
  ...Object.keys(EVENTS).map((category) => `${category}.*`),
  ...EVENT_NAMES,
];
