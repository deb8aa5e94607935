import { z } from "zod";
import { adHoc, cast, join, literals, sql } from "#db/sql.ts";
import { storedNames, timestamp } from "#runtime/operation/columns.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import type { Campaign } from "#tools/campaigns/campaign/campaign.ts";
import { columns } from "#tools/campaigns/campaign/columns.ts";
import { countAudience } from "#tools/campaigns/preflight/count.ts";
import type { Definition } from "#tools/journeys/definition/definition.ts";
import { entryTimes } from "#tools/journeys/publishing/entering.ts";
import { fitting } from "#tools/journeys/publishing/fitting.ts";
import type { Referred } from "#tools/segments/rules/references.ts";
import { BEGUN_CAMPAIGNS, CAMPAIGN_STATUSES } from "#tools/statuses/campaigns.ts";
import { WAITING_SENDS } from "#tools/statuses/sends.ts";

/** The span of a forecast, and until when it may go on counting players, on the clock of `performance`. */
export interface Span {
  from: number;
  until: number;
  countUntil: number;
}

const MOST_CAMPAIGNS = 200;
const MOST_JOURNEYS = 200;
const MOST_ENTRIES = 60;

const Count = z.int().nullable().describe("As of now; null where the time for counting was over");

export const ComingCampaign = z.object({
  id: z.uuid(),
  name: z.string(),
  channel: z.string(),
  status: z.enum(CAMPAIGN_STATUSES).describe("A paused one sends nothing until resume_campaign"),
  at: timestamp().nullable().describe("Of a scheduled campaign: when it starts; null: it has started"),
  audience: Count,
  allowed: Count.describe("Messages that the compliance gate lets through, as of now"),
});

export const ComingMessages = z.object({
  day: z.string().describe("By the property's clock"),
  campaign_id: z.uuid(),
  name: z.string(),
  channel: z.string(),
  status: z.enum(CAMPAIGN_STATUSES),
  journey_id: z.uuid().nullable().describe("Of a journey's message"),
  messages: z.int(),
});

export const ComingJourney = z.object({
  id: z.uuid(),
  name: z.string(),
  messages: z.array(z.string()).describe("Its messages: the node and the channel"),
  entries: z
    .array(z.object({ node: z.string(), at: timestamp(), players: Count }))
    .describe(`The first ${MOST_ENTRIES} times at which players enter by a schedule or a date`),
  any_time: z.array(z.string()).describe("The ways in that no clock opens, such as an event"),
  waking: z.int().describe("Players inside who move on in the span, with all in the line of a rate limit"),
});
type Journey = z.output<typeof ComingJourney>;

/** Campaigns that start in the span, and those that have begun. */
export async function comingCampaigns(context: Tenant, { until, countUntil }: Span) {
  const { sql: transaction, property } = context;
  const campaigns = await transaction<Campaign[]>`
    select ${storedNames(columns)} from campaigns
    where property_id = ${property.id} and deleted_at is null and journey_id is null
      and (status in (${literals(BEGUN_CAMPAIGNS)})
        or status = 'scheduled' and coalesce(fires_at, scheduled_at) < ${cast(new Date(until).toISOString(), "timestamptz")})
    order by coalesce(fires_at, scheduled_at, started_at) nulls first, id limit ${MOST_CAMPAIGNS + 1}`;
  const coming: z.output<typeof ComingCampaign>[] = [];
  for (const campaign of campaigns.slice(0, MOST_CAMPAIGNS)) {
    const { id, name, channel, status, audience_count } = campaign;
    const left = countUntil - performance.now();
    const isComing = status === "scheduled";
    const counted = isComing && left > 0 ? await countAudience(context, campaign, left) : null;
    const audience = isComing ? (counted?.isWhole ? counted.audience : null) : audience_count;
    const allowed = counted?.isWhole ? counted.allowed : null;
    const at = isComing ? (campaign.fires_at ?? campaign.scheduled_at) : null;
    coming.push({ id, name, channel, status, at, audience, allowed });
  }
  return { campaigns: coming, isCut: campaigns.length > MOST_CAMPAIGNS };
}

/** The planned messages that wait for a time in the span, by day and campaign. */
export async function comingMessages({ sql: transaction, property }: Tenant, { until }: Span) {
  const waits = sql`s.property_id = ${property.id} and s.status in (${literals(WAITING_SENDS)})
    and coalesce(s.scheduled_for, now()) < ${cast(new Date(until).toISOString(), "timestamptz")}`;
  // Two parts, because only the sends of journeys have an index of the open ones.
  const rows = await transaction<Waiting[]>`
    with waiting as (
      select s.campaign_id, s.scheduled_for
      from campaigns b join campaign_sends s on s.property_id = ${property.id} and s.campaign_id = b.id
      where b.property_id = ${property.id} and b.journey_id is null and b.status in (${literals(BEGUN_CAMPAIGNS)}) and ${waits}
      union all
      select s.campaign_id, s.scheduled_for from campaign_sends s where s.is_open and ${waits}
    ), days as (
      select campaign_id, (greatest(scheduled_for, now()) at time zone ${property.timezone})::date::text as day,
        count(*)::int as messages
      from waiting group by 1, 2
    )
    select d.day, c.id as campaign_id, c.name, c.channel, c.status, c.journey_id, d.messages, c.throttle_per_minute,
      t.today::date::text as today, ceil(extract(epoch from t.today::date + 1 - t.today) / 60)::int as minutes_left,
      (${cast(new Date(until).toISOString(), "timestamptz")} at time zone ${property.timezone})::date::text as last_day
    from days d join campaigns c on c.property_id = ${property.id} and c.id = d.campaign_id
      cross join (select now() at time zone ${property.timezone} as today) t
    order by d.day, c.name, c.id`;
  return rows.some((row) => row.throttle_per_minute !== null) ? paced(rows) : rows.map(messagesOf);
}

