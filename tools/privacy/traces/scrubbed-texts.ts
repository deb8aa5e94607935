/** Columns of a table, with their types in PostgreSQL. */
export type Texts = Readonly<Record<string, "text" | "text[]" | "jsonb">>;

/**
 * Texts of records that are not a person's own, in which somebody may have written about a person: an erasure removes the
 * person's addresses, full name and player_id from them. Every text of the schema is here, in a record that goes with
 * its person, or in tests/contract/erasure/unreached.ts with the reason.
 */
export const SCRUBBED: Readonly<Record<string, Texts>> = {
  campaigns: {
    name: "text",
    status_reason: "text",
    tags: "text[]",
    conditions: "jsonb",
    planned_rules: "jsonb",
  },
  code_pools: { name: "text" },
  custom_fields: { label: "text" },
  frequency_rules: { source_note: "text" },
  game_laws: { source_note: "text" },
  game_prizes: { label: "text" },
  games: { name: "text", description: "text", status_reason: "text" },
  import_jobs: { params: "jsonb", summary: "jsonb", error: "text" },
  journeys: {
    name: "text",
    description: "text",
    status_reason: "text",
    draft_definition: "jsonb",
    goal: "jsonb",
    exit_conditions: "jsonb",
  },
  message_providers: { name: "text", last_error: "text" },
  privacy_requests: { note: "text" },
  proposals: { reason: "text", reasons: "text[]" },
  quiet_hours_rules: { source_note: "text" },
  segments: { name: "text", description: "text", conditions: "jsonb", groups: "jsonb" },
  self_exclusions: { source: "text", external_ref: "text" },
  sending_pauses: { reason: "text" },
  sms_keywords: { note: "text" },
  templates: { name: "text" },
  validation_jobs: { params: "jsonb", summary: "jsonb", error: "text" },
  voice_laws: { source_note: "text" },
  webhook_endpoints: { description: "text", disabled_reason: "text" },
};
