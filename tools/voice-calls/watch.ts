import { literals } from "#db/sql.ts";
import { NIL_UUID } from "#db/types.ts";
import type { Context, Tenant } from "#runtime/operation/context.ts";
import { verdictsOn } from "#tools/compliance/verdicts.ts";
import { reportedWithin } from "./call.ts";
import { OPEN_CALLS } from "./voice-calls.table.ts";

/** The most calls that one look judges at once. */
export const CALLS_AT_ONCE = 500;

/** A call under way that its vendor can end. */
export interface LiveCall {
  id: string;
  /** ISO time, in microseconds. */
  created_at: string;
  send_id: string;
  provider_id: string;
  /** The vendor's own id of it. */
  call_id: string;
  /** Null of a test, and of a person whose data was erased. */
  player_id: string | null;
  is_erased: boolean;
  /** The player still has the number that was called. */
  is_theirs: boolean;
  /** How often its vendor did not take the request to end it. */
  stop_refusals: number;
  /** Its vendor has refused shortly before, and is not asked again yet. */
  rests: boolean;
}

/** Seconds between two requests to end a call: each doubles the one before, up to the longest. */
const FIRST_REST = 4;
const LONGEST_REST = 60;

/**
 * The calls under way behind `after`, the oldest first. Leaves out those that their vendors are ending, that say their
 * last words, or of which there was no news for the time of a whole call: one that rings again by late news is among them.
 */
export async function liveCalls(
  tenant: Tenant,
  after: Pick<LiveCall, "created_at" | "id"> = { created_at: "-infinity", id: NIL_UUID },
): Promise<LiveCall[]> {
  const { sql, property } = tenant;
  const within = await reportedWithin(tenant);
  const rows = await sql<LiveCall[]>`
    select c.id, to_json(c.created_at) #>> '{}' as created_at, c.send_id, c.provider_id, c.player_id,
      coalesce(c.provider_call_id, s.provider_message_id, '') as call_id,
      c.anon_id is not null as is_erased, coalesce(s.address_hash = p.phone_hash, false) as is_theirs,
      c.stop_refusals, coalesce(c.stop_again_at > clock_timestamp(), false) as rests
    from voice_calls c join campaign_sends s on s.property_id = ${property.id} and s.id = c.send_id
      left join players p on p.property_id = ${property.id} and p.id = c.player_id
    where c.property_id = ${property.id} and c.status in (${literals(OPEN_CALLS)}) and c.stopped_at is null
      and c.provider_id is not null and coalesce(c.state ->> 'phase', '') <> 'closing'
      and c.updated_at > now() - make_interval(secs => ${within}::double precision)
      and (c.created_at, c.id) > (${after.created_at}::timestamptz, ${after.id}::uuid)
    order by c.created_at, c.id limit ${CALLS_AT_ONCE}`;
  return [...rows];
}

/** Those to end now: their person must not be called any more, by the rules of a new call. */
export async function barredAmong(context: Context, calls: readonly LiveCall[]): Promise<LiveCall[]> {
  // Of the others the vendor has named no call so far.
  const named = calls.filter(({ call_id, rests }) => call_id !== "" && !rests);
  const known = named.filter(({ player_id }) => player_id !== null);
  const subjects = known.map(({ player_id }) => ({ address: null, hash: null, player: player_id }));
  const verdicts = known.length > 0 ? await verdictsOn(context, "voice", subjects) : [];
  return [
    ...named.filter(({ is_erased }) => is_erased),
    ...known.filter(({ is_theirs }, index) => !is_theirs || verdicts[index]!.reasons.length > 0),
  ];
}

/** Notes that its vendor has taken the request to end a call. */
export async function noteStopped({ sql, property }: Tenant, id: string): Promise<void> {
  await sql`
    update voice_calls set stopped_at = now(), updated_at = now()
    where property_id = ${property.id} and id = ${id} and stopped_at is null`;
}

/** Notes that its vendor has not taken the request. Without `updated_at`: the vendor has told nothing of the call. */
export async function noteRefusal(
  { sql, property }: Tenant,
  { id, stop_refusals }: Pick<LiveCall, "id" | "stop_refusals">,
): Promise<void> {
  const rest = Math.min(FIRST_REST * 2 ** stop_refusals, LONGEST_REST);
  await sql`
    update voice_calls set stop_refusals = ${stop_refusals + 1},
      stop_again_at = now() + make_interval(secs => ${rest}::double precision)
    where property_id = ${property.id} and id = ${id} and stopped_at is null`;
}
