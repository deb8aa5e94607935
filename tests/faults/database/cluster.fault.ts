import postgres from "postgres";
import { migrate } from "#db/migrate.ts";
import { type ClusterDatabase, clusterDatabase, workersOf } from "../../support/cluster/citus.ts";
import { withDatabase } from "../../support/postgres/server-url.ts";
import { sentOf, statusOf } from "../sending/campaign.fault.ts";
import { must, send } from "../support/calls.ts";
import {
  type Fault,
  type Outcome,
  percentile,
  problemsOf,
  repeats,
  seconds,
  until,
} from "../support/fault.ts";
import { APP_SECRET } from "../support/installation.ts";
import { type Node, nodeAt, nodeLike } from "../support/nodes.ts";
import { type ServiceProcess, startService } from "../support/process.ts";
import { openScenario, type Scenario } from "../support/scenario.ts";

const DOWN_FOR = 8_000;
/** From the worker's return to the last 503 of its properties. */
const HEALTHY_WITHIN = 15_000;

/** Needs CITUS_URL, the address of a coordinator whose workers run on this machine. */
const fault: Fault = async (report, { rounds, long }) => {
  const players = long ? 10_000 : 1_500;
  for (let round = 0; round < rounds; round++) {
    const cluster = await clusterDatabase();
    if (!cluster) return;
    await cluster.join();
    await migrate(cluster.url);
    const service = await startService({ DATABASE_URL: cluster.url, APP_SECRET });
    try {
      const about = { cluster, service, players };
      report("a worker killed in mid-send", await killed(about));
      report("a property moved in its campaign", await moved(about));
      report("a worker added, and the shards spread anew", await spread(about));
    } finally {
      await service.terminate();
      await cluster.drop();
    }
  }
};
export default fault;

interface About {
  cluster: ClusterDatabase;
  service: ServiceProcess;
  players: number;
}

/** A property's worker dies while its campaign is sent, and comes back. */
async function killed({ cluster, service, players }: About): Promise<Outcome> {
  const [hit, other] = await onTwoWorkers(cluster);
  const clients: Clients[] = [];
  try {
    const allowed = [await hit.scenario.crowd(players), await other.scenario.crowd(players)] as const;
    const node = await nodeAt(hit.worker);
    const campaigns = [await sending(service, hit.scenario), await sending(service, other.scenario)] as const;
    const beside = clientsOf(service, other.scenario);
    const within = clientsOf(service, hit.scenario);
    clients.push(beside, within);
    await until(
      "the campaign's progress",
      120_000,
      async () => (await sentOf(hit.scenario, campaigns[0])) > 50,
    );
    const before = beside.slowest();
    const cut = await sentOf(hit.scenario, campaigns[0]);
    await node.kill();
    await beside.last(DOWN_FOR);
    const during = beside.slowest();
    await node.start();
    const upAt = performance.now();
    const served = within.succeeded();
    await until("the property's return", 60_000, () => within.succeeded() > served + 20);
    await ended(hit.scenario, campaigns[0]);
    await ended(other.scenario, campaigns[1]);
    await Promise.all(clients.map((each) => each.stop()));
    const healed = Math.max(0, within.lastTrouble() - upAt);
    const strange = [...within.strange(), ...beside.strange()];
    return {
      about: `cut at ${cut} of ${allowed[0].length}; its property: ${within.counts()}, healthy ${seconds(healed)} after the return; the other: ${beside.counts()}, p99 ${before.toFixed(0)} ms before and ${during.toFixed(0)} ms meanwhile`,
      ledger: await ledgerOf([
        { ...hit, allowed: allowed[0], clients: within },
        { ...other, allowed: allowed[1], clients: beside },
      ]),
      problems: problemsOf({
        [`strange answers: ${strange.join("; ")}`]: strange.length > 0,
        "nobody noticed the outage": within.refused() === 0,
        [`${beside.refused()} calls of the other property were refused`]: beside.refused() > 0,
        [`healthy after ${seconds(healed)}`]: healed > HEALTHY_WITHIN,
        [`the other's p99 went from ${before.toFixed(0)} to ${during.toFixed(0)} ms`]:
          during > 2 * before + 250,
        "the campaign was over before": cut >= allowed[0].length,
      }),
    };
  } finally {
    await Promise.all(clients.map((each) => each.stop()));
    await Promise.all([hit.scenario.close(), other.scenario.close()]);
  }
}

