import { literals } from "#db/sql.ts";
import { WAITING_SENDS } from "#tools/statuses/sends.ts";
import { OPEN_CALLS } from "#tools/voice-calls/voice-calls.table.ts";
import { mentions, naming } from "./matching-person.ts";
import {
  type About,
  amongHashes,
  anonymousId,
  byPlayer,
  type Erasure,
  ofAnother,
  type Trace,
} from "./trace.ts";

const ofTheirSends = ({ sql, property, person }: About) => sql`
  select id from campaign_sends where property_id = ${property.id} and player_id = ${person.id}`;

/** By ids, because the planner finds no index for an `or` of two conditions. */
const theirMails = (about: About) => about.sql`
  select m.id from mailbox_messages m, unnest(${about.person.addresses}::text[]) as a
  where m.property_id = ${about.property.id} and m.recipient = a
  union all ${ofTheirSends(about)}`;

/** Sent to an address of the person's while another player had it. */
const mailedToAnother = (about: About) => about.sql`exists (
  select from campaign_sends s
  where s.property_id = ${about.property.id} and s.id = t.id and ${ofAnother(about, "s.player_id")})`;

/** The callback about the erasure itself names the record, and must still be delivered. */
const theirEvents = (about: About) => about.sql`
  select t.id from outbox t
  where t.property_id = ${about.property.id} and t.type <> 'player.erased' and ${mentions(about, "t.data::text")}`;

const waits = `t.status in (${WAITING_SENDS.map((status) => `'${status}'`).join(", ")})`;

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
  "redeemed_at",
  "variant_id",
  "enrollment_id",
  "journey_id",
  "node_id",
] as const;
/** The figures of a campaign's calls count these. */
const CALL_KEPT = [
  "send_id",
  "campaign_id",
  "provider",
  "provider_id",
  "simulated",
  "status",
  "outcome",
  "answered_by",
  "latest",
  "started_at",
  "disclosed_at",
  "stopped_at",
  "stop_refusals",
  "stop_again_at",
  "ended_at",
  "seconds",
  "cost",
  "cost_currency",
  "error_code",
] as const;

/** The columns of a send that its anonymization changes. */
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

/** The vendor's id of a live call: by it the call is ended. Its end removes it. */
const liveCallId = ({ sql, property }: Erasure) => sql`case when t.status in (${literals(OPEN_CALLS)})
  then coalesce(t.provider_call_id, (
    select s.provider_message_id from campaign_sends s where s.property_id = ${property.id} and s.id = t.send_id)) end`;

/** The hash of an email that another player has now. */
const othersHash = ({ sql, property }: Erasure) => sql`(
  select t.address_hash from players o
  where o.property_id = ${property.id} and o.email_hash = t.address_hash and o.id <> t.player_id
    and o.deleted_at is null
  limit 1)`;

/** Unique for each send, and unrelated to the player's id. */
const anonymousKey = (erasure: Erasure) =>
  erasure.sql`sha256(uuid_send(t.id) || uuid_send(${anonymousId(erasure)}))`;

/** The messages to the person, the person's messages, and the events about both. */
export const MESSAGE_TRACES: readonly Trace[] = [
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
    rows: (about) =>
      about.sql`(t.event_id in (${theirEvents(about)}) or ${mentions(about, "t.attempts::text")})`,
    searched: true,
    byId: true,
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
      return { rows: row!.gone };
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
    // Before the sends, which the calls belong to.
    table: "voice_calls",
    rows: byPlayer,
    exported: "voice_calls",
    erasure: {
      set: {
        player_id: "null",
        anon_id: anonymousId,
        provider_call_id: liveCallId,
        persona: "null",
        script: "null",
        state: "null",
        transcript: "'[]'",
        error_message: "null",
      },
      kept: CALL_KEPT,
    },
  },
  {
    table: "campaign_sends",
    rows: byPlayer,
    exported: "campaign_sends",
    erasure: {
      set: {
        // The provider has it at this moment: `finish_erasure` removes the player when the outcome is known.
        player_id: "case when t.status = 'sending' then t.player_id end",
        anon_id: anonymousId,
        status: `case when ${waits} then 'cancelled' else t.status end`,
        skip_reasons: `case when ${waits} then '{erased}' else t.skip_reasons end`,
        // Another player may have the address by now, and use the link in that message.
        address_hash: othersHash,
        address_masked: "null",
        provider_message_id: "null",
        error_message: "null",
        dedupe_key: anonymousKey,
      },
      kept: SEND_KEPT,
    },
  },
  {
    // An anonymous send to an address that has become this person's.
    table: "campaign_sends",
    rows: (about) => about.sql`t.player_id is null and t.address_hash is not null and t.anon_id is not null
      and ${amongHashes(about, "t.address_hash", about.person.hashes)}`,
    exported: null,
    erasure: { set: { address_hash: "null" }, kept: [...SEND_FREED, ...SEND_KEPT] },
  },
  {
    // When two players have one number, its text belongs to the player who was identified on arrival.
    table: "inbound_messages",
    rows: (about) => about.sql`(${byPlayer(about)}
      or t.player_id is null and ${amongHashes(about, "t.sender_hash", about.person.hashes)})`,
    exported: "inbound_messages",
    erasure: "delete",
  },
];
