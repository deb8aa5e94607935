import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CATALOG } from "#tools/catalog.ts";
import { onceOverMcp } from "../../support/operation-calls.ts";
import { lockWaits, openTransaction } from "../../support/postgres/blocking.ts";
import { startService, type TestService } from "../../support/service.ts";
import { type Arcade, arcade, SURE } from "./arcade.ts";

let service: TestService;
let place: Arcade;
beforeAll(async () => {
  service = await startService({ role: "web" });
  place = await arcade(service);
});
afterAll(() => service?.stop());

const CODE = /\b[2-9A-Z]{4}-[2-9A-Z]{4}-[2-9A-Z]{4}\b/;

const over = (playId: string) =>
  place.query(
    (sql) => sql`
      update game_plays set expires_at = now() - interval '1 minute'
      where property_id = ${place.id} and id = ${playId}`,
  );

async function won(prize: object = {}): Promise<{ game: string; player: string; play: string }> {
  const game = await place.game([{ ...SURE[0], ...prize }]);
  const player = await place.player();
  const { play_id: play } = await place.play(game, player);
  return { game, player, play };
}

describe("a claim", () => {
  test("shows its code to the winner alone, and the same one again", async () => {
    const { play, player } = await won();
    const other = await place.player();
    await expect(place.claim(play, other)).rejects.toMatchObject({ code: "not_found" });
    const first = await place.claim(play, player);
    expect(first).toMatchObject({
      play: { status: "claimed" },
      redemption_code: expect.stringMatching(CODE),
    });
    expect((await place.claim(play, player)).redemption_code).toBe(first.redemption_code);
  });

  test("gives an agent its code after a question, and a masked one no code at all", async () => {
    const { play: playId, player: playerId } = await won();
    const agentOf = async (more: object) => {
      const { api_key } = await service.call("create_api_key", { property_id: place.id, name: "a", ...more });
      const claim = CATALOG.operations.get("claim_game_prize")!;
      return async (input: Record<string, unknown> = {}) =>
        (await onceOverMcp(service, claim, { playId, playerId, ...input }, { "X-Api-Key": api_key })).data;
    };
    const [agent, masked] = [await agentOf({}), await agentOf({ pii_masked: true })];
    const asked = await agent();
    expect(asked.message).toMatch(
      /^Claim a prize: not done yet\.\nThis shows the code of the prize "Ten", worth 10 dollars, that the player "G\d+" has won in the game "Game \d+"\./,
    );
    const hidden = await masked();
    expect(hidden).toMatchObject({ play: { status: "claimed" }, redemption_code: null });
    const shown = await agent({ confirm_token: (await agent()).confirm_token });
    expect(shown.redemption_code).toMatch(CODE);
    for (const told of [asked, hidden, await masked()])
      expect(JSON.stringify(told)).not.toContain(shown.redemption_code);
  });

  test("that races itself has one code", async () => {
    const { play, player } = await won();
    const claims = await Promise.all(Array.from({ length: 8 }, () => place.claim(play, player)));
    expect(new Set(claims.map(({ redemption_code }) => redemption_code)).size).toBe(1);
  });

  test.each(["redeem", "void"] as const)("and its %s at once wait for one another", async (other) => {
    const { play, player } = await won();
    const { redemption_code } = await place.claim(play, player);
    const admin = postgres(service.database.url, { max: 2, onnotice: () => {} });
    let done: Promise<string> | undefined;
    // As a claim does it: the player, then the play.
    const release = await openTransaction(admin, async (sql) => {
      await sql`select from players where property_id = ${place.id} and id = ${player} for no key update`;
      const waiting =
        other === "redeem"
          ? place.redeem(redemption_code)
          : place.call("void_game_play", { playId: play, reason: "Wrong", propertyId: place.id });
      done = waiting.then(({ play: { status } }: { play: { status: string } }) => status);
      await lockWaits(admin, 1);
      await sql`select from game_plays where property_id = ${place.id} and id = ${play} for no key update`;
    });
    await release();
    expect(await done).toBe(other === "redeem" ? "redeemed" : "voided");
    await admin.end();
  });

  test("of a pool takes one of its codes each, and fails without a trace where none is left", async () => {
    const pool = await place.call("create_code_pool", { name: "Shows" });
    const codes = ["SHOW-A-1", "SHOW-A-2"];
    const add = () => place.call("add_prize_codes", { poolId: pool.id, codes, propertyId: place.id });
    expect(await add()).toMatchObject({ added: 2, known: 0, left: 2 });
    expect(await add()).toMatchObject({ added: 0, known: 2 });
    // A desk takes blanks and dashes for nothing: such a code would be no code.
    await expect(
      place.call("add_prize_codes", { poolId: pool.id, codes: ["A- - -B"], propertyId: place.id }),
    ).rejects.toThrow("at least 4 characters beside blanks and dashes");
    const game = await place.game([{ label: "Show", value: 40, code_pool_id: pool.id }]);
    const player = await place.player();
    const plays = [];
    for (let n = 0; n < 3; n += 1) plays.push((await place.play(game, player)).play_id);
    const claims = await Promise.allSettled(plays.map((id) => place.claim(id, player)));
    const given = claims.flatMap((one) => (one.status === "fulfilled" ? [one.value.redemption_code] : []));
    expect(given.sort()).toEqual(codes);
    expect(claims.find(({ status }) => status === "rejected")).toMatchObject({
      reason: { code: "conflict" },
    });
    expect(await place.redeem(" show a-1 ")).toMatchObject({ label: "Show" });
    expect(await add()).toMatchObject({ added: 0, left: 0 });
  });

  test("of a losing, expired or voided play is refused", async () => {
    const player = await place.player();
    const lost = await place.play(
      await place.game([{ kind: "no_prize", weight: 2_000_000_000 }, SURE[0]!]),
      player,
    );
    await expect(place.claim(lost.play_id, player)).rejects.toThrow("won nothing");
    const old = await won({ redeem_within_days: 7 });
    await over(old.play);
    await expect(place.claim(old.play, old.player)).rejects.toThrow("expired");
    const taken = await won({ inventory_total: 1 });
    await place.call("void_game_play", {
      playId: taken.play,
      propertyId: place.id,
      reason: "Faulty machine",
    });
    await expect(place.claim(taken.play, taken.player)).rejects.toThrow("voided");
    const [prize] = await place.call("list_game_prizes", { filters: { "game_id.eq": taken.game } });
    expect(prize.inventory_remaining).toBe(1);
    const [audit] = await place.call("list_audit_logs", { filters: { "action.eq": "void_game_play" } });
    expect(audit).toMatchObject({ entity: "game_plays", entity_id: taken.play });
  });

  test("that brings the year to the reporting amount waits for the form", async () => {
    const game = await place.game([{ label: "Cash", kind: "comp", value: 1_200 }]);
    const player = await place.player();
    const first = (await place.play(game, player)).play_id;
    const second = (await place.play(game, player)).play_id;
    expect((await place.claim(first, player)).play.status).toBe("claimed");
    const waiting = await place.claim(second, player);
    expect(waiting).toMatchObject({ play: { status: "needs_tax_form" }, redemption_code: null });
    expect((await place.claim(second, player)).redemption_code).toBeNull();
    await place.call("clear_tax_form", { playId: second, propertyId: place.id });
    const { redemption_code } = await place.claim(second, player);
    expect(await place.redeem(redemption_code)).toMatchObject({ play: { status: "redeemed" } });
  });
});

