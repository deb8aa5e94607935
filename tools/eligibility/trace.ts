import { cast, type Fragment, join, raw, sql } from "#db/sql.ts";
import type { Context } from "#runtime/operation/context.ts";
import { type Campaign, sendingChannel } from "#tools/campaigns/campaign/campaign.ts";
import { audienceSql, heldOut } from "#tools/campaigns/planning/audience.ts";
import { capsCtes } from "#tools/compliance/frequency.ts";
import {
  type BlockReason,
  type GatedChannel,
  gateReasons,
  gateRules,
  RECORDS,
  recordText,
} from "#tools/compliance/gate.ts";
import { closingCte, hoursCtes, nextOpening } from "#tools/compliance/hours.ts";
import { rowsInForce } from "#tools/consent/in-force.ts";
import { ADDRESS_COLUMNS } from "#tools/people/address.ts";
import type { SEND_STATUSES } from "#tools/statuses/sends.ts";

type SendStatus = (typeof SEND_STATUSES)[number];

/** A record that decided something. Times as the database prints them. */
export interface Evidence {
  table: string;
  id: string;
  what: string | null;
  since: string | null;
  until: string | null;
}

/** Each rule's verdict on one player, with the records that decided it. */
export interface Traced {
  reasons: BlockReason[];
  /** By rule: the rules that apply to the channel, blocking or not. */
  decided: Partial<Record<BlockReason, Evidence[]>>;
  /** The player's consent or refusal in force on the channel. */
  consent: Evidence | null;
  is_open: boolean;
  /** The closed hours drop the message in place of postponing it. */
  skips: boolean;
  closing: Evidence[];
  capping: Evidence[];
  retry_at: string | null;
  in_audience: boolean;
  held_out: boolean;
  send: { id: string; status: SendStatus; skip_reasons: string[]; error_code: string | null } | null;
  checked_at: string;
}

export interface TraceOptions {
  channel: GatedChannel;
  campaign: Campaign | null;
  /** No frequency cap delays the campaign. */
  isUncapped: boolean;
  /** ISO time to evaluate for; now when left out. */
  at?: string | undefined;
}

/**
 * The gate's, the quiet hours' and the caps' verdicts on one player, with the deciding records; null without such a
 * player.
 */
export async function traceOf(
  context: Pick<Context, "sql" | "property">,
  playerId: string,
  { channel, campaign, isUncapped, at }: TraceOptions,
): Promise<Traced | null> {
  const { property } = context;
  const options = { property, channel, at, skips: campaign?.quiet_hours === "skip" };
  const caps = {
    ...options,
    tags: campaign?.tags ?? [],
    isExempt: isUncapped,
    ...(campaign && { campaignId: campaign.id }),
  };
  const own = cast(property.id, "uuid");
  const player = cast(playerId, "uuid");
  const moment = at === undefined ? sql`statement_timestamp()` : cast(at, "timestamptz");
  const decided = Object.entries(gateRules(options, RECORDS));
  const consent = recordText("consent_records", "c.id", "c.action", "c.occurred_at", "c.expires_at");
  const closing = recordText("quiet_hours_rules", "rule", "action", "since");
  const capping = recordText(
    "frequency_rules",
    "r.id",
    "concat(r.max_sends, ' in ', r.window_count, ' ', r.window_unit)",
    "null",
    "k.ends",
  );
  const lawOfCalls = recordText("voice_laws", "l.id", "concat(l.kind, ' ', l.amount)", "null", "k.ends");
  const freeAt = isUncapped && channel !== "voice" ? sql`null::timestamptz` : sql`c.free_at`;
  const campaigns = await campaignColumns(context, campaign);
  const [traced] = await context.sql<Traced[]>`
    with subject as materialized (
      select p.id, p.zones, p.region from players p where p.property_id = ${own} and p.id = ${player}
    ), ${hoursCtes(options, "subject")}, ${closingCte(options)}, ${capsCtes(caps, "subject")}
    select ${gateReasons(options)} as reasons,
      jsonb_build_object(${join(decided.map(([rule, records]) => sql`${raw(`'${rule}'`)}, to_jsonb(${records})`))}) as decided,
      (select ${consent} from (${rowsInForce(property, { players: sql`array[p.id]` })}) c
        where c.channel = ${channel}::text) as consent,
      coalesce(h.is_open, true) as is_open,
      coalesce(h.skips, false) as skips,
      (select coalesce(jsonb_agg(${closing}), '[]') from closing) as closing,
      (select coalesce(jsonb_agg(${capping}), '[]') from capped k
        join frequency_rules r on r.property_id = ${own} and r.id = k.rule)
        || (select coalesce(jsonb_agg(${lawOfCalls}), '[]') from capped k
          join voice_laws l on l.property_id = ${own} and l.id = k.rule) as capping,
      to_json(case when not coalesce(h.is_open, true) or ${freeAt} is not null
        then ${nextOpening(sql`h.open`, sql`greatest(${moment}, ${freeAt})`)} end) #>> '{}' as retry_at,
      ${campaigns}, to_json(now()) #>> '{}' as checked_at
    from players p
      left join hours h on h.zones = p.zones and h.region = p.region
      left join caps c on c.id = p.id
    where p.property_id = ${own} and p.id = ${player}`;
  return traced ?? null;
}

/** The campaign's own rules for `players p`: its audience, its holdout and the sends that it has made. */
async function campaignColumns(
  context: Pick<Context, "sql" | "property">,
  campaign: Campaign | null,
): Promise<Fragment> {
  if (!campaign) return sql`true as in_audience, false as held_out, null as send`;
  const audience = await audienceSql(context, campaign);
  const { hash } = ADDRESS_COLUMNS[sendingChannel(campaign)];
  return sql`coalesce((${audience}), false) as in_audience,
      (select coalesce(${heldOut(campaign)}, false) from (select ${hash} as hash) a) as held_out,
      (select jsonb_build_object('id', s.id, 'status', s.status, 'skip_reasons', s.skip_reasons, 'error_code', s.error_code)
        from campaign_sends s
        where s.property_id = ${context.property.id}::uuid and s.campaign_id = ${campaign.id}::uuid and s.player_id = p.id order by s.id limit 1) as send`;
}