type Messages = z.output<typeof ComingMessages>;
interface Waiting extends Messages {
  throttle_per_minute: number | null;
  today: string;
  minutes_left: number;
  last_day: string;
}

function messagesOf({ day, campaign_id, name, channel, status, journey_id, messages }: Waiting): Messages {
  return { day, campaign_id, name, channel, status, journey_id, messages };
}

/** With the messages of throttled campaigns on the days on which their pace lets them go. */
function paced(rows: readonly Waiting[]): Messages[] {
  const campaigns = [...Map.groupBy(rows, (row) => row.campaign_id).values()];
  const moved = campaigns.flatMap((days) => {
    const [first] = days;
    if (!first || first.throttle_per_minute === null) return days.map(messagesOf);
    const planned = new Map(days.map(({ day, messages }) => [day, messages]));
    const shifted: Messages[] = [];
    let late = 0;
    for (let { today: day } = first; day <= first.last_day; day = dayAfter(day)) {
      const waiting = late + (planned.get(day) ?? 0);
      const minutes = day === first.today ? first.minutes_left : DAY_MINUTES;
      const messages = Math.min(waiting, first.throttle_per_minute * minutes);
      late = waiting - messages;
      if (messages > 0) shifted.push({ ...messagesOf(first), day, messages });
    }
    return shifted;
  });
  const place = ({ day, name, campaign_id }: Messages) => `${day} ${name} ${campaign_id}`;
  return moved.sort((one, other) => (place(one) < place(other) ? -1 : 1));
}

const DAY_MINUTES = 1_440;

function dayAfter(day: string): string {
  return new Date(Date.parse(day) + DAY_MINUTES * 60_000).toISOString().slice(0, 10);
}

interface Live {
  id: string;
  name: string;
  definition: Definition;
  referred: Referred;
  ends: string | null;
  waking: number;
}

/** The active journeys: when players enter them, and how many of those inside move on. */
export async function comingJourneys(context: Tenant, span: Span) {
  const { sql: transaction, property } = context;
  const live = await transaction<Live[]>`
    select j.id, j.name, v.definition, v.referred, to_json(v.ends_at) #>> '{}' as ends, (
        select count(*)::int from journey_enrollments e
        where e.property_id = ${property.id} and e.journey_id = j.id and e.status = 'active'
          and (e.wake_at < ${cast(new Date(span.until).toISOString(), "timestamptz")} or e.phase = 'in_line')) as waking
    from journeys j
      join journey_versions v on v.property_id = ${property.id} and v.journey_id = j.id and v.version = j.current_version
    where j.property_id = ${property.id} and j.deleted_at is null and j.status = 'active'
    order by j.name, j.id limit ${MOST_JOURNEYS + 1}`;
  const coming: Journey[] = [];
  for (const journey of live.slice(0, MOST_JOURNEYS)) coming.push(await comingOf(context, journey, span));
  return { journeys: coming, isCut: live.length > MOST_JOURNEYS };
}

async function comingOf(context: Tenant, journey: Live, span: Span): Promise<Journey> {
  const { id, name, definition, referred, ends, waking } = journey;
  const until = Math.min(span.until, ends === null ? span.until : Date.parse(ends));
  const entries: Journey["entries"] = [];
  const anyTime: string[] = [];
  for (const node of definition.nodes) {
    if (node.type !== "trigger") continue;
    const { on } = node.config;
    if (on !== "schedule" && on !== "date_field") {
      anyTime.push(on);
      continue;
    }
    const times = entryTimes(context, node, { from: span.from, until, most: MOST_ENTRIES });
    let players: number | null = null;
    for (const [index, at] of times.entries()) {
      // The players of a schedule are those of its segment, at each of its times.
      if (on === "date_field" || index === 0)
        players = await countFitting(context, node, { referred, at }, span);
      entries.push({ node: node.id, at, players });
    }
  }
  entries.sort((one, other) => (one.at < other.at ? -1 : 1));
  const messages = definition.nodes.flatMap((node) =>
    node.type === "message" ? [`${node.id} (${node.config.channel})`] : [],
  );
  return { id, name, messages, entries: entries.slice(0, MOST_ENTRIES), any_time: anyTime, waking };
}

async function countFitting(
  context: Tenant,
  node: Parameters<typeof fitting>[1],
  { referred, at }: { referred: Referred; at: string },
  { countUntil }: Span,
): Promise<number | null> {
  if (performance.now() > countUntil) return null;
  const fits = fitting(context, node, referred, cast(at, "timestamptz"));
  const [row] = await context.sql<[{ players: number }]>`
    ${adHoc(
      join(
        [
          sql`select count(*)::int as players from players p where p.property_id = ${context.property.id}::uuid`,
          fits,
        ],
        " and ",
      ),
    )}`;
  return row.players;
}
