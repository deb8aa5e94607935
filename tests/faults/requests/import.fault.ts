import { must } from "../support/calls.ts";
import { COUNTING, type Fault, type Outcome, problemsOf, seconds, until } from "../support/fault.ts";
import { type Installation, openInstallation } from "../support/installation.ts";
import { openScenario, type Scenario } from "../support/scenario.ts";

interface Counts {
  players: number;
  names: number;
  events: number;
  told: number;
  errors: number;
  refused: number;
}

interface Job {
  status: string;
  total: number;
  processed: number;
  succeeded: number;
  failed: number;
  skipped: number;
  created_count: number;
}

const fault: Fault = async (report, { rounds, long }) => {
  for (let round = 0; round < rounds; round++) {
    const installation = await openInstallation();
    try {
      const at = (round + 1) / (rounds + 1);
      report("kill -9 in an import", await killedImport(installation, { rows: long ? 100_000 : 20_000, at }));
    } finally {
      await installation.close();
    }
  }
};
export default fault;

/** Imports a file, and kills the service when that share of it is in. */
export async function killedImport(
  installation: Installation,
  { rows, at }: { rows: number; at: number },
): Promise<Outcome> {
  const service = await installation.service();
  const scenario = await openScenario(installation.url());
  try {
    await scenario.endpoint("http://127.0.0.1:9/", { asleep: true });
    const { csv, distinct } = fileOf(rows);
    const { body } = await must(service, scenario.key, "POST", "/api/import_jobs", {
      body: csv,
      headers: { "Content-Type": "text/csv" },
    });
    const read = () => jobOf(scenario, body.id);
    await until(
      "the import's progress",
      60_000,
      async () => ((await read()).processed ?? 0) >= at * rows * 0.9,
      COUNTING,
    );
    await installation.kill();
    const cut = await read();
    const again = await installation.service();
    const took = await until(
      "the import's end",
      120_000,
      async () => !["queued", "processing"].includes((await read()).status),
      COUNTING,
    );
    const shown = await must(again, scenario.key, "GET", `/api/import_jobs/${body.id}`);
    return await judge(scenario, {
      rows,
      distinct,
      cut,
      job: shown.body,
      about: `cut at ${cut.processed} of ${rows} rows, completed ${seconds(took)} after the restart`,
    });
  } finally {
    await scenario.close();
  }
}

async function judge(
  scenario: Scenario,
  found: { rows: number; distinct: number; cut: Job; job: Job; about: string },
): Promise<Outcome> {
  const { rows, distinct, cut, job, about } = found;
  const counts = await count(scenario);
  return {
    about,
    ledger: {
      lost: distinct - Math.min(counts.names, counts.told),
      doubled:
        counts.players - counts.names + (counts.events - counts.told) + (counts.errors - counts.refused),
      foreign: await scenario.foreign(),
    },
    problems: problemsOf({
      "it was over before it was killed": cut.status !== "processing",
      [`its status is ${job.status}`]: job.status !== "completed",
      [`total ${job.total}, processed ${job.processed}, of ${rows} rows`]:
        job.total !== rows || job.processed !== rows,
      [`succeeded ${job.succeeded} + failed ${job.failed} + skipped ${job.skipped} is not ${rows}`]:
        job.succeeded + job.failed + job.skipped !== rows,
      [`created_count ${job.created_count} for ${distinct} players`]: job.created_count !== distinct,
      [`${counts.refused} rows have their error, of ${job.failed}`]: counts.refused !== job.failed,
    }),
  };
}

/** One row in 50 repeats an earlier one, and one in 97 has a bad address. */
function fileOf(rows: number): { csv: string; distinct: number } {
  const lines = ["player_id,email,first_name,tier"];
  let distinct = 0;
  for (let row = 1; row <= rows; row++) {
    const isTwin = row % 50 === 0;
    const isBad = !isTwin && row % 97 === 0;
    if (!isTwin && !isBad) distinct++;
    const name = isTwin ? row - 1 : row;
    lines.push(`I-${name},${isBad ? "no address" : `i${name}@example.com`},Ana,Gold`);
  }
  // A bad row's twin is the first that counts.
  for (let row = 50; row <= rows; row += 50) if ((row - 1) % 97 === 0) distinct++;
  return { csv: lines.join("\n"), distinct };
}

async function jobOf({ sql, id }: Scenario, job: string): Promise<Job> {
  const [row] = await sql<Job[]>`select * from import_jobs where property_id = ${id} and id = ${job}`;
  return row!;
}

async function count({ sql, id }: Scenario): Promise<Counts> {
  const [row] = await sql<Counts[]>`
    select count(*)::int as players, count(distinct player_id)::int as names,
      (select count(*)::int from outbox where property_id = ${id} and type = 'player.created') as events,
      (select count(distinct data->'object'->>'id')::int from outbox
        where property_id = ${id} and type = 'player.created') as told,
      (select count(*)::int from import_errors where property_id = ${id}) as errors,
      (select count(distinct row)::int from import_errors where property_id = ${id}) as refused
    from players where property_id = ${id}`;
  return row!;
}
