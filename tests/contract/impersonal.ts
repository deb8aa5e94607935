/** Columns of every record that say nothing of a person. */
export const BARE = ["property_id", "id", "created_at", "updated_at"] as const;

/** Tables that know no person of a property's, and why that is so. */
export const IMPERSONAL: Readonly<Record<string, string>> = {
  agent_confirmations: "Hashes of what agents were shown, kept until it expires",
  api_keys: "The operator's credentials",
  campaign_claims: "Counts of a campaign",
  campaign_links: "The operator's own links",
  custom_fields: "What fields the operator has defined",
  directory_version: "A count",
  frequency_rules: "The operator's rules",
  ledger_seals: "Ids and hashes of ledger rows, whose personal part is salted",
  memberships: "Staff",
  migrations: "File names",
  password_resets: "Staff",
  platform_messages: "Mail to staff, kept for a day",
  properties: "The operator's settings",
  provider_notices: "A vendor's own ids",
  provider_usage: "Counts",
  quiet_hours_rules: "The operator's rules",
  rate_windows: "Counts, kept for an hour",
  schedule_ticks: "Times",
  signing_keys: "The service's own keys",
  sms_keyword_defaults: "Words that every property reads texts by",
  sms_keywords: "The operator's own words",
  system_audit_logs: "What was done to keys, staff and properties",
  system_ledger_heads: "Hashes of seals",
  system_ledger_seals: "Ids and hashes of the platform's ledger rows",
  templates: "The operator's own words",
  users: "Staff",
  validation_jobs: "Counts, and by which rules addresses were validated",
  webhook_endpoints: "The operator's receivers",
};
