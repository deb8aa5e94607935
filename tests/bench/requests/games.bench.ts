import { randomUUID } from "node:crypto";
import type { Report } from "../support/figure.ts";
import { interleave, load, type Peer, type Speed, speedFigure, startPeer } from "../support/load.ts";
import { type BenchProperty, openProperty } from "../support/property.ts";

const PLAYERS = 5_000;
const PLAYS = Number(process.env.BENCH_PLAYS ?? 4_000);

/** S26: a play with its proof, stock, events and audit row, against the bare insert of the same play. */
export default async function bench(report: Report): Promise<void> {
  const bench = await openProperty(PLAYERS);
  const environment = { DATABASE_URL: bench.url, PROPERTY: bench.property };
  const [service, hono] = await Promise.all([
    startPeer("service", environment),
    startPeer("hono", environment),
  ]);
  try {
    // One game each: the bare insert keeps no count of a player's plays.
    const [own, peers] = [await openGame(bench, service), await openGame(bench, service)];
    const players = await bench.sql<{ id: string }[]>`
      select id from players where property_id = ${bench.property} order by id`;
    const ids = players.map(({ id }) => id);
    const rounds = await interleave({
      service: () => plays(bench, service, { game: own, ids, path: "/api/functions/play-game" }),
      hono: () => plays(bench, hono, { game: peers, ids, path: "/plays" }),
    });
    report(speedFigure("S26 play / bare insert of a play", rounds, ["service", "hono"], 0.3));
  } finally {
    await Promise.all([service.stop(), hono.stop()]);
    await bench.close();
  }
}

/** A wheel with a prize that has a stock, so that half of the plays take from it. */
async function openGame(bench: BenchProperty, service: Peer): Promise<string> {
  const post = async (path: string, body: object) => {
    const response = await fetch(`${service.url}/api/${path}`, {
      method: "POST",
      headers: { "X-Api-Key": bench.key, "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
    return (await response.json()) as { id: string };
  };
  const { id: game_id } = await post("games", {
    name: randomUUID(),
    type: "instant_win",
    draw: "independent",
  });
  const stocked = { label: "Ten", kind: "comp", value: 10, weight: 1, inventory_total: 1_000_000_000 };
  await post("game_prizes", { game_id, ...stocked });
  await post("game_prizes", { game_id, label: "None", kind: "no_prize", weight: 1 });
  await post("functions/activate-game", { gameId: game_id, propertyId: bench.property });
  return game_id;
}

let turn = 0;

/** Plays of many players in turn, and the check that each has left its row. */
async function plays(
  bench: BenchProperty,
  peer: Peer,
  { game, ids, path }: { game: string; ids: readonly string[]; path: string },
): Promise<Speed> {
  const count = async () => {
    const [row] =
      await bench.sql`select count(*)::int as plays from game_plays where property_id = ${bench.property}`;
    return row!.plays as number;
  };
  const before = await count();
  const speed = await load(peer, path, {
    amount: PLAYS,
    method: "POST",
    headers: { "X-Api-Key": bench.key, "Content-Type": "application/json" },
    requests: [
      {
        setupRequest: (request) => {
          turn += 1;
          const playerId = ids[turn % ids.length]!;
          const body = { gameId: game, playerId, propertyId: bench.property, clientSeed: `s${turn}` };
          return { ...request, body: JSON.stringify(body) };
        },
      },
    ],
  });
  const made = (await count()) - before;
  if (made !== PLAYS) throw new Error(`the control moved: ${PLAYS} plays by ${path} left ${made} rows`);
  return speed;
}
