import { Logger, run as runGraphile, runMigrations } from "graphile-worker";
import pg from "pg";
import postgres from "postgres";

/** People of the peers. Their rate does not depend on the number. */
const PEOPLE = 1_000;

/** The same walk as a transaction a step, over two connections. Answers steps a second. */
export async function transactionEach(url: string, steps: number): Promise<number> {
  const sql = postgres(url, { max: 2, onnotice: () => {} });
  await prepare(sql);
  const startedAt = performance.now();
  const walk = async (from: number, to: number) => {
    for (let person = from; person < to; person += 1) {
      for (let step = 0; step < steps; step += 1)
        await sql.begin((transaction) => advance(transaction, person));
    }
  };
  await Promise.all([walk(0, PEOPLE / 2), walk(PEOPLE / 2, PEOPLE)]);
  const rate = (PEOPLE * steps) / ((performance.now() - startedAt) / 1000);
  await sql.end();
  return rate;
}

/** The same walk as a graphile-worker job a step, each adding the next. Answers steps a second. */
export async function jobEach(url: string, steps: number): Promise<number> {
  const sql = postgres(url, { max: 4, onnotice: () => {} });
  await prepare(sql);
  const pool = new pg.Pool({ connectionString: url, max: 12 });
  pool.on("error", () => {});
  await runMigrations({ pgPool: pool });
  await sql`
    select graphile_worker.add_job('step', json_build_object('person', n, 'left', ${steps}::int))
    from generate_series(0, ${PEOPLE - 1}::int) n`;
  let done = 0;
  const all = Promise.withResolvers<void>();
  const startedAt = performance.now();
  const runner = await runGraphile({
    pgPool: pool,
    concurrency: 10,
    noHandleSignals: true,
    pollInterval: 50,
    logger: new Logger(() => () => {}),
    taskList: {
      step: async (payload, helpers) => {
        const { person, left } = payload as { person: number; left: number };
        await sql.begin((transaction) => advance(transaction, person));
        if (left > 1) await helpers.addJob("step", { person, left: left - 1 });
        done += 1;
        if (done === PEOPLE * steps) all.resolve();
      },
    },
  });
  await all.promise;
  const rate = done / ((performance.now() - startedAt) / 1000);
  await runner.stop();
  await pool.end();
  await sql.end();
  return rate;
}

async function prepare(sql: postgres.Sql): Promise<void> {
  await sql`drop table if exists walkers, walked`;
  await sql`create table walkers (id int primary key, node int not null, tier text not null, moved_at timestamptz)`;
  await sql`create table walked (node int primary key, people bigint not null)`;
  await sql`insert into walkers select n, 0, 'Gold', now() from generate_series(0, ${PEOPLE - 1}::int) n`;
}

/** One step of one person: read, judge, move, count. */
async function advance(transaction: postgres.TransactionSql, person: number): Promise<void> {
  const [row] = await transaction<{ node: number; tier: string }[]>`
    select node, tier from walkers where id = ${person} for update`;
  const next = row!.tier === "Gold" ? row!.node + 1 : row!.node + 2;
  await transaction`update walkers set node = ${next}, moved_at = now() where id = ${person}`;
  await transaction`
    insert into walked values (${next}, 1) on conflict (node) do update set people = walked.people + 1`;
}
