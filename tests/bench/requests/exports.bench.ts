import { execFile } from "node:child_process";
import { request } from "node:http";
import { Readable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { type Fragment, sql as fragment, inlined } from "#db/sql.ts";
import { playersCsv } from "#tools/players/csv.ts";
import { median, type Report } from "../support/figure.ts";
import { type Peer, ROUNDS, startPeer } from "../support/load.ts";
import { type BenchProperty, openProperty } from "../support/property.ts";

const ROWS = 50_000;
const FEW = 5_000;
const MOST_MB = 40;
const FIRST_MS = 20;
const MB = 1_048_576;

interface Export {
  seconds: number;
  /** Milliseconds to the first byte of the body. */
  first: number;
  lines: number;
  /** MB of memory that the server held at its most. */
  most: number;
}

/** S8: players as CSV over HTTP, against psql writing the same columns of the same rows to nowhere. */
export default async function bench(report: Report): Promise<void> {
  const bench = await openProperty(ROWS);
  const service = await startPeer("service", { DATABASE_URL: bench.url });
  try {
    const query = await statement(bench);
    await exported(service, bench, 1);
    const idle = await service.memory();
    const rounds: { ours: Export; few: Export; psql: number }[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const few = await exported(service, bench, FEW);
      const ours = await exported(service, bench, ROWS);
      if (ours.lines !== ROWS + 1) throw new Error(`the control moved: ${ours.lines} lines`);
      rounds.push({ few, ours, psql: await copied(bench, query) });
    }
    const ratio = median(rounds.map(({ ours, psql }) => ours.seconds / psql));
    report({
      name: "S8 export 50,000 players, s / psql \\copy",
      ours: median(rounds.map(({ ours }) => ours.seconds)),
      peer: median(rounds.map(({ psql }) => psql)),
      ratio,
      goal: "≤ 1.15x",
      met: ratio <= 1.15,
    });
    const most = (
      name: string,
      limit: number,
      unit: string,
      of: (round: (typeof rounds)[number]) => number,
    ) => {
      const ours = median(rounds.map(of));
      report({
        name,
        ours,
        peer: limit,
        ratio: ours / limit,
        goal: `≤ ${limit} ${unit}`,
        met: ours <= limit,
      });
    };
    most("S8 memory it takes, MB / limit", MOST_MB, "MB", ({ ours }) => ours.most - idle / MB);
    most(
      "S8 memory of ten times fewer players, MB / limit",
      MOST_MB,
      "MB",
      ({ few }) => few.most - idle / MB,
    );
    most("S8 first byte, ms / limit", FIRST_MS, "ms", ({ ours }) => ours.first);
  } finally {
    await service.stop();
    await bench.close();
  }
}

/** One export, its bytes counted and let go. */
async function exported(service: Peer, bench: BenchProperty, limit: number): Promise<Export> {
  let most = 0;
  let watching = true;
  const watch = (async () => {
    while (watching) {
      most = Math.max(most, await service.memory());
      // Asking without a pause would be load of its own.
      await pause(25);
    }
  })();
  const startedAt = performance.now();
  const taken = await new Promise<Omit<Export, "most">>((resolve, reject) => {
    const headers = { "X-Api-Key": bench.key, "Content-Type": "application/json" };
    const asking = request(`${service.url}/api/functions/export-players`, { method: "POST", headers });
    asking.on("error", reject);
    asking.on("response", (response) => {
      let first = 0;
      let lines = 0;
      response.on("data", (bytes: Buffer) => {
        first ||= performance.now() - startedAt;
        for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) lines++;
      });
      response.on("error", reject);
      response.on("end", () => resolve({ seconds: (performance.now() - startedAt) / 1000, first, lines }));
    });
    asking.end(JSON.stringify({ property_id: bench.property, limit }));
  });
  watching = false;
  await watch;
  return { ...taken, most: most / MB };
}

/** The statement whose rows an export copies. */
async function statement({ property }: BenchProperty): Promise<string> {
  let caught = "";
  const copy = (query: Fragment) => {
    caught = inlined(query);
    return Readable.from([]);
  };
  const everyone = fragment`p.deleted_at is null`;
  for await (const _ of playersCsv(property, everyone, ROWS, new Map())(copy));
  return caught;
}

async function copied({ url }: BenchProperty, query: string): Promise<number> {
  const startedAt = performance.now();
  const command = `\\copy (${query.replaceAll("\n", " ")}) to '/dev/null' csv`;
  await promisify(execFile)("psql", ["--no-psqlrc", "--quiet", "--command", command, url]);
  return (performance.now() - startedAt) / 1000;
}
