import net from "node:net";
import { randomUUID } from "node:crypto";
import { readConfig } from "#runtime/config.ts";
import { createLog } from "#runtime/log.ts";
import { CATALOG } from "#tools/catalog.ts";
import { compose } from "#transports/compose.ts";
import { openWorld } from "./world.ts";
const w = await openWorld();
await w.sql`insert into webhook_endpoints (property_id, url, events, secret) values (${w.property}, 'https://receiver.invalid/', '{player.created}', 'whsec_c2VjcmV0')`;
const config = readConfig({ DATABASE_URL: w.url, ROLE: "web", PORT: "0", APP_SECRET: "b".repeat(32), DATABASE_POOL: "2" });
const { listening } = await compose({ config, databaseUrl: w.url, catalog: CATALOG, log: createLog("error") });
let n = 0;
const one = async () => {
  n++;
  const r = await fetch(`http://127.0.0.1:${listening!.port}/api/players`, { method: "POST", headers: { "X-Api-Key": w.key, "Content-Type": "application/json", "Idempotency-Key": randomUUID() }, body: JSON.stringify({ player_id: `P-${n}`, email: `p${n}@example.com`, phone: `+1702${5550000 + n}`, first_name: "Ann", last_name: "Archer", tier: "Gold", adt: 1.5, birth_date: "1980-04-01", tags: ["a"] }) });
  await r.text();
  if (r.status !== 201) throw new Error(String(r.status));
};
for (let i = 0; i < 300; i++) await one();
let t = performance.now(); const cpu = process.cpuUsage();
for (let i = 0; i < 300; i++) await one();
const u = process.cpuUsage(cpu);
console.log("ms a request", (performance.now() - t) / 300, "cpu µs", (u.user + u.system) / 300);
const real = net.Socket.prototype.write;
const t0 = performance.now();
const log: string[] = [];
net.Socket.prototype.write = function (this: net.Socket, chunk: any, ...rest: any[]) {
  const b = Buffer.from(chunk); const txt = b.toString("latin1").replace(/[^\x20-\x7e]+/g, " ");
  log.push(`${(performance.now() - t0).toFixed(2)} ${this.localPort} -> ${this.remotePort} ${b.length}B ${txt.slice(0, 150)}`);
  return (real as any).call(this, chunk, ...rest);
} as never;
const hook = (s: any) => s;
await new Promise((r) => setTimeout(r, 600)); log.length = 0;

const gaps: Record<number, number[]> = {}; const texts: string[] = [];
for (let k = 0; k < 200; k++) {
  log.length = 0; await one(); await new Promise((r) => setTimeout(r, 3));
  const ts = log.map((l) => Number(l.split(" ")[0]));
  if (log.length !== 10) continue;
  log.forEach((l, i) => { texts[i] = l.slice(0, 90); (gaps[i] ??= []).push((ts[i + 1] ?? ts[i]!) - ts[i]!); });
}
for (const [i, g] of Object.entries(gaps)) { g.sort((a, b) => a - b); console.log(i, g.length, "p20", g[Math.floor(g.length * 0.2)]!.toFixed(2), "p50", g[Math.floor(g.length / 2)]!.toFixed(2), texts[+i]); }
process.exit(0);
