/** The records that decide what people get, as they are stored. */
export interface World {
  players: Player[];
  members: { segment_id: string; player_id: string }[];
  /** The players who were in the journey's segment when it was read last. */
  kept: { player_id: string }[];
  segments: Segment[];
  templates: { id: string; subject: string | null; html: string | null }[];
  providers: Provider[];
  house: Record<string, string | null>;
  campaigns: Campaign[];
  entries: { id: string; player_id: string; version: number }[];
}
export interface Player {
  id: string;
  tier: string | null;
  status: string;
  live: boolean;
  agreed: boolean;
}
interface Segment {
  id: string;
  name: string;
  type: string;
  conditions: { field: string; value?: string[] }[];
  exclude_segment_ids: string[];
}
interface Provider {
  id: string;
  name: string;
  from_address: string | null;
  is_default: boolean;
  is_active: boolean;
}
export interface Campaign {
  id: string;
  name: string;
  status: string;
  status_reason: string | null;
  live: boolean;
  channel: string;
  template_id: string | null;
  subject: string | null;
  preheader: string | null;
  body_html: string | null;
  from_email: string | null;
  from_name: string | null;
  provider_id: string | null;
  segment_id: string | null;
  audience: string | null;
  exclude_segment_ids: string[];
  ignore_frequency_cap: boolean;
  is_transactional: boolean;
  holdout_percent: number;
  tags: string[];
  scheduled_at: string | null;
  started_at: string | null;
}

/** The parts of a message's state that people approve, with every reference in place of its id. */
export interface State {
  words: { subject: string | null; preheader: string | null; html: string | null };
  sender: { email: string | null; name: string | null };
  audience: unknown;
  rules: unknown;
  carrier: unknown;
  house: unknown;
}

const PLACEHOLDER = "(none)";

export function stateOf(world: World, campaign: Campaign): State {
  const template = world.templates.find(({ id }) => id === campaign.template_id);
  const carrier = carrierOf(world, campaign.provider_id);
  const { from_email, from_name, name, ...footer } = world.house;
  return {
    words: {
      subject: campaign.subject ?? template?.subject ?? null,
      preheader: campaign.preheader,
      html: campaign.body_html ?? template?.html ?? null,
    },
    sender: {
      email: campaign.from_email ?? carrier?.from_address ?? from_email ?? null,
      name: campaign.from_name ?? from_name ?? name ?? null,
    },
    audience: {
      all: campaign.audience,
      segment: definitionOf(world, campaign.segment_id),
      without: campaign.exclude_segment_ids.map((id) => definitionOf(world, id)),
    },
    rules: [
      campaign.ignore_frequency_cap,
      campaign.is_transactional,
      campaign.holdout_percent,
      campaign.tags,
    ],
    carrier: carrier && [carrier.name, carrier.from_address],
    house: { ...footer, name },
  };
}

function carrierOf({ providers }: World, named: string | null): Provider | null {
  const known = named === null ? providers : providers.filter(({ id }) => id === named);
  const active = known.filter(({ is_active }) => is_active);
  return active.find(({ is_default }) => is_default) ?? active[0] ?? null;
}

function definitionOf({ segments }: World, id: string | null): unknown {
  const segment = segments.find((one) => one.id === id);
  if (!segment) return id && PLACEHOLDER;
  const world = { segments } as World;
  return {
    id,
    type: segment.type,
    rules: segment.conditions.map((rule) =>
      rule.field === "tier" ? rule.value : definitionOf(world, rule.field.slice("segment.".length)),
    ),
    without: segment.exclude_segment_ids.map((other) => definitionOf(world, other)),
  };
}

/** The players of the campaign's audience, whether they may be written to or not. */
export function audienceOf(
  world: World,
  { audience, segment_id, exclude_segment_ids }: Campaign,
): Set<string> {
  const among = world.players.filter(
    (player) =>
      player.live &&
      (audience === "all" || (segment_id !== null && isIn(world, segment_id, player))) &&
      !exclude_segment_ids.some((id) => isIn(world, id, player)),
  );
  return new Set(among.map(({ id }) => id));
}

/** The players of the lists that the audience is made of. */
export function listsOf(world: World, campaign: Campaign): string[] {
  const definition = JSON.stringify(stateOf(world, campaign).audience);
  return world.members.flatMap(({ segment_id, player_id }) =>
    definition.includes(segment_id) ? [`${segment_id} ${player_id}`] : [],
  );
}

/** Those of them who may be written to. */
export function recipientsOf(world: World, campaign: Campaign): Set<string> {
  const audience = audienceOf(world, campaign);
  const allowed = world.players.filter(({ agreed, status }) => agreed && status === "active");
  return new Set(allowed.flatMap(({ id }) => (audience.has(id) ? [id] : [])));
}

export function isIn(world: World, segmentId: string, player: Player): boolean {
  const segment = world.segments.find(({ id }) => id === segmentId);
  if (!segment || !player.live) return false;
  if (segment.exclude_segment_ids.some((id) => isIn(world, id, player))) return false;
  if (segment.type === "static") {
    return world.members.some((one) => one.segment_id === segmentId && one.player_id === player.id);
  }
  return segment.conditions.every(({ field, value }) =>
    field === "tier"
      ? value!.includes(player.tier ?? "")
      : isIn(world, field.slice("segment.".length), player),
  );
}

/** Whether an approved number of players still stands for this one. */
export const stands = (approved: number | null, present: number) =>
  approved === null || present <= approved * 1.25;

export const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);
