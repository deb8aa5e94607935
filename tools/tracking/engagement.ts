import { isbot } from "isbot";
import { cte, type Fragment, sql } from "#db/sql.ts";
import type { Context, Tenant } from "#runtime/operation/context.ts";
import { refreshSoon } from "./stats-refresh.ts";

/** An opening of a message or a click in it, by its recipient or by a machine in between. */
export interface Engagement {
  kind: "opened" | "clicked";
  sendId: string;
  /** Its request showed that it came from a machine. */
  machine: boolean;
  /** A person did it, however soon after the message: the inbox is no mail that filters open. */
  proved?: boolean;
  /** The clicked link, if it is one of ours. */
  linkId?: string | undefined;
  /** ISO time. Default: now. */
  at?: string | undefined;
  /** Default: 1. */
  times?: number;
}

// Apple's privacy protection sends only the first of these; the others fetch pictures for their users.
const FETCHERS = /^Mozilla\/5\.0$|GoogleImageProxy|YahooMailProxy|ggpht\.com/i;

/** Whether a request for a picture or a link shows that a program made it. */
export function isMachine(method: string, userAgent: string | undefined): boolean {
  const agent = userAgent?.trim() ?? "";
  return method === "HEAD" || agent === "" || FETCHERS.test(agent) || isbot(agent);
}

// People do not read that fast: filters open a message before it is in the mailbox.
const TOO_SOON_SECONDS = 5;
// People do not click several links at once.
const AT_ONCE_SECONDS = 1;

/**
 * Counts opens and clicks in their sends, sets the first times, and emits an event for the first of each and for the
 * first by a person. Skips sends that do not exist or whose player was erased; `skipLocked` skips sends that another
 * transaction has locked. Answers the ids of the counted sends.
 */
export async function recordEngagement(
  context: Context,
  all: readonly Engagement[],
  options: { skipLocked?: boolean } = {},
): Promise<Set<string>> {
  const opened = all.filter(({ kind }) => kind === "opened");
  const clicked = all.filter(({ kind }) => kind === "clicked");
  const campaigns = await lockSends(context, all, options.skipLocked ?? false);
  const isLocked = ({ sendId }: Engagement) => campaigns.has(sendId);
  if (opened.some(isLocked))
    emitFirsts(context, "opened", await recordOpens(context, opened.filter(isLocked)));
  if (clicked.some(isLocked)) {
    emitFirsts(context, "clicked", await recordClicks(context, clicked.filter(isLocked)));
  }
  await refreshSoon(context, [...new Set([...campaigns.values()].filter((id) => id !== null))]);
  return new Set(campaigns.keys());
}

/** Locks the sends in one order, so that two calls never wait for each other. Answers their campaigns. */
async function lockSends(
  { sql, property }: Tenant,
  all: readonly Engagement[],
  skipLocked: boolean,
): Promise<Map<string, string | null>> {
  const wanted = Array.from(new Set(all.map(({ sendId }) => sendId)), (id) => ({ id }));
  if (wanted.length === 0) return new Map();
  const rows = await sql<{ id: string; campaign_id: string | null }[]>`
    select s.id, s.campaign_id from json_to_recordset(${wanted}::json) as w(id uuid)
    join campaign_sends s on s.property_id = ${property.id} and s.id = w.id and s.player_id is not null
    order by s.id for no key update of s ${skipLocked ? sql`skip locked` : sql``}`;
  return new Map(rows.map(({ id, campaign_id }) => [id, campaign_id]));
}

interface First {
  id: string;
  campaign_id: string | null;
  player_id: string;
  channel: string;
  at: string;
  /** The first of its kind, the first by a person, or both. */
  first: boolean;
  first_human: boolean;
}

async function recordOpens({ sql, property }: Context, opened: Engagement[]): Promise<First[]> {
  return sql<First[]>`
    with ${hits(opened)}, counted as materialized (
      select s.id, s.opened_at, s.first_human_open_at, sum(h.times)::int as times, min(h.at) as at,
        min(h.at) filter (where ${BY_PERSON}) as human_at
      from hit h join campaign_sends s on s.property_id = ${property.id} and s.id = h.send_id
      group by s.id, s.opened_at, s.first_human_open_at
    ), written as (
      update campaign_sends s
      set opens = s.opens + t.times, opened_at = coalesce(s.opened_at, t.at),
        first_human_open_at = coalesce(s.first_human_open_at, t.human_at), updated_at = now()
      from counted t
      where s.property_id = ${property.id} and s.id = t.id
      returning s.id, s.campaign_id, s.player_id, s.channel, t.at,
        t.opened_at is null as first, t.first_human_open_at is null and t.human_at is not null as first_human
    )
    ${FIRSTS}`;
}

