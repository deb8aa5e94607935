/** Columns of a table, with their types in PostgreSQL. */
export type Texts = Readonly<Record<string, "text" | "text[]" | "jsonb">>;

/** The texts of one table, by what depends on them. */
export interface Scrubbed {
  /** Somebody's words about a person or an event: nothing reads them but people. All that names the person goes. */
  notes?: Texts;
  /**
   * Rules match them, or other players and operators know a record by them. Only what can be nothing but the person
   * goes, so that they mean the same for everybody else. The answer of the erasure names the others.
   */
  settings?: Texts;
}

/**
 * Texts of records that are not a person's own, in which somebody may have written about a person. Every text of the
 * schema is here, in a record that goes with its person, or in tests/contract/erasure/unreached.ts with the reason.
 */
export const SCRUBBED: Readonly<Record<string, Scrubbed>> = {
  campaigns: {
    notes: { status_reason: "text" },
    settings: { name: "text", tags: "text[]", conditions: "jsonb", planned_rules: "jsonb" },
  },
  code_pools: { settings: { name: "text" } },
  custom_fields: { settings: { label: "text" } },
  frequency_rules: { notes: { source_note: "text" } },
  game_laws: { notes: { source_note: "text" } },
  game_prizes: { settings: { label: "text" } },
  games: { notes: { status_reason: "text" }, settings: { name: "text", description: "text" } },
  import_jobs: { notes: { error: "text" }, settings: { params: "jsonb", summary: "jsonb" } },
  journeys: {
    notes: { description: "text", status_reason: "text" },
    settings: { name: "text", draft_definition: "jsonb", goal: "jsonb", exit_conditions: "jsonb" },
  },
  message_providers: { notes: { last_error: "text" }, settings: { name: "text" } },
  privacy_requests: { notes: { note: "text" } },
  proposals: { notes: { reason: "text", reasons: "text[]" } },
  quiet_hours_rules: { notes: { source_note: "text" } },
  segments: {
    notes: { description: "text" },
    settings: { name: "text", conditions: "jsonb", groups: "jsonb" },
  },
  self_exclusions: { notes: { source: "text", external_ref: "text" } },
  sending_pauses: { notes: { reason: "text" } },
  sms_keywords: { notes: { note: "text" } },
  templates: { settings: { name: "text" } },
  validation_jobs: { notes: { error: "text" }, settings: { params: "jsonb", summary: "jsonb" } },
  voice_laws: { notes: { source_note: "text" } },
  webhook_endpoints: { notes: { description: "text", disabled_reason: "text" } },
};

/** The tables among them whose changes count as versions. */
export const VERSIONED = new Set(["campaigns", "games", "journeys", "segments", "templates"]);
