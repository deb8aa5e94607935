import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { lockWaits } from "../../support/postgres/blocking.ts";
import { startService, type TestService } from "../../support/service.ts";
import { type Arcade, arcade, HALF, SURE } from "./arcade.ts";

let service: TestService;
let place: Arcade;
beforeAll(async () => {
  service = await startService({ role: "web" });
  place = await arcade(service);
});
afterAll(() => service?.stop());

const isoIn = (ms: number) => new Date(Date.now() + ms).toISOString();
const DAY = 86_400_000;
/** The codes of the refused plays, each once. */
const refusals = (plays: PromiseSettledResult<unknown>[]) => [
  ...new Set(plays.flatMap((play) => (play.status === "rejected" ? [play.reason.code] : []))),
];

describe("a play", () => {
  test("answers its prize with the proof, and keeps the commitment that was shown before", async () => {
    const game = await place.game(HALF);
    const player = await place.player();
    const before = await place.check(game, player);
    expect(before).toMatchObject({ allowed: true, nonce: 1, plays_remaining: null });
    const first = await place.play(game, player, { clientSeed: "mine" });
    expect(first.proof).toMatchObject({
      model: "independent",
      seed_hash: before.next_seed_hash,
      client_seed: "mine",
      nonce: 1,
      denominator: 2,
    });
    const second = await place.play(game, player);
    expect(second.proof.seed_hash).toBe(first.proof.next_seed_hash);
    expect(await place.verify(first.play_id)).toMatchObject({
      valid: true,
      proof: first.proof,
      master_seed: null,
    });
  });

  test("is the same one by ids in capitals: its seed was committed, and its proof holds", async () => {
    const game = await place.game(SURE);
    const player = await place.player();
    const [loudGame, loudPlayer] = [game.toUpperCase(), player.toUpperCase()];
    const before = await place.check(loudGame, loudPlayer);
    const { play_id, proof } = await place.play(loudGame, loudPlayer);
    expect(proof.seed_hash).toBe(before.next_seed_hash);
    expect(await place.verify(play_id)).toMatchObject({ valid: true });
    const claim = await place.claim(play_id.toUpperCase(), loudPlayer);
    expect(claim.redemption_code).toMatch(/^\w{4}-/);
  });

  test("is refused where somebody has changed its row", async () => {
    const game = await place.game(HALF);
    const { play_id } = await place.play(game, await place.player());
    await place.query(
      (sql) => sql`
        update game_plays set roll = 1 - roll where property_id = ${place.id} and id = ${play_id}`,
    );
    expect(await place.verify(play_id)).toMatchObject({
      valid: false,
      checks: { master_seed: true, play_seed: true, number: false },
    });
  });

  test("of the same Idempotency-Key has the same prize, also when ten arrive at once", async () => {
    const { id: propertyId, key } = await service.newTenant();
    const own = await arcade(service, {});
    const headers = { "X-Api-Key": key };
    const post = (path: string, body: object, more = {}) =>
      service.post(`/api/${path}`, body, { ...headers, ...more });
    const game = (await post("games", { name: "Wheel", type: "instant_win", draw: "independent" })).body.id;
    for (const label of ["A", "B", "C", "D"]) {
      await post("game_prizes", { game_id: game, label, kind: "comp", weight: 1 });
    }
    await post("functions/activate-game", { gameId: game, propertyId });
    const player = (await post("players", { player_id: "P1" })).body.id;
    const once = { "Idempotency-Key": randomUUID() };
    const answers = await Promise.all(
      Array.from({ length: 10 }, () =>
        post("functions/play-game", { gameId: game, playerId: player, propertyId }, once),
      ),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(own.id).not.toBe(propertyId);
    const plays = await post("functions/game-report", { gameId: game, propertyId });
    expect(plays.body).toMatchObject({ plays: 1, players: 1, wins: 1 });
  });

  test("emits its events in its own transaction", async () => {
    await place.call("create_webhook_endpoint", { url: "https://example.com/hook", events: ["game.*"] });
    const game = await place.game([{ label: "Last", value: 5, inventory_total: 1 }]);
    const { play_id } = await place.play(game, await place.player());
    const events = await place.query(
      (sql) => sql<{ type: string; data: { object: Record<string, unknown> } }[]>`
        select type, data from outbox where property_id = ${place.id} and type like 'game.%' order by type`,
    );
    expect(events.map(({ type }) => type)).toEqual([
      "game.activated",
      "game.created",
      "game.played",
      "game.prize_depleted",
      "game.prize_won",
    ]);
    expect(events[4]!.data.object).toMatchObject({ id: play_id, label: "Last", value: 5 });
  });
});

describe("limits", () => {
  test("of a player, a day, a pause and a game each stop the next play", async () => {
    const player = await place.player();
    const total = await place.game(HALF, { play_limits: { per_player_total: 2 } });
    expect((await place.play(total, player)).plays_remaining).toBe(1);
    expect((await place.play(total, player)).plays_remaining).toBe(0);
    await expect(place.play(total, player)).rejects.toMatchObject({
      code: "play_limit_reached",
      status: 409,
    });
    const daily = await place.game(HALF, { play_limits: { per_player_per_day: 1 } });
    await place.play(daily, player);
    await expect(place.play(daily, player)).rejects.toMatchObject({ code: "play_limit_reached" });
    await place.query(
      (sql) => sql`
        update game_standings set day = day - 1 where property_id = ${place.id} and game_id = ${daily}`,
    );
    await place.play(daily, player);
    const pausing = await place.game(HALF, { play_limits: { cooldown_seconds: 60 } });
    await place.play(pausing, player);
    await expect(place.play(pausing, player)).rejects.toMatchObject({ code: "play_limit_reached" });
    const few = await place.game(HALF, { play_limits: { game_total: 1 } });
    await place.play(few, player);
    await expect(place.play(few, await place.player())).rejects.toMatchObject({ code: "game_not_active" });
  });

  test("of a day are those of the game's own zone", async () => {
    const player = await place.player();
    const zone = "Pacific/Kiritimati";
    const game = await place.game(HALF, { play_limits: { per_player_per_day: 1 }, reset_timezone: zone });
    await place.play(game, player);
    const [stood] = await place.query(
      (sql) => sql`
        select day = (last_played_at at time zone ${zone})::date as zoned from game_standings
        where property_id = ${place.id} and game_id = ${game}`,
    );
    expect(stood).toEqual({ zoned: true });
    await expect(place.play(game, player)).rejects.toMatchObject({ code: "play_limit_reached" });
    await place.query(
      (sql) =>
        sql`update game_standings set day = day - 1 where property_id = ${place.id} and game_id = ${game}`,
    );
    await place.play(game, player);
  });

  test("count a voided play no more: of the player, of the day, and of the prize", async () => {
    const player = await place.player();
    const game = await place.game(
      [{ label: "Ten", value: 10, inventory_total: 9, daily_limit: 1, per_player_limit: 1 }],
      { play_limits: { per_player_total: 1, per_player_per_day: 1 } },
    );
    const { play_id, outcome } = await place.play(game, player);
    expect(outcome).toBe("win");
    await expect(place.play(game, player)).rejects.toMatchObject({ code: "play_limit_reached" });
    await place.call("void_game_play", { playId: play_id, propertyId: place.id, reason: "An error" });
    expect(await place.play(game, player)).toMatchObject({ outcome: "win", plays_remaining: 0 });
    const [prize] = await place.call("list_game_prizes", { filters: { "game_id.eq": game } });
    expect(prize.inventory_remaining).toBe(8);
  });

  test("count both a play and the voiding of another one at the same moment", async () => {
    const player = await place.player();
    const game = await place.game([{ label: "Ten", value: 10 }], { play_limits: { per_player_total: 100 } });
    for (let round = 0; round < 12; round += 1) {
      const { play_id } = await place.play(game, player);
      await Promise.all([
        place.call("void_game_play", { playId: play_id, propertyId: place.id, reason: "An error" }),
        place.play(game, player),
      ]);
    }
    const next = { gameId: game, playerId: player, propertyId: place.id };
    expect(await place.call("check_game_play", next)).toMatchObject({ nonce: 25, plays_remaining: 88 });
  });

  test("hold where twenty plays of one player come at once", async () => {
    const player = await place.player();
    const game = await place.game(HALF, { play_limits: { per_player_total: 3 } });
    const plays = await Promise.allSettled(Array.from({ length: 20 }, () => place.play(game, player)));
    expect(plays.filter(({ status }) => status === "fulfilled")).toHaveLength(3);
    expect(refusals(plays)).toEqual(["play_limit_reached"]);
  });

  test("are those of a game that runs", async () => {
    const player = await place.player();
    const draft = await place.draft(HALF);
    const early = await place.game(HALF, { starts_at: isoIn(DAY) });
    const paused = await place.game(HALF);
    await place.on("pause_game", paused);
    for (const game of [draft, early, paused]) {
      await expect(place.play(game, player)).rejects.toMatchObject({ code: "game_not_active", status: 409 });
    }
    await place.on("resume_game", paused);
    await place.play(paused, player);
  });
});

describe("tickets", () => {
  test("are one play each, and a race for the last one has one winner", async () => {
    const player = await place.player();
    const game = await place.game(HALF, { cost: { type: "ticket" }, own_free_entry: true });
    await expect(place.play(game, player)).rejects.toMatchObject({ code: "play_limit_reached" });
    expect(await place.grant(game, [player])).toMatchObject({ granted: 1, left_out: 0 });
    expect(await place.grant(game, [player])).toMatchObject({ granted: 0, left_out: 1 });
    const plays = await Promise.allSettled(Array.from({ length: 8 }, () => place.play(game, player)));
    expect(plays.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(refusals(plays)).toEqual(["play_limit_reached"]);
    const [ticket] = await place.call("list_game_tickets", { filters: { "game_id.eq": game } });
    expect(ticket.used_play_id).not.toBeNull();
  });

  test("of a free game are plays beyond its limits", async () => {
    const player = await place.player();
    const game = await place.game(HALF, { play_limits: { per_player_per_day: 1 } });
    await place.grant(game, [player]);
    expect((await place.play(game, player)).plays_remaining).toBe(1);
    expect((await place.play(game, player)).plays_remaining).toBe(0);
    await expect(place.play(game, player)).rejects.toMatchObject({ code: "play_limit_reached" });
  });

  test("of the free entry come once a day, and their plays are counted apart", async () => {
    const player = await place.player();
    const game = await place.game(HALF, { cost: { type: "credit", amount: 5 }, own_free_entry: true });
    const enter = () => place.on("enter_game_free", game, { playerId: player });
    expect(await enter()).toMatchObject({ granted: true });
    expect(await enter()).toMatchObject({ granted: false });
    await place.play(game, player);
    await place.grant(game, [player]);
    await place.play(game, player);
    const { by_entry, tickets } = await place.on("game_report", game);
    expect(by_entry).toMatchObject({ free_entry: { plays: 1 }, manual: { plays: 1 } });
    expect(tickets).toEqual({ granted: 2, used: 2 });
  });

  test("are won too: a free play gives one at once", async () => {
    const player = await place.player();
    const game = await place.game([{ label: "Again", kind: "free_play" }], {
      play_limits: { per_player_total: 1 },
    });
    expect(await place.play(game, player)).toMatchObject({
      prize: { kind: "free_play" },
      plays_remaining: 1,
    });
    expect(await place.play(game, player)).toMatchObject({ plays_remaining: 1 });
  });
});

describe("a player who is barred", () => {
  const young = new Date(Date.now() - 20 * 365 * DAY).toISOString().slice(0, 10);

  test.each<[string, object]>([
    ["underage", { birth_date: young }],
    ["void_in_state", { state: "FL", country: "US" }],
    ["not_in_segment", { tier: "Silver" }],
  ])("by %s plays nothing", async (reason, fields) => {
    const segment = await place.call("create_segment", {
      name: randomUUID(),
      conditions: [{ field: "tier", operator: "neq", value: "Silver" }],
    });
    const game = await place.game(HALF, { void_in: ["FL"], segment_id: segment.id });
    const player = await place.player(fields);
    await expect(place.play(game, player)).rejects.toMatchObject({
      code: "not_eligible",
      status: 403,
      details: [{ message: reason }],
    });
    expect(await place.check(game, player)).toMatchObject({ allowed: false, code: "not_eligible" });
    await place.play(game, await place.player({ state: "NV", country: "US", tier: "Gold" }));
  });

  test("by a self-exclusion has no way in at all: no play, ticket, free entry, claim or prize", async () => {
    const email = `${randomUUID()}@example.com`;
    const player = await place.player({ email });
    const game = await place.game(SURE, { own_free_entry: true });
    const plays = [await place.play(game, player), await place.play(game, player)];
    const { redemption_code } = await place.claim(plays[0].play_id, player);
    await place.call("create_self_exclusion", { player_id: player, program: "state", jurisdiction: "US-NV" });
    const refused = { code: "not_eligible" };
    await expect(place.play(game, player)).rejects.toMatchObject(refused);
    await expect(place.on("enter_game_free", game, { playerId: player })).rejects.toMatchObject(refused);
    expect(await place.grant(game, [player])).toMatchObject({ granted: 0 });
    await expect(place.claim(plays[1].play_id, player)).rejects.toMatchObject(refused);
    await expect(place.redeem(redemption_code)).rejects.toMatchObject(refused);
  });

  test.each(["banned", "deceased"])("by the status %s plays nothing", async (status) => {
    const player = await place.player();
    const game = await place.game(SURE);
    await place.query(
      (sql) => sql`update players set status = ${status} where property_id = ${place.id} and id = ${player}`,
    );
    await expect(place.play(game, player)).rejects.toMatchObject({ code: "not_eligible" });
  });
});

describe("stock", () => {
  test("of one prize has one winner among 40 at once", async () => {
    const ids = await Promise.all(Array.from({ length: 40 }, () => place.player()));
    const game = await place.game([{ label: "Car", value: 100, inventory_total: 1 }]);
    const plays = await Promise.all(ids.map((id) => place.play(game, id)));
    expect(plays.filter(({ outcome }) => outcome === "win")).toHaveLength(1);
    const [prize] = await place.call("list_game_prizes", { filters: { "game_id.eq": game } });
    expect(prize.inventory_remaining).toBe(0);
    expect(await place.on("game_report", game)).toMatchObject({
      plays: 40,
      wins: 1,
      prizes: [{ drawn: 40, won: 1 }],
    });
  });

  test("that is gone leaves the others their odds, or is shared out", async () => {
    const prizes = [
      { label: "Rare", weight: 2_000_000_000, inventory_total: 1 },
      { label: "Common", weight: 1 },
    ];
    const player = await place.player();
    const strict = await place.game(prizes);
    const shared = await place.game(prizes, { out_of_stock: "redistribute" });
    for (const game of [strict, shared]) expect((await place.play(game, player)).prize.label).toBe("Rare");
    expect(await place.play(strict, player)).toMatchObject({ outcome: "lose", prize: null });
    const other = await place.play(shared, player);
    expect(other).toMatchObject({ outcome: "win", prize: { label: "Common" } });
    expect(await place.verify(other.play_id)).toMatchObject({ valid: true });
  });

  test.each([2, 4])("of a day stays with %i left where a play of the day before comes late", async (left) => {
    const game = await place.game([{ label: "Ten", value: 10, daily_limit: 5 }]);
    await place.query(
      (sql) => sql`
        update game_prizes set won_on = (now() at time zone 'UTC')::date + 2, won_today = ${5 - left}
        where property_id = ${place.id} and game_id = ${game}`,
    );
    const outcomes = [];
    for (let n = 0; n < left + 2; n += 1)
      outcomes.push((await place.play(game, await place.player())).outcome);
    expect(outcomes.filter((outcome) => outcome === "win")).toHaveLength(left);
  });

  test.each([1, 5])(
    "of a day is taken anew by a play that comes after midnight, with %i left",
    async (left) => {
      const prize = { label: "Ten", value: 10, daily_limit: left + 1 };
      const game = await place.game([prize], { reset_timezone: "UTC" });
      const player = await place.player();
      const admin = postgres(service.database.url, { max: 2, onnotice: () => {} });
      const won = (sql: postgres.ISql, days: number) => sql`
      update game_prizes set won_on = (now() at time zone 'UTC')::date + ${days}::int, won_today = 1
      where game_id = ${game}`;
      await won(admin, 0);
      const ready = Promise.withResolvers<void>();
      const release = Promise.withResolvers<void>();
      // A win of a later day, which is stored first.
      const winning = admin.begin(async (sql) => {
        await won(sql, 2);
        ready.resolve();
        await release.promise;
      });
      await ready.promise;
      const playing = place.play(game, player);
      await lockWaits(admin, 1);
      const [clock] = await admin`select clock_timestamp() as midnight`;
      release.resolve();
      await winning;
      expect(await playing).toMatchObject({ outcome: "win" });
      const [played] = await admin`
      select p.won_today, s.last_played_at > ${clock!.midnight} as after_midnight
      from game_prizes p join game_standings s using (property_id, game_id) where p.game_id = ${game} and p.won_on is not null`;
      expect(played).toEqual({ won_today: 2, after_midnight: true });
      await admin.end();
    },
  );

  test("of a player and of a day is not exceeded by a race", async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, () => place.player()));
    const game = await place.game([{ label: "Ten", value: 10, daily_limit: 3, per_player_limit: 1 }]);
    const plays = await Promise.all(ids.flatMap((id) => [place.play(game, id), place.play(game, id)]));
    expect(plays.filter(({ outcome }) => outcome === "win")).toHaveLength(3);
  });
});

