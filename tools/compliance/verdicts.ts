import { raw, recordset } from "#db/sql.ts";
import type { Context } from "#runtime/operation/context.ts";
import type { Channel } from "./channels.ts";
import { capsCtes } from "./frequency.ts";
import { type BlockReason, gateReasons, SHARED, strangerReasons } from "./gate.ts";
import { type DeferReason, hoursCtes, nextOpening } from "./hours.ts";

/** A player, or an address with its hash in hex; an invalid address has no hash. */
export interface Subject {
  address: string | null;
  hash: string | null;
  player: string | null;
}

/** The gate's verdict on one player or address. */
export interface Verdict {
  player_id: string | null;
  allowed: boolean;
  reasons: BlockReason[];
  defer_reasons: DeferReason[];
  retry_at: string | null;
  /** A rule of quiet hours drops the message in place of postponing it. */
  dropped: boolean;
  checked_at: string;
}

// Rows are one parameter. With arrays of one element PostgreSQL would plan the statement anew at each run: 10 ms.
const SUBJECT = { position: "int", address: "text", hash: "text", player: "uuid" };

/**
 * Judges all of them in one statement, in their order. An address of the channel with several players has the verdict
 * of the player who may get the message. The others have no consent, or a bar that closes the address for all. Without
 * such a player the most restricted one counts. The gate and a stranger's reasons are in subqueries, so that the planner
 * probes for these few instead of reading whole tables. `lead`: an SQL interval for which the hours must stay open.
 */
export async function verdictsOn(
  { sql, property }: Pick<Context, "sql" | "property">,
  channel: Channel,
  subjects: readonly Subject[],
  { at, lead }: { at?: string | undefined; lead?: string | undefined } = {},
): Promise<Verdict[]> {
  const rows = subjects.map((one, position) => ({ ...one, position }));
  const gate = gateReasons({ property, channel, at });
  const stranger = strangerReasons({ property, channel, at }, sql`a.hash`);
  const options = { property, channel, at };
  const waits = sql`${hoursCtes({ ...options, ...(lead && { lead }) }, "subject")}, ${capsCtes({ ...options, tags: [] }, "subject")}`;
  const shared = raw(SHARED[channel] ? `p.${SHARED[channel].hash}` : "null::bytea");
  const moment = at === undefined ? sql`statement_timestamp()` : sql`${at}::timestamptz`;
  return sql<Verdict[]>`
    with subjects as materialized (
      select position, address, decode(hash, 'hex') as hash, player from ${recordset(SUBJECT, rows)}
    ), holder as materialized (
      select a.position, p.id from subjects a
      join players p on p.property_id = ${property.id} and p.phone_hash = a.hash and p.deleted_at is null
      union all
      select a.position, p.id from subjects a
      join players p on p.property_id = ${property.id} and p.email_hash = a.hash and p.deleted_at is null
      union all
      select a.position, p.id from subjects a
      join players p on p.property_id = ${property.id} and p.id = a.player
        and (p.deleted_at is null or p.status = 'erased')
    ), found as materialized (
      select h.position, h.id, g.* from holder h, lateral (
        select ${gate} as reasons, p.zones, p.region, ${shared} as hash from players p where p.property_id = ${property.id} and p.id = h.id offset 0) g
    ), strictest as (
      select distinct on (f.position) f.position, f.id, f.reasons from found f join subjects a on a.position = f.position
      order by f.position, coalesce(f.hash = a.hash, false) and f.reasons = '{}' desc, cardinality(f.reasons) desc,
        'shared_address' = any(f.reasons), f.id
    ), subject as materialized (
      select position, id, zones, region from found
      union all
      select a.position, null, player_zones(null, null, null, null, a.address), player_region(null, null, null, a.address)
      from subjects a where not exists (select from found f where f.position = a.position)
    ), ${waits}, waiting as (
      select s.position, bool_or(not h.is_open) as is_quiet, bool_or(c.free_at is not null) as is_capped,
        coalesce(bool_or(h.skips), false) as dropped,
        max(coalesce(n.next, 'infinity')) as retry_at
      from subject s
        left join hours h on h.zones = s.zones and h.region = s.region
        left join caps c on c.id = s.id
        cross join lateral (select greatest(${moment}, c.free_at) as from_) b
        cross join lateral (select ${nextOpening(sql`h.open`, sql`b.from_`)} as next) n
      where not h.is_open or c.free_at is not null
      group by s.position
    ), verdict as (
      select a.position, coalesce(s.id, a.player) as player_id,
        case when s.position is not null then s.reasons
          when a.player is not null then array['no_consent']
          else (select ${stranger}) end as reasons
      from subjects a left join strictest s on s.position = a.position
    )
    select player_id, reasons = '{}' as allowed, reasons,
      array_remove(array[case when is_capped then 'frequency_capped' end, case when is_quiet then 'quiet_hours' end],
        null) as defer_reasons,
      case when retry_at < 'infinity' then to_json(retry_at) #>> '{}' end as retry_at,
      coalesce(dropped, false) as dropped, to_json(now()) #>> '{}' as checked_at
    from verdict left join waiting using (position) order by position`;
}
