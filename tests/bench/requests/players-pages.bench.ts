import { percentile } from "../../faults/support/fault.ts";
import type { Report } from "../support/figure.ts";
import { type Peer, startPeer } from "../support/load.ts";
import { type BenchProperty, openProperty } from "../support/property.ts";

const PLAYERS = Number(process.env.BENCH_ROWS ?? 1_000_000);
/** An address may ask for so many pages a minute that this is less. */
const ASKED = Number(process.env.BENCH_ASKED ?? 25);
const LIMIT_MS = 150;

/** S27: the pages that players see, of a property with 1,000,000 players who have a message each. BENCH_ROWS sizes it. */
export default async function bench(report: Report): Promise<void> {
  const bench = await openProperty(PLAYERS);
  const service = await startPeer("service", { DATABASE_URL: bench.url, PROPERTY: bench.property });
  try {
    await bench.sql`
      insert into inbox_messages (property_id, id, player_id, title, body)
      select property_id, uuid_v7(), id, 'Hello', 'Dinner is on us.' from players where property_id = ${bench.property}`;
    await bench.sql.unsafe("vacuum analyze inbox_messages");
    for (const [name, path] of Object.entries(await pagesOf(bench, service))) {
      const times: number[] = [];
      for (let turn = 0; turn < ASKED; turn += 1) times.push(await timed(service, path));
      const p99 = percentile(times, 99);
      report({
        name: `S27 ${name}, p99 ms / limit`,
        ours: p99,
        peer: LIMIT_MS,
        ratio: p99 / LIMIT_MS,
        goal: `<= ${LIMIT_MS} ms`,
        met: p99 <= LIMIT_MS,
      });
    }
  } finally {
    await service.stop();
    await bench.close();
  }
}

async function timed(service: Peer, path: string): Promise<number> {
  const startedAt = performance.now();
  const response = await fetch(service.url + path);
  const text = await response.text();
  const took = performance.now() - startedAt;
  if (!response.ok || !text.includes("</html>"))
    throw new Error(`the control moved: ${path}: ${response.status}`);
  return took;
}

/** The paths of the pages of a player in the middle of the property. */
async function pagesOf(bench: BenchProperty, service: Peer): Promise<Record<string, string>> {
  const post = async (path: string, body: object) => {
    const response = await fetch(`${service.url}/api/${path}`, {
      method: "POST",
      headers: { "X-Api-Key": bench.key, "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
    // biome-ignore lint/suspicious/noExplicitAny: each answer has its own shape
    return (await response.json()) as any;
  };
  const [player] = await bench.sql<{ id: string; message: string }[]>`
    select p.id, m.id as message from players p join inbox_messages m on m.property_id = p.property_id and m.player_id = p.id
    where p.property_id = ${bench.property} and p.player_id = ${`P-${Math.ceil(PLAYERS / 2)}`}`;
  const { id: game_id } = await post("games", { name: "Box", type: "mystery_box" });
  await post("game_prizes", { game_id, label: "Ten", kind: "comp", value: 10, weight: 1 });
  await post("game_prizes", { game_id, label: "None", kind: "no_prize", weight: 1 });
  await post("functions/activate-game", { gameId: game_id, propertyId: bench.property });
  const played = { gameId: game_id, playerId: player!.id, propertyId: bench.property };
  const { play_id } = await post("functions/play-game", played);
  const linkTo = async (to: string) =>
    new URL((await post("functions/create-player-link", { playerId: player!.id, to })).url).pathname;
  const [inbox, games] = [await linkTo("inbox"), await linkTo("game")];
  return {
    "the inbox": inbox,
    "a message": `${inbox}/${player!.message}`,
    "the games": games,
    "a game": `${games}/${game_id}`,
    "a play": `${games}/${game_id}/plays/${play_id}`,
    "a play's proof": `${games}/${game_id}/plays/${play_id}/proof`,
    "a game's rules": `${games}/${game_id}/rules`,
    "the preferences": await linkTo("preferences"),
    notifications: await linkTo("push"),
  };
}