test("stock and limits are exact where 60 plays of 20 players share transactions, some of them refused", async () => {
  const ids = await Promise.all(Array.from({ length: 20 }, () => place.player()));
  const game = await place.game(
    [
      { label: "A", value: 1, inventory_total: 15 },
      { label: "B", value: 2, inventory_total: 15, daily_limit: 7 },
    ],
    { play_limits: { per_player_total: 2 } },
  );
  const plays = await Promise.allSettled(
    Array.from({ length: 60 }, (_, index) => place.play(game, ids[index % 20]!)),
  );
  expect(plays.filter(({ status }) => status === "fulfilled")).toHaveLength(40);
  expect(refusals(plays)).toEqual(["play_limit_reached"]);
  const { prizes, wins } = await place.on("game_report", game);
  const [a, b] = prizes;
  expect(a.inventory_remaining).toBe(15 - a.won);
  expect(b.inventory_remaining).toBe(15 - b.won);
  expect(a.won).toBe(Math.min(a.drawn, 15));
  expect(b.won).toBe(Math.min(b.drawn, 7));
  expect(wins).toBe(a.won + b.won);
  const nonces = await place.query(
    (sql) => sql`
      select nonce, count(*)::int as plays from game_plays where property_id = ${place.id} and game_id = ${game}
      group by 1 order by 1`,
  );
  expect(nonces).toEqual([
    { nonce: 1, plays: 20 },
    { nonce: 2, plays: 20 },
  ]);
});

describe("a deck", () => {
  test("gives each ticket once, and exactly the prizes that it has", async () => {
    const ids = await Promise.all(Array.from({ length: 12 }, () => place.player()));
    const game = await place.game(
      [
        { label: "Big", value: 100, weight: 1 },
        { label: "Small", value: 5, weight: 3 },
        { label: "None", kind: "no_prize", weight: 8 },
      ],
      { type: "scratch_card", draw: "deck" },
    );
    const plays = await Promise.all(ids.map((id) => place.play(game, id)));
    const wins = plays.flatMap(({ prize }) => prize?.label ?? []).sort();
    expect(wins).toEqual(["Big", "Small", "Small", "Small"]);
    expect(new Set(plays.map(({ proof }) => proof.number)).size).toBe(12);
    await expect(place.play(game, ids[0]!)).rejects.toMatchObject({ code: "game_not_active" });
    for (const { play_id } of plays) expect(await place.verify(play_id)).toMatchObject({ valid: true });
  });
});
