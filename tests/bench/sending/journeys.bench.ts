import { performance } from "node:perf_hooks";
import { setTimeout } from "node:timers/promises";
import { sql } from "#db/sql.ts";
import { Definition } from "#tools/journeys/definition/definition.ts";
import { Assume } from "#tools/journeys/simulation/assumptions.ts";
import { simulate, unsaved } from "#tools/journeys/simulation/simulate.ts";
import { percentile } from "../../faults/support/fault.ts";
import { startService } from "../../faults/support/process.ts";
import { openScenario } from "../../faults/support/scenario.ts";
import { newDatabase, stopServer } from "../../faults/support/server.ts";
import { jobEach, transactionEach } from "../peers/journey-steps.ts";
import { openCampaigns } from "../support/bare-campaign.ts";
import { type BenchJourneys, openJourneys, seconds } from "../support/bare-journeys.ts";
import { median, type Report } from "../support/figure.ts";

const PEOPLE = Number(process.env.BENCH_PLAYERS ?? 100_000);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
const ROWS = Number(process.env.BENCH_ROWS ?? 1_000_000);
const STEPS = 10;
const MINUTE = 60;

const IN = { id: "in", type: "trigger", config: { on: "api" } };
const END = { id: "end", type: "exit", config: {} };
const gold = { conditions: [{ field: "tier", operator: "eq", value: "Gold" }] };

/** This number of nodes that act at once: branches by a condition, and splits by chance. */
function instant(count: number) {
  const nodes = Array.from({ length: count }, (_, index) =>
    index % 2 === 0
      ? { id: `n${index}`, type: "branch", config: { branches: [{ label: "a", ...gold }] } }
      : {
          id: `n${index}`,
          type: "random_split",
          config: {
            splits: [
              { label: "a", percent: 50 },
              { label: "b", percent: 50 },
            ],
          },
        },
  );
  return chain(nodes);
}

function chain(nodes: { id: string }[]) {
  const all = [IN, ...nodes, END];
  return { nodes: all, edges: all.slice(1).map(({ id }, index) => ({ from: all[index]!.id, to: id })) };
}

const message = (id: string) => ({
  id,
  type: "message",
  config: { channel: "email", subject: "Hello {{ first_name }}", body_html: "<p>Hello.</p>" },
});

/** S21 to S25, and the plans of a step over 1,000,000 enrollments. BENCH_PLAYERS, BENCH_ROWS and BENCH_ROUNDS size it. */
export default async function bench(report: Report): Promise<void> {
  const place = await openJourneys(PEOPLE);
  try {
    await moves(place, report);
    await planning(place, report);
    await looks(place, report);
    await simulations(place, report);
    await plans(place, report);
  } finally {
    await place.close();
  }
  await entry(report);
}

async function moves(place: BenchJourneys, report: Report): Promise<void> {
  const ours: number[] = [];
  for (let round = 0; round <= ROUNDS; round += 1) {
    // Two journeys, as two workers step them at once.
    const both = [await place.published(instant(STEPS)), await place.published(instant(STEPS))];
    const half = Math.floor(PEOPLE / 2);
    await place.stand(both[0]!, "in", [1, half]);
    await place.stand(both[1]!, "in", [half + 1, PEOPLE]);
    let moved = 0;
    const took = await seconds(async () => {
      for (const count of await Promise.all(both.map((id) => place.stepAll(id)))) moved += count;
    });
    if (moved < PEOPLE * STEPS) throw new Error(`the control moved: ${moved} moves of ${PEOPLE * STEPS}`);
    // The first round only warms.
    if (round > 0) ours.push((moved / took) * MINUTE);
  }
  const rate = median(ours);
  const each = (await transactionEach(place.url, STEPS)) * MINUTE;
  const jobs = (await jobEach(place.url, STEPS)) * MINUTE;
  const line = (name: string, peer: number) =>
    report({ name, ours: rate, peer, ratio: rate / peer, goal: ">= 1,000,000", met: rate >= 1_000_000 });
  line("S21 moves a minute / a transaction a step", each);
  line("S21 moves a minute / a graphile-worker job a step", jobs);
}

