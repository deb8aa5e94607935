import {
  addressPattern,
  containing,
  dialedPattern,
  isNumber,
  isTelling,
  mentions,
  namedAfter,
  naming,
  wordPattern,
} from "./naming.ts";
import { scrubbed } from "./scrub.ts";
import { type About, amongHashes, blanked, byPlayer, ofAnother, type Trace } from "./trace.ts";

const theirSuppressions = ({ sql, property, person }: About) => sql`
  select s.id from suppressions s where s.property_id = ${property.id} and s.player_id = ${person.id}
  union all
  select s.id from suppressions s, unnest(${person.hashes}::text[]) as h
  where s.property_id = ${property.id} and s.address_hash = decode(h, 'hex')`;

const ofTheirSends = ({ sql, property, person }: About) => sql`
  select id from campaign_sends where property_id = ${property.id} and player_id = ${person.id}`;

/** Ids, because the planner finds no index for one condition or another. */
const theirMails = (about: About) => about.sql`
  select m.id from mailbox_messages m, unnest(${about.person.addresses}::text[]) as a
  where m.property_id = ${about.property.id} and m.recipient = a
  union all ${ofTheirSends(about)}`;

/** Written to an address of the person's while another player had it. */
const mailedToAnother = (about: About) => about.sql`exists (
  select from campaign_sends s
  where s.property_id = ${about.property.id} and s.id = t.id and ${ofAnother(about, "s.player_id")})`;

/** Each by an index of its own. */
const theirResults = ({ sql, property, person }: About) => sql`
  select r.job_id, r.seq from validation_results r
  where r.property_id = ${property.id} and r.player_id = ${person.id}
  union all
  select r.job_id, r.seq from validation_results r, unnest(${person.addresses}::text[]) as a
  where r.property_id = ${property.id} and r.email = a`;

/** The callback that tells of the erasure itself names the record, and is still to be delivered. */
const theirEvents = (about: About) => about.sql`
  select t.id from outbox t
  where t.property_id = ${about.property.id} and t.type <> 'player.erased' and ${mentions(about, "t.data::text")}`;

const SEND_KEPT = [
  "campaign_id",
  "channel",
  "provider",
  "claimed_by",
  "claimed_at",
  "scheduled_for",
  "attempts",
  "provider_id",
  "repeats",
  "bounce_type",
  "test_of",
  "segments",
  "error_code",
  "sent_at",
  "delivered_at",
  "opened_at",
  "clicked_at",
  "opens",
  "clicks",
  "first_human_open_at",
  "first_human_click_at",
  "bounced_at",
  "complained_at",
  "unsubscribed_at",
  "converted_at",
] as const;
/** What an anonymous send has lost, or got, by then. */
const SEND_FREED = [
  "player_id",
  "anon_id",
  "status",
  "skip_reasons",
  "address_masked",
  "provider_message_id",
  "error_message",
  "dedupe_key",
] as const;

const OTHERS_HASH = `case when exists (select from players o where o.property_id = t.property_id
    and o.email_hash = t.address_hash and o.id <> t.player_id and o.deleted_at is null) then t.address_hash end`;

const SUPPRESSION_KEPT = [
  "channel",
  "address_hash",
  "reason",
  "campaign_id",
  "expires_at",
  "lifted_at",
  "lifted_by",
] as const;

/**
 * Every table that knows persons. They are erased in this order: what is found by other rows comes before them,
 * what refers to other rows too. A new table of persons is one more entry; most are this line:
 * `{ table: "…", rows: byPlayer, exported: "…", erasure: "delete" }`.
 */
