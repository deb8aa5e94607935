import type { Context } from "#runtime/context.ts";
import { ADDRESSES, sendingChannelOf } from "#tools/campaigns/addresses.ts";
import { audienceSql } from "#tools/campaigns/audience.ts";
import type { Campaign } from "#tools/campaigns/campaign.ts";
import type { SEND_STATUSES } from "#tools/campaigns/campaign-sends.table.ts";
import { heldOut } from "#tools/campaigns/planning.ts";
import { capsText } from "./frequency.ts";
import {
  type Bind,
  type BlockReason,
  type GatedChannel,
  gateRules,
  gateText,
  RECORDS,
  recordText,
} from "./gate.ts";
import { closingText, hoursText, nextOpening } from "./hours.ts";

type SendStatus = (typeof SEND_STATUSES)[number];

/** A record that decided something. Times as the database prints them. */
export interface Evidence {
  table: string;
  id: string;
  what: string | null;
  since: string | null;
  until: string | null;
}

/** What each rule says of one player, and by which records. */
export interface Traced {
  reasons: BlockReason[];
  /** By rule: those that can bear on the channel, blocking or not. */
  decided: Partial<Record<BlockReason, Evidence[]>>;
  /** The player's last word on the channel. */
  consent: Evidence | null;
  is_open: boolean;
  closing: Evidence[];
  capping: Evidence[];
  retry_at: string | null;
  in_audience: boolean;
  held_out: boolean;
  send: { id: string; status: SendStatus; skip_reasons: string[]; error_code: string | null } | null;
  checked_at: string;
}

export interface Asking {
  channel: GatedChannel;
  campaign: Campaign | null;
  /** No cap holds the campaign up. */
  isUncapped: boolean;
  /** ISO time to evaluate for; now when left out. */
  at?: string | undefined;
}

/** Asks the gate, the quiet hours and the caps of one player, and which records they decide by; null without such a player. */
export async function traceOf(
  context: Pick<Context, "sql" | "property">,
  playerId: string,
  { channel, campaign, isUncapped, at }: Asking,
): Promise<Traced | null> {
  const { sql, property } = context;
  const values: unknown[] = [];
  const bind: Bind = (value, type) => `$${values.push(value)}::${type}`;
  const options = { property, channel, at };
  const caps = { ...options, tags: campaign?.tags ?? [], ...(campaign && { campaignId: campaign.id }) };
  const own = bind(property.id, "uuid");
  const player = bind(playerId, "uuid");
  const moment = at === undefined ? "statement_timestamp()" : bind(at, "timestamptz");
  const decided = Object.entries(gateRules(bind, options, RECORDS));
  const consent = recordText("consent_records", "c.id", "c.action", "c.occurred_at", "c.expires_at");
  const closing = recordText("quiet_hours_rules", "rule", "action", "since");
  const capping = recordText(
    "frequency_rules",
    "r.id",
    "concat(r.max_sends, ' in ', r.window_count, ' ', r.window_unit)",
    "null",
    "k.ends",
  );
  const freeAt = isUncapped ? "null::timestamptz" : "c.free_at";
  const campaigns = await campaignText(context, campaign, { bind, values });
  const text = `with subject as materialized (
      select p.id, p.zones, p.region from players p where p.property_id = ${own} and p.id = ${player}
    ), ${hoursText(bind, options, "subject")}, ${closingText(bind, options)}, ${capsText(bind, caps, "subject")}
    select ${gateText(bind, options)} as reasons,
      jsonb_build_object(${decided.map(([rule, records]) => `'${rule}', to_jsonb(${records})`).join(",\n  ")}) as decided,
      (select ${consent} from consent_records c
        where c.property_id = ${own} and c.player_id = p.id and c.channel = ${bind(channel, "text")}
          and c.purpose = 'marketing' and c.action <> 'expired'
        order by c.occurred_at desc, c.id desc limit 1) as consent,
      coalesce(h.is_open, true) as is_open,
      (select coalesce(jsonb_agg(${closing}), '[]') from closing) as closing,
      (select coalesce(jsonb_agg(${capping}), '[]') from capped k
        join frequency_rules r on r.property_id = ${own} and r.id = k.rule) as capping,
      to_json(case when not coalesce(h.is_open, true) or ${freeAt} is not null
        then ${nextOpening("h.open", `greatest(${moment}, ${freeAt})`)} end) #>> '{}' as retry_at,
      ${campaigns}, to_json(now()) #>> '{}' as checked_at
    from players p
      left join hours h on h.zones = p.zones and h.region = p.region
      left join caps c on c.id = p.id
    where p.property_id = ${own} and p.id = ${player}`;
  const [traced] = await sql.unsafe<Traced[]>(text, values as never[]);
  return traced ?? null;
}

/** What a campaign asks of `players p` besides: its audience, its draw of those it leaves out, and what it has sent. */
async function campaignText(
  context: Pick<Context, "sql" | "property">,
  campaign: Campaign | null,
  { bind, values }: { bind: Bind; values: unknown[] },
): Promise<string> {
  if (!campaign) return "true as in_audience, false as held_out, null as send";
  const channel = sendingChannelOf(campaign.channel);
  const own = bind(context.property.id, "uuid");
  const id = bind(campaign.id, "uuid");
  const draw = channel ? heldOut(bind, campaign) : "false";
  const audience = await audienceSql(context, campaign, values.length);
  values.push(...audience.params);
  const hash = channel ? ADDRESSES[channel].hash : "null::bytea";
  return `coalesce((${audience.text}), false) as in_audience,
      (select coalesce(${draw}, false) from (select ${hash} as hash) a) as held_out,
      (select jsonb_build_object('id', s.id, 'status', s.status, 'skip_reasons', s.skip_reasons, 'error_code', s.error_code)
        from campaign_sends s
        where s.property_id = ${own} and s.campaign_id = ${id} and s.player_id = p.id order by s.id limit 1) as send`;
}
