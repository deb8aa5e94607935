import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import postgres from "postgres";
import { connect } from "#db/database.ts";
import { emitMany } from "#runtime/funnel/outbox.ts";
import { scenarioIn } from "../../support/scenario.ts";
import { startService } from "../../support/service.ts";
import { manyPlayers } from "../../tools/imports/scenario.ts";
import { openWebhooks } from "../../tools/webhooks/scenario.ts";
import { benchDatabase } from "../support/database.ts";
import { median, type Report } from "../support/figure.ts";

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
const EVENTS_A_SECOND = 100;
/** Microseconds that each commit waits, as with a synchronous replica. */
const COMMIT_DELAY = 10_000;
/** A machine that is behind does fewer updates, and not more at once. */
const MOST_OPEN = 32;
const IMPORTED = 5_000;
const RECIPIENTS = 2_000;
const HANGING_EVENTS = 10_000;
const ENDED = new Set(["completed", "sent"]);

/** Answers after 50 ms, or never to each fiftieth request of /hangs. */
const SINK = `
  let count = 0;
  const server = require("node:http").createServer((request, response) => {
    const hangs = request.url === "/hangs" && count++ % 50 === 0;
    request.resume().on("end", () => {
      if (!hangs) setTimeout(() => response.end("ok"), request.url === "/slow" ? 50 : 0);
    });
  });
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));`;

/** Other jobs beside a property's webhooks on slow commits, and a receiver that now and then hangs. */
export default async function bench(report: Report): Promise<void> {
  const sink = spawn(process.execPath, ["-e", SINK], { stdio: ["ignore", "pipe", "inherit"] });
  const [port] = await once(sink.stdout, "data");
  const target = `http://127.0.0.1:${String(port).trim()}`;
  try {
    await beside(report, `${target}/slow`);
    await hanging(report, `${target}/hangs`);
  } finally {
    sink.kill();
  }
}

async function beside(report: Report, target: string): Promise<void> {
  const url = await benchDatabase();
  await delayCommits(url);
  const db = connect(url);
  const service = await startService({}, { database: { url, db, drop: () => db.close() } });
  try {
    const rounds: { without: Times; with: Times }[] = [];
    for (let round = 0; round <= ROUNDS; round += 1) {
      const times = { without: await measure(service, null), with: await measure(service, target) };
      // The first round only warms.
      if (round > 0) rounds.push(times);
    }
    for (const name of ["import", "campaign"] as const) {
      const [ours, peer] = (["with", "without"] as const).map((of) =>
        median(rounds.map((times) => times[of][name])),
      );
      const ratio = median(rounds.map((times) => times.with[name] / times.without[name]));
      const about = `S16 ${name} beside ${EVENTS_A_SECOND} webhooks a second, s`;
      report({ name: about, ours: ours!, peer: peer!, ratio, goal: "≤ 1.2x", met: ratio <= 1.2 });
    }
  } finally {
    await service.stop();
  }
}

async function delayCommits(url: string): Promise<void> {
  const admin = postgres(url, { max: 1, onnotice: () => {} });
  const name = new URL(url).pathname.slice(1);
  await admin.unsafe(`alter database ${name} set commit_delay = ${COMMIT_DELAY}`);
  await admin.unsafe(`alter database ${name} set commit_siblings = 0`);
  await admin.end();
}

type Service = Awaited<ReturnType<typeof startService>>;

interface Times {
  import: number;
  campaign: number;
}

/** Seconds of an import and of a campaign beside a steady load of updates, with or without an endpoint for them. */
async function measure(service: Service, target: string | null): Promise<Times> {
  const tenant = await service.newTenant();
  const headers = { "X-Api-Key": tenant.key };
  const scenario = scenarioIn(service, tenant.id);
  if (target) {
    await scenario.call("create_webhook_endpoint", { url: target, events: ["player.updated"] });
  }
  await scenario.crowd(RECIPIENTS);
  const campaign = await scenario.campaign();
  const players = await scenario.query(
    (sql) => sql<{ id: string }[]>`select id from players where property_id = ${tenant.id} limit 500`,
  );
  const stopped = new AbortController();
  const loading = updateSteadily(
    service,
    players.map(({ id }) => id),
    headers,
    stopped.signal,
  );
  try {
    await pause(3_000);
    const imported = await seconds(service, headers, async () => {
      const { body } = await service.request("POST", "/api/import_jobs", {
        body: Buffer.from(manyPlayers(IMPORTED)),
        headers: { ...headers, "Content-Type": "text/csv" },
      });
      return `/api/import_jobs/${body.id}`;
    });
    const sent = await seconds(service, headers, async () => {
      await scenario.send(campaign);
      return `/api/campaigns/${campaign}`;
    });
    return { import: imported, campaign: sent };
  } finally {
    stopped.abort();
    await loading;
  }
}

/** From the start of a job to the end that its record says. `start` answers the record's path. */
async function seconds(
  service: Service,
  headers: Record<string, string>,
  start: () => Promise<string>,
): Promise<number> {
  const startedAt = performance.now();
  const path = await start();
  while (!ENDED.has((await service.get(path, headers)).body.status)) await pause(20);
  return (performance.now() - startedAt) / 1000;
}

/** Updates one player after another, so that none waits for another's row. */
async function updateSteadily(
  service: Service,
  ids: string[],
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<void> {
  let open = 0;
  const startedAt = performance.now();
  const update = async (n: number) => {
    open += 1;
    const body = { tier: `T${n}` };
    const { status, text } = await service.request("PATCH", `/api/players/${ids[n % ids.length]}`, {
      body,
      headers,
    });
    // A busy machine may answer 503; the load goes on.
    if (status !== 200 && status !== 503) throw new Error(`the control moved: ${text}`);
    open -= 1;
  };
  const updates: Promise<void>[] = [];
  for (let n = 0; !signal.aborted; n += 1) {
    if (open < MOST_OPEN) updates.push(update(n));
    await pause(Math.max(0, startedAt + ((n + 1) * 1000) / EVENTS_A_SECOND - performance.now()));
  }
  await Promise.all(updates);
}

async function hanging(report: Report, target: string): Promise<void> {
  const url = await benchDatabase();
  const db = connect(url);
  const webhooks = await openWebhooks({ database: { db, url, drop: () => db.close() } });
  try {
    const { body } = await webhooks.call("create_webhook_endpoint", {
      url: target,
      events: ["player.created"],
    });
    await webhooks.asTenant((sql) =>
      emitMany(
        sql,
        webhooks.property,
        "player.created",
        sql`select jsonb_build_object('id', i) as object from generate_series(1, ${HANGING_EVENTS}) i`,
      ),
    );
    const startedAt = performance.now();
    await webhooks.run(body.id);
    const perSecond = (await delivered(webhooks, body.id)) / ((performance.now() - startedAt) / 1000);
    const name = "S16 events a second to a receiver that hangs on 2 %";
    report({
      name,
      ours: perSecond,
      peer: 100,
      ratio: perSecond / 100,
      goal: "≥ 100/s",
      met: perSecond >= 100,
    });
  } finally {
    await webhooks.close();
  }
}

async function delivered(webhooks: Awaited<ReturnType<typeof openWebhooks>>, id: string): Promise<number> {
  const [row] = await webhooks.asTenant(
    (sql) => sql<{ count: number }[]>`
      select count(*)::int as count from webhook_deliveries
      where property_id = ${webhooks.property} and endpoint_id = ${id} and status = 'delivered'`,
  );
  return row!.count;
}
