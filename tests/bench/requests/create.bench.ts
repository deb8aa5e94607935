import { randomUUID } from "node:crypto";
import type { Report } from "../support/figure.ts";
import { interleave, load, type Peer, type Speed, speedFigure, startPeer } from "../support/load.ts";
import { type BenchProperty, openProperty } from "../support/property.ts";

// A number of requests instead of a time, so that none is cut off and each can be accounted for.
const CREATES = Number(process.env.BENCH_CREATES ?? 4_000);

let written = 0;

/** S17: a keyed create with its event, delivery, job and audit row, against less and against the plain way. */
export default async function bench(report: Report): Promise<void> {
  const bench = await openProperty();
  await bench.sql`
    insert into webhook_endpoints (property_id, url, events, secret)
    values (${bench.property}, 'https://receiver.invalid/', '{player.created}', 'whsec_c2VjcmV0')`;
  const environment = { DATABASE_URL: bench.url, PROPERTY: bench.property };
  const [service, hono] = await Promise.all([
    startPeer("service", environment),
    startPeer("hono", environment),
  ]);
  try {
    const rounds = await interleave({
      service: () => create(bench, service, "/api/players", 1),
      hono: () => create(bench, hono, "/players", 0),
      naive: () => create(bench, hono, "/naive", 1),
    });
    await sameRows(bench, [service, "/api/players"], [hono, "/naive"]);
    report(speedFigure("S17 keyed create / bare insert", rounds, ["service", "hono"], 0.4));
    report(speedFigure("S17 keyed create / one by one", rounds, ["service", "naive"], 2));
  } finally {
    await Promise.all([service.stop(), hono.stop()]);
    await bench.close();
  }
}

/** Creates many, and checks that each has left all of its rows. */
async function create(bench: BenchProperty, peer: Peer, path: string, effects: 0 | 1): Promise<Speed> {
  const before = await count(bench);
  const speed = await load(peer, path, {
    amount: CREATES,
    method: "POST",
    headers: { "X-Api-Key": bench.key, "Content-Type": "application/json" },
    requests: [{ setupRequest: (request) => ({ ...request, ...newPlayer(request.headers) }) }],
  });
  const after = await count(bench);
  for (const table of TABLES) {
    const rows = after[table]! - before[table]!;
    const expected = table === "players" ? CREATES : CREATES * effects;
    // The creates of one commit call the endpoint once, and rely on a call that waits.
    if (table === "queue" ? rows > expected || Math.sign(after.queue!) < effects : rows !== expected) {
      throw new Error(`the control moved: ${CREATES} creates by ${path} left ${rows} rows in ${table}`);
    }
  }
  return speed;
}

/** The control: the plain way stores a player with all that the service stores. */
async function sameRows(bench: BenchProperty, ...ways: [Peer, string][]): Promise<void> {
  const stored = [];
  for (const [peer, path] of ways) {
    const { headers, body } = newPlayer({ "X-Api-Key": bench.key, "Content-Type": "application/json" });
    const answer = await fetch(peer.url + path, { method: "POST", headers, body });
    const { id } = (await answer.json()) as { id: string };
    const [row] = await bench.sql`
      select jsonb_strip_nulls(to_jsonb(p)) as player from players p
      where property_id = ${bench.property} and id = ${id}`;
    stored.push(Object.keys(row!.player).sort().join(" "));
  }
  if (stored[0] !== stored[1]) throw new Error(`the control moved: ${stored.join(" is not ")}`);
}

const TABLES = ["players", "idempotency_records", "outbox", "webhook_backlog", "queue", "audit_logs"];

async function count({ sql }: BenchProperty): Promise<Record<string, number>> {
  // The creates of one commit share a row of the backlog.
  const rows = (table: string) =>
    table === "webhook_backlog" ? "coalesce(sum(cardinality(event_ids)), 0)" : "count(*)";
  const counts = TABLES.map((table) => `(select ${rows(table)}::int from ${table}) as ${table}`);
  const [row] = await sql.unsafe(`select ${counts.join(", ")}`);
  return row as Record<string, number>;
}

function newPlayer(headers: object | undefined): { headers: Record<string, string>; body: string } {
  const n = ++written;
  const player = {
    player_id: `P-${n}`,
    email: `player.${n}@example.com`,
    phone: `+1702${String(5_550_000 + (n % 9_999)).padStart(7, "0")}`,
    first_name: "Ann",
    last_name: "Archer",
    tier: "Gold",
    adt: 125.5,
    birth_date: "1980-04-01",
    tags: ["slots", "vip"],
  };
  return { headers: { ...headers, "Idempotency-Key": randomUUID() }, body: JSON.stringify(player) };
}