describe("a redemption", () => {
  test("happens once, also where two desks try at once, and keeps the cashier and the desk", async () => {
    const { play, player } = await won();
    const { redemption_code } = await place.claim(play, player);
    const tries = await Promise.allSettled([1, 2, 3, 4].map(() => place.redeem(redemption_code)));
    expect(tries.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    await expect(place.redeem(redemption_code)).rejects.toThrow(/redeemed on .* at Desk 4/);
    expect(await place.call("get_game_play", { id: play })).toMatchObject({
      status: "redeemed",
      redeemed_by: "Kim",
      redeemed_where: "Desk 4",
    });
    await expect(place.redeem("AAAA-BBBB-CCCC")).rejects.toMatchObject({ code: "not_found" });
  });

  test("is over with its time: the job lets the prize expire and its code dies", async () => {
    const { game, play, player } = await won({ redeem_within_days: 7 });
    const { redemption_code } = await place.claim(play, player);
    await over(play);
    await expect(place.redeem(redemption_code)).rejects.toThrow("expired");
    await service.database.db.asSystem(
      (sql) => sql`update queue set run_at = now() where name = 'tend_game' and input ->> 'gameId' = ${game}`,
    );
    await place.work({ only: "tend_game" });
    expect((await place.call("get_game_play", { id: play })).status).toBe("expired");
    await expect(place.redeem(redemption_code)).rejects.toMatchObject({ code: "not_found" });
  });
});

test("seeds and codes stand in no list, no export, no audit row, no event and no recorded answer", async () => {
  const { game, play, player } = await won();
  await place.call("create_webhook_endpoint", { url: "https://example.com/hook", events: ["*"] });
  const { redemption_code } = await place.claim(play, player);
  const { proof } = await place.play(game, player);
  const [{ master }] = await place.query(
    (sql) => sql<[{ master: string }]>`
      select master from game_seeds where property_id = ${place.id} and game_id = ${game}`,
  );
  const shown = JSON.stringify([
    await place.call("list_game_plays", { limit: 1000 }),
    await place.call("get_game_play", { id: play }),
    await place.call("list_games", { limit: 1000 }),
    await place.call("list_audit_logs", { limit: 1000 }),
    await place.call("data_export", { playerId: player, propertyId: place.id }),
    await place.query(
      (sql) => sql`
        select data::text as text from outbox where property_id = ${place.id}
        union all select diff::text from audit_logs where property_id = ${place.id}`,
    ),
  ]);
  for (const secret of [redemption_code, proof.seed, master, "sealed:1:"])
    expect(shown).not.toContain(secret);
  expect(shown).toContain(proof.seed_hash);
});
