import { cte, type Fragment, join, raw, sql } from "#db/sql.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import { sendingChannel } from "#tools/campaigns/campaign/campaign.ts";
import type { NoConsent } from "#tools/campaigns/stats/answer.ts";
import { capsCtes } from "#tools/compliance/frequency.ts";
import { type Judged, judgedCte } from "./audience.ts";
import { waitingCtes } from "./send-waits.ts";

export interface Judgement {
  count: number;
  last: string | null;
  blocked: { reasons: string[]; cause: keyof NoConsent; count: number }[];
  /** The messages that wait, by reason: the addresses as `addresses`, in base64. */
  deferred: { reason: string; addresses: string; first_at: string; last_at: string }[];
  /** The first `ADDRESS_BYTES` of the hash of each allowed address. */
  addresses: Buffer;
}

/** Enough to distinguish a million addresses: two of them look the same once in 500 times. */
export const ADDRESS_BYTES = 6;

const shortHashes = sql`string_agg(substr(hash, 1, ${raw(String(ADDRESS_BYTES))}), '')`;

/** The gate's judgement of the next `limit` players of the audience now. Writes nothing. */
export async function judgePage(
  context: Tenant,
  campaign: Judged,
  cursor: string | null,
  limit: number,
): Promise<Judgement> {
  const judged = await judgedCte(context, campaign, cursor, limit, { count: true });
  const [judgement] = await context.sql<[Judgement]>`
    with ${judged}, grouped as (
      select reasons, cause, count(*)::int as count from judged where reasons <> '{}' group by reasons, cause
    ), ${deferredCtes(context, campaign)}
    select count(*)::int as count, (array_agg(id order by id))[count(*)::int] as last,
      coalesce((select json_agg(g) from grouped g), '[]') as blocked,
      coalesce((select json_agg(d) from deferred d), '[]') as deferred,
      coalesce(${shortHashes} filter (where reasons = '{}'), '') as addresses
    from judged`;
  return judgement;
}

/** The allowed of `judged`, one for each address: the first by id gets the message, as in planning. */
export function allowedCte(name: string): Fragment {
  const allowed = sql`
    select distinct on (hash) id, hash, zones, region from judged where reasons = '{}' order by hash, id`;
  return cte(name, allowed, "materialized");
}

/** CTEs that end in `deferred`: the messages that wait, by reason, with the first and last time. */
function deferredCtes(context: Tenant, campaign: Judged): Fragment {
  const { property } = context;
  const isExempt = campaign.is_transactional || campaign.ignore_frequency_cap;
  const channel = sendingChannel(campaign);
  const options = { property, channel, tags: campaign.tags, isExempt };
  const caps =
    isExempt && channel !== "voice"
      ? cte("caps", sql`select null::uuid as id, null::timestamptz as free_at where false`)
      : capsCtes(options, "allowed");
  const deferred = sql`
    select case when c.free_at > coalesce(w.until, '-infinity') then 'frequency_capped' else w.waits[1] end as reason,
      encode(${shortHashes}, 'base64') as addresses, min(greatest(c.free_at, w.until)) as first_at, max(greatest(c.free_at, w.until)) as last_at
    from allowed a left join waiting w using (zones, region) left join caps c using (id)
    where w.until is not null or c.free_at is not null
    group by 1`;
  return join([allowedCte("allowed"), waitingCtes(context, campaign), caps, cte("deferred", deferred)]);
}
