import { type Fragment, identifier, join } from "#db/sql.ts";
import { GAME_TRACES } from "./games.ts";
import { namedAfter, noted } from "./matching-person.ts";
import { MESSAGE_TRACES } from "./messages.ts";
import { SCRUBBED_TRACES } from "./scrub.ts";
import { STANDING_TRACES } from "./standing.ts";
import { TEXT_TRACES } from "./texts.ts";
import { type About, anonymousId, blanked, byPlayer, type Trace } from "./trace.ts";

/** The figures of a journey count these. */
const ENROLLMENT_KEPT = [
  "journey_id",
  "version",
  "entry",
  "status",
  "node",
  "visit",
  "phase",
  "send_id",
  "entered_at",
  "arrived_at",
  "wake_at",
  "ended_at",
  "exit_reason",
  "goal_reached_at",
  "path",
  "path_at",
];

/**
 * Every table with personal data, in the order of erasure. Tables that are found through other rows come first, and
 * tables that refer to other rows too. A new table of personal data is one more entry, mostly this line: `{ table: "…",
 * rows: byPlayer, exported: "…", erasure: "delete" }`.
 */
export const TRACES: readonly Trace[] = [
  {
    table: "audit_logs",
    rows: (about) => about.sql`(
      t.erased_by is null and t.action not in ('data_deletion', 'finish_erasure')
      and (t.entity_id in (select ${about.person.id}::uuid ${ownRecords(about)})
        or ${namedAfter(about, "t.diff::text")} or ${noted(about)}
        or ${namedAfter(about, "t.request_id")}))`,
    searched: true,
    exported: "audit_entries",
    erasure: blanked("audit_logs", {
      set: {},
      kept: [],
      basis: "Accountability: who did what, without what it said",
    }),
  },
  {
    table: "journey_enrollments",
    rows: byPlayer,
    exported: "journey_enrollments",
    erasure: {
      // The step that comes next finds nobody to move: the caller has ended what was open.
      set: { player_id: "null", anon_id: anonymousId, context: "'{}'", entry_key: "''" },
      kept: ENROLLMENT_KEPT,
    },
  },
  ...GAME_TRACES,
  // Endpoints before their deliveries, as the endpoint's job locks them.
  ...SCRUBBED_TRACES.filter(({ table }) => table === "webhook_endpoints"),
  ...MESSAGE_TRACES,
  ...STANDING_TRACES,
  ...TEXT_TRACES,
  ...SCRUBBED_TRACES.filter(({ table }) => table !== "webhook_endpoints"),
  {
    table: "privacy_requests",
    rows: byPlayer,
    exported: "privacy_requests",
    erasure: {
      set: { note: "null" },
      kept: [
        "player_id",
        "type",
        "status",
        "regulation",
        "received_at",
        "due_at",
        "completed_at",
        "requested_by",
        "result",
      ],
      basis: "Accountability: that the request was met, and when (GDPR Art. 5(2))",
    },
  },
  {
    table: "players",
    rows: ({ sql, person }) => sql`t.id = ${person.id}`,
    exported: null,
    erasure: {
      set: {
        player_id: "t.id::text",
        status: "'erased'",
        deleted_at: "coalesce(t.deleted_at, clock.moment)",
        email: "null",
        phone: "null",
        first_name: "null",
        last_name: "null",
        tier: "null",
        adt: "null",
        coin_in: "null",
        lifetime_theo: "null",
        timezone: "null",
        state: "null",
        postal_code: "null",
        country: "null",
        birth_date: "null",
        language: "null",
        phone_type: "null",
        email_status: "'unknown'",
        email_validated_at: "null",
        consents: "'{}'",
        consent_expiries: "null",
        consent_levels: "null",
        custom: "'{}'",
        last_visit_at: "null",
        host_id: "null",
        tags: "'{}'",
        legal_hold: "false",
        email_hash: "null",
        phone_hash: "null",
        import_job_id: "null",
        merged_into: "null",
      },
      kept: [],
    },
  },
];

/** Ids of the person's own records. */
function ownRecords(about: About): Fragment {
  const { sql, property } = about;
  const own = TRACES.filter(({ searched, bare, table }) => !searched && !bare && table !== "players");
  const records = own.map(
    (trace) => sql`
      union all select t.id from ${identifier(trace.table)} t where t.property_id = ${property.id} and ${trace.rows(about)}`,
  );
  return join(records, "");
}
