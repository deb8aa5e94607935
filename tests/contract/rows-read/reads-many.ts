/** Operations and jobs that may read many rows by their nature, and the tables: by reason. */
export const READS_MANY: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  "It counts, previews or plans for an audience or a segment, and everybody may be in it": {
    add_segment_members: ["players"],
    remove_segment_members: ["players"],
    create_segment: ["players"],
    export_players: ["players"],
    deliver_campaign: [
      "campaign_sends",
      "dnc_entries",
      "inbox_messages",
      "players",
      "self_exclusions",
      "suppressions",
    ],
    plan_campaign: [
      "campaign_sends",
      "dnc_entries",
      "inbox_messages",
      "players",
      "self_exclusions",
      "suppressions",
    ],
    preflight_campaign: ["campaign_sends", "dnc_entries", "players", "self_exclusions", "suppressions"],
    publish_journey: [
      "dnc_entries",
      "journey_enrollments",
      "player_events",
      "players",
      "self_exclusions",
      "suppressions",
    ],
    refresh_segment: ["players"],
    resume_journey: ["campaign_sends", "dnc_entries", "players", "self_exclusions", "suppressions"],
    schedule_campaign: ["campaign_sends", "dnc_entries", "players", "self_exclusions", "suppressions"],
    segment_preview: ["players"],
    segment_reach: ["campaign_sends", "dnc_entries", "players", "self_exclusions", "suppressions"],
    send_campaign: ["campaign_sends", "dnc_entries", "players", "self_exclusions", "suppressions"],
    send_sms_campaign: ["dnc_entries", "players", "self_exclusions", "suppressions"],
    simulate_journey: [
      ...["campaign_sends", "dnc_entries", "journey_enrollments", "player_events", "players"],
      ...["segment_members", "self_exclusions", "suppressions"],
    ],
    update_segment: ["players"],
    validate_journey: ["dnc_entries", "player_events", "players", "self_exclusions", "suppressions"],
  },
  "It counts the people of one campaign, journey or game, and everybody may be in it": {
    archive_journey: ["campaign_sends", "journey_enrollments"],
    draw_journey: ["journey_enrollments"],
    forecast_sending: ["journey_enrollments"],
    game_report: ["game_plays"],
    journey_report: ["journey_enrollments"],
    refresh_campaign_stats: ["campaign_clicks", "campaign_sends", "inbox_messages", "players"],
    resume_all_sending: ["campaign_sends"],
    verify_journey: ["journey_enrollments"],
  },
  "Once a minute at most it looks at all who wait for an event, and a slow test lasts longer": {
    step_journey: ["journey_enrollments"],
  },
  "It shows exact counts of the property's records": {
    list_compliance_controls: ["consent_records", "dnc_entries", "self_exclusions", "suppressions"],
  },
  "It looks for a person in texts that others wrote, for namesakes, and for hashes in arrays, which have no index below row-level security":
    {
      data_deletion: [
        ...["audit_logs", "idempotency_records", "import_errors", "outbox", "players", "privacy_requests"],
        ...["proposals", "self_exclusions", "upload_chunks", "webhook_deliveries"],
      ],
      data_export: ["audit_logs", "import_errors", "outbox", "players", "proposals", "self_exclusions"],
    },
  "It takes a value from every player": {
    delete_custom_field: ["players"],
  },
  "It compares or counts all of them": {
    find_duplicate_players: ["players"],
    rotate_push_keys: ["push_subscriptions"],
  },
  "It checks every row, or gives all of them": {
    export_import_errors: ["import_errors"],
    list_users: ["users"],
    verify_platform_ledger: ["system_audit_logs"],
  },
  "The rows are due at this run: half of the windows, and the ledgers' rows of a minute ago": {
    forget_expired: ["rate_windows"],
    seal_ledgers: ["audit_logs", "consent_records"],
  },
};
