import { setTimeout as after } from "node:timers/promises";
import { hashPassword } from "#runtime/identity/passwords.ts";
import { median, type Report } from "../support/figure.ts";
import { type Peer, startPeer } from "../support/load.ts";
import { type BenchProperty, openProperty } from "../support/property.ts";

const PLAYERS = Number(process.env.BENCH_PLAYERS ?? 1_000_000);
const TIMES = 7;
const PAGE_MS = 150;
const PEOPLE = 50;
const LIVE_MS = 20_000;
/** The shortest time between two readings of a page, and the time over which people spread, as in console.js. */
const SHORTEST_MS = 1_500;
const SPREAD_MS = 1_500;
const LIVE_P95_MS = 200;
const PASSWORD = "a long sentence of hers";

/** S27: each page of the console with a million players, and fifty people with live pages; ms. */
export default async function bench(report: Report): Promise<void> {
  const bench = await openProperty(PLAYERS);
  const service = await startPeer("service", { DATABASE_URL: bench.url, TRUST_PROXY: "1" });
  try {
    const { campaign, pages } = await fill(bench, service);
    const [first, ...others] = await signIn(bench, service);
    for (const [name, path] of Object.entries(pages)) {
      const times: number[] = [];
      for (let time = 0; time <= TIMES; time++) times.push(await read(service, first!, path));
      const ours = median(times.slice(1));
      const ratio = ours / PAGE_MS;
      report({ name: `S27 ${name}, ms`, ours, peer: PAGE_MS, ratio, goal: "≤ 1x", met: ratio <= 1 });
    }
    const times = await live({ bench, service, campaign }, [first!, ...others]);
    const p95 = times.sort((one, other) => one - other)[Math.floor(times.length * 0.95)]!;
    const ratio = p95 / LIVE_P95_MS;
    const name = `S27 ${PEOPLE} live pages, p95 of ${times.length}, ms`;
    report({ name, ours: p95, peer: LIVE_P95_MS, ratio, goal: "≤ 1x", met: ratio <= 1 });
  } finally {
    await service.stop();
    await bench.close();
  }
}

