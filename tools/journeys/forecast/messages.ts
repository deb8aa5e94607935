import { z } from "zod";
import { cast, literals, sql } from "#db/sql.ts";
import { NIL_UUID } from "#db/types.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import { bareOrQuoted } from "#runtime/visible-text.ts";
import { BEGUN_CAMPAIGNS, CAMPAIGN_STATUSES } from "#tools/statuses/campaigns.ts";
import { WAITING_SENDS } from "#tools/statuses/sends.ts";
import type { Span } from "./coming.ts";

const MOST_CAMPAIGNS = 400;
/** Sends that one statement reads. */
const PAGE = 50_000;
const MOST_NAMES = 5;

export const ComingMessages = z.object({
  day: z.string().describe("By the property's clock"),
  campaign_id: z.uuid(),
  name: z.string(),
  channel: z.string(),
  status: z.enum(CAMPAIGN_STATUSES),
  journey_id: z.uuid().nullable().describe("Of a journey's message"),
  messages: z.int(),
});

type Messages = z.output<typeof ComingMessages>;

interface Waiting {
  id: string;
  name: string;
  channel: string;
  status: Messages["status"];
  journey_id: string | null;
  throttle_per_minute: number | null;
}

/**
 * The planned messages that wait for a time in the span, by day and campaign, with the reasons why some are not counted.
 * Reads a page of sends at a time, until the time for counting is over.
 */
export async function comingMessages(context: Tenant, span: Span, page = PAGE) {
  const campaigns = await waitingCampaigns(context);
  const calendar = await calendarOf(context, span);
  const messages: Messages[] = [];
  const cut: string[] = [];
  for (const campaign of campaigns.slice(0, MOST_CAMPAIGNS)) {
    const { days, isWhole } = await countDays(context, campaign, span, page);
    messages.push(
      ...messagesOf(campaign, campaign.throttle_per_minute === null ? days : paced(campaign, days, calendar)),
    );
    if (!isWhole) cut.push(campaign.name);
  }
  const place = ({ day, name, campaign_id }: Messages) => `${day} ${name} ${campaign_id}`;
  messages.sort((one, other) => (place(one) < place(other) ? -1 : 1));
  const uncounted = [
    ...(cut.length > 0 ? [uncountedWords(cut)] : []),
    ...(campaigns.length > MOST_CAMPAIGNS
      ? [`only the messages of ${MOST_CAMPAIGNS} campaigns are counted`]
      : []),
  ];
  return { messages, uncounted };
}

function uncountedWords(names: readonly string[]): string {
  const more = names.length - MOST_NAMES;
  const shown = names.slice(0, MOST_NAMES).map(bareOrQuoted).join(", ");
  const all = more > 0 ? `${shown} and ${more} more` : shown;
  return `the time for counting was over: the messages of ${all} are not counted, or only in part`;
}

/** The campaigns that have begun, and the messages of journeys with an open send. */
async function waitingCampaigns({ sql: transaction, property }: Tenant): Promise<Waiting[]> {
  const rows = await transaction<Waiting[]>`
    select c.id, c.name, c.channel, c.status, c.journey_id, c.throttle_per_minute from campaigns c
    where c.property_id = ${property.id} and case
      when c.journey_id is null then c.status in (${literals(BEGUN_CAMPAIGNS)})
      else exists (
        select from campaign_sends s
        where s.property_id = ${property.id} and s.campaign_id = c.id and s.is_open) end
    order by c.name, c.id limit ${MOST_CAMPAIGNS + 1}`;
  return [...rows];
}

type Days = Readonly<Record<string, number>>;

/** The waiting messages of a campaign by day, a past one counted today. */
async function countDays(
  { sql: transaction, property }: Tenant,
  { id, journey_id }: Waiting,
  { until, countUntil }: Span,
  page: number,
): Promise<{ days: Days; isWhole: boolean }> {
  const days: Record<string, number> = {};
  for (let last = NIL_UUID, read = page; read === page; ) {
    if (performance.now() > countUntil) return { days, isWhole: false };
    // Only the sends of journeys have an index of the open ones: their campaigns have no end.
    const [counted] = await transaction<[{ read: number; last: string | null; days: Days }]>`
      with page as materialized (
        select s.id, s.status, s.scheduled_for from campaign_sends s
        where s.property_id = ${property.id} and s.campaign_id = ${id} and s.id > ${last}
          ${journey_id === null ? sql`` : sql`and s.is_open`}
        order by s.id limit ${page}
      ), days as (
        select (greatest(scheduled_for, now()) at time zone ${property.timezone})::date::text as day,
          count(*)::int as messages
        from page
        where status in (${literals(WAITING_SENDS)})
          and coalesce(scheduled_for, now()) < ${cast(new Date(until).toISOString(), "timestamptz")}
        group by 1
      )
      select (select count(*)::int from page) as read, (select id from page order by id desc limit 1) as last,
        coalesce((select json_object_agg(day, messages) from days), '{}') as days`;
    for (const [day, messages] of Object.entries(counted.days)) days[day] = (days[day] ?? 0) + messages;
    read = counted.read;
    last = counted.last ?? last;
  }
  return { days, isWhole: true };
}

interface Calendar {
  today: string;
  minutes_left: number;
  last_day: string;
}

/** The days of the span, by the property's clock. */
async function calendarOf({ sql: transaction, property }: Tenant, { until }: Span): Promise<Calendar> {
  const [calendar] = await transaction<[Calendar]>`
    select t.now::date::text as today, ceil(extract(epoch from t.now::date + 1 - t.now) / 60)::int as minutes_left,
      (${cast(new Date(until).toISOString(), "timestamptz")} at time zone ${property.timezone})::date::text as last_day
    from (select now() at time zone ${property.timezone} as now) t`;
  return calendar;
}

function messagesOf({ id, name, channel, status, journey_id }: Waiting, days: Days): Messages[] {
  return Object.entries(days).map(([day, messages]) => ({
    day,
    campaign_id: id,
    name,
    channel,
    status,
    journey_id,
    messages,
  }));
}

/** The messages of a throttled campaign on the days on which its pace lets them go. */
function paced({ throttle_per_minute }: Waiting, planned: Days, calendar: Calendar): Days {
  const shifted: Record<string, number> = {};
  let late = 0;
  for (let day = calendar.today; day <= calendar.last_day; day = dayAfter(day)) {
    const waiting = late + (planned[day] ?? 0);
    const minutes = day === calendar.today ? calendar.minutes_left : DAY_MINUTES;
    const messages = Math.min(waiting, throttle_per_minute! * minutes);
    late = waiting - messages;
    if (messages > 0) shifted[day] = messages;
  }
  return shifted;
}

const DAY_MINUTES = 1_440;

function dayAfter(day: string): string {
  return new Date(Date.parse(day) + DAY_MINUTES * 60_000).toISOString().slice(0, 10);
}
