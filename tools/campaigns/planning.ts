import type { Context } from "#runtime/operation.ts";
import { type Bind, gateText } from "#tools/compliance/gate.ts";
import { ADDRESSES, sendingChannel } from "./addresses.ts";
import { audienceSql } from "./audience.ts";
import type { Campaign } from "./campaign.ts";

type Setting = Pick<Context, "sql" | "property">;

const FIRST = "00000000-0000-0000-0000-000000000000";
// A campaign is sent once. One that recurs will count its rounds here.
const OCCURRENCE = "1";

/** The statement that judges the next players of an audience: `judged` has id, address, hash and reasons. */
async function judgedPage(context: Setting, campaign: Campaign, cursor: string | null, limit: number) {
  const values: unknown[] = [];
  const bind: Bind = (value, type) => `$${values.push(value)}::${type}`;
  const property = bind(context.property.id, "uuid");
  const after = bind(cursor ?? FIRST, "uuid");
  const most = bind(limit, "int");
  const channel = sendingChannel(campaign);
  const { address, hash } = ADDRESSES[channel];
  const gate = gateText(bind, { property: context.property, channel });
  return {
    bind,
    values,
    property,
    // Without the hash no list can be asked about the address.
    text: async () => {
      const rules = await audienceSql(context, campaign, values.length);
      values.push(...rules.params);
      return `judged as materialized (
        select id, address, hash,
          case when reasons = '{}' and hash is null then '{invalid_address}' else reasons end as reasons
        from (
          select p.id, ${address} as address, ${hash} as hash, ${gate} as reasons
          from (
            select p.* from players p
            where p.property_id = ${property} and p.id > ${after} and ${rules.text}
            order by p.id limit ${most}
          ) p
        ) g
      )`;
    },
  };
}

export interface Planned {
  count: number;
  last: string | null;
}

/**
 * Writes the send rows of the next `limit` players after the campaign's cursor, one for each: pending, or skipped
 * with every reason. An address that has its row already, by whichever player, gets no second message.
 */
export async function planPage(context: Setting, campaign: Campaign, limit: number): Promise<Planned> {
  const page = await judgedPage(context, campaign, campaign.plan_cursor, limit);
  const { bind, property } = page;
  const id = bind(campaign.id, "uuid");
  const channel = sendingChannel(campaign);
  const { masked } = ADDRESSES[channel];
  const addressKey = bind(`${campaign.id}|${OCCURRENCE}|${channel}|`, "text");
  const playerKey = bind(`${campaign.id}|${OCCURRENCE}|player|`, "text");
  const judged = await page.text();
  const columns = `property_id, id, campaign_id, player_id, channel, status, skip_reasons, address_hash,
    address_masked, dedupe_key`;
  const text = `with ${judged}, planned as (
      insert into campaign_sends (${columns})
      select ${property}, uuid_v7(), ${id}, id, '${channel}', case when reasons = '{}' then 'pending' else 'skipped' end,
        reasons, hash, ${masked},
        case when reasons = '{}' then sha256(convert_to(${addressKey}, 'UTF8') || hash)
          else sha256(convert_to(${playerKey}, 'UTF8') || uuid_send(id)) end
      from judged
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
  const [planned] = await context.sql.unsafe<[Planned]>(text, page.values as never[]);
  return planned;
}

export interface Judgement {
  count: number;
  last: string | null;
  blocked: { reasons: string[]; count: number }[];
}

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
      coalesce((select json_agg(g) from grouped g), '[]') as blocked
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
