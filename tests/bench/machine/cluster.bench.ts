import autocannon from "autocannon";
import postgres from "postgres";
import { migrate } from "#db/migrate.ts";
import { newApiKey } from "#runtime/identity/credentials.ts";
import { must } from "../../faults/support/calls.ts";
import { until } from "../../faults/support/fault.ts";
import { type ServiceProcess, startService } from "../../faults/support/process.ts";
import { clusterDatabase } from "../../support/cluster/citus.ts";
import { benchDatabase } from "../support/database.ts";
import { median, type Report } from "../support/figure.ts";
import { addProperty } from "../support/property.ts";

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 3);
const PLAYERS = Number(process.env.BENCH_PLAYERS ?? 1_000);
const PROPERTIES = 8;
const CALLS_AT_ONCE = 8;
const PATIENCE = 10 * 60_000;

interface Casino {
  id: string;
  key: string;
  player: string;
}

interface Side {
  sql: postgres.Sql;
  service: ServiceProcess;
  casinos: Casino[];
  close(): Promise<void>;
}

const CALLS: Record<string, { least: number; request(casino: Casino): autocannon.Request }> = {
  "create a player": {
    least: 0.5,
    request: ({ id }) => ({
      method: "POST",
      path: "/api/players",
      body: JSON.stringify({
        player_id: "[<id>]",
        email: "[<id>]@example.com",
        first_name: id,
        tier: "Gold",
      }),
    }),
  },
  "list of 50": { least: 0.6, request: () => ({ path: "/api/players?limit=50" }) },
  "list of 50, filtered and sorted": {
    least: 0.6,
    request: () => ({ path: "/api/players?tier.eq=Gold&order=adt.desc&limit=50" }),
  },
  "one record": { least: 0.7, request: ({ player }) => ({ path: `/api/players/${player}` }) },
};

/**
 * The same service on the cluster of CITUS_URL and on one PostgreSQL, in turn. BENCH_DATABASE_URL names one of the same
 * version and settings; a comparison with the embedded one says less.
 */
export default async function bench(report: Report): Promise<void> {
  const cluster = await clusterDatabase();
  if (!cluster) return;
  await cluster.join();
  await migrate(cluster.url);
  const ours = await open(cluster.url, cluster.drop);
  const peer = await open(await benchDatabase());
  try {
    for (const [name, { least, request }] of Object.entries(CALLS)) {
      const rate = (side: Side) => callsASecond(side, request);
      const figure = await inTurn(ours, peer, ROUNDS, rate);
      report({ name: `${name}, a second`, ...figure, goal: `≥ ${least}x`, met: figure.ratio >= least });
    }
    const figure = await inTurn(ours, peer, 1, sendingSeconds);
    const name = `${PROPERTIES} campaigns at once of ${PLAYERS} each, s`;
    report({ name, ...figure, goal: "≤ 1.4x", met: figure.ratio <= 1.4 });
  } finally {
    await Promise.all([ours.close(), peer.close()]);
  }
}

/** The medians of both sides and of their ratios; the first round only warms. */
async function inTurn(ours: Side, peer: Side, rounds: number, measure: (side: Side) => Promise<number>) {
  const pairs: [number, number][] = [];
  for (let round = 0; round <= rounds; round++) {
    const first = round % 2 === 0 ? ours : peer;
    const one = await measure(first);
    const other = await measure(first === ours ? peer : ours);
    if (round > 0) pairs.push(first === ours ? [one, other] : [other, one]);
  }
  return {
    ours: median(pairs.map(([one]) => one)),
    peer: median(pairs.map(([, other]) => other)),
    ratio: median(pairs.map(([one, other]) => one / other)),
  };
}

async function open(url: string, drop = async () => {}): Promise<Side> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  const casinos: Casino[] = [];
  for (let index = 0; index < PROPERTIES; index++) {
    const id = await addProperty(sql, `casino-${index}`, PLAYERS);
    const { secret, prefix, hash } = newApiKey();
    await sql`
      insert into api_keys (property_id, name, key_prefix, key_hash, rate_limit)
      values (${id}, 'bench', ${prefix}, ${hash}, 1000000000)`;
    const [player] = await sql<{ id: string }[]>`select id from players where property_id = ${id} limit 1`;
    casinos.push({ id, key: secret, player: player!.id });
  }
  await sql`
    update properties set legal_name = 'Casino LLC', postal_address = '1 Main Street, Reno, NV 89501',
      from_email = 'offers@casino.example'`;
  await sql`vacuum analyze players`;
  const service = await startService({ DATABASE_URL: url, APP_SECRET: "b".repeat(32) });
  const close = async () => {
    await service.terminate();
    await sql.end();
    await drop();
  };
  return { sql, service, casinos, close };
}

async function callsASecond(
  { service, casinos }: Side,
  request: (casino: Casino) => autocannon.Request,
): Promise<number> {
  const requests = casinos.map((casino) => ({
    ...request(casino),
    headers: { "X-Api-Key": casino.key, "Content-Type": "application/json" },
  }));
  const settings = { url: service.baseUrl, connections: CALLS_AT_ONCE, duration: SECONDS, requests };
  const {
    non2xx,
    errors,
    requests: answered,
    duration,
  } = await autocannon({ ...settings, idReplacement: true });
  if (non2xx + errors > 0) throw new Error(`the control moved: ${non2xx + errors} requests failed`);
  return answered.total / duration;
}

/** Seconds from the first call to the last message. */
async function sendingSeconds({ sql, service, casinos }: Side): Promise<number> {
  const startedAt = performance.now();
  const message = {
    channel: "email",
    subject: "Hello",
    body_text: "Hello {{ first_name }}",
    audience: "all",
  };
  const ids = await Promise.all(
    casinos.map(async ({ id, key }) => {
      const body = { name: `Bench ${startedAt}`, ...message };
      const campaign = (await must(service, key, "POST", "/api/campaigns", { body })).body.id as string;
      const sending = { campaignId: campaign, propertyId: id };
      await must(service, key, "POST", "/api/functions/send-campaign", { body: sending });
      return campaign;
    }),
  );
  const areSent = async () => {
    const [row] =
      await sql`select count(*)::int as left from campaigns where id = any(${ids}) and status <> 'sent'`;
    return row!.left === 0;
  };
  // The question goes to every shard. Asked every 5 ms it took a fifth of the cluster's time.
  await until("the end of the campaigns", PATIENCE, areSent, 50);
  return (performance.now() - startedAt) / 1_000;
}
