import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { parseQuery } from "#db/query/parse.ts";
import { reader } from "#db/query/reader.ts";
import { type Fragment, numbered } from "#db/sql.ts";
import { readableOf } from "#runtime/operation/columns.ts";
import players from "#tools/players/players.table.ts";
import type { Report } from "../support/figure.ts";
import { interleave, load, type Peer, SECONDS, type Speed, speedFigure, startPeer } from "../support/load.ts";
import { type BenchProperty, openProperty } from "../support/property.ts";

const ROWS = Number(process.env.BENCH_ROWS ?? 1_000_000);
type Runs = Record<"service" | "hono" | "drizzle" | "fastify" | "pgbench", () => Promise<Speed>>;

const OURS = "/api/players?tier.eq=Gold&limit=50";
const THEIRS = "/players?tier=Gold";

/** S1 to S3: a page of 50 through the whole service, against plain servers and PostgreSQL itself. */
export default async function bench(report: Report): Promise<void> {
  const bench = await openProperty(ROWS);
  const environment = { DATABASE_URL: bench.url, PROPERTY: bench.property };
  const names = ["service", "hono", "drizzle", "fastify"];
  const peers = await Promise.all(names.map((name) => startPeer(name, environment)));
  const [service, hono, drizzle, fastify] = peers as [Peer, Peer, Peer, Peer];
  const headers = { "X-Api-Key": bench.key };
  const direct = await pgbench(bench);
  try {
    await sameAnswers(peers, headers);
    const rounds = await interleave({
      service: () => load(service, OURS, { headers }),
      hono: () => load(hono, THEIRS),
      drizzle: () => load(drizzle, THEIRS),
      fastify: () => load(fastify, THEIRS),
      ...(direct && { pgbench: direct.run }),
    } as Runs);
    const rows = ROWS.toLocaleString("en");
    report(speedFigure(`S1 50 of ${rows} / bare hono`, rounds, ["service", "hono"], 1.4));
    report(speedFigure("S2 the same / hono + drizzle", rounds, ["service", "drizzle"], 2.5));
    report(speedFigure("S2 the same / fastify + pg", rounds, ["service", "fastify"], 1.3));
    if (direct) report(speedFigure("S3 the same / pgbench", rounds, ["service", "pgbench"], 0.7));
    else process.stdout.write("S3 the same / pgbench: left out, there is no pgbench in PATH\n");
  } finally {
    await direct?.close();
    await Promise.all(peers.map((peer) => peer.stop()));
    await bench.close();
  }
}

/** The control: all servers answer the same players, column by column. */
async function sameAnswers([service, ...others]: Peer[], headers: Record<string, string>): Promise<void> {
  const ask = async (peer: Peer, path: string) =>
    (await (await fetch(peer.url + path, { headers })).json()) as Record<string, unknown>[];
  const summary = (rows: Record<string, unknown>[]) =>
    JSON.stringify(
      rows.map((row) =>
        Object.keys(row)
          .sort()
          .map((name) => [name, plain(row[name])]),
      ),
    );
  const ours = await ask(service!, OURS);
  if (ours.length !== 50) throw new Error(`the control moved: ${ours.length} rows, not 50`);
  for (const peer of others) {
    if (summary(await ask(peer, THEIRS)) !== summary(ours)) {
      throw new Error(`the control moved: ${peer.url} answers other players`);
    }
  }
}

const ISO = /^\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00))?$/;

/** As drivers leave it: with times in milliseconds, a day as its midnight, and objects in any order. */
function plain(value: unknown): unknown {
  if (typeof value === "string" && ISO.test(value)) return new Date(value).toISOString();
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.entries(value).sort();
}

/** The reader's own statement in pgbench, prepared, on as many connections as a pool has. */
async function pgbench({ url, property }: BenchProperty) {
  const run = promisify(execFile);
  if (!(await run("pgbench", ["--version"]).catch(() => null))) return null;
  const { text, values } = await statement(property);
  const folder = await mkdtemp(join(tmpdir(), "pgbench-"));
  const file = join(folder, "list.sql");
  await writeFile(file, `${text.replaceAll(/\$(\d+)/g, ":v$1").replaceAll("\n", " ")};\n`);
  const variables = values.flatMap((value, index) => ["-D", `v${index + 1}=${value}`]);
  return {
    run: async (): Promise<Speed> => {
      const options = ["-n", "-M", "prepared", "-c", "4", "-T", String(SECONDS), "-f", file, ...variables];
      const { stdout } = await run("pgbench", [...options, url]);
      const [, rate] = /^tps = ([\d.]+)/m.exec(stdout) ?? [];
      if (!rate) throw new Error(`pgbench gave no figure: ${stdout}`);
      return { perSecond: Number(rate), cpu: null };
    },
    close: () => rm(folder, { recursive: true }),
  };
}

async function statement(property: string): Promise<{ text: string; values: unknown[] }> {
  const caught: { text: string; values: unknown[] }[] = [];
  const read = async (asked: Fragment) => {
    caught.push(numbered(asked));
    return [[]];
  };
  const readable = readableOf(players);
  const query = parseQuery(readable, new URLSearchParams(OURS.split("?")[1]));
  await reader({ read }).list(property, readable, query);
  return caught[0]!;
}
