import { spawn } from "node:child_process";
import { once } from "node:events";
import { Agent } from "undici";
import { connect } from "#db/database.ts";
import { emitMany } from "#runtime/funnel/outbox.ts";
import { signWebhook } from "#runtime/secrets/signature.ts";
import { openWebhooks, type Webhooks } from "../../tools/webhooks/scenario.ts";
import { benchDatabase } from "../support/database.ts";
import { median, type Report } from "../support/figure.ts";

const ROUNDS = 5;
const EVENTS = 6_000;
const SLOW_EVENTS = 300;
const PARALLEL_BATCHES = 16;

const SINK = `
  const server = require("node:http").createServer((request, response) => {
    request.resume().on("end", () => response.end("ok"));
  });
  server.keepAliveTimeout = 60_000;
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));`;

/** S16: claim, sign, POST and record, against bare requests to the same sink and against one at a time. */
export default async function bench(report: Report): Promise<void> {
  const url = await benchDatabase();
  const db = connect(url);
  const webhooks = await openWebhooks({ database: { db, url, drop: () => db.close() } });
  const sink = spawn(process.execPath, ["-e", SINK], { stdio: ["ignore", "pipe", "inherit"] });
  const [port] = await once(sink.stdout, "data");
  const target = `http://127.0.0.1:${String(port).trim()}/hooks`;
  try {
    const id = await subscribe(webhooks, target);
    for (let warm = 0; warm < 3; warm += 1) {
      await pipeline(webhooks, id, EVENTS);
      await bare(target, EVENTS);
    }
    const rounds: { ours: Speed; raw: Speed; slow: Speed }[] = [];
    for (let i = 0; i < ROUNDS; i += 1) {
      rounds.push({
        ours: await pipeline(webhooks, id, EVENTS),
        raw: await bare(target, EVENTS),
        slow: await oneAtATime(webhooks, id, target),
      });
    }
    reportAll(rounds, report);
  } finally {
    sink.kill();
    await webhooks.close();
  }
}

interface Speed {
  /** Deliveries a second, and CPU microseconds of this process for one. */
  perSecond: number;
  cpu: number;
}

function reportAll(rounds: { ours: Speed; raw: Speed; slow: Speed }[], report: Report): void {
  const compare = (name: string, peer: "raw" | "slow", least: number) => {
    const ratio = median(rounds.map((round) => round.ours.perSecond / round[peer].perSecond));
    const cpu = [
      median(rounds.map(({ ours }) => ours.cpu)),
      median(rounds.map((round) => round[peer].cpu)),
    ].map(Math.round);
    report({
      name: `${name} (CPU ${cpu.join(" : ")} µs)`,
      ours: Math.round(median(rounds.map(({ ours }) => ours.perSecond))),
      peer: Math.round(median(rounds.map((round) => round[peer].perSecond))),
      ratio,
      goal: `≥ ${least}x`,
      met: ratio >= least,
    });
  };
  compare("S16 webhooks / raw undici", "raw", 0.45);
  compare("S16 webhooks / one at a time", "slow", 8);
}

async function measure(count: number, work: () => Promise<void>): Promise<Speed> {
  const cpu = process.cpuUsage();
  const started = performance.now();
  await work();
  const seconds = (performance.now() - started) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  return { perSecond: count / seconds, cpu: (user + system) / count };
}

async function subscribe(webhooks: Webhooks, url: string): Promise<string> {
  const { body } = await webhooks.call("create_webhook_endpoint", { url, events: ["player.created"] });
  return body.id;
}

async function write(webhooks: Webhooks, count: number): Promise<void> {
  await webhooks.asTenant((sql) =>
    emitMany(
      sql,
      webhooks.property,
      "player.created",
      sql`select jsonb_build_object('id', uuid_v7(), 'player_id', 'P-' || i, 'tier', 'Gold', 'adt', i * 1.5,
        'status', 'active', 'tags', '["vip","slots"]'::jsonb, 'email', i || '@example.com') as object
        from generate_series(1, ${count}) i`,
    ),
  );
  await webhooks.db.asSystem((sql) => sql`delete from queue`);
}

async function pipeline(webhooks: Webhooks, id: string, count: number): Promise<Speed> {
  await write(webhooks, count);
  return await measure(count, async () => {
    await webhooks.run(id);
    await webhooks.work();
  });
}

async function bare(target: string, count: number): Promise<Speed> {
  const { origin, pathname } = new URL(target);
  const agent = new Agent({ connections: PARALLEL_BATCHES, allowH2: false });
  const body = JSON.stringify({ id: "evt_0", type: "player.created", data: { object: "x".repeat(300) } });
  const headers = {
    "content-type": "application/json",
    ...signWebhook({ secret: "whsec_c2VjcmV0", id: "evt_0", timestamp: 0, body, prefix: "Service" }),
  };
  let left = count;
  const lane = async () => {
    while (left-- > 0) {
      const answer = await agent.request({ origin, path: pathname, method: "POST", headers, body });
      await answer.body.text();
    }
  };
  const speed = await measure(count, async () => {
    await Promise.all(Array.from({ length: PARALLEL_BATCHES }, lane));
  });
  await agent.close();
  return speed;
}

/** The plain way: a statement, a request and a statement for each delivery. */
async function oneAtATime(webhooks: Webhooks, endpointId: string, url: string): Promise<Speed> {
  await write(webhooks, SLOW_EVENTS);
  // A job that is to stop makes the deliveries, and leaves them.
  await webhooks.run(endpointId, { signal: AbortSignal.abort() });
  await webhooks.db.asSystem((sql) => sql`delete from queue`);
  const { post } = webhooks.jobContext(endpointId).runtime.outgoing;
  return await measure(SLOW_EVENTS, async () => {
    for (let i = 0; i < SLOW_EVENTS; i += 1) {
      const [due] = await webhooks.asTenant(
        (sql) => sql<{ id: string; data: object; secret: string }[]>`
          select d.id, e.data, w.secret from webhook_deliveries d
          join outbox e on e.property_id = d.property_id and e.id = d.event_id
          join webhook_endpoints w on w.property_id = d.property_id and w.id = d.endpoint_id
          where d.property_id = ${webhooks.property} and d.endpoint_id = ${endpointId} and d.status = 'pending'
            and d.next_attempt_at <= now()
          order by d.next_attempt_at, d.id limit 1`,
      );
      const body = JSON.stringify(due!.data);
      const headers = signWebhook({
        secret: due!.secret,
        id: due!.id,
        timestamp: 0,
        body,
        prefix: "Service",
      });
      const { status } = await post({ url, headers, body });
      await webhooks.asTenant(
        (sql) => sql`
          update webhook_deliveries set status = 'delivered', attempt_count = 1, next_attempt_at = null,
            attempts = ${[{ status_code: status }] as never}::jsonb
          where property_id = ${webhooks.property} and id = ${due!.id}`,
      );
    }
  });
}