/** A campaign, a segment, a template and a journey, by the API; and the pages that show them. */
async function fill({ key, sql, property }: BenchProperty, service: Peer) {
  // biome-ignore lint/suspicious/noExplicitAny: a benchmark reads what it expects
  const call = async (path: string, body: object): Promise<any> => {
    const headers = { "X-Api-Key": key, "Content-Type": "application/json" };
    const response = await fetch(`${service.url}/api/${path}`, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
    return response.json();
  };
  const { id: segment } = await call("segments", {
    name: "Gold",
    conditions: [{ field: "tier", operator: "eq", value: "Gold" }],
  });
  const { id: campaign } = await call("campaigns", {
    name: "Free play",
    subject: "Free play",
    body_html: "<p>Free play.</p>",
    segment_id: segment,
  });
  const { journey } = await call("functions/create-journey-from-recipe", {
    settings: { recipe: "win_back", segment_id: segment },
    propertyId: property,
  });
  const sent = await sentCampaign({ sql, property }, call);
  const [player] = await sql<{ id: string }[]>`
    select id from players where property_id = ${property} order by id desc limit 1`;
  const pages = {
    "the page Now": "/console",
    "the campaigns": "/console/campaigns",
    "a campaign": `/console/campaigns/${campaign}`,
    "a campaign's check": `/console/campaigns/${campaign}?check=yes`,
    "a campaign's report": `/console/campaigns/${sent}`,
    "the journeys": "/console/journeys",
    "a journey": `/console/journeys/${journey.id}`,
    "the segments": "/console/segments",
    "a segment": `/console/segments/${segment}`,
    "the form of rules": "/console/segments/new",
    "the players": "/console/players",
    "a player by email": "/console/players?q=player.777777%40example.com",
    "a player": `/console/players/${player!.id}`,
    "the imports": "/console/imports",
    "the templates": "/console/templates",
    "the form of a simulation": `/console/journeys/${journey.id}/simulate`,
    "a player's consents": `/console/players/${player!.id}/consents`,
    "the approvals": "/console/approvals",
    "the compliance page": "/console/compliance",
    "the settings": "/console/settings/property",
    "the people": "/console/settings/people",
    "the theme": "/console/settings/theme",
    "a table": "/console/records/players",
  };
  return { campaign: String(campaign), pages };
}

/** A campaign that has gone to a hundred thousand players, half of whom have opened it. */
async function sentCampaign(
  { sql, property }: Pick<BenchProperty, "sql" | "property">,
  // biome-ignore lint/suspicious/noExplicitAny: as above
  call: (path: string, body: object) => Promise<any>,
): Promise<string> {
  const { id } = await call("campaigns", {
    name: "Sent",
    subject: "Sent",
    body_html: "<p>Sent.</p>",
    audience: "all",
  });
  await sql`
    insert into campaign_sends (property_id, campaign_id, player_id, channel, status, address_hash, address_masked,
      dedupe_key, sent_at, delivered_at, opened_at, first_human_open_at)
    select ${property}, ${id}, p.id, 'email', 'delivered', p.email_hash, 'p***@e***.com', p.email_hash,
      now() - interval '1 hour', now() - interval '1 hour',
      case when n % 2 = 0 then now() end, case when n % 2 = 0 then now() end
    from (select id, email_hash, row_number() over () as n from players where property_id = ${property} limit 100000) p`;
  await sql`
    update campaigns set status = 'sent', started_at = now() - interval '1 hour', finished_at = now(),
      audience_count = 100000 where property_id = ${property} and id = ${id}`;
  return id;
}

/** Fifty managers, each with a session of their own; answers their cookies. */
async function signIn({ sql, property }: BenchProperty, service: Peer): Promise<string[]> {
  const hash = await hashPassword(PASSWORD);
  const emails = Array.from({ length: PEOPLE }, (_, index) => `person${index}@example.com`);
  await sql`
    with made as (
      insert into users (email, password_hash) select unnest(${emails}::text[]), ${hash} returning id
    )
    insert into memberships (property_id, user_id, role) select ${property}, id, 'manager' from made`;
  const cookies: string[] = [];
  for (const [index, email] of emails.entries()) {
    const response = await fetch(`${service.url}/console/sign-in`, {
      method: "POST",
      redirect: "manual",
      headers: { "sec-fetch-site": "same-origin", "x-forwarded-for": `10.0.0.${index + 1}` },
      body: new URLSearchParams({ email, password: PASSWORD }),
    });
    const cookie = response.headers.getSetCookie()[0]?.split(";")[0];
    if (!cookie) throw new Error(`${email} could not sign in: ${response.status}`);
    cookies.push(cookie);
  }
  return cookies;
}

async function read({ url }: Pick<Peer, "url">, cookie: string, path: string): Promise<number> {
  const startedAt = performance.now();
  const response = await fetch(url + path, { headers: { cookie }, redirect: "manual" });
  await response.text();
  if (response.status !== 200) throw new Error(`the control moved: ${path} was answered ${response.status}`);
  return performance.now() - startedAt;
}

/** Everybody looks at one campaign, which changes every half a second; answers the times of all readings. */
async function live(
  { bench, service, campaign }: { bench: BenchProperty; service: Peer; campaign: string },
  cookies: readonly string[],
): Promise<number[]> {
  const { property, sql } = bench;
  const ended = new AbortController();
  const over = AbortSignal.any([AbortSignal.timeout(LIVE_MS), ended.signal]);
  const times: number[] = [];
  const changing = (async () => {
    while (!over.aborted) {
      await sql`update campaigns set updated_at = now() where property_id = ${property} and id = ${campaign}`;
      await after(500);
    }
  })();
  try {
    await Promise.all(cookies.map((cookie) => watch(service, { cookie, campaign, over, times })));
  } finally {
    ended.abort();
    await changing;
  }
  return times;
}

/** One open page: it reads itself again when the stream says that it has changed. */
async function watch(
  service: Peer,
  { cookie, campaign, over, times }: { cookie: string; campaign: string; over: AbortSignal; times: number[] },
): Promise<void> {
  try {
    const response = await fetch(`${service.url}/console/live?campaign=${campaign}`, {
      headers: { cookie },
      signal: over,
    });
    for await (const chunk of response.body!) {
      if (!Buffer.from(chunk).includes("changed")) continue;
      await after(Math.random() * SPREAD_MS);
      times.push(await read(service, cookie, `/console/campaigns/${campaign}`));
      await after(SHORTEST_MS);
    }
  } catch (error) {
    if (!over.aborted) throw error;
  }
}
