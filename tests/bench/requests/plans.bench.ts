import postgres from "postgres";
import { parseQuery } from "#db/query/parse.ts";
import { reader } from "#db/query/reader.ts";
import { numbered } from "#db/sql.ts";
import { readableOf } from "#runtime/operation/columns.ts";
import players from "#tools/players/players.table.ts";
import type { Report } from "../support/figure.ts";
import { addProperty, type BenchProperty, openProperty } from "../support/property.ts";

const PLAYERS = Number(process.env.BENCH_ROWS ?? 1_000_000);
const OTHERS = 100;
const EACH = 1_000;

/** Usual requests to a list of players, and the most rows that PostgreSQL may touch for each. */
const USUAL: [string, string, number][] = [
  ["the newest page", "order=created_at.desc", 60],
  ["by player_id", "player_id.eq=P-777777", 10],
  ["by email", "email.eq=player.777777@example.com", 10],
  ["by phone", "phone.eq=%2B17020777777", 10],
  ["email ilike *77777*", "email.ilike=*77777*", 5_000],
  ["phone like *0777777*", "phone.like=*0777777*", 2_000],
  ["last name ilike *ontain*", "last_name.ilike=*ontain*", 1_000],
  ["a tier, newest first", "tier.eq=Gold&order=created_at.desc", 1_000],
  ["a week, newest first", "created_at.gte=2026-01-01&order=created_at.desc", 1_000],
  ["another property's newest page", "other", 60],
  ["email ilike *77* in a small property", "other&email.ilike=*77*", 1_000],
];

/** The usual lists over 1,000,000 players among 100 other properties: rows touched, by EXPLAIN ANALYZE. */
export default async function bench(report: Report): Promise<void> {
  const bench = await openProperty(PLAYERS);
  const other = await addOthers(bench);
  const role = postgres(bench.url, { max: 1, onnotice: () => {}, connection: { role: "app_reader" } });
  try {
    for (const [name, query, most] of USUAL) {
      const property = query.startsWith("other") ? other : bench.property;
      const touched = await rowsTouched(role, property, query.replace(/^other&?/, ""));
      report({
        name: `plan: ${name}, rows touched / the most`,
        ours: touched,
        peer: most,
        ratio: touched / most,
        goal: "≤ 1x",
        met: touched <= most,
      });
    }
  } finally {
    await role.end();
    await bench.close();
  }
}

async function addOthers(bench: BenchProperty): Promise<string> {
  let last = "";
  for (let made = 0; made < OTHERS; made++) last = await addProperty(bench.sql, `other-${made}`, EACH);
  await bench.sql`vacuum analyze players`;
  return last;
}

interface Node {
  "Actual Rows": number;
  "Actual Loops": number;
  "Rows Removed by Filter"?: number;
  "Rows Removed by Index Recheck"?: number;
  Plans?: Node[];
}

/** Of the statement that the service itself sends. */
async function rowsTouched(role: postgres.Sql, property: string, query: string): Promise<number> {
  const readable = readableOf(players);
  let plan: Node | undefined;
  const explaining = reader({
    read: async (statement) => {
      const { text, values } = numbered(statement);
      const [row] = await role.unsafe(`explain (analyze, format json) ${text}`, values as never[]);
      plan = (row!["QUERY PLAN"] as [{ Plan: Node }])[0].Plan;
      return [[]];
    },
  });
  const pairs = [...new URLSearchParams(query)];
  await explaining.list(property, readable, parseQuery(readable, pairs));
  return leaves(plan!).reduce((sum, node) => sum + read(node), 0);
}

function leaves(node: Node): Node[] {
  return node.Plans ? node.Plans.flatMap(leaves) : [node];
}

function read(node: Node): number {
  const dropped = (node["Rows Removed by Filter"] ?? 0) + (node["Rows Removed by Index Recheck"] ?? 0);
  return node["Actual Loops"] * (node["Actual Rows"] + dropped);
}