export const TRACES: readonly Trace[] = [
  {
    table: "audit_logs",
    rows: (about) => about.sql`(
      t.erased_by is null and t.action not in ('data_deletion', 'finish_erasure')
      and (t.entity_id in (select ${about.person.id}::uuid ${ownRecords(about)})
        or ${mentions(about, "t.diff::text")} or ${namedAfter(about, "t.request_id")}))`,
    searched: true,
    exported: "audit_entries",
    erasure: blanked("audit_logs", {
      set: {},
      kept: [],
      basis: "Accountability: who did what, without what it said",
    }),
  },
  {
    table: "mailbox_messages",
    rows: (about) => about.sql`t.id in (${theirMails(about)}) and not ${mailedToAnother(about)}`,
    exported: "mailbox_messages",
    erasure: "delete",
  },
  {
    table: "mailbox_messages",
    rows: (about) => about.sql`t.id in (${theirMails(about)}) and ${mailedToAnother(about)}`,
    exported: null,
    erasure: "delete",
  },
  {
    table: "webhook_deliveries",
    rows: (about) => about.sql`t.event_id in (${theirEvents(about)})`,
    searched: true,
    exported: null,
    erasure: "delete",
  },
  {
    table: "outbox",
    rows: (about) => about.sql`t.id in (${theirEvents(about)})`,
    searched: true,
    exported: "events",
    erasure: "delete",
  },
  {
    table: "queue",
    rows: ({ sql }) => sql`false`,
    searched: true,
    exported: null,
    erasure: async ({ sql, person }) => {
      const { likes, names } = naming(person);
      const [row] = await sql<{ gone: number }[]>`
        select forget_jobs(array(select lower(l) from unnest(${likes}::text[]) as l), ${names}) as gone`;
      return row!.gone;
    },
  },
  {
    table: "campaign_clicks",
    rows: (about) => about.sql`t.send_id in (${ofTheirSends(about)})`,
    searched: true,
    exported: "campaign_clicks",
    // The send that they belong to loses its player.
    erasure: {
      set: {},
      kept: ["send_id", "link_id", "campaign_id", "clicks", "last_clicked_at", "first_human_click_at"],
    },
  },
  {
    table: "campaign_sends",
    rows: byPlayer,
    exported: "campaign_sends",
    erasure: {
      set: {
        // With the provider at this moment: let go by `finish_erasure`, when its outcome is known.
        player_id: "case when t.status = 'sending' then t.player_id end",
        anon_id: "$anon",
        status: "case when t.status in ('pending', 'deferred') then 'cancelled' else t.status end",
        skip_reasons: "case when t.status in ('pending', 'deferred') then '{erased}' else t.skip_reasons end",
        // By then another player's, who may be the one to use the link in that message.
        address_hash: OTHERS_HASH,
        address_masked: "null",
        provider_message_id: "null",
        error_message: "null",
        dedupe_key: "sha256(uuid_send(gen_random_uuid()))",
      },
      kept: SEND_KEPT,
    },
  },
  {
    // Nobody's any more, to an address that has become this person's.
    table: "campaign_sends",
    rows: (about) => about.sql`t.player_id is null and t.address_hash is not null and t.anon_id is not null
      and ${amongHashes(about, "t.address_hash", about.person.hashes)}`,
    exported: null,
    erasure: { set: { address_hash: "null" }, kept: [...SEND_FREED, ...SEND_KEPT] },
  },
  {
    // Where two players have one number, a text is that of the player it was taken for.
    table: "inbound_messages",
    rows: (about) => about.sql`(${byPlayer(about)}
      or t.player_id is null and ${amongHashes(about, "t.sender_hash", about.person.hashes)})`,
    exported: "inbound_messages",
    erasure: "delete",
  },
  {
    table: "consent_records",
    rows: byPlayer,
    exported: "consent_records",
    erasure: blanked("consent_records", {
      set: { anon_id: "$anon" },
      kept: [],
      basis: "Proof that consents were kept, without whose they were (GDPR Art. 17(3)(e))",
    }),
  },
  {
    table: "segment_members",
    rows: byPlayer,
    exported: "segments",
    more: `jsonb_build_object('name', (select s.name from segments s
      where s.property_id = t.property_id and s.id = t.segment_id))`,
    erasure: "delete",
  },
  { table: "inbox_messages", rows: byPlayer, exported: "inbox_messages", erasure: "delete" },
  { table: "player_events", rows: byPlayer, exported: "player_events", erasure: "delete" },
  { table: "social_shares", rows: byPlayer, exported: "social_shares", erasure: "delete" },
  {
    // Before suppressions: a validation at work writes both, and this waits for it.
    table: "validation_results",
    rows: (about) => about.sql`(t.job_id, t.seq) in (${theirResults(about)})`,
    searched: true,
    exported: "validation_results",
    erasure: "delete",
  },
  {
    // A refusal outlives whoever made it: it is the address's. None of them gives way to the bar.
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
    // Another player's refusal, made while that player had the address: it follows them.
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
        or t.address_hashes && array(select decode(h, 'hex') from unnest(${about.person.hashes}::text[]) as h)))`,
    exported: "self_exclusions",
    erasure: {
      set: { player_id: "null", source: "null", external_ref: "null" },
      kept: ["identity_hash", "address_hashes", "program", "jurisdiction", "starts_at", "ends_at"],
      basis: "Gaming law: a self-exclusion binds as long as it lasts; keyed hashes alone",
    },
  },
  {
    table: "import_errors",
    rows: (
      about,
    ) => about.sql`(${mentions(about, "coalesce(t.value, '') || coalesce(t.original_row::text, '')")}
      or ${cells(about)})`,
    searched: true,
    exported: "import_rows",
    erasure: "delete",
  },
  {
    // Files that wait for an import that never came. One that is being imported goes when the import ends, and
    // the person's row in it is refused.
    table: "uploads",
    rows: (about) => about.sql`(t.id in (${theirUploads(about)}) or ${mentions(about, "t.filename")})`,
    searched: true,
    exported: "uploads",
    erasure: "delete",
  },
  {
    table: "upload_chunks",
    rows: (about) => about.sql`t.upload_id in (${theirUploads(about)})`,
    searched: true,
    exported: null,
    erasure: "delete",
  },
  {
    table: "import_jobs",
    rows: (about) => mentions(about, "concat(t.params, t.summary, t.error)"),
    searched: true,
    exported: null,
    erasure: scrubbed("import_jobs", { params: "jsonb", summary: "jsonb", error: "text" }),
  },
  {
    table: "segments",
    rows: (about) => mentions(about, "concat(t.name, t.description, t.conditions, t.groups)"),
    searched: true,
    exported: null,
    erasure: scrubbed("segments", {
      name: "text",
      description: "text",
      conditions: "jsonb",
      groups: "jsonb",
    }),
  },
  {
    table: "campaigns",
    rows: (about) => mentions(about, "concat(t.name, t.conditions)"),
    searched: true,
    exported: null,
    erasure: scrubbed("campaigns", { name: "text", conditions: "jsonb" }),
  },
  {
    table: "message_providers",
    rows: (about) => mentions(about, "t.last_error"),
    searched: true,
    exported: null,
    erasure: scrubbed("message_providers", { last_error: "text" }),
  },
  {
    table: "idempotency_records",
    rows: (about) => about.sql`(${mentions(about, "t.body")} or ${namedAfter(about, "t.key")})`,
    searched: true,
    exported: null,
    erasure: "delete",
  },
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
        deleted_at: "coalesce(t.deleted_at, now())",
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
        custom: "'{}'",
        last_visit_at: "null",
        host_id: "null",
        tags: "'{}'",
        legal_hold: "false",
        email_hash: "null",
        phone_hash: "null",
        import_job_id: "null",
      },
      kept: [],
    },
  },
];

/** Tables that know no person of a property's, and why that is so. */
export const IMPERSONAL: Readonly<Record<string, string>> = {
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

/** Ids of the records that are the person's own. */
function ownRecords(about: About) {
  const { sql, property } = about;
  const own = TRACES.filter(({ searched, table }) => !searched && table !== "players");
  return own.map(
    (trace) => sql`
      union all select t.id from ${sql(trace.table)} t where t.property_id = ${property.id} and ${trace.rows(about)}`,
  );
}

/** Cells of a refused row that are the person's in another form: a phone as it is dialed, their player_id alone. */
function cells({ sql, person }: About) {
  const phones = person.addresses.filter((one) => one.startsWith("+")).map(dialedPattern);
  const dialed = phones.length === 0 ? null : phones.join("|");
  const id = person.externalId;
  // Digits alone are the player_id where the import read the column as that.
  const isId = sql`(${id !== null && !isNumber(id)}::boolean or 'playerid' = regexp_replace(
    lower(coalesce(j.params -> 'mapping' ->> c.key, c.key)), '[^a-z]', '', 'g'))`;
  const likeId = id === null ? null : containing(JSON.stringify(id).slice(1, -1));
  return sql`(coalesce(t.original_row::text ~ ${dialed}, false)
    or t.original_row::text like ${likeId} and exists (
      select from jsonb_each_text(t.original_row) c
        left join import_jobs j on j.property_id = t.property_id and j.id = t.job_id
      where btrim(c.value) = ${id} and ${isId}))`;
}

/** Files that no open import reads, with the person in them. A text may lie across two chunks. */
function theirUploads(about: About) {
  const { sql, property, person } = about;
  const telling = [
    ...person.addresses.map(addressPattern),
    ...person.addresses.filter((one) => one.startsWith("+")).map(dialedPattern),
    ...(isTelling(person.externalId) ? [wordPattern(person.externalId)] : []),
  ];
  return sql`
    select upload_id from (
      select c.upload_id, encode(coalesce(substr(lag(c.bytes) over w, greatest(1, length(lag(c.bytes) over w) - 512)), '')
        || c.bytes, 'escape') as text
      from upload_chunks c
      where c.property_id = ${property.id} and not exists (
        select from import_jobs j
        where j.property_id = ${property.id} and j.upload_id = c.upload_id and j.status in ('queued', 'processing'))
      window w as (partition by c.upload_id order by c.seq)) f
    where f.text ~* ${telling.length === 0 ? null : telling.join("|")}`;
}