async function planning(place: BenchJourneys, report: Report): Promise<void> {
  const ours: number[] = [];
  for (let round = 0; round <= ROUNDS; round += 1) {
    const journey = await place.published(chain([message("hello")]));
    await place.stand(journey, "hello", [1, PEOPLE]);
    const took = await seconds(() => place.stepAll(journey));
    if (round > 0) ours.push((PEOPLE / took) * MINUTE);
    await place.owner`delete from journey_enrollments where journey_id = ${journey}`;
    await place.owner`delete from campaign_sends where property_id = ${place.property}`;
  }
  const campaigns = await openCampaigns(PEOPLE);
  const peers: number[] = [];
  for (let round = 0; round <= ROUNDS; round += 1) {
    const took = await campaigns.planInChunks();
    if (round > 0) peers.push((PEOPLE / took) * MINUTE);
  }
  await campaigns.close();
  const [rate, peer] = [median(ours), median(peers)];
  report({
    name: "S22 messages planned a minute / a campaign's",
    ours: rate,
    peer,
    ratio: rate / peer,
    goal: ">= 300,000",
    met: rate >= 300_000,
  });
}

async function looks(place: BenchJourneys, report: Report): Promise<void> {
  const journey = await place.published(
    chain([
      {
        id: "wait",
        type: "wait_until",
        config: {
          conditions: [{ field: "adt", operator: "gte", value: 499 }],
          timeout: { amount: 60, unit: "days" },
        },
      } as { id: string },
    ]),
  );
  await place.stand(journey, "wait", [1, PEOPLE], "waiting");
  const ours: number[] = [];
  for (let round = 0; round <= ROUNDS; round += 1) {
    await place.owner`update journey_nodes set looked_at = null where journey_id = ${journey}`;
    const took = await seconds(() => place.stepAll(journey));
    if (round > 0) ours.push(took);
  }
  const sample = Math.min(1_000, PEOPLE);
  const people = await place.owner<{ id: string }[]>`
    select player_id as id from journey_enrollments where journey_id = ${journey} and status = 'active' limit ${sample}`;
  const each = await seconds(async () => {
    for (const { id } of people) {
      await place.owner`select from players p where p.property_id = ${place.property} and p.id = ${id} and p.adt >= 499`;
    }
  });
  const [took, peer] = [median(ours), (each / people.length) * PEOPLE];
  report({
    name: `S24 a look at ${PEOPLE} who wait, s / a look at each`,
    ours: took,
    peer,
    ratio: took / peer,
    goal: "<= 1 s",
    met: took <= 1,
  });
}

/** Twenty nodes: messages, waits, splits and branches, over 30 days. */
function month() {
  const days = (id: string, amount: number) => ({
    id,
    type: "delay",
    config: { by: "duration", duration: { amount, unit: "days" } },
  });
  const local = (id: string) => ({ id, type: "delay", config: { by: "until_local_time", time: "10:00" } });
  const wait = (id: string) => ({
    id,
    type: "wait_until",
    config: { event: { name: "visit" }, timeout: { amount: 3, unit: "days" } },
  });
  const [branch, split] = instant(2).nodes.slice(1, 3) as { id: string }[];
  return chain([
    message("m1"),
    days("d1", 2),
    { ...branch!, id: "b1" },
    local("l1"),
    message("m2"),
    wait("w1"),
    { ...split!, id: "s1" },
    days("d2", 3),
    message("m3"),
    { ...branch!, id: "b2" },
    wait("w2"),
    local("l2"),
    message("m4"),
    days("d3", 5),
    { ...split!, id: "s2" },
    message("m5"),
    days("d4", 4),
    { ...branch!, id: "b3" },
    wait("w3"),
    message("m6"),
  ]);
}

