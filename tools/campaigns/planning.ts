import { NIL_UUID } from "#db/types.ts";
import type { Context } from "#runtime/context.ts";
import { type Bind, gateText } from "#tools/compliance/gate.ts";
import { hoursText, nextOpening } from "#tools/compliance/hours.ts";
import type { Referred } from "#tools/segments/conditions-segments.ts";
import { variantText } from "./ab-test.ts";
import { ADDRESSES, sendingChannel } from "./addresses.ts";
import { audienceSql } from "./audience.ts";
import type { Campaign } from "./campaign.ts";

type Setting = Pick<Context, "sql" | "property">;

// A campaign is sent once. One that recurs will count its rounds here.
const OCCURRENCE = "1";

/** The statement that judges the next players of an audience: `judged` has id, address, hash and reasons. */
async function judgedPage(
  context: Setting,
  campaign: Campaign,
  cursor: string | null,
  limit: number,
  options: { plan?: boolean; planned?: Referred | undefined } = {},
) {
  const values: unknown[] = [];
  const bind: Bind = (value, type) => `$${values.push(value)}::${type}`;
  const property = bind(context.property.id, "uuid");
  const after = bind(cursor ?? NIL_UUID, "uuid");
  const most = bind(limit, "int");
  const channel = sendingChannel(campaign);
  const { address, hash } = ADDRESSES[channel];
  const gate = gateText(bind, { property: context.property, channel });
  // Who is held may be released before the claim, which asks again.
  const held = heldOut(bind, campaign);
  const pending = options.plan ? "when reasons = '{needs_review}' then '{}'" : "";
  return {
    bind,
    values,
    property,
    // Without the hash no list can be asked about the address.
    text: async () => {
      const rules = await audienceSql(context, campaign, values.length, options.planned);
      values.push(...rules.params);
      return `judged as materialized (
        select id, address, hash, zones, region,
          case when reasons = '{}' and ${held} then '{holdout}' else reasons end as reasons
        from (
          select id, address, hash, zones, region,
            case when reasons = '{}' and hash is null then '{invalid_address}' ${pending} else reasons end as reasons
          from (
            select p.id, ${address} as address, ${hash} as hash, p.zones, p.region, ${gate} as reasons
            from (
              select p.* from players p
              where p.property_id = ${property} and p.id > ${after} and ${rules.text}
              order by p.id limit ${most}
            ) p
          ) g
        ) a
      )`;
    },
  };
}

/** Whether chance keeps an address out of this campaign: the same each time, and for all players who share it. */
export function heldOut(bind: Bind, { id, holdout_percent: percent }: Campaign): string {
  if (percent === 0) return "false";
  const drawn = `sha256(convert_to(${bind(`${id}|holdout|`, "text")}, 'UTF8') || hash)`;
  const share = `${bind(percent, "int")} * 65536 / 100.0`;
  return `get_byte(${drawn}, 0) * 256 + get_byte(${drawn}, 1) < ${share}`;
}

export interface Planned {
  count: number;
  last: string | null;
}

/**
 * Writes the send rows of the next `limit` players after the campaign's cursor, one for each: pending, deferred to
 * the player's own time, their next open hour or the end of a test, or skipped with every reason. An address that has its row already, by whichever player, gets no second message.
 */
export async function planPage(
  context: Setting,
  campaign: Campaign,
  limit: number,
  planned?: Referred,
): Promise<Planned> {
  const page = await judgedPage(context, campaign, campaign.plan_cursor, limit, { plan: true, planned });
  const { bind, property } = page;
  const id = bind(campaign.id, "uuid");
  const channel = sendingChannel(campaign);
  const { masked } = ADDRESSES[channel];
  const addressKey = bind(`${campaign.id}|${OCCURRENCE}|${channel}|`, "text");
  const playerKey = bind(`${campaign.id}|${OCCURRENCE}|player|`, "text");
  const judged = await page.text();
  const drawn = drawnText(bind, campaign);
  const columns = `property_id, id, campaign_id, player_id, channel, status, skip_reasons, address_hash,
    address_masked, dedupe_key`;
  const waits = waitsText(bind, context, campaign);
  const text = `with ${judged}, ${waits}, planned as (
      insert into campaign_sends (${columns}, scheduled_for${drawn.column})
      select ${property}, uuid_v7(), ${id}, id, '${channel}',
        case when reasons <> '{}' then 'skipped' when until is not null or ${drawn.waits} then 'deferred' else 'pending' end,
        case when reasons <> '{}' then reasons when ${drawn.waits} then '{ab_test}' else coalesce(waits, '{}') end, hash, ${masked},
        case when reasons = '{}' then sha256(convert_to(${addressKey}, 'UTF8') || hash)
          else sha256(convert_to(${playerKey}, 'UTF8') || uuid_send(id)) end,
        case when ${drawn.waits} then ${drawn.until} when reasons = '{}' then until end${drawn.column}
      from ${drawn.source} left join waiting using (zones, region) order by id
      on conflict (property_id, dedupe_key) do nothing
      returning player_id
    ), doubled as (
      insert into campaign_sends (${columns})
      select ${property}, uuid_v7(), ${id}, id, '${channel}', 'skipped', '{duplicate_address}', hash, ${masked},
        sha256(convert_to(${playerKey}, 'UTF8') || uuid_send(id))
      from judged where reasons = '{}' and id not in (select player_id from planned)
      on conflict (property_id, dedupe_key) do nothing
    )
    select count(*)::int as count, (array_agg(id order by id))[count(*)::int] as last from judged`;
  const [written] = await context.sql.unsafe<[Planned]>(text, page.values as never[]);
  return written;
}

