import { randomUUID } from "node:crypto";
import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import autocannon from "autocannon";
import { openWorld } from "./world.ts";
const w = await openWorld();
await w.sql`insert into webhook_endpoints (property_id, url, events, secret) values (${w.property}, 'https://receiver.invalid/', '{player.created}', 'whsec_c2VjcmV0')`;
const which = process.argv[2]!;
const c = fork(new URL(which === "gate" ? "./peers/gate.ts" : "./peers/service.ts", import.meta.url), { env: { ...process.env, DATABASE_URL: w.url, PROPERTY: w.property, LOG_LEVEL: "debug", NODE_ENV:"production" }, execArgv: ["--cpu-prof", "--cpu-prof-dir=/tmp/h14p/prof"] });
const [{ port }] = await once(c, "message") as any;
let n = 0;
const r = await autocannon(which === "gate" ? { url: `http://127.0.0.1:${port}/api/nothing`, connections: 16, duration: 4, headers: { "X-Api-Key": w.key } } : { url: `http://127.0.0.1:${port}/api/players`, connections: 16, amount: 3000, method: "POST", headers: { "X-Api-Key": w.key, "Content-Type": "application/json" },
 requests: [{ setupRequest: (q: any) => ({ ...q, headers: { ...q.headers, "Idempotency-Key": randomUUID() }, body: JSON.stringify({ player_id: `P-${++n}`, email: `p${n}@example.com`, phone: `+1702${5550000 + n}`, first_name: "Ann", last_name: "Archer", tier: "Gold", adt: 1.5, birth_date: "1980-04-01", tags: ["a"] }) }) }] });
console.log(r.requests.total / r.duration, r.non2xx, r.latency.p50, r.latency.p99);
if (which !== "gate") {
const st = await w.sql.unsafe("select query, state, wait_event, xact_start, query_start, application_name from pg_stat_activity where datname=current_database()");
console.log(st.length);}
c.disconnect(); await once(c, "exit"); await w.close(); process.exit(0);
