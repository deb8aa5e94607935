import postgres from "postgres";
import { openJourneys } from "./bare-journeys.ts";
import { sql } from "#db/sql.ts";
import { Definition } from "#tools/journeys/definition/definition.ts";
import { Assume } from "#tools/journeys/simulation/assumptions.ts";
import { simulate, unsaved } from "#tools/journeys/simulation/simulate.ts";
import { month } from "./journeys.bench.ts";
import { stopBenchServer } from "./database.ts";
const place = await openJourneys(10000);
await place.owner.unsafe("create extension if not exists pg_stat_statements").catch((e) => console.log(String(e)));
const draft = { id: unsaved(), name: "Month", draft_definition: Definition.parse(month()), goal: null, exit_conditions: null, priority: 0, ends_at: null };
const players = sql`select id from public.players where property_id = ${place.property}::uuid order by id limit 10000::int`;
let ad = 0;
const totals = new Map<string, [number, number]>();
try {
  await place.work(async (context) => {
    const raw = context.sql as any;
    const wrapped: any = (texts: any, ...values: any[]) => {
      const st = raw(texts, ...values);
      const key = (texts.join("").trim() === "" ? "ADHOC" : texts.join("?")).replace(/\s+/g, " ").slice(0, 90);
      const orig = st.then.bind(st);
      if (key === "ADHOC") { ad += 1; if (ad > 25 && ad < 60) return (async () => {
        await raw`savepoint a`;
        const plan = await raw`explain (analyze, buffers) ${st}`;
        const lines = plan.map((r: any) => String(Object.values(r)[0]));
        const ms = Number(/Execution Time: ([\d.]+)/.exec(lines.at(-1)!)?.[1]);
        if (ms > 150) { console.log("=== ", ad, ms, Number(/Planning Time: ([\d.]+)/.exec(lines.at(-2)!)?.[1])); for (const l of lines) { const m = /actual time=([\d.]+)\.\.([\d.]+) rows=([\d.]+) loops=([\d.]+)/.exec(l); if (m && Number(m[2]) * Number(m[4]) > 15 || /CTE/.test(l) && !/Scan/.test(l)) console.log(l.slice(0, 200)); } }
        await raw`rollback to savepoint a`;
        return orig((r: any) => r);
      })(); }
      st.then = (a: any, b: any) => {
        const t = performance.now();
        return orig((r: any) => { const [n, s] = totals.get(key) ?? [0, 0]; totals.set(key, [n + 1, s + performance.now() - t]); return a?.(r) ?? r; }, b);
      };
      return st;
    };
    for (const s of Object.getOwnPropertySymbols(raw)) wrapped[s] = raw[s];
    const t0 = performance.now();
    const r = await simulate({ ...context, sql: wrapped }, { draft, players, period: { from: new Date().toISOString(), days: 30, seed: "1" }, assume: Assume.parse(undefined) });
    console.log("total", performance.now() - t0, r.entries);
    throw new Error("undone");
  });
} catch (e) { console.log(String(e)); }
for (const [k, [n, s]] of [...totals].sort((a, b) => b[1][1] - a[1][1]).slice(0, 25)) console.log(n, s.toFixed(0), k);
await place.close();
await stopBenchServer();
