import { Fault } from "#runtime/faults.ts";
import type { Context, Tenant } from "#runtime/operation/context.ts";
import type { Channel } from "#tools/compliance/channels.ts";
import { liftWishes } from "./consent-record.ts";
import { announceAnswer, record } from "./ledger.ts";

/**
 * Grants a day by the links of one player: otherwise the holder of a link could fill the ledger. Refusals have no
 * limit.
 */
const MOST_GRANTS = 10;
const DAY = 86_400;

/** A consent that a player gives on one of our pages. */
export interface PlayerGrant {
  playerId: string;
  channel: Channel;
  /** The page. */
  source: string;
  /** The wording that the page showed. */
  text: string;
  version: string;
}

/** The same context in which the holder of a player's link acts: the ledger records them as the player. */
export function asPlayer(context: Context): Context {
  return { ...context, call: { ...context.call, actor: { type: "anonymous", id: null } } };
}

/** Records the consent and lifts the player's own refusals. Throws `rate_limited` after too many in a day. */
export async function grantAsPlayer(context: Context, grant: PlayerGrant): Promise<void> {
  const { playerId, channel, source, text, version } = grant;
  await refuseManyGrants(context, grant);
  const [row] = await record(context, {
    playerIds: [playerId],
    channels: [channel],
    action: "granted",
    level: "express",
    source,
    method: source,
    text,
    version,
  });
  await liftWishes(context, playerId, channel, row!.occurred_at);
  announceAnswer(context, row!);
}

async function refuseManyGrants(
  { sql, property }: Tenant,
  { playerId, channel, source }: PlayerGrant,
): Promise<void> {
  const [grants] = await sql<{ count: number; reset: number; wait: number }[]>`
    select count(*)::int, ceil(extract(epoch from min(occurred_at)) + ${DAY})::double precision as reset,
      ceil(extract(epoch from min(occurred_at) - now()) + ${DAY})::int as wait
    from consent_records
    where property_id = ${property.id} and player_id = ${playerId} and channel = ${channel} and action = 'granted'
      and consent_source = ${source} and occurred_at > now() - make_interval(secs => ${DAY})`;
  const { count, reset, wait } = grants!;
  if (count < MOST_GRANTS) return;
  throw new Fault("rate_limited", { retryAfter: Math.max(1, wait), window: { limit: MOST_GRANTS, reset } });
}
