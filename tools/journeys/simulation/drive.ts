import { randomUUID } from "node:crypto";
import { numbered, sql } from "#db/sql.ts";
import type { SendingChannel } from "#runtime/channels/provider/channel.ts";
import type { Context } from "#runtime/operation/context.ts";
import { type Campaign, findCampaign, sendingChannel } from "#tools/campaigns/campaign/campaign.ts";
import { EXPIRES_AFTER_HOURS } from "#tools/campaigns/campaign/columns.ts";
import { claimSends, type WaitingRules } from "#tools/campaigns/delivery/claim.ts";
import type { Definition } from "#tools/journeys/definition/definition.ts";
import { stepVersion } from "#tools/journeys/steps/step.ts";
import { liveVersions } from "#tools/journeys/steps/version.ts";
import { audienceBy, type Referred } from "#tools/segments/rules/references.ts";

const MINUTE = 60_000;
/** Every time is rounded up to this. */
const TICK = 15 * MINUTE;
/** A wait whose conditions follow the clock is looked at so often. */
const LOOK = 60 * MINUTE;
/** Messages of one claim. */
const BATCH = 5_000;
/** A provider that takes every message. */
const PROVIDER = { id: null, name: "simulation" };

/** A published journey, and how long its clock runs. */
export interface SimulatedRun {
  journeyId: string;
  definition: Definition;
  referred: Referred;
  /** Milliseconds since 1970. */
  from: number;
  until: number;
  /** Players cause events meanwhile. */
  hasEvents: boolean;
  /** Called after each time at which somebody moved, with the number of moves. */
  onTick?(at: string, moved: number): Promise<void>;
}

interface Mailer {
  campaign: Campaign;
  channel: SendingChannel;
  rules: WaitingRules;
}

/**
 * Puts a clock forward from one due time to the next, moves everybody who is due, and hands out their messages: the
 * steps, gate, hours and caps of the real journey.
 */
export async function drive(context: Context, run: SimulatedRun): Promise<void> {
  const mailers = await mailersOf(context, run.journeyId);
  const looks = waitsByClock(context, run);
  const [version] = await liveVersions(context, run.journeyId);
  if (!version) return;
  for (let at: number | null = run.from; at !== null && at < run.until; ) {
    const time = new Date(at).toISOString();
    await context.sql`select set_config('app.simulated_at', ${time}, true)`;
    let moved = 0;
    for (let more = 1; more > 0; moved += more) {
      more = await stepVersion(context, version, time, { most: Number.POSITIVE_INFINITY, isTimed: false });
      for (const mailer of await dueMailers(context, mailers, time))
        more += await deliver(context, mailer, time);
    }
    if (moved > 0) await run.onTick?.(time, moved);
    at = await nextTick(context, run, { at, looks, mailers });
  }
}

async function mailersOf(context: Context, journeyId: string): Promise<Mailer[]> {
  const { sql: transaction, property } = context;
  const nodes = await transaction<{ id: string }[]>`
    select campaign_id as id from journey_nodes
    where property_id = ${property.id} and journey_id = ${journeyId} and campaign_id is not null order by node`;
  const mailers: Mailer[] = [];
  for (const { id } of nodes) {
    const campaign = await findCampaign(context, id);
    mailers.push({ campaign, channel: sendingChannel(campaign), rules: { hours: false, caps: false } });
  }
  return mailers;
}

/** The nodes with a message that is due. */
async function dueMailers(
  { sql: transaction, property }: Context,
  mailers: Mailer[],
  at: string,
): Promise<Mailer[]> {
  if (mailers.length === 0) return [];
  const ids = mailers.map(({ campaign }) => campaign.id);
  const due = await transaction<{ id: string }[]>`
    select c.id from unnest(${ids}::uuid[]) c(id)
    where exists (
      select from campaign_sends s
      where s.property_id = ${property.id} and s.campaign_id = c.id and s.is_open
        and ${dueAt} <= ${at}::timestamptz)`;
  return mailers.filter(({ campaign }) => due.some(({ id }) => id === campaign.id));
}

/** When a message of a journey is claimed next: at its time, or when it expires. */
const dueAt = sql`least(coalesce(s.scheduled_for, s.created_at), s.created_at + make_interval(hours => ${EXPIRES_AFTER_HOURS}))`;

/** Hands out the due messages of a node. Answers the number of those that were sent, skipped or put off. */
async function deliver(context: Context, mailer: Mailer, at: string): Promise<number> {
  const { sql: transaction, property } = context;
  const jobId = randomUUID();
  let taken = 0;
  for (let after: string | null = null; ; ) {
    const { campaign, channel, rules } = mailer;
    // The clock's ticks are longer than a minute, so that no throttle is felt.
    const untimed = { ...campaign, throttle_per_minute: null };
    const request = { campaign: untimed, channel, provider: PROVIDER, rules, after, limit: BATCH, at };
    const claim = await claimSends(context, jobId, request);
    const isNew = (claim.rules.hours && !rules.hours) || (claim.rules.caps && !rules.caps);
    mailer.rules = claim.rules;
    if (isNew) continue;
    if (claim.taken === 0) break;
    taken += claim.taken;
    after = claim.last;
  }
  if (taken > 0) {
    await transaction`
      update campaign_sends set status = 'sent', sent_at = ${at}
      where property_id = ${property.id} and campaign_id = ${mailer.campaign.id} and is_open and status = 'sending'
        and claimed_by = ${jobId}`;
  }
  return taken;
}

/** The nodes where people wait for conditions that can come true by the clock alone. */
function waitsByClock(
  { property }: Context,
  { definition, referred, hasEvents, from }: SimulatedRun,
): string[] {
  return definition.nodes.flatMap((node) => {
    if (node.type !== "wait_until") return [];
    if (hasEvents) return [node.id];
    if (node.config.event) return [];
    const [now, later] = [from, from + LOOK].map((time) =>
      JSON.stringify(numbered(audienceBy(property.id, node.config, referred, new Date(time).toISOString()))),
    );
    return now === later ? [] : [node.id];
  });
}

/** The next time at which somebody is due; null where nobody is inside any more. */
async function nextTick(
  { sql: transaction, property }: Context,
  { journeyId }: SimulatedRun,
  { at, looks, mailers }: { at: number; looks: string[]; mailers: Mailer[] },
): Promise<number | null> {
  const campaigns = mailers.map(({ campaign }) => campaign.id);
  const [next] = await transaction<[{ due: number | null; looks: boolean }]>`
    select extract(epoch from least(
        (select min(wake_at) from journey_enrollments e
          where e.property_id = ${property.id} and e.journey_id = ${journeyId} and e.status = 'active'),
        (select min(${dueAt}) from campaign_sends s
          where s.property_id = ${property.id} and s.campaign_id = any(${campaigns}::uuid[])
            and s.is_open)
      ))::double precision * 1000 as due,
      exists (
        select from journey_enrollments e
        where e.property_id = ${property.id} and e.journey_id = ${journeyId} and e.status = 'active'
          and e.phase = 'waiting' and e.node = any(${looks}::text[])) as looks`;
  const due = [...(next.due === null ? [] : [next.due]), ...(next.looks ? [at + LOOK] : [])];
  if (due.length === 0) return null;
  return Math.ceil(Math.max(at + 1, Math.min(...due)) / TICK) * TICK;
}