async function simulations(place: BenchJourneys, report: Report): Promise<void> {
  const people = Math.min(10_000, PEOPLE);
  const draft = {
    id: unsaved(),
    name: "Month",
    draft_definition: Definition.parse(month()),
    goal: null,
    exit_conditions: null,
    priority: 0,
    quiet_hours: "defer" as const,
    ends_at: null,
  };
  const players = sql`select id from public.players where property_id = ${place.property}::uuid order by id limit ${people}::int`;
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const took = await seconds(() =>
      place
        .work(async (context) => {
          const period = { from: new Date().toISOString(), days: 30, seed: "1" };
          const { entries } = await simulate(context, {
            draft,
            players,
            period,
            assume: Assume.parse(undefined),
          });
          if (entries.entered !== people) throw new Error(`the control moved: ${entries.entered} entered`);
          throw new Undone();
        })
        .catch((error: unknown) => {
          if (!(error instanceof Undone)) throw error;
        }),
    );
    times.push(took);
  }
  const took = median(times);
  const name = `S25 simulate ${people} players, 20 nodes, 30 days, s / limit`;
  report({ name, ours: took, peer: 15, ratio: took / 15, goal: "<= 15 s", met: took <= 15 });
}

class Undone extends Error {}

/** A step over many enrollments reads none of the large tables from end to end. */
async function plans(place: BenchJourneys, report: Report): Promise<void> {
  const { owner, property } = place;
  const journey = await place.published(chain([message("hello"), { ...instant(1).nodes[1]! }]));
  await owner`
    insert into journey_enrollments (property_id, id, journey_id, version, player_id, entry_key, node, phase, path, path_at, wake_at)
    select ${property}, uuid_v7(), ${journey}, 1, p.id, n::text, 'n0', 'ready', array['in', 'n0'], array[now(), now()],
      case when n % 500 = 0 then now() else now() + interval '1 day' end
    from generate_series(1, ${ROWS}::int) n
      join players p on p.property_id = ${property} and p.player_id = (1 + n % ${PEOPLE})::text`;
  await owner.unsafe("vacuum analyze journey_enrollments");
  const scans = async () => {
    await setTimeout(1_100);
    const rows = await owner<{ name: string; scans: number }[]>`
      select relname as name, seq_scan::int as scans from pg_stat_user_tables
      where relname in ('journey_enrollments', 'players', 'campaign_sends')`;
    return rows.reduce((sum, row) => sum + row.scans, 0);
  };
  const before = await scans();
  const took = await seconds(() => place.stepAll(journey));
  const read = (await scans()) - before;
  const name = `plan: a step of ${ROWS / 500} among ${ROWS} enrollments, scans`;
  report({ name, ours: read, peer: 0, ratio: took, goal: "0 scans", met: read === 0 });
}

/** S23: a service of its own; an event arrives, and the first message of its journey is planned. */
async function entry(report: Report): Promise<void> {
  const url = await newDatabase();
  const service = await startService({ DATABASE_URL: url, APP_SECRET: "b".repeat(32) });
  const scenario = await openScenario(url);
  try {
    const post = async (path: string, body: object) => {
      const response = await fetch(`${service.baseUrl}/api/${path}`, {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-Api-Key": scenario.key },
        body: JSON.stringify(body),
      });
      if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
      return response.json() as Promise<{ id: string }>;
    };
    await scenario.sql`update properties set legal_name = 'Bench LLC', postal_address = '1 Main Street' where id = ${scenario.id}`;
    const definition = chain([message("hello")]);
    definition.nodes[0] = { id: "in", type: "trigger", config: { on: "event", event: "signup" } } as never;
    const { id } = await post("journeys", { name: "Entry", draft_definition: definition });
    await post("functions/publish-journey", { journeyId: id, propertyId: scenario.id });
    const delays: number[] = [];
    for (let turn = 0; turn < 100; turn += 1) {
      const player = await post("players", { player_id: `E${turn}`, email: `e${turn}@example.com` });
      const startedAt = performance.now();
      await post("player_events", { player_id: player.id, name: "signup" });
      for (let planned = false; !planned; ) {
        const rows = await scenario.sql`
          select from campaign_sends where property_id = ${scenario.id} and player_id = ${player.id}`;
        planned = rows.length > 0;
        if (!planned) await setTimeout(2);
      }
      delays.push(performance.now() - startedAt);
    }
    const p99 = percentile(delays, 99) / 1000;
    const name = "S23 event to the first message planned, p99 s / limit";
    report({ name, ours: p99, peer: 1, ratio: p99, goal: "<= 1 s", met: p99 <= 1 });
  } finally {
    await scenario.close();
    await service.terminate();
    await stopServer();
  }
}
