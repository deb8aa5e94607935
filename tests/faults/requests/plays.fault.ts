import { randomUUID } from "node:crypto";
import { type Answer, must, send } from "../support/calls.ts";
import { type Fault, type Outcome, problemsOf, until } from "../support/fault.ts";
import { openPair, type Pair } from "../support/installation.ts";
import { openScenario } from "../support/scenario.ts";

const PLAYERS = 200;

/** A game: its stock of the one prize, and how many clients play at once. */
interface Run {
  stock: number;
  weights: { prize: number; none: number };
  clients: number;
  /** The share of plays that are answered before the kill. */
  at: number;
}

const fault: Fault = async (report, { rounds }) => {
  for (let round = 0; round < rounds; round++) {
    const at = 0.1 + 0.6 * Math.random();
    const often = { stock: 30, weights: { prize: 1, none: 1 }, clients: 10, at };
    report("kill -9 in plays", await killedPlays(often));
    const last = { stock: 1, weights: { prize: 1, none: 0 }, clients: PLAYERS, at: 0.1 };
    report("kill -9 in 200 plays at once for the last prize", await killedPlays(last));
  }
};
export default fault;

/** Each player plays once over two services, of which one is killed; then every request is made once more. */
async function killedPlays(run: Run): Promise<Outcome> {
  const pair = await openPair();
  const scenario = await openScenario(pair.url);
  try {
    await scenario.crowd(PLAYERS);
    const players = await scenario.sql<{ id: string }[]>`
      select id from players where property_id = ${scenario.id} order by id`;
    const game = await activeGame(pair, scenario, run);
    const requests = players.map(({ id }) => ({ player: id, key: randomUUID() }));
    const first = await playWhileKilled(pair, scenario.key, { game, requests, run });
    const retried = new Map<string, Answer>();
    for (const request of requests) {
      retried.set(request.key, await play(pair.second, scenario.key, game, request));
    }
    const plays = await scenario.sql<{ player_id: string; outcome: string }[]>`
      select player_id, outcome from game_plays where property_id = ${scenario.id} and game_id = ${game}`;
    const wins = plays.filter(({ outcome }) => outcome === "win").length;
    const [prize] = await scenario.sql<{ left: number }[]>`
      select inventory_remaining as left from game_prizes
      where property_id = ${scenario.id} and game_id = ${game} and inventory_total is not null`;
    const answered = [...first].filter(([, { status }]) => status === 200);
    const changed = answered.filter(([key, { body }]) => prizeOf(retried.get(key)!.body) !== prizeOf(body));
    const refused = [...retried.values()].filter(({ status }) => status !== 200);
    return {
      about: `${answered.length} of ${PLAYERS} answered before the kill, ${wins} wins of ${run.stock} prizes`,
      ledger: {
        lost: PLAYERS - new Set(plays.map((row) => row.player_id)).size,
        doubled:
          plays.length - new Set(plays.map((row) => row.player_id)).size + Math.max(0, wins - run.stock),
        foreign: await scenario.foreign(),
      },
      problems: problemsOf({
        "it was over before it was killed": answered.length === PLAYERS,
        [`${changed.length} retries have another prize`]: changed.length > 0,
        [`${refused.length} retries were refused`]: refused.length > 0,
        [`${prize!.left} prizes are left of ${run.stock}, and ${wins} were won`]:
          prize!.left !== run.stock - wins,
        [`${wins} wins of the last prize`]: run.weights.none === 0 && wins !== run.stock,
      }),
    };
  } finally {
    await scenario.close();
    await pair.close();
  }
}

const prizeOf = (body: { play_id: string; prize: { id: string } | null }) =>
  `${body.play_id} ${body.prize?.id ?? "none"}`;

async function activeGame(
  { second }: Pair,
  { id, key }: { id: string; key: string },
  run: Run,
): Promise<string> {
  const post = (path: string, body: object) => must(second, key, "POST", `/api/${path}`, { body });
  const game = (
    await post("games", {
      name: "Cars",
      type: "instant_win",
      draw: "independent",
      play_limits: { per_player_total: 1 },
    })
  ).body.id as string;
  const prize = { game_id: game, label: "Car", kind: "comp", value: 10, inventory_total: run.stock };
  await post("game_prizes", { ...prize, weight: run.weights.prize });
  if (run.weights.none > 0) {
    await post("game_prizes", { game_id: game, label: "None", kind: "no_prize", weight: run.weights.none });
  }
  await post("functions/activate-game", { gameId: game, propertyId: id });
  return game;
}

interface Request {
  player: string;
  key: string;
}

function play(to: Pair["first"], key: string, gameId: string, request: Request): Promise<Answer> {
  const body = { gameId, playerId: request.player };
  const headers = { "Idempotency-Key": request.key };
  return send(to, key, "POST", "/api/functions/play-game", { body, headers });
}

/** The answers by the requests' keys. The second service gets every second request. */
async function playWhileKilled(
  { first, second }: Pair,
  key: string,
  { game, requests, run }: { game: string; requests: Request[]; run: Run },
): Promise<Map<string, Answer>> {
  const answers = new Map<string, Answer>();
  const waiting = requests.map((request, index) => ({ request, to: index % 2 === 0 ? first : second }));
  const clients = Array.from({ length: run.clients }, async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const answer = await play(next.to, key, game, next.request).catch(() => null);
      if (answer) answers.set(next.request.key, answer);
    }
  });
  await until("the plays' progress", 60_000, () => answers.size >= PLAYERS * run.at);
  await first.kill();
  await Promise.all(clients);
  return answers;
}
