import { afterAll, beforeAll, expect, test } from "vitest";
import { CATALOG } from "#tools/catalog.ts";
import { onceOverMcp } from "../../support/operation-calls.ts";
import { startService, type TestService } from "../../support/service.ts";
import { arcade, HALF } from "./arcade.ts";

let service: TestService;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());

test("a game goes live with a warning where its pages show no way to take a break", async () => {
  const place = await arcade(service);
  const warning = expect.stringContaining("no link to take a break or exclude themselves");
  const first = await place.draft(HALF);
  expect((await place.on("preview_game", first)).warnings).toContainEqual(warning);
  expect((await place.activate(first)).warnings).toContainEqual(warning);
  await place.call("set_property_theme", { responsible_gaming_url: "https://example.com/take-a-break" });
  const second = await place.draft(HALF);
  expect((await place.on("preview_game", second)).warnings).not.toContainEqual(warning);
  expect((await place.activate(second)).warnings).not.toContainEqual(warning);
});

test("the confirmation of a game has what its pages show, and who may play", async () => {
  const place = await arcade(service);
  const description = `Win ${"x".repeat(990)} and more`;
  const { id: segment_id } = await place.call("create_segment", { name: "Few\nplayers", type: "static" });
  const game = await place.draft(HALF, {
    ...{ description, segment_id, sponsor: "Somebody else" },
    rules_url: "https://play.example/rules",
    free_entry_url: "https://play.example/free",
  });
  const agent = await agentOf(place.id);
  const asked = async (gameId: string) => (await agent({ gameId })).message;
  const shown = await asked(game);
  expect(shown).toMatch(/Its pages say: "Win x+ and m" and 3 more characters\n/);
  expect(shown).toContain(
    'They name sponsor "Somebody else", rules_url "https://play.example/rules", free_entry_url',
  );
  expect(shown).toContain('Only players of the segment "Few\\nplayers" may play.');
  const open = await asked(await place.draft(HALF));
  expect(open).toContain("Every player whom nothing bars may play.");
  expect(open).not.toContain("Its pages say");
});

test("a game whose segment has changed since its confirmation is asked about again", async () => {
  const place = await arcade(service);
  const rules = (value: string) => ({ conditions: [{ field: "tier", operator: "eq", value }] });
  const { id: segment_id } = await place.call("create_segment", { name: "Few", ...rules("Gold") });
  const gameId = await place.draft(HALF, { segment_id });
  const agent = await agentOf(place.id);
  const { confirm_token } = await agent({ gameId });
  await place.call("update_segment", { id: segment_id, ...rules("Silver") });
  expect(await agent({ gameId, confirm_token })).toMatchObject({ confirmation_required: true });
});

async function agentOf(property_id: string) {
  const { api_key } = await service.call("create_api_key", { property_id, name: "agent" });
  const activate = CATALOG.operations.get("activate_game")!;
  return async (input: Record<string, unknown>) =>
    (await onceOverMcp(service, activate, input, { "X-Api-Key": api_key })).data;
}

test("preview warns of shared links that lead nowhere, and of prizes without a limit in whole sentences", async () => {
  const place = await arcade(service);
  const game = await place.draft(HALF, { share_reward: {} });
  const nowhere = expect.stringContaining("Shared links of this game lead nowhere");
  const { warnings } = await place.on("preview_game", game);
  expect(warnings).toContainEqual(nowhere);
  expect(warnings).toContainEqual(expect.stringMatching(/^The worth of the prizes has no limit: NY may ask/));
  await place.call("set_property_theme", { join_url: "https://example.com/join" });
  expect((await place.on("preview_game", game)).warnings).not.toContainEqual(nowhere);
});

test("preview warns of a pool that has fewer codes than there are prizes", async () => {
  const place = await arcade(service);
  const pool = await place.call("create_code_pool", { name: "Shows" });
  const game = await place.draft([{ label: "Show", code_pool_id: pool.id, inventory_total: 2 }]);
  const add = (codes: string[]) =>
    place.call("add_prize_codes", { poolId: pool.id, codes, propertyId: place.id });
  const warnings = async () => (await place.on("preview_game", game)).warnings;
  await add(["SHOW-1"]);
  expect(await warnings()).toContainEqual(expect.stringContaining('"Show" has 1 code for 2 of them'));
  await add(["SHOW-2"]);
  expect(await warnings()).not.toContainEqual(expect.stringContaining("The pool of"));
});

