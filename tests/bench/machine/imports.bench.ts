import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createReadStream } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { readConfig } from "#runtime/config.ts";
import { invoke } from "#runtime/funnel/invoke.ts";
import { createLog } from "#runtime/log.ts";
import { catalog } from "#runtime/operation/catalog.ts";
import createImportJob from "#tools/imports/create-import-job.ts";
import importJobs from "#tools/imports/import-jobs.table.ts";
import importPlayers from "#tools/imports/import-players.job.ts";
import { receiveFile } from "#tools/imports/upload.ts";
import { pads } from "#tools/people/address.ts";
import { compose } from "#transports/start/compose.ts";
import { benchDatabase } from "../support/database.ts";
import { median, type Report } from "../support/figure.ts";

const ROWS = 100_000;
const MANY = Number(process.env.BENCH_MANY_ROWS ?? 1_000_000);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
const COLUMNS = [
  "player_id",
  "email",
  "phone",
  "first_name",
  "last_name",
  "tier",
  "adt",
  "coin_in",
  "state",
  "birth_date",
];

/** S9: validated imports against psql's \copy into a staging table with one upsert into the same table. */
export default async function bench(report: Report): Promise<void> {
  const url = await benchDatabase();
  const folder = await mkdtemp(join(tmpdir(), "marketing-import-"));
  const admin = postgres(url, { max: 1, onnotice: () => {} });
  const place = await openPlace(url, admin);
  try {
    const [few, many] = [join(folder, "few.csv"), join(folder, "many.csv")];
    await writeFile(few, csv(ROWS));
    await writeFile(many, csv(MANY));
    const clear = async () => {
      await admin`truncate players, import_errors, import_jobs, uploads, upload_chunks, consent_records, suppressions,
        self_exclusions, segment_members, campaign_sends cascade`;
      await admin`checkpoint`;
    };
    const rounds: { ours: Run; peer: number }[] = [];
    for (let round = 0; round <= ROUNDS; round++) {
      await clear();
      const ours = await place.run(few, ROWS);
      await clear();
      const peer = await copyAndUpsert(url, few, place);
      // The first round warms both up.
      if (round > 0) rounds.push({ ours, peer });
    }
    const [seconds, control] = [
      median(rounds.map(({ ours }) => ours.seconds)),
      median(rounds.map(({ peer }) => peer)),
    ];
    const ratio = median(rounds.map(({ ours, peer }) => ours.seconds / peer));
    report({
      name: `import ${ROWS} rows, s`,
      ours: seconds,
      peer: control,
      ratio,
      goal: "<= 1.3x",
      met: ratio <= 1.3,
    });
    const memory = Math.max(...rounds.map(({ ours }) => ours.megabytes));
    report({
      name: `import ${ROWS} rows, memory in MB`,
      ours: memory,
      peer: 80,
      ratio: memory / 80,
      goal: "<= 80 MB",
      met: memory <= 80,
    });
    await clear();
    const long = await place.run(many, MANY);
    const growth = long.megabytes / Math.max(memory, 1);
    report({
      name: `import ${MANY} rows, memory in MB`,
      ours: long.megabytes,
      peer: 80,
      ratio: growth,
      goal: "<= 80 MB",
      met: long.megabytes <= 80,
    });
    const cpu = median(rounds.map(({ ours }) => ours.cpu));
    report({
      name: "import, CPU µs a row (control: the long file)",
      ours: cpu,
      peer: long.cpu,
      ratio: cpu / long.cpu,
      goal: "-",
      met: true,
    });
  } finally {
    await place.close();
    await admin.end();
    await rm(folder, { recursive: true, force: true });
  }
}

interface Run {
  seconds: number;
  /** The most that the process grew by. */
  megabytes: number;
  /** Microseconds of this process a row. */
  cpu: number;
}