/** Counts each click in its link's row first: only all clicks of a message show that a machine followed its links. */
async function recordClicks(context: Context, clicked: Engagement[]): Promise<First[]> {
  const { sql, property } = context;
  const linked = clicked.filter(({ linkId }) => linkId !== undefined);
  if (linked.length > 0) await recordLinks(context, linked);
  return sql<First[]>`
    with ${hits(clicked)}, counted as materialized (
      select s.id, s.clicked_at, s.first_human_click_at, sum(h.times)::int as times, min(h.at) as at,
        least(
          (select min(c.first_human_click_at) from campaign_clicks c
            where c.property_id = ${property.id} and c.send_id = s.id),
          min(h.at) filter (where h.link_id is null and ${BY_PERSON}),
          case when bool_and(h.link_id is null) then s.first_human_click_at end) as human_at
      from hit h join campaign_sends s on s.property_id = ${property.id} and s.id = h.send_id
      group by s.id, s.clicked_at, s.first_human_click_at
    ), written as (
      update campaign_sends s
      set clicks = s.clicks + t.times, clicked_at = coalesce(s.clicked_at, t.at),
        first_human_click_at = t.human_at, updated_at = now()
      from counted t
      where s.property_id = ${property.id} and s.id = t.id
      returning s.id, s.campaign_id, s.player_id, s.channel, t.at,
        t.clicked_at is null as first, t.first_human_click_at is null and t.human_at is not null as first_human
    )
    ${FIRSTS}`;
}

// A distributed update can return only immutable expressions, so the time is formatted here.
const FIRSTS = sql`select id, campaign_id, player_id, channel, to_json(at) #>> '{}' as at, first, first_human from written`;

async function recordLinks({ sql, property }: Tenant, linked: Engagement[]): Promise<void> {
  await sql`
    with ${hits(linked)}
    insert into campaign_clicks (property_id, send_id, link_id, campaign_id, clicks, last_clicked_at,
      first_human_click_at)
    select ${property.id}, s.id, l.id, l.campaign_id, sum(h.times)::int, max(h.at),
      min(h.at) filter (where ${BY_PERSON})
    from hit h
    join campaign_sends s on s.property_id = ${property.id} and s.id = h.send_id
    join campaign_links l on l.property_id = ${property.id} and l.id = h.link_id and l.campaign_id = s.campaign_id
    group by s.id, l.id, l.campaign_id
    on conflict (property_id, send_id, link_id) do update
    set clicks = campaign_clicks.clicks + excluded.clicks, last_clicked_at = excluded.last_clicked_at,
      first_human_click_at = coalesce(campaign_clicks.first_human_click_at, excluded.first_human_click_at),
      updated_at = excluded.updated_at`;
  // A machine follows a message's links within a second of each other.
  await sql`
    with sent as (
      select distinct send_id from json_to_recordset(${linked.map(asRow)}::json) as h(send_id uuid)
    ), followed as materialized (
      select c.send_id, c.link_id from sent
      join campaign_clicks c on c.property_id = ${property.id} and c.send_id = sent.send_id
      where c.first_human_click_at is not null and exists (
        select from campaign_clicks o
        where o.property_id = ${property.id} and o.send_id = c.send_id and o.link_id <> c.link_id
          and o.last_clicked_at between c.first_human_click_at - make_interval(secs => ${AT_ONCE_SECONDS})
            and c.first_human_click_at + make_interval(secs => ${AT_ONCE_SECONDS}))
    )
    update campaign_clicks c set first_human_click_at = null, updated_at = now()
    from followed f
    where c.property_id = ${property.id} and c.send_id = f.send_id and c.link_id = f.link_id`;
}

function asRow({ sendId, linkId, machine, proved, at, times = 1 }: Engagement) {
  return {
    send_id: sendId,
    link_id: linkId ?? null,
    machine,
    proved: proved ?? false,
    at: at ?? null,
    times,
  };
}

/** `hit`: the engagements as rows. */
function hits(engagements: Engagement[]): Fragment {
  const rows = sql`
    select send_id, link_id, machine, proved, coalesce(at, now()) as at, times
    from json_to_recordset(${engagements.map(asRow)}::json)
      as h(send_id uuid, link_id uuid, machine boolean, proved boolean, at timestamptz, times int)`;
  return cte("hit", rows, "materialized");
}

/** Over `hit h` and `campaign_sends s`. */
const BY_PERSON = sql`(h.proved or not h.machine and h.at > coalesce(s.sent_at, s.claimed_at, s.created_at)
  + make_interval(secs => ${TOO_SOON_SECONDS}))`;

function emitFirsts({ emit }: Context, kind: Engagement["kind"], firsts: First[]): void {
  for (const { first, first_human, at, ...send } of firsts) {
    if (first || first_human) emit(`campaign.message_${kind}`, { ...send, at, machine: !first_human });
  }
}