/** The shard of a property goes to the other worker while its campaign is sent. */
async function moved(about: About): Promise<Outcome> {
  const [hit, other] = await onTwoWorkers(about.cluster);
  const [from, to] = [new URL(hit.worker), new URL(other.worker)];
  try {
    return await changedInCampaign(about, hit.scenario, async (sql) => {
      await sql`
        select citus_move_shard_placement(get_shard_id_for_distribution_column('players', ${hit.scenario.id}::uuid),
          ${from.hostname}, ${Number(from.port)}, ${to.hostname}, ${Number(to.port)}, 'block_writes')`;
    });
  } finally {
    await Promise.all([hit.scenario.close(), other.scenario.close()]);
  }
}

/** A worker is added while a campaign is sent, and gets its share of the shards. */
async function spread(about: About): Promise<Outcome> {
  const { cluster } = about;
  const [worker] = await workersOf(cluster.url);
  const like: Node = await nodeAt(worker!);
  const added = await nodeLike(like, worker!);
  const scenario = await openScenario(cluster.url);
  try {
    const admin = postgres(withDatabase(added.url, "postgres"), { max: 1, onnotice: () => {} });
    await admin.unsafe(`create database ${cluster.name}`);
    await admin.end();
    const inside = postgres(withDatabase(added.url, cluster.name), { max: 1, onnotice: () => {} });
    await inside.unsafe("create extension citus");
    await inside.end();
    const address = new URL(added.url);
    return await changedInCampaign(about, scenario, async (sql) => {
      await sql`select citus_add_node(${address.hostname}, ${Number(address.port)})`;
      await sql`select rebalance_table_shards(shard_transfer_mode => 'block_writes')`;
      const [has] = await sql`select from citus_shards where nodeport = ${Number(address.port)} limit 1`;
      if (!has) throw new Error("the new worker got no shard");
    });
  } finally {
    await scenario.close();
    await about.service.terminate();
    await cluster.drop();
    await added.remove();
  }
}

/** Changes the cluster in the middle of a campaign. Calls may be refused with 503 meanwhile, and nothing else. */
async function changedInCampaign(
  { cluster, service, players }: About,
  scenario: Scenario,
  change: (sql: postgres.Sql) => Promise<void>,
): Promise<Outcome> {
  const owner = postgres(cluster.url, { max: 1, onnotice: () => {} });
  const allowed = await scenario.crowd(players);
  const campaign = await sending(service, scenario);
  const clients = clientsOf(service, scenario);
  try {
    await until("the campaign's progress", 120_000, async () => (await sentOf(scenario, campaign)) > 50);
    const cut = await sentOf(scenario, campaign);
    const startedAt = performance.now();
    await change(owner);
    const took = performance.now() - startedAt;
    await ended(scenario, campaign);
    await clients.stop();
    return {
      about: `at ${cut} of ${allowed.length}, in ${seconds(took)}; meanwhile ${clients.counts()}`,
      ledger: await ledgerOf([{ scenario, allowed, clients }]),
      problems: problemsOf({
        [`strange answers: ${clients.strange().join("; ")}`]: clients.strange().length > 0,
        "the campaign was over before": cut >= allowed.length,
      }),
    };
  } finally {
    await clients.stop();
    await owner.end();
  }
}

interface Placed {
  scenario: Scenario;
  /** The address of the worker that has its rows. */
  worker: string;
}

/** Two properties whose rows are on different workers. */
async function onTwoWorkers({ url }: ClusterDatabase): Promise<[Placed, Placed]> {
  const first = await placed(url);
  for (let tries = 0; tries < 20; tries++) {
    const second = await placed(url);
    if (second.worker !== first.worker) return [first, second];
    await second.scenario.close();
  }
  throw new Error("all properties are on one worker");
}