async function openPlace(url: string, admin: postgres.Sql) {
  const config = {
    ...readConfig({ DATABASE_URL: url, APP_SECRET: "b".repeat(32), ROLE: "worker", LOG_LEVEL: "warn" }),
  };
  const parts = catalog([
    {
      name: "imports",
      title: "Imports",
      tables: [importJobs],
      tools: [createImportJob],
      jobs: [importPlayers],
    },
  ]);
  const running = await compose({ config, databaseUrl: url, catalog: parts, log: createLog("warn") });
  const id = randomUUID();
  const [property] = await admin<{ pepper: Buffer }[]>`
    insert into properties (id, name, slug) values (${id}, 'Bench', ${id}) returning pepper`;
  const run = async (file: string, rows: number): Promise<Run> => {
    const upload = randomUUID();
    await receiveFile(running.db, { propertyId: id, id: upload, filename: null }, createReadStream(file));
    globalThis.gc?.();
    const before = process.memoryUsage.rss();
    let most = before;
    const watching = setInterval(() => {
      most = Math.max(most, process.memoryUsage.rss());
    }, 20);
    const [cpu, startedAt] = [process.cpuUsage(), performance.now()];
    const call = {
      actor: { type: "system", id: null },
      transport: "cli",
      requestId: "bench",
      propertyId: id,
    } as const;
    await invoke(running.service, createImportJob, call, { upload_id: upload });
    await running.idle();
    const seconds = (performance.now() - startedAt) / 1000;
    const { user, system } = process.cpuUsage(cpu);
    clearInterval(watching);
    const [job] =
      await admin`select status, error, created_count from import_jobs where upload_id = ${upload}`;
    if (job?.created_count !== rows) throw new Error(`the import made ${JSON.stringify(job)}`);
    return { seconds, megabytes: (most - before) / 1_048_576, cpu: (user + system) / rows };
  };
  return { id, pepper: property!.pepper, run, close: () => running.stop() };
}

/** Seconds of the peer: the same rows, with the same columns and indexes, unchecked. */
async function copyAndUpsert(
  url: string,
  file: string,
  place: { id: string; pepper: Buffer },
): Promise<number> {
  const { inner, outer } = pads(place.pepper);
  const hash = (column: string) =>
    `address_hash('\\x${inner.toString("hex")}', '\\x${outer.toString("hex")}', ${column})`;
  const names = COLUMNS.join(", ");
  const script = `
    create temp table staging (player_id text, email text, phone text, first_name text, last_name text, tier text,
      adt float8, coin_in float8, state text, birth_date date);
    \\copy staging from '${file}' with (format csv, header)
    insert into players (property_id, ${names}, email_hash, phone_hash)
      select '${place.id}', ${names}, ${hash("email")}, ${hash("phone")} from staging
      on conflict (property_id, player_id) where deleted_at is null
        do update set ${COLUMNS.map((name) => `${name} = excluded.${name}`).join(", ")};`;
  const startedAt = performance.now();
  const psql = spawn("psql", ["-q", "-v", "ON_ERROR_STOP=1", url], { stdio: ["pipe", "inherit", "inherit"] });
  psql.stdin.end(script);
  const [code] = await once(psql, "close");
  if (code !== 0) throw new Error("psql, the peer, failed");
  return (performance.now() - startedAt) / 1000;
}

function csv(rows: number): string {
  const lines = [COLUMNS.join(",")];
  for (let n = 0; n < rows; n++) {
    const phone = `+1${200 + (n % 700)}${2000000 + ((n * 7919) % 8_000_000)}`;
    const born = `19${50 + (n % 40)}-0${1 + (n % 9)}-1${n % 9}`;
    lines.push(
      `P${n},guest.${n * 31}@example${n % 50}.com,${phone},First${n % 3000},"Last${n % 7000}, Jr.",Gold,${(n % 900) + 0.5},${n % 10_000},NV,${born}`,
    );
  }
  return `${lines.join("\n")}\n`;
}
