import { byteaLiteral } from "#db/types.ts";
import { suppressionsOf } from "./person.ts";
import { type About, amongHashes, anonymousId, blanked, byPlayer, ofAnother, type Trace } from "./trace.ts";

const theirSuppressions = ({ sql, property, person }: About) => sql`
  select s.id from suppressions s where s.property_id = ${property.id} and s.player_id = ${person.id}
  union all
  select s.id from unnest(${byteaLiteral(person.hashes)}::bytea[]) as h
  cross join lateral (${suppressionsOf(property, sql`h`)}) s`;

/** A union, so that each condition uses its own index. */
const theirResults = ({ sql, property, person }: About) => sql`
  select r.job_id, r.seq from validation_results r
  where r.property_id = ${property.id} and r.player_id = ${person.id}
  union all
  select r.job_id, r.seq from validation_results r, unnest(${person.addresses}::text[]) as a
  where r.property_id = ${property.id} and r.email = a`;

const SUPPRESSION_KEPT = [
  "channel",
  "address_hash",
  "reason",
  "campaign_id",
  "expires_at",
  "lifted_at",
  "lifted_by",
] as const;

/** The person's consents, memberships and suppressions. */
export const STANDING_TRACES: readonly Trace[] = [
  {
    table: "consent_records",
    rows: byPlayer,
    exported: "consent_records",
    erasure: blanked("consent_records", {
      set: { anon_id: anonymousId },
      kept: [],
      basis: "Proof that consents were kept, without whose they were (GDPR Art. 17(3)(e))",
    }),
  },
  {
    table: "segment_members",
    rows: byPlayer,
    exported: "segments",
    more: ({ sql, property }) => sql`jsonb_build_object('name', (select s.name from segments s
      where s.property_id = ${property.id} and s.id = t.segment_id))`,
    erasure: "delete",
  },
  { table: "inbox_messages", rows: byPlayer, exported: "inbox_messages", erasure: "delete" },
  { table: "push_subscriptions", rows: byPlayer, exported: "push_subscriptions", erasure: "delete" },
  { table: "player_events", rows: byPlayer, exported: "player_events", erasure: "delete" },
  { table: "social_shares", rows: byPlayer, exported: "social_shares", erasure: "delete" },
  {
    // Before suppressions: a running validation writes both, and this waits for it.
    table: "validation_results",
    rows: (about) => about.sql`(t.job_id, t.seq) in (${theirResults(about)})`,
    searched: true,
    exported: "validation_results",
    erasure: "delete",
  },
  {
    // A refusal belongs to the address and stays after its person is erased. The new suppression replaces none of them.
    table: "suppressions",
    rows: (about) =>
      about.sql`t.id in (${theirSuppressions(about)}) and not ${ofAnother(about, "t.player_id")}`,
    exported: "suppressions",
    erasure: {
      set: { address: "null", player_id: "null", source: "null" },
      kept: SUPPRESSION_KEPT,
      basis:
        "So that the person is not written to again: a keyed hash of the address (GDPR Art. 17(3)(b), 21(3))",
    },
  },
  {
    // Another player's refusal, made while that player had the address: it stays with that player.
    table: "suppressions",
    rows: (about) => about.sql`t.id in (${theirSuppressions(about)}) and ${ofAnother(about, "t.player_id")}`,
    exported: null,
    erasure: {
      set: { address: "null" },
      kept: ["player_id", "source", ...SUPPRESSION_KEPT],
    },
  },
  {
    table: "dnc_entries",
    rows: (about) => amongHashes(about, "t.phone_hash", about.person.hashes),
    exported: "dnc_entries",
    erasure: {
      set: { phone: "null", note: "null", source: "null" },
      kept: ["phone_hash", "list", "state", "requested_at", "expires_at"],
      basis: "Do-not-call duty: a keyed hash of the number (47 CFR 64.1200(d))",
    },
  },
  {
    table: "self_exclusions",
    rows: (about) => about.sql`(${byPlayer(about)} or not ${ofAnother(about, "t.player_id")}
      and (t.identity_hash = ${about.person.identityHash}
        or t.address_hashes && ${byteaLiteral(about.person.hashes)}::bytea[]))`,
    exported: "self_exclusions",
    erasure: {
      set: { player_id: "null", source: "null", external_ref: "null" },
      kept: ["identity_hash", "address_hashes", "program", "jurisdiction", "starts_at", "ends_at"],
      basis: "Gaming law: a self-exclusion binds as long as it lasts; keyed hashes alone",
    },
  },
];
