import { createHash, randomUUIDv7 } from "node:crypto";
import { z } from "zod";
import type { Sql } from "#db/database.ts";
import { type Fragment, sql as fragment } from "#db/sql.ts";
import { LAST_SECOND } from "#db/time.ts";
import { invalid, noSuch } from "#runtime/faults.ts";
import { appendRows } from "#runtime/ledgers.ts";
import type { Actor, Context } from "#runtime/operation/context.ts";
import type { RowOf } from "#runtime/operation/table.ts";
import type { Channel } from "#tools/compliance/channels.ts";
import type consentRecords from "./consent-records.table.ts";
import type { ConsentAction, ConsentLevel } from "./consent-records.table.ts";
import { rowsInForce } from "./in-force.ts";

/** Milliseconds. */
const HOUR = 3_600_000;

/** One act of consent, of one or more players, on one or more channels. */
export interface ConsentAct {
  playerIds: string[];
  channels: readonly Channel[];
  action: ConsentAction;
  level?: ConsentLevel | undefined;
  source?: string | undefined;
  text?: string | undefined;
  version?: string | undefined;
  method?: string | undefined;
  ip?: string | undefined;
  /** ISO times. Without `occurredAt` it happened now, by the database's clock. */
  occurredAt?: string | undefined;
  expiresAt?: string | undefined;
}

/** A row of the ledger for `appendConsents`, which adds the other columns. */
export type LedgerRow = Omit<
  RowOf<typeof consentRecords.columns>,
  "player_id" | "anon_id" | "recorded_at" | "record_hash" | "created_at" | "updated_at"
> & { player_id: string };

/**
 * Writes an act into the ledger and refreshes the players' consents from it. The players are locked first, so that
 * after two calls the consents are those in force. Throws `not_found` for a missing player, `invalid` for a
 * time in the future.
 */
export async function record(context: Context, act: ConsentAct): Promise<LedgerRow[]> {
  const { sql, property } = context;
  if (act.playerIds.length === 0) return [];
  const [players, [times]] = await Promise.all([lockPlayers(context, act.playerIds), readTimes(sql, act)]);
  if (times!.future)
    throw invalid(act.action === "revoked" ? "requestedAt" : "occurredAt", "must not be in the future");
  if (times!.reversed) throw invalid("expiresAt", "must be after the consent was given");
  const rows = players.flatMap((player) =>
    act.channels.map((channel) => ledgerRow(context, act, player, channel, times!)),
  );
  await appendConsents(sql, rows);
  await refreshConsents(sql, property, act.playerIds);
  if (act.expiresAt !== undefined) expireLater(context, act.expiresAt);
  return rows;
}

/** Tells webhooks and journeys of an answer that the player has given. */
export function announceAnswer({ emit }: Pick<Context, "emit">, row: LedgerRow): void {
  const { id, player_id, channel, action, consent_source, consent_version, occurred_at } = row;
  const told = { id, player_id, channel, action, consent_source, consent_version, occurred_at };
  emit(row.consent_given ? "consent.granted" : "consent.denied", told);
}

/** The job that records expired consents, in the form for `enqueue`. */
export const EXPIRE_CONSENTS = { name: "expire_consents", attempts: 20, input: z.object({}) };

/** The consents that expire within one hour are recorded together, at its end. The gate does not wait for it. */
function expireLater({ property, enqueue }: Context, expiresAt: string): void {
  const end = Math.ceil(Date.parse(expiresAt) / HOUR) * HOUR;
  const runAt = new Date(Math.min(end, LAST_SECOND)).toISOString();
  enqueue(EXPIRE_CONSENTS, {}, { dedupe: `${property.id} ${runAt}`, runAt });
}

