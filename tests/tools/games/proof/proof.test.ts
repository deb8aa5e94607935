import { execFile } from "node:child_process";
import { createHash, randomBytes, randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { deckOf } from "#tools/games/draw/deck.ts";
import { numberBelow } from "#tools/games/draw/number.ts";
import { playSeed } from "#tools/games/draw/seeds.ts";
import { isFull } from "../../../support/proof-size.ts";
import { startService, type TestService } from "../../../support/service.ts";
import { type Arcade, arcade } from "../arcade.ts";
import { chance } from "./chi-square.ts";

const SCRIPT = fileURLToPath(new URL("recompute.py", import.meta.url));

/** The answers of the Python script, which shares no line with the service. */
function recomputed(asks: object[]): Promise<Record<string, unknown>[]> {
  return new Promise((resolve, reject) => {
    const python = execFile("python3", [SCRIPT], { maxBuffer: 1 << 26 }, (error, out) => {
      if (error) reject(error);
      else
        resolve(
          out
            .trim()
            .split("\n")
            .map((line) => JSON.parse(line)),
        );
    });
    python.stdin!.end(asks.map((ask) => `${JSON.stringify(ask)}\n`).join(""));
  });
}

const SEED = createHash("sha256").update("games").digest();

describe("draws", () => {
  const NUMBERS = isFull ? 50_000 : 10_000;
  /** Of each model. */
  const PLAYS = isFull ? 10_000_000 : 10_000;
  /** 10,000,000 draws take some minutes. */
  const LONG_MS = isFull ? 1_200_000 : 30_000;

  test("of many numbers are each equally likely below 2, 7, 1000, and in full 65537", () => {
    for (const limit of isFull ? [2, 7, 1000, 65_537] : [2, 7, 1000]) {
      const counts = new Uint32Array(limit);
      const draws = limit * Math.ceil(NUMBERS / limit);
      for (let n = 0; n < draws; n += 1) counts[numberBelow(SEED, `chi:${n}`, limit)]! += 1;
      const p = chance(counts, () => draws / limit);
      expect(p, `below ${limit}`).toBeGreaterThan(0.001);
      expect(p, `below ${limit}`).toBeLessThan(0.999);
    }
  });

  test("of a biased number would be seen by the same test", () => {
    const counts = new Uint32Array(1000);
    for (let n = 0; n < NUMBERS; n += 1) counts[numberBelow(SEED, `bias:${n}`, 1024) % 1000]! += 1;
    expect(chance(counts, () => NUMBERS / 1000)).toBeLessThan(0.001);
  });

  test(
    "of plays are equally likely, and those that Python computes",
    async () => {
      const id = "00000000-0000-7000-8000-000000000000";
      const about = { game: id, player: id, limit: 1000, plays: PLAYS };
      const master = SEED;
      const asked = recomputed([{ model: "many plays", master: master.toString("hex"), ...about }]);
      const counts = new Uint32Array(about.limit);
      const drawn = new Uint32Array(PLAYS);
      for (let n = 1; n <= PLAYS; n += 1) {
        const seed = playSeed(master, { gameId: about.game, playerId: about.player, n });
        const number = numberBelow(seed, `word:${n}`, about.limit);
        drawn[n - 1] = number;
        counts[number]! += 1;
      }
      const p = chance(counts, () => PLAYS / about.limit);
      if (isFull) console.info(`${PLAYS} plays: p = ${p.toFixed(3)}`);
      expect(p).toBeGreaterThan(0.001);
      expect((await asked)[0]).toEqual({ digest: createHash("sha256").update(drawn).digest("hex") });
    },
    LONG_MS,
  );

  test(
    "of a deck put each of 10 tickets at each place equally often, as Python does",
    async () => {
      const game = "00000000-0000-7000-8000-000000000000";
      const odds = {
        denominator: 10,
        prizes: Array.from({ length: 10 }, () => ({ prize_id: game, weight: 1 })),
      };
      const decks = PLAYS / 10;
      const asked = recomputed([{ model: "many decks", game, decks }]);
      const places = new Uint32Array(100);
      const drawn = new Uint32Array(PLAYS);
      for (let n = 0; n < decks; n += 1) {
        const master = createHash("sha256").update(`deck ${n}`).digest();
        for (const [place, ticket] of deckOf(master, game, odds).entries()) {
          places[place * 10 + ticket]! += 1;
          drawn[n * 10 + place] = ticket;
        }
      }
      const p = chance(places, () => decks / 10);
      if (isFull) console.info(`${PLAYS} tickets: p = ${p.toFixed(3)}`);
      expect(p).toBeGreaterThan(0.001);
      expect((await asked)[0]).toEqual({ digest: createHash("sha256").update(drawn).digest("hex") });
    },
    LONG_MS,
  );

  test("of many random plays are those that Python computes", async () => {
    const asks = Array.from({ length: isFull ? 1_000 : 200 }, (_, n) => ({
      model: "independent",
      master: randomBytes(32).toString("hex"),
      game: randomUUID(),
      player: randomUUID(),
      n: n + 1,
      client: randomBytes(4).toString("hex"),
      limit: 1 + (randomBytes(4).readUInt32BE() % 2_000_000_000),
    }));
    const answers = await recomputed(asks);
    for (const [index, { master, game, player, n, client, limit }] of asks.entries()) {
      const seed = playSeed(Buffer.from(master, "hex"), { gameId: game, playerId: player, n });
      expect(answers[index]).toEqual({
        seed: seed.toString("hex"),
        hash: createHash("sha256").update(seed).digest("hex"),
        number: numberBelow(seed, `${client}:${n}`, limit),
      });
    }
  });

  test("of a deck of 10,000 tickets are those that Python shuffles", async () => {
    const master = randomBytes(32);
    const game = randomUUID();
    const weights = [1, 9, 90, 900, 9_000];
    const prizes = weights.map((weight) => ({ prize_id: randomUUID(), weight }));
    const [answer] = await recomputed([{ model: "deck", master: master.toString("hex"), game, weights }]);
    expect(answer!.deck).toEqual([...deckOf(master, game, { denominator: 10_000, prizes })]);
  });
});

describe("an ended game", () => {
  let service: TestService;
  let place: Arcade;
  beforeAll(async () => {
    service = await startService({ role: "web" });
    place = await arcade(service);
  });
  afterAll(() => service?.stop());

  test("reveals the master seed, by which anybody recomputes its plays and its deck", async () => {
    const prizes = [
      { label: "Big", value: 100, weight: 2 },
      { label: "None", kind: "no_prize", weight: 18 },
    ];
    const wheel = await place.game(prizes);
    const card = await place.game(prizes, { draw: "deck", type: "scratch_card" });
    const player = await place.player();
    const plays = [];
    for (let n = 0; n < 5; n += 1) plays.push(await place.play(wheel, player));
    const tickets = [];
    for (let n = 0; n < 20; n += 1) tickets.push(await place.play(card, player));
    for (const game of [wheel, card]) {
      expect((await place.call("get_game", { id: game })).master_seed).toBeNull();
      await place.on("end_game", game);
    }
    const ended = await place.call("get_game", { id: wheel });
    expect(createHash("sha256").update(Buffer.from(ended.master_seed, "hex")).digest("hex")).toBe(
      ended.server_seed_hash,
    );
    const answers = await recomputed(
      plays.map(({ proof }) => ({
        model: "independent",
        master: ended.master_seed,
        game: wheel,
        player,
        n: proof.nonce,
        client: proof.client_seed,
        limit: proof.denominator,
      })),
    );
    expect(answers).toEqual(
      plays.map(({ proof }) => ({ seed: proof.seed, hash: proof.seed_hash, number: proof.number })),
    );
    const deck = await place.call("get_game", { id: card });
    const [shuffled] = await recomputed([
      { model: "deck", master: deck.master_seed, game: card, weights: [2, 18] },
    ]);
    expect(shuffled!.hash).toBe(deck.server_seed_hash);
    expect((shuffled!.deck as number[]).map((prize) => (prize === 0 ? "win" : "lose"))).toEqual(
      tickets.map(({ outcome }) => outcome),
    );
    await expect(place.play(wheel, player)).rejects.toMatchObject({ code: "game_not_active" });
  });

  test("shows its master seed in no dry run and nowhere before its end", async () => {
    const game = await place.game([{ label: "Ten", value: 10 }]);
    const { play_id } = await place.play(game, await place.player());
    const tried = await place.on("end_game", game, { dry_run: true });
    expect(tried).toMatchObject({ dry_run: true });
    await place.on("end_game", game);
    const { master_seed } = await place.call("get_game", { id: game });
    expect(JSON.stringify(tried)).not.toContain(master_seed);
    const stored = await place.query(
      (sql) =>
        sql<
          { master: string }[]
        >`select master from game_seeds where property_id = ${place.id} and game_id = ${game}`,
    );
    expect(stored[0]!.master).toMatch(/^sealed:1:/);
    const audit = JSON.stringify(await place.call("list_audit_logs", { limit: 500 }));
    expect(audit).not.toContain(master_seed);
    expect(audit).toContain((await place.call("get_game", { id: game })).server_seed_hash);
    expect(await place.verify(play_id)).toMatchObject({ valid: true, master_seed });
  });
});
