import type postgres from "postgres";
import { newApiKey } from "#runtime/identity/credentials.ts";
import { must } from "../../faults/support/calls.ts";
import { until } from "../../faults/support/fault.ts";
import { type ServiceProcess, startService } from "../../faults/support/process.ts";
import { type Figure, median, type Report } from "../support/figure.ts";
import { addProperty, openProperty } from "../support/property.ts";

/** The whole size is 100,000 players in each large property: BENCH_PLAYERS=100000. */
const PLAYERS = Number(process.env.BENCH_PLAYERS ?? 5_000);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
const LARGE = 10;
const SMALL = 40;
const PLAYERS_OF_SMALL = 100;
const PATIENCE = 30 * 60_000;
/** Seconds. */
const STARTS_WITHIN = 5;

interface Casino {
  id: string;
  key: string;
}

/**
 * Several processes over one database: the sends of ten large properties with one worker and with three, and how soon
 * the campaign of one of forty small properties starts beside them. Nine in ten players have consented.
 */
export default async function bench(report: Report): Promise<void> {
  const { url, sql, close } = await openProperty();
  try {
    const large = await casinos(sql, "large", LARGE, PLAYERS);
    const small = await casinos(sql, "small", SMALL, PLAYERS_OF_SMALL);
    await sql`vacuum analyze players`;
    const rates = { one: [] as number[], three: [] as number[] };
    const starts: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      rates.one.push(await withProcesses(url, 1, (web) => sendAll(sql, web, large)));
      const beside = await withProcesses(url, 3, async (web) => {
        const sending = sendAll(sql, web, large);
        const start = await startOfOne(sql, web, small[round % SMALL]!);
        return { rate: await sending, start };
      });
      rates.three.push(beside.rate);
      starts.push(beside.start);
    }
    report(growth(median(rates.three), median(rates.one)));
    report(fairness(Math.max(...starts)));
  } finally {
    await close();
  }
}

function growth(three: number, one: number): Figure {
  const name = `sends/s of ${LARGE} x ${PLAYERS} with three workers, beside one`;
  return { name, ours: three, peer: one, ratio: three / one, goal: ">= 0.9", met: three / one >= 0.9 };
}

function fairness(slowest: number): Figure {
  const ratio = slowest / STARTS_WITHIN;
  const name = `first of ${PLAYERS_OF_SMALL} sends beside them, slowest, s`;
  return { name, ours: slowest, peer: STARTS_WITHIN, ratio, goal: "<= 1", met: ratio <= 1 };
}

/** Properties that may send at any hour, each with a key. */
async function casinos(sql: postgres.Sql, name: string, count: number, players: number): Promise<Casino[]> {
  const made: Casino[] = [];
  for (let index = 0; index < count; index++) {
    const id = await addProperty(sql, `${name}-${index}`, players);
    const { secret, prefix, hash } = newApiKey();
    await sql`
      insert into api_keys (property_id, name, key_prefix, key_hash, rate_limit)
      values (${id}, 'bench', ${prefix}, ${hash}, 1000000000)`;
    made.push({ id, key: secret });
  }
  await sql`
    update properties set legal_name = 'Casino LLC', postal_address = '1 Main Street, Reno, NV 89501',
      from_email = 'offers@casino.example'`;
  return made;
}

/** Three processes that answer, and so many that work. `work` gets the answering ones in turn. */
async function withProcesses<T>(
  url: string,
  workers: number,
  work: (web: () => ServiceProcess) => Promise<T>,
): Promise<T> {
  const common = { DATABASE_URL: url, APP_SECRET: "b".repeat(32) };
  const start = (role: string) => startService({ ...common, ROLE: role });
  const webs = await Promise.all([start("web"), start("web"), start("web")]);
  const all = [...webs, ...(await Promise.all(Array.from({ length: workers }, () => start("worker"))))];
  let turn = 0;
  try {
    return await work(() => webs[turn++ % webs.length]!);
  } finally {
    await Promise.all(all.map((one) => one.terminate()));
  }
}

async function send(web: ServiceProcess, { id, key }: Casino): Promise<string> {
  const message = {
    channel: "email",
    subject: "Hello",
    body_text: "Hello {{ first_name }}",
    audience: "all",
  };
  const { body } = await must(web, key, "POST", "/api/campaigns", {
    body: { name: `Bench ${performance.now()}`, ...message },
  });
  await must(web, key, "POST", "/api/functions/send-campaign", {
    body: { campaignId: body.id, propertyId: id },
  });
  return body.id;
}

/** Messages a second, from the first call to the last message. */
async function sendAll(sql: postgres.Sql, web: () => ServiceProcess, all: Casino[]): Promise<number> {
  const startedAt = performance.now();
  const ids = await Promise.all(all.map((casino) => send(web(), casino)));
  await until("the end of the large campaigns", PATIENCE, async () => {
    const [row] =
      await sql`select count(*)::int as left from campaigns where id = any(${ids}) and status <> 'sent'`;
    return row!.left === 0;
  });
  const seconds = (performance.now() - startedAt) / 1_000;
  const [row] = await sql`
    select count(*)::int as sent from campaign_sends where campaign_id = any(${ids}) and status = 'sent'`;
  return row!.sent / seconds;
}

/** Seconds from the call to the first message, while the large campaigns are sent. */
async function startOfOne(sql: postgres.Sql, web: () => ServiceProcess, casino: Casino): Promise<number> {
  const isSending = async () =>
    (await sql`select from campaign_sends where status = 'pending' limit 1`).length > 0;
  await until("the large campaigns' start", PATIENCE, isSending);
  const startedAt = performance.now();
  const id = await send(web(), casino);
  await until("the first message of the small campaign", PATIENCE, async () => {
    const sent = await sql`
      select from campaign_sends where property_id = ${casino.id} and campaign_id = ${id} and status = 'sent' limit 1`;
    return sent.length > 0;
  });
  const seconds = (performance.now() - startedAt) / 1_000;
  if (!(await isSending())) throw new Error("the large campaigns ended too early: more players are needed");
  return seconds;
}