async function placed(url: string): Promise<Placed> {
  const scenario = await openScenario(url);
  const [row] = await scenario.sql<{ host: string; port: number }[]>`
    select nodename as host, nodeport as port from citus_shards
    where shardid = get_shard_id_for_distribution_column('players', ${scenario.id}::uuid)`;
  const worker = new URL(url);
  worker.hostname = row!.host;
  worker.port = String(row!.port);
  return { scenario, worker: worker.href };
}

async function sending(service: ServiceProcess, scenario: Scenario): Promise<string> {
  const campaignId = await scenario.campaign();
  const body = { campaignId, propertyId: scenario.id };
  await must(service, scenario.key, "POST", "/api/functions/send-campaign", { body });
  return campaignId;
}

async function ended(scenario: Scenario, campaign: string): Promise<void> {
  await until("the campaign's end", 300_000, async () => (await statusOf(scenario, campaign)) === "sent");
}

interface Clients {
  stop(): Promise<void>;
  /** Resolves after so many milliseconds of calls. */
  last(milliseconds: number): Promise<void>;
  /** p99 in milliseconds since it was last asked for. */
  slowest(): number;
  succeeded(): number;
  refused(): number;
  lastTrouble(): number;
  /** Answers other than success and 503. */
  strange(): string[];
  counts(): string;
  /** The players whose creation was answered with success. */
  created: string[];
}

/** Two clients of a property that list and create players. */
function clientsOf(service: ServiceProcess, { key, id }: Scenario): Clients {
  const statuses = new Map<number, number>();
  const strange = new Set<string>();
  const created: string[] = [];
  let took: number[] = [];
  let trouble = 0;
  let done = false;
  const count = (status: number) => statuses.get(status) ?? 0;
  const client = async (name: string) => {
    for (let n = 0; !done; n++) {
      const startedAt = performance.now();
      const player = `${id.slice(-6)}-${name}-${n}`;
      const answer =
        n % 2 === 0
          ? await send(service, key, "GET", "/api/players?limit=5")
          : await send(service, key, "POST", "/api/players", { body: { player_id: player } });
      took.push(performance.now() - startedAt);
      statuses.set(answer.status, count(answer.status) + 1);
      if (answer.status === 201) created.push(player);
      if (answer.status === 503) trouble = performance.now();
      else if (answer.status >= 300) strange.add(`${answer.status} ${JSON.stringify(answer.body)}`);
    }
  };
  const running = Promise.all(["a", "b"].map(client));
  return {
    created,
    stop: async () => {
      done = true;
      await running;
    },
    last: async (milliseconds) => {
      const end = performance.now() + milliseconds;
      await until("the calls", milliseconds + 1_000, () => performance.now() > end);
    },
    slowest: () => {
      const worst = percentile(took, 99);
      took = [];
      return worst;
    },
    succeeded: () => count(200) + count(201),
    refused: () => count(503),
    lastTrouble: () => trouble,
    strange: () => [...strange],
    counts: () => [...statuses].map(([status, times]) => `${times} times ${status}`).join(", "),
  };
}

/** Messages and acknowledged creations that are not there, or twice. */
async function ledgerOf(
  parts: { scenario: Scenario; allowed: string[]; clients: Clients }[],
): Promise<Outcome["ledger"]> {
  const ledger = { lost: 0, doubled: 0, foreign: 0 };
  for (const { scenario, allowed, clients } of parts) {
    const { sql, id } = scenario;
    const mails = await sql<{ recipient: string }[]>`
      select recipient from mailbox_messages where property_id = ${id}`;
    const players = await sql<{ player_id: string }[]>`
      select player_id from players where property_id = ${id} and player_id = any(${clients.created})`;
    const kept = new Set(mails.map(({ recipient }) => recipient));
    const there = new Set(players.map(({ player_id }) => player_id));
    ledger.lost += allowed.filter((address) => !kept.has(address)).length;
    ledger.lost += clients.created.filter((name) => !there.has(name)).length;
    ledger.doubled += repeats(mails.map(({ recipient }) => recipient)) + players.length - there.size;
    ledger.foreign += await scenario.foreign();
  }
  return ledger;
}
