import { z } from "zod";
import { adHoc, cast, join, literals, sql } from "#db/sql.ts";
import { NIL_UUID } from "#db/types.ts";
import { toFault } from "#runtime/faults.ts";
import { storedNames, timestamp } from "#runtime/operation/columns.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import { quoted } from "#runtime/visible-text.ts";
import type { Campaign } from "#tools/campaigns/campaign/campaign.ts";
import { columns } from "#tools/campaigns/campaign/columns.ts";
import { countAudience } from "#tools/campaigns/preflight/count.ts";
import type { Definition } from "#tools/journeys/definition/definition.ts";
import { entryTimes } from "#tools/journeys/publishing/entering.ts";
import { fitting } from "#tools/journeys/publishing/fitting.ts";
import type { Referred } from "#tools/segments/rules/references.ts";
import { BEGUN_CAMPAIGNS, CAMPAIGN_STATUSES } from "#tools/statuses/campaigns.ts";

/** The span of a forecast, and until when it may go on counting players, on the clock of `performance`. */
export interface Span {
  from: number;
  until: number;
  countUntil: number;
}

const MOST_CAMPAIGNS = 200;
const MOST_JOURNEYS = 200;
const MOST_ENTRIES = 60;
/** A journey may have millions of players: no statement reads more of them than this. */
const PAGE = 50_000;

const Count = z.int().nullable().describe("As of now; null where it could not be counted, or not in time");

export const ComingCampaign = z.object({
  id: z.uuid(),
  name: z.string(),
  channel: z.string(),
  status: z.enum(CAMPAIGN_STATUSES).describe("A paused one sends nothing until resume_campaign"),
  at: timestamp().nullable().describe("Of a scheduled campaign: when it starts; null: it has started"),
  audience: Count,
  allowed: Count.describe("Messages that the compliance gate lets through, as of now"),
});

export const ComingJourney = z.object({
  id: z.uuid(),
  name: z.string(),
  messages: z.array(z.string()).describe("Its messages: the node and the channel"),
  entries: z
    .array(z.object({ node: z.string(), at: timestamp(), players: Count }))
    .describe(`The first ${MOST_ENTRIES} times at which players enter by a schedule or a date`),
  any_time: z.array(z.string()).describe("The ways in that no clock opens, such as an event"),
  waking: z
    .int()
    .nullable()
    .describe(
      "Players inside who move on in the span, with all in the line of a rate limit; null where they could not be counted in time",
    ),
});
type Journey = z.output<typeof ComingJourney>;

/** Campaigns that start in the span, and those that have begun; with the reasons why an audience has no count. */
export async function comingCampaigns(context: Tenant, { until, countUntil }: Span) {
  const { sql: transaction, property } = context;
  const campaigns = await transaction<Campaign[]>`
    select ${storedNames(columns)} from campaigns
    where property_id = ${property.id} and deleted_at is null and journey_id is null
      and (status in (${literals(BEGUN_CAMPAIGNS)})
        or status = 'scheduled' and coalesce(fires_at, scheduled_at) < ${cast(new Date(until).toISOString(), "timestamptz")})
    order by coalesce(fires_at, scheduled_at, started_at) nulls first, id limit ${MOST_CAMPAIGNS + 1}`;
  const coming: z.output<typeof ComingCampaign>[] = [];
  const uncountable: string[] = [];
  for (const campaign of campaigns.slice(0, MOST_CAMPAIGNS)) {
    const { id, name, channel, status, audience_count } = campaign;
    const left = countUntil - performance.now();
    const isComing = status === "scheduled";
    const counted =
      isComing && left > 0
        ? await countAudience(context, campaign, left, { isStrict: true }).catch((error: unknown) => {
            uncountable.push(`the audience of ${quoted(name)} cannot be counted: ${refusalOf(error)}`);
            return null;
          })
        : null;
    const audience = isComing ? (counted?.isWhole ? counted.audience : null) : audience_count;
    const allowed = counted?.isWhole ? counted.allowed : null;
    const at = isComing ? (campaign.fires_at ?? campaign.scheduled_at) : null;
    coming.push({ id, name, channel, status, at, audience, allowed });
  }
  return { campaigns: coming, uncountable, isCut: campaigns.length > MOST_CAMPAIGNS };
}

/** Such as a deleted segment, or rules that do not compile any more. */
function refusalOf(error: unknown): string {
  const fault = toFault(error);
  if (fault.status >= 500) throw error;
  return fault.message;
}

interface Live {
  id: string;
  name: string;
  definition: Definition;
  referred: Referred;
  ends: string | null;
}

/** The active journeys: when players enter them, and how many of those inside move on. */
export async function comingJourneys(context: Tenant, span: Span, page = PAGE) {
  const { sql: transaction, property } = context;
  const live = await transaction<Live[]>`
    select j.id, j.name, v.definition, v.referred, to_json(v.ends_at) #>> '{}' as ends
    from journeys j
      join journey_versions v on v.property_id = ${property.id} and v.journey_id = j.id and v.version = j.current_version
    where j.property_id = ${property.id} and j.deleted_at is null and j.status = 'active'
    order by j.name, j.id limit ${MOST_JOURNEYS + 1}`;
  const coming: Journey[] = [];
  for (const journey of live.slice(0, MOST_JOURNEYS)) {
    coming.push({
      ...(await comingOf(context, journey, span)),
      waking: await countWaking(context, journey, span, page),
    });
  }
  return { journeys: coming, isCut: live.length > MOST_JOURNEYS };
}

/** Counts the players inside who move on in the span, a page at a time; null when the time for counting is over. */
async function countWaking(
  { sql: transaction, property }: Tenant,
  { id }: Live,
  { until, countUntil }: Span,
  page: number,
): Promise<number | null> {
  let waking = 0;
  for (let last = { player: NIL_UUID, key: "" }, read = page; read === page; ) {
    if (performance.now() > countUntil) return null;
    const [counted] = await transaction<[{ read: number; waking: number; last: typeof last | null }]>`
      with page as materialized (
        select e.player_id, e.entry_key,
          e.wake_at < ${cast(new Date(until).toISOString(), "timestamptz")} or e.phase = 'in_line' as wakes
        from journey_enrollments e
        where e.property_id = ${property.id} and e.journey_id = ${id} and e.status = 'active'
          and (e.player_id, e.entry_key) > (${last.player}::uuid, ${last.key})
        order by e.player_id, e.entry_key limit ${page}
      )
      select count(*)::int as read, count(*) filter (where wakes)::int as waking,
        (select json_build_object('player', player_id, 'key', entry_key) from page
          order by player_id desc, entry_key desc limit 1) as last
      from page`;
    waking += counted.waking;
    read = counted.read;
    last = counted.last ?? last;
  }
  return waking;
}

async function comingOf(context: Tenant, journey: Live, span: Span): Promise<Omit<Journey, "waking">> {
  const { id, name, definition, referred, ends } = journey;
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
  return { id, name, messages, entries: entries.slice(0, MOST_ENTRIES), any_time: anyTime };
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