/** What a test adds to the plan: each recipient's variant; who has none `waits` for the winner. */
function drawnText(bind: Bind, { id, ab_test, ab_ends_at }: Campaign) {
  if (!ab_test) return { source: "judged", column: "", waits: "false", until: "null::timestamptz" };
  const variant = `case when reasons = '{}' then ${variantText(bind, id, ab_test)} end`;
  return {
    source: `(select *, ${variant} as variant_id from judged) judged`,
    column: ", variant_id",
    waits: "(reasons = '{}' and variant_id is null)",
    until: `${bind(ab_ends_at!, "timestamptz")}`,
  };
}

/**
 * CTEs ending in `waiting (zones, region, until, waits)`: from when on the players of a place may be sent to, and
 * why so late, where it is later than now. A rule that skips is left to the claim.
 */
function waitsText(bind: Bind, { property }: Setting, campaign: Campaign): string {
  const hours = hoursText(bind, { property, channel: sendingChannel(campaign) }, "judged");
  return `${hours}, local_times as materialized (${localTimes(bind, property, campaign)}), waiting as materialized (
      select zones, region, coalesce(${nextOpening("open", "from_at")}, from_at) as until,
        case when local_at > statement_timestamp() then '{player_timezone}'::text[] else '{quiet_hours}' end as waits
      from (
        select zones, region, h.open, l.local_at, h.is_open, h.skips,
          greatest(statement_timestamp(), l.local_at) as from_at
        from hours h full join local_times l using (zones, region)
      ) w
      where local_at > statement_timestamp() or not is_open and not skips
    )`;
}

/** When it is as late at each place, in all its zones, as it is in the property's at the time of the schedule. */
function localTimes(bind: Bind, property: Setting["property"], campaign: Campaign): string {
  const { fires_at, scheduled_at, send_in_player_timezone } = campaign;
  if (!send_in_player_timezone || fires_at === null || scheduled_at === null) {
    return "select '{}'::text[] as zones, '' as region, null::timestamptz as local_at where false";
  }
  const home = bind(property.timezone, "text");
  return `select p.zones, p.region,
      max((${bind(scheduled_at, "timestamptz")} at time zone ${home}) at time zone known_zone(z.zone, ${home})) as local_at
    from (select distinct zones, region from judged) p
      cross join lateral unnest(case when p.zones = '{}' then array[${home}] else p.zones end) z(zone)
    group by p.zones, p.region`;
}

export interface Judgement {
  count: number;
  last: string | null;
  blocked: { reasons: string[]; count: number }[];
  /** Of those whom it lets pass, the first `ADDRESS_BYTES` of each address's hash. */
  addresses: Buffer;
}

/** Enough to tell a million addresses apart: two of them are taken for one once in 500 times. */
export const ADDRESS_BYTES = 6;

/** What the gate says of the next `limit` players of the audience now. Writes nothing. */
export async function judgePage(
  context: Setting,
  campaign: Campaign,
  cursor: string | null,
  limit: number,
): Promise<Judgement> {
  const page = await judgedPage(context, campaign, cursor, limit);
  const judged = await page.text();
  const [judgement] = await context.sql.unsafe<[Judgement]>(
    `with ${judged}, grouped as (
      select reasons, count(*)::int as count from judged where reasons <> '{}' group by reasons
    )
    select count(*)::int as count, (array_agg(id order by id))[count(*)::int] as last,
      coalesce((select json_agg(g) from grouped g), '[]') as blocked,
      coalesce(string_agg(substr(hash, 1, ${ADDRESS_BYTES}), '') filter (where reasons = '{}'), '') as addresses
    from judged`,
    page.values as never[],
  );
  return judgement;
}

/** The first players of the audience that the gate lets pass, with all that templates may use. */
export async function firstAllowed(
  context: Setting,
  campaign: Campaign,
  fields: readonly string[],
  most: number,
): Promise<Record<string, unknown>[]> {
  const page = await judgedPage(context, campaign, null, 1000);
  const judged = await page.text();
  const list = fields.map((field) => `p."${field}"`).join(", ");
  const rows = await context.sql.unsafe<Record<string, unknown>[]>(
    `with ${judged}
    select p.id, j.address, ${list} from judged j join players p on p.property_id = ${page.property} and p.id = j.id
    where j.reasons = '{}' order by p.id limit ${most}`,
    page.values as never[],
  );
  return [...rows];
}
