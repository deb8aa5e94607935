import type { Context } from "#runtime/context.ts";
import { refreshSoon } from "#tools/campaigns/refresh-campaign-stats.job.ts";

/** What a recipient, or a machine in between, did with a message. */
export interface Engagement {
  kind: "opened" | "clicked";
  sendId: string;
  /** What it was done with said, or showed, that it is a machine. */
  machine: boolean;
  /** The link that was clicked, where it is one of ours. */
  linkId?: string | undefined;
  /** ISO time. Default: now. */
  at?: string | undefined;
  /** How often. Default: once. */
  times?: number;
}

// Nobody reads that fast: filters look at a message before it is in the mailbox.
const TOO_SOON_SECONDS = 5;
// Nor clicks several links at once.
const AT_ONCE_SECONDS = 1;

/**
 * Counts opens and clicks into their sends, sets the first times, and emits an event for the first of each and for
 * the first by a person. A send that is not there, or whose player was erased, is passed over. With `skipLocked`
 * sends that another transaction holds are left alone. Answers the ids of the sends that were counted.
 */
export async function recordEngagement(
  context: Context,
  all: readonly Engagement[],
  options: { skipLocked?: boolean } = {},
): Promise<Set<string>> {
  const opened = all.filter(({ kind }) => kind === "opened");
  const clicked = all.filter(({ kind }) => kind === "clicked");
  const held = await lockSends(context, all, options.skipLocked ?? false);
  const mine = ({ sendId }: Engagement) => held.has(sendId);
  if (opened.some(mine)) announce(context, "opened", await recordOpens(context, opened.filter(mine)));
  if (clicked.some(mine)) announce(context, "clicked", await recordClicks(context, clicked.filter(mine)));
  await refreshSoon(context, [...new Set([...held.values()].filter((id) => id !== null))]);
  return new Set(held.keys());
}