test("a card and an instant win are decks unless they say otherwise, and a wheel and a box are not", async () => {
  const place = await arcade(service);
  const drawOf = async (type: string, more: object = {}) =>
    (await place.call("create_game", { name: `A ${type} ${JSON.stringify(more)}`, type, ...more })).draw;
  expect(await Promise.all(["scratch_card", "instant_win"].map((type) => drawOf(type)))).toEqual([
    "deck",
    "deck",
  ]);
  expect(await Promise.all(["spin_wheel", "mystery_box"].map((type) => drawOf(type)))).toEqual([
    "independent",
    "independent",
  ]);
  expect(await drawOf("instant_win", { draw: "independent" })).toBe("independent");
});

test("a deck's rules name its tickets; with the last one nobody may play, and the game ends", async () => {
  const place = await arcade(service);
  const game = await place.game([{ label: "Ten", value: 10, weight: 2 }], { draw: "deck" });
  const { rules_text } = await place.call("get_game", { id: game });
  expect(rules_text).toContain("Tickets: 2 in all.");
  expect(rules_text).not.toContain("Where a drawn prize is gone");
  const player = await place.player();
  for (const left of [true, false]) {
    await place.play(game, player);
    expect((await place.check(game, player)).allowed).toBe(left);
  }
  expect(await place.check(game, player)).toMatchObject({ code: "game_not_active" });
  await service.database.db.asSystem(
    (sql) => sql`update queue set run_at = now() where name = 'tend_game' and input ->> 'gameId' = ${game}`,
  );
  await place.work({ only: "tend_game" });
  expect(await place.call("get_game", { id: game })).toMatchObject({
    status: "ended",
    status_reason: "All its tickets were drawn.",
    master_seed: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
});

test("a game that has had all its plays offers no other", async () => {
  const place = await arcade(service);
  const game = await place.game(HALF, { play_limits: { game_total: 1 } });
  const player = await place.player();
  expect((await place.check(game, player)).allowed).toBe(true);
  await place.play(game, player);
  expect(await place.check(game, player)).toMatchObject({ allowed: false, code: "game_not_active" });
});

test("a change of a draft keeps the cost and the limits that it does not name, and a list finds games by them", async () => {
  const place = await arcade(service);
  const cost = { type: "ticket", amount: 5 };
  const id = await place.draft(HALF, { cost, play_limits: { per_player_total: 3 } });
  const changed = await place.call("update_game", { id, own_free_entry: true });
  expect(changed).toMatchObject({ own_free_entry: true, cost, play_limits: { per_player_total: 3 } });
  const filters = { "cost.eq": JSON.stringify(cost) };
  const found = await place.call("list_games", { filters });
  expect(found).toMatchObject([{ id }]);
});

test("a game whose segment is gone does not go live, because nobody could play it", async () => {
  const place = await arcade(service);
  const conditions = [{ field: "tier", operator: "is_set" }];
  const segment = await place.call("create_segment", { name: "Gone", conditions });
  const game = await place.draft(HALF, { segment_id: segment.id });
  await place.call("delete_segment", { id: segment.id });
  const refusal = expect.stringContaining("Give the game another segment, or none.");
  expect((await place.on("preview_game", game)).errors).toContainEqual(refusal);
  await expect(place.activate(game)).rejects.toMatchObject({ code: "invalid", message: refusal });
  await place.call("update_game", { id: game, segment_id: null });
  await place.activate(game);
});

test("tickets that have ended already, or whose campaign is not there, are not granted; their key stays free", async () => {
  const place = await arcade(service);
  const game = await place.game(HALF, { cost: { type: "ticket" }, own_free_entry: true });
  const player = await place.player();
  const grant = (more: object) =>
    place.on("grant_game_tickets", game, { playerIds: [player], key: "weekend", ...more });
  await expect(grant({ expiresAt: "2020-01-01T00:00:00Z" })).rejects.toMatchObject({
    code: "invalid",
    message: expect.stringContaining("expiresAt: has passed"),
  });
  await expect(grant({ campaignId: game })).rejects.toMatchObject({
    code: "not_found",
    message: expect.stringContaining("campaign"),
  });
  expect(await grant({ expiresAt: "2036-01-01T00:00:00Z" })).toMatchObject({ granted: 1 });
});
