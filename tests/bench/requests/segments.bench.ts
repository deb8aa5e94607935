import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { tagOf } from "#db/sql.ts";
import type { Group } from "#tools/segments/rules/compile.ts";
import segmentPreview from "#tools/segments/segment-preview.ts";
import { median, type Report } from "../support/figure.ts";
import { type Peer, ROUNDS, startPeer } from "../support/load.ts";
import { type BenchProperty, openProperty } from "../support/property.ts";

const ROWS = Number(process.env.BENCH_ROWS ?? 1_000_000);
const RULES = 50;
const MOST = 1.2;

interface Preview {
  seconds: number;
  count: number;
  /** The ids of the players that it shows. */
  shown: string;
}

/** S19: a preview of 50 nested rules over HTTP, against its own statements given to psql with their values in them. */
export default async function bench(report: Report): Promise<void> {
  const bench = await openProperty(ROWS);
  await bench.sql`
    insert into custom_fields ${bench.sql(
      [
        { key: "host", type: "text" },
        { key: "points", type: "number" },
        { key: "vip", type: "boolean" },
      ].map((field) => ({ ...field, label: field.key, property_id: bench.property })),
    )}`;
  const service = await startPeer("service", { DATABASE_URL: bench.url });
  try {
    const statements = await statementsOf(bench, nested());
    const rounds: { ours: number; psql: number }[] = [];
    for (let round = 0; round <= ROUNDS; round++) {
      const ours = await previewed(service, bench);
      const psql = await counted(bench, statements);
      if (ours.count !== psql.count || ours.shown !== psql.shown || ours.count === 0) {
        throw new Error(`the control moved: ${ours.count} players by the service, ${psql.count} by psql`);
      }
      // The first round only warms.
      if (round > 0) rounds.push({ ours: ours.seconds, psql: psql.seconds });
    }
    const ratio = median(rounds.map(({ ours, psql }) => ours / psql));
    report({
      name: `S19 ${RULES} nested rules over ${ROWS.toLocaleString("en")} players, s / psql`,
      ours: median(rounds.map(({ ours }) => ours)),
      peer: median(rounds.map(({ psql }) => psql)),
      ratio,
      goal: `≤ ${MOST}x`,
      met: ratio <= MOST,
    });
  } finally {
    await service.stop();
    await bench.close();
  }
}

/** Ten groups of five rules each, two of which stand in a group inside; no two groups ask the same. */
function nested(): Group {
  const groups = Array.from({ length: RULES / 5 }, (_, n): Group => {
    const rule = (field: string, operator: string, value: unknown) =>
      ({ field, operator, value }) as Group["conditions"][number];
    return {
      logic: "and",
      conditions: [
        rule("tier", "in", [["Bronze", "Gold"], ["Silver", "Diamond"], ["Platinum"]][n % 3]),
        rule("adt", "between", [100 * n, 100 * n + 250]),
        n % 2 === 0 ? rule("consent.email", "eq", true) : rule("state", "neq", "UT"),
      ],
      groups: [
        {
          logic: "or",
          conditions: [
            n % 2 === 0 ? rule("custom.points", "gte", 4_000 - n) : rule("tags", "has_any", ["vip"]),
            n % 3 === 0 ? rule("last_name", "contains", "er") : rule("custom.host", "eq", `H${n}`),
          ],
        },
      ],
    };
  });
  return { logic: "or", conditions: [], groups };
}

async function previewed(service: Peer, { property, key }: BenchProperty): Promise<Preview> {
  const startedAt = performance.now();
  const answer = await fetch(`${service.url}/api/functions/segment-preview`, {
    method: "POST",
    headers: { "X-Api-Key": key, "Content-Type": "application/json" },
    body: JSON.stringify({ propertyId: property, ...nested() }),
  });
  const body = await answer.json();
  const seconds = (performance.now() - startedAt) / 1000;
  if (answer.status !== 200) throw new Error(`the control moved: ${answer.status} ${JSON.stringify(body)}`);
  const { count, sample } = body as { count: number; sample: { id: string }[] };
  return { seconds, count, shown: sample.map(({ id }) => id).join() };
}

/** The statements of a preview: the count, and the ten players that it shows. */
async function statementsOf({ sql, property }: BenchProperty, rules: Group): Promise<string[]> {
  const caught: string[] = [];
  const unsafe: typeof sql.unsafe = (text, values, options) => {
    if (text.includes("from players p")) {
      const filled = text.replaceAll(/\$(\d+)/g, (_, place) => literal(values![place - 1]));
      caught.push(filled.replaceAll("\n", " "));
    }
    return sql.unsafe(text, values, options);
  };
  const context = { sql: tagOf({ unsafe } as never), property: { id: property } };
  await segmentPreview.handler(context as never, { propertyId: property, ...rules } as never);
  return caught;
}

function literal(value: unknown): string {
  const text = Array.isArray(value) ? `{${value.map((one) => JSON.stringify(one)).join()}}` : String(value);
  return `'${text.replaceAll("'", "''")}'`;
}

/** By psql's own clock: neither its start nor its connection counts. Compiling the rules would only cost it time. */
async function counted({ url }: BenchProperty, statements: string[]): Promise<Preview> {
  const commands = ["\\timing on", ...statements].flatMap((statement) => ["--command", statement]);
  const options = ["--no-psqlrc", "--no-align", "--tuples-only", "--field-separator= ", ...commands, url];
  const env = { ...process.env, PGOPTIONS: "-c jit=off" };
  const { stdout } = await promisify(execFile)("psql", options, { env });
  const lines = stdout.split("\n").filter((line) => line !== "" && !line.startsWith("Timing"));
  const times = lines.flatMap((line) => /^Time: ([\d.]+) ms/.exec(line)?.[1] ?? []).map(Number);
  const [count, ...shown] = lines.filter((line) => !line.startsWith("Time:"));
  if (times.length !== statements.length) throw new Error(`psql gave no times: ${stdout}`);
  return {
    seconds: times.reduce((sum, time) => sum + time, 0) / 1000,
    count: Number(count),
    shown: shown.map((line) => line.split(" ")[0]).join(),
  };
}