/** The sends with their campaigns. In one order, so that two calls do not wait for each other. */
async function lockSends(
  { sql, property }: Context,
  all: readonly Engagement[],
  skipLocked: boolean,
): Promise<Map<string, string | null>> {
  const wanted = Array.from(new Set(all.map(({ sendId }) => sendId)), (id) => ({ id }));
  if (wanted.length === 0) return new Map();
  const rows = await sql<{ id: string; campaign_id: string | null }[]>`
    select s.id, s.campaign_id from json_to_recordset(${wanted as never}::json) as w(id uuid)
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

function recordOpens(context: Context, opened: Engagement[]): Promise<First[]> {
  const { sql, property } = context;
  return sql<First[]>`
    with ${hits(context, opened)}, told as materialized (
      select s.id, s.opened_at, s.first_human_open_at, sum(h.times)::int as times, min(h.at) as at,
        min(h.at) filter (where ${byPerson(context)}) as human_at
      from hit h join campaign_sends s on s.property_id = ${property.id} and s.id = h.send_id
      group by s.id, s.opened_at, s.first_human_open_at
    )
    update campaign_sends s
    set opens = s.opens + t.times, opened_at = coalesce(s.opened_at, t.at),
      first_human_open_at = coalesce(s.first_human_open_at, t.human_at), updated_at = now()
    from told t
    where s.property_id = ${property.id} and s.id = t.id
    returning s.id, s.campaign_id, s.player_id, s.channel, to_json(t.at) #>> '{}' as at,
      t.opened_at is null as first, t.first_human_open_at is null and t.human_at is not null as first_human`;
}

/** Each click into its link's row first: only all of a message's clicks show that a machine followed its links. */
async function recordClicks(context: Context, clicked: Engagement[]): Promise<First[]> {
  const { sql, property } = context;
  const linked = clicked.filter(({ linkId }) => linkId !== undefined);
  if (linked.length > 0) await recordLinks(context, linked);
  return sql<First[]>`
    with ${hits(context, clicked)}, told as materialized (
      select s.id, s.clicked_at, s.first_human_click_at, sum(h.times)::int as times, min(h.at) as at,
        least(
          (select min(c.first_human_click_at) from campaign_clicks c
            where c.property_id = ${property.id} and c.send_id = s.id),
          min(h.at) filter (where h.link_id is null and ${byPerson(context)}),
          case when bool_and(h.link_id is null) then s.first_human_click_at end) as human_at
      from hit h join campaign_sends s on s.property_id = ${property.id} and s.id = h.send_id
      group by s.id, s.clicked_at, s.first_human_click_at
    )
    update campaign_sends s
    set clicks = s.clicks + t.times, clicked_at = coalesce(s.clicked_at, t.at),
      first_human_click_at = t.human_at, updated_at = now()
    from told t
    where s.property_id = ${property.id} and s.id = t.id
    returning s.id, s.campaign_id, s.player_id, s.channel, to_json(t.at) #>> '{}' as at,
      t.clicked_at is null as first, t.first_human_click_at is null and t.human_at is not null as first_human`;
}

async function recordLinks(context: Context, linked: Engagement[]): Promise<void> {
  const { sql, property } = context;
  await sql`
    with ${hits(context, linked)}
    insert into campaign_clicks (property_id, send_id, link_id, campaign_id, clicks, last_clicked_at,
      first_human_click_at)
    select ${property.id}, s.id, l.id, l.campaign_id, sum(h.times)::int, max(h.at),
      min(h.at) filter (where ${byPerson(context)})
    from hit h
    join campaign_sends s on s.property_id = ${property.id} and s.id = h.send_id
    join campaign_links l on l.property_id = ${property.id} and l.id = h.link_id and l.campaign_id = s.campaign_id
    group by s.id, l.id, l.campaign_id
    on conflict (property_id, send_id, link_id) do update
    set clicks = campaign_clicks.clicks + excluded.clicks, last_clicked_at = excluded.last_clicked_at,
      first_human_click_at = coalesce(campaign_clicks.first_human_click_at, excluded.first_human_click_at),
      updated_at = now()`;
  // Another link within the second: both were followed by a machine.
  await sql`
    update campaign_clicks c set first_human_click_at = null, updated_at = now()
    from (select distinct send_id from json_to_recordset(${linked.map(asRow) as never}::json) as h(send_id uuid)) h
    where c.property_id = ${property.id} and c.send_id = h.send_id and c.first_human_click_at is not null
      and exists (select 1 from campaign_clicks o
        where o.property_id = ${property.id} and o.send_id = c.send_id and o.link_id <> c.link_id
          and o.last_clicked_at between c.first_human_click_at - make_interval(secs => ${AT_ONCE_SECONDS})
            and c.first_human_click_at + make_interval(secs => ${AT_ONCE_SECONDS}))`;
}

function asRow({ sendId, linkId, machine, at, times = 1 }: Engagement) {
  return { send_id: sendId, link_id: linkId ?? null, machine, at: at ?? null, times };
}

function hits({ sql }: Context, engagements: Engagement[]) {
  return sql`hit as materialized (
    select send_id, link_id, machine, coalesce(at, now()) as at, times
    from json_to_recordset(${engagements.map(asRow) as never}::json)
      as h(send_id uuid, link_id uuid, machine boolean, at timestamptz, times int)
  )`;
}

/** Over `hit h` and `campaign_sends s`. */
function byPerson({ sql }: Context) {
  return sql`not h.machine and h.at > coalesce(s.sent_at, s.claimed_at, s.created_at)
    + make_interval(secs => ${TOO_SOON_SECONDS})`;
}

function announce({ emit }: Context, kind: Engagement["kind"], firsts: First[]): void {
  for (const { first, first_human, at, ...send } of firsts) {
    if (first || first_human) emit(`campaign.message_${kind}`, { ...send, at, machine: !first_human });
  }
}