/** Sets the players' consents to the ledger's rows in force, channel by channel. The caller has locked the players. */
export async function refreshConsents(
  sql: Sql,
  property: { id: string },
  playerIds: string[],
): Promise<void> {
  // Finds each player's consents by a key in one value, and not by a join. A planner without statistics of the property
  // expects one row, and a join would compare each player with each other one: 10,000 took minutes.
  await sql`
    with last as materialized (
      select player_id, jsonb_strip_nulls(jsonb_build_object(
        'given', jsonb_object_agg(channel, consent_given),
        'expiries', jsonb_object_agg(channel, expires_at) filter (where consent_given and expires_at is not null),
        'levels', jsonb_object_agg(channel, consent_level) filter (where consent_given and consent_level <> 'express')
      )) as consents
      from (${rowsInForce(property, { players: fragment`${playerIds}::uuid[]` })}) said
      group by player_id
    ), known as materialized (
      select jsonb_object_agg(player_id, consents) as of from last
    )
    update players p
    set consents = ${consentsOf("given")}, consent_expiries = ${consentsOf("expiries")},
      consent_levels = ${consentsOf("levels")}, updated_at = now()
    from known
    where p.property_id = ${property.id} and p.id = any(${playerIds}::uuid[]) and known.of ? p.id::text
      and (p.consents, p.consent_expiries, p.consent_levels)
        is distinct from (${consentsOf("given")}, ${consentsOf("expiries")}, ${consentsOf("levels")})`;
}

function consentsOf(part: "given" | "expiries" | "levels"): Fragment {
  return fragment`(known.of -> p.id::text -> ${part}::text)`;
}

interface LockedPlayer {
  id: string;
  email_hash: string | null;
  phone_hash: string | null;
  /** By ISO 3166, as far as known: US-NV, or DE. */
  region: string;
}

async function lockPlayers({ sql, property }: Context, ids: string[]): Promise<LockedPlayer[]> {
  const players = await sql<LockedPlayer[]>`
    select id, encode(email_hash, 'hex') as email_hash, encode(phone_hash, 'hex') as phone_hash, region from players
    where property_id = ${property.id} and id = any(${ids}::uuid[]) order by id for update`;
  if (players.length === new Set(ids).size) return players;
  const missing = ids.find((id) => !players.some((player) => player.id === id.toLowerCase()));
  throw noSuch("player", missing);
}

interface Times {
  occurred: string;
  expires: string | null;
  future: boolean;
  reversed: boolean;
}

/** Read after the lock, so that the later of two waiting calls gets the later time. */
async function readTimes(sql: Sql, { occurredAt, expiresAt }: ConsentAct): Promise<Times[]> {
  return await sql<Times[]>`
    select occurred, expires, occurred > clock as future, coalesce(expires <= occurred, false) as reversed
    from (
      select clock, coalesce(${occurredAt ?? null}::timestamptz, clock) as occurred,
        ${expiresAt ?? null}::timestamptz as expires
      from (select clock_timestamp() as clock offset 0) c) t`;
}

function ledgerRow(
  { property, call }: Context,
  act: ConsentAct,
  player: LockedPlayer,
  channel: Channel,
  times: Times,
): LedgerRow {
  const hashes = { email: player.email_hash, sms: player.phone_hash, voice: player.phone_hash, push: null };
  return {
    property_id: property.id,
    id: randomUUIDv7(),
    player_id: player.id,
    channel,
    action: act.action,
    consent_given: act.action === "granted",
    consent_level: act.level ?? "express",
    purpose: "marketing",
    consent_source: act.source ?? null,
    consent_text: act.text ?? null,
    consent_text_sha256:
      act.text === undefined ? null : createHash("sha256").update(act.text, "utf8").digest("hex"),
    consent_version: act.version ?? null,
    collection_method: act.method ?? call.transport,
    jurisdiction: player.region || property.default_country,
    ip_address: act.ip ?? ownAddress(call),
    user_agent: call.userAgent?.slice(0, 1000) ?? null,
    address_hash: hashes[channel],
    occurred_at: times.occurred,
    expires_at: times.expires,
    ...actorOf(call.actor),
  };
}

/** The address of a credential's call is a server's or a colleague's: the audit log keeps it, and it proves no consent. */
function ownAddress({ actor, ip }: Context["call"]): string | null {
  return actor.type === "anonymous" ? (ip ?? null) : null;
}

/** A caller without a credential holds a link that was signed for the player. */
function actorOf(actor: Actor): Pick<LedgerRow, "actor_type" | "actor_id"> {
  return { actor_type: actor.type === "anonymous" ? "player" : actor.type, actor_id: actor.id };
}

/** Appends rows to the ledger. The caller must refresh the players' consents. */
export async function appendConsents(sql: Sql, rows: readonly LedgerRow[]): Promise<void> {
  const bytes = rows.map((row) => ({ ...row, address_hash: row.address_hash && `\\x${row.address_hash}` }));
  await appendRows(sql, "consent_records", bytes);
}
