import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startService, type TestService } from "../../support/service.ts";
import { chain, type JourneyClock, journeyClock } from "../journeys/clock.ts";
import { arcadeIn, HALF, SURE } from "./arcade.ts";

let service: TestService;
let clock: JourneyClock;
let place: ReturnType<typeof arcadeIn>;
beforeAll(async () => {
  service = await startService({ role: "web" });
  clock = await journeyClock(service);
  place = arcadeIn(clock.scenario);
});
afterAll(() => service?.stop());

const end = { id: "end", type: "exit", config: {} };
const tickets = (game: string) => place.call("list_game_tickets", { filters: { "game_id.eq": game } });

describe("a journey", () => {
  test("gives a ticket an entry and visit, however often its step is repeated", async () => {
    const game = await place.game(HALF, { cost: { type: "ticket" }, own_free_entry: true });
    const ids = [await place.player(), await place.player()];
    const gift = { id: "gift", type: "grant_game_play", config: { game_id: game, expires_in_days: 7 } };
    const journey = await clock.published(chain([gift, end]), {
      name: "Gift",
      reentry: { mode: "always", cooldown_hours: 0 },
    });
    await clock.enroll(journey, ids);
    await clock.pass(1, journey);
    await clock.pass(1, journey);
    expect(await tickets(game)).toHaveLength(2);
    await clock.enroll(journey, ids.slice(0, 1));
    await clock.pass(1, journey);
    const given = await tickets(game);
    expect(given).toHaveLength(3);
    expect(given[0]).toMatchObject({ source: "journey", source_id: journey, expires_at: expect.any(String) });
    const { play_id } = await place.play(game, ids[0]!);
    expect(await place.call("get_game_play", { id: play_id })).toMatchObject({
      entry: "journey",
      journey_id: journey,
    });
  });

  test("is entered by a play of its game with its outcome, in the transaction of the play", async () => {
    const sure = await place.game(SURE);
    const never = await place.game([{ kind: "no_prize", weight: 2_000_000_000 }, { label: "One" }]);
    const definition = (config: object) => {
      const rest = {
        id: "rest",
        type: "delay",
        config: { by: "duration", duration: { amount: 1, unit: "days" } },
      };
      const { nodes, edges } = chain([rest, end]);
      return {
        nodes: [{ id: "in", type: "trigger", config: { on: "game_play", ...config } }, ...nodes.slice(1)],
        edges,
      };
    };
    const any = await clock.published(definition({}), { name: "Any" });
    const wins = await clock.published(definition({ outcome: "win" }), { name: "Wins" });
    const own = await clock.published(definition({ game_id: never.toUpperCase() }), { name: "Own" });
    const player = await place.player();
    await place.play(sure, player);
    const inside = async () =>
      Promise.all([any, wins, own].map(async (id) => (await clock.entries(id)).length));
    expect(await inside()).toEqual([1, 1, 0]);
    await place.play(never, player);
    expect(await inside()).toEqual([1, 1, 1]);
    const [entry] = await place.call("list_journey_enrollments", { filters: { "journey_id.eq": wins } });
    expect(entry.context).toMatchObject({ game_id: sure, outcome: "win" });
  });

  test("is published only with an existing game", async () => {
    const game_id = "00000000-0000-7000-8000-000000000001";
    const gift = { id: "gift", type: "grant_game_play", config: { game_id } };
    await expect(clock.published(chain([gift, end]), { name: "Wrong" })).rejects.toThrow(
      "not in this property",
    );
  });
});

test("segments count a player's plays and wins", async () => {
  const game = await place.game(SURE);
  const [twice, once, never] = [await place.player(), await place.player(), await place.player()];
  await place.play(game, twice);
  const { play_id } = await place.play(game, twice);
  await place.play(game, once);
  const members = async (field: string, operator: string, value: number) => {
    const conditions = [
      { field: `game.${game}.${field}`, operator, value },
      { field: "id", operator: "in", value: [twice, once, never] },
    ];
    const preview = await place.call("segment_preview", { propertyId: place.id, conditions });
    return preview.sample.map(({ id }: { id: string }) => id).sort();
  };
  expect(await members("plays", "gte", 1)).toEqual([twice, once].sort());
  expect(await members("plays", "eq", 0)).toEqual([never]);
  expect(await members("won", "gte", 2)).toEqual([twice]);
  await place.call("void_game_play", { playId: play_id, propertyId: place.id, reason: "Faulty" });
  expect(await members("won", "gte", 2)).toEqual([]);
});
