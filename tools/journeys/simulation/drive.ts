import { randomUUID } from "node:crypto";
import { type Fragment, numbered, sql } from "#db/sql.ts";
import type { SendingChannel } from "#runtime/channels/provider/channel.ts";
import type { Context } from "#runtime/operation/context.ts";
import { type Campaign, findCampaign, sendingChannel } from "#tools/campaigns/campaign/campaign.ts";
import { EXPIRES_AFTER_HOURS } from "#tools/campaigns/campaign/columns.ts";
import { claimSends, type WaitingRules } from "#tools/campaigns/delivery/claim.ts";
import type { Definition } from "#tools/journeys/definition/definition.ts";
import type { WaitConfig } from "#tools/journeys/nodes/wait-until.ts";
import { secondsToPass } from "#tools/journeys/steps/line.ts";
import { stepVersion } from "#tools/journeys/steps/step.ts";
import { liveVersions } from "#tools/journeys/steps/version.ts";
import { audienceBy, type Referred } from "#tools/segments/rules/references.ts";

const MINUTE = 60_000;
/** Every time is rounded up to this. */
const TICK = 15 * MINUTE;
/** Waits whose end is not a due time are looked at so often at most. */
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
  /** The relation of the events that players cause meanwhile; null where they do nothing. */
  events: Fragment | null;
  /** Called after each time at which somebody moved, with the number of moves. */
  onTick?(at: string, moved: number): Promise<void>;
}

/** The nodes where people wait for more than a time. */
interface Waits {
  /** Their conditions can come true by the clock alone. */
  byClock: string[];
  byEvent: string[];
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
  const waits = waitsOf(context, run);
  const [version] = await liveVersions(context, run.journeyId);
  if (!version) return;
  for (let at: number | null = run.from; at !== null && at < run.until; ) {
    const time = new Date(at).toISOString();
    await context.sql`select set_config('app.simulated_at', ${time}, true)`;
    let moved = 0;
    for (let more = 1; more > 0; moved += more) {
      const clock = { isTimed: false, tick: TICK / 1_000 };
      more = await stepVersion(context, version, time, { most: Number.POSITIVE_INFINITY, ...clock });
      for (const mailer of await dueMailers(context, mailers, time))
        more += await deliver(context, mailer, time);
    }
    if (moved > 0) await run.onTick?.(time, moved);
    at = await nextTick(context, run, { at, waits, mailers });
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

function waitsOf({ property }: Context, { definition, referred, events, from }: SimulatedRun): Waits {
  const rulesAt = (config: WaitConfig, time: number) =>
    JSON.stringify(numbered(audienceBy(property.id, config, referred, new Date(time).toISOString())));
  const waits: Waits = { byClock: [], byEvent: [] };
  for (const { id, type, config } of definition.nodes) {
    if (type !== "wait_until") continue;
    if (!config.event && rulesAt(config, from) !== rulesAt(config, from + LOOK)) waits.byClock.push(id);
    else if (events) waits.byEvent.push(id);
  }
  return waits;
}

/** The next time at which somebody is due; null where nobody is inside any more. */
async function nextTick(
  { sql: transaction, property }: Context,
  { journeyId, events }: SimulatedRun,
  { at, waits, mailers }: { at: number; waits: Waits; mailers: Mailer[] },
): Promise<number | null> {
  const campaigns = mailers.map(({ campaign }) => campaign.id);
  const time = sql`${new Date(at).toISOString()}::timestamptz`;
  const inside = sql`
    e.property_id = ${property.id} and e.journey_id = ${journeyId} and e.status = 'active'`;
  const [next] = await transaction<[{ due: number | null; looks: boolean; event: number | null }]>`
    with due as materialized (
      select least(
        (select min(wake_at) from journey_enrollments e where ${inside}),
        (select min(${dueAt}) from campaign_sends s
          where s.property_id = ${property.id} and s.campaign_id = any(${campaigns}::uuid[])
            and s.is_open)) as at
    )
    select ${inMs(sql`due.at`)} as due,
      exists (
        select from journey_enrollments e
        where ${inside} and e.phase = 'waiting' and (e.node = any(${waits.byClock}::text[])
          or e.node = any(${waits.byEvent}::text[]) and e.arrived_at >= ${time})) as looks,
      ${events ? inMs(nextEvent(property.id, events, { inside, time, nodes: waits.byEvent })) : sql`null`} as event
    from due`;
  const line = await secondsToPass(
    { sql: transaction, property },
    { journeyId, now: time, tick: TICK / 1_000 },
  );
  const due = [
    ...(next.due === null ? [] : [next.due]),
    ...(line === null ? [] : [at + line * 1_000]),
    ...(next.looks ? [at + LOOK] : []),
    ...(next.event === null ? [] : [Math.max(at + LOOK, next.event)]),
  ];
  if (due.length === 0) return null;
  return Math.ceil(Math.max(at + 1, Math.min(...due)) / TICK) * TICK;
}

const inMs = (time: Fragment) => sql`extract(epoch from ${time})::double precision * 1000`;

/**
 * The time of the first event between `time` and `due.at` of a person who waits at one of the nodes. So all looks
 * together read each event about once. `is true` keeps the people a hash, which a join with stale statistics is not.
 */
function nextEvent(
  propertyId: string,
  events: Fragment,
  { inside, time, nodes }: { inside: Fragment; time: Fragment; nodes: string[] },
): Fragment {
  return sql`(
    select v.occurred_at from ${events} v
    where v.property_id = ${propertyId} and v.occurred_at > ${time}
      and v.occurred_at < coalesce(due.at, 'infinity')
      and (v.player_id in (
        select e.player_id from journey_enrollments e
        where ${inside} and e.phase = 'waiting' and e.node = any(${nodes}::text[]))) is true
    order by v.occurred_at limit 1)`;
}
