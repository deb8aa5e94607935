import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { playerToken } from "#tools/player-links/links.ts";
import { scenarioIn } from "../../support/scenario.ts";
import { startService, type TestService } from "../../support/service.ts";
import { type Arcade, arcadeIn, SURE } from "./arcade.ts";

let service: TestService;
let place: Arcade;
let game: string;
beforeAll(async () => {
  service = await startService({ role: "web" });
  place = arcadeIn(scenarioIn(service));
  const segment = await place.call("create_segment", {
    name: "Not silver",
    conditions: [{ field: "tier", operator: "neq", value: "Silver" }],
  });
  game = await place.game(SURE, { void_in: ["FL"], segment_id: segment.id, own_free_entry: true });
});
afterAll(() => service?.stop());

const status = (name: string) => async (player: string) => {
  await place.query(
    (sql) => sql`update players set status = ${name} where property_id = ${place.id} and id = ${player}`,
  );
};
const young = new Date(Date.now() - 20 * 365 * 86_400_000).toISOString().slice(0, 10);

/** Every bar: how a player comes to it, by their fields or by an act. */
const BARS: Record<string, { fields?: object; act?: (player: string) => Promise<unknown> }> = {
  underage: { fields: { birth_date: young } },
  void_in_state: { fields: { state: "FL", country: "US" } },
  not_in_segment: { fields: { tier: "Silver" } },
  banned: { act: status("banned") },
  deceased: { act: status("deceased") },
  self_excluded: { act: (player) => place.call("create_self_exclusion", { player_id: player }) },
  "self_excluded by another record": {
    fields: { email: "two@example.com" },
    act: async () => {
      const twin = await place.player({ email: "two@example.com" });
      await place.call("create_self_exclusion", { player_id: twin });
    },
  },
  deleted: { act: (player) => place.call("delete_player", { id: player }) },
  erased: {
    act: (player) => place.call("data_deletion", { propertyId: place.id, playerId: player, reason: "asked" }),
  },
};

const REFUSALS = ["not_eligible", "not_found"];

/** Every face on which a play may be asked for; each answers the refusal's code. */
const FACES: Record<string, (player: string) => Promise<string>> = {
  REST: async (player) => {
    const input = { gameId: game, playerId: player, propertyId: place.id };
    const { body } = await service.post("/api/functions/play-game", input, {
      "Idempotency-Key": randomUUID(),
    });
    return body.code ?? "played";
  },
  MCP: async (player) => {
    const params = { name: "play_game", arguments: { gameId: game, playerId: player, propertyId: place.id } };
    const { body } = await service.post(
      "/api/mcp",
      { jsonrpc: "2.0", id: 1, method: "tools/call", params },
      {
        Accept: "application/json, text/event-stream",
      },
    );
    const text = JSON.stringify(body);
    return REFUSALS.find((code) => text.includes(code)) ?? text;
  },
  page: async (player) => {
    const until = Math.floor(Date.now() / 1000) + 600;
    const token = playerToken(service.internals.config, "game", {
      propertyId: place.id,
      playerId: player,
      until,
    });
    const answer = await fetch(`${service.baseUrl}/games/${token}/${game}`, {
      method: "POST",
      redirect: "manual",
      body: new URLSearchParams({ play: "1" }),
    });
    return answer.status === 403
      ? "not_eligible"
      : answer.status === 404
        ? "not_found"
        : `played: ${answer.status}`;
  },
  "free entry": async (player) => {
    const input = { gameId: game, playerId: player, propertyId: place.id };
    const { body } = await service.post("/api/functions/enter-game-free", input);
    return body.code ?? "entered";
  },
};

const played = (player: string) =>
  place.query(
    (sql) => sql`
      select from game_plays where property_id = ${place.id} and player_id = ${player}
      union all
      select from game_tickets where property_id = ${place.id} and player_id = ${player}`,
  );

describe.each(Object.entries(BARS))("a player who is %s", (_, { fields, act }) => {
  test("plays on no face", async () => {
    const player = await place.player({ tier: "Gold", ...fields });
    await act?.(player);
    for (const [face, ask] of Object.entries(FACES)) expect(REFUSALS, face).toContain(await ask(player));
    expect(await played(player)).toHaveLength(0);
  });
});

test("a refusal names the status that bars, and calls nobody self-excluded who is erased", async () => {
  for (const bar of ["banned", "deceased", "erased"]) {
    const player = await place.player({ tier: "Gold" });
    await BARS[bar]!.act!(player);
    const input = { gameId: game, playerId: player, propertyId: place.id };
    const { body } = await service.post("/api/functions/play-game", input);
    expect(body.details).toEqual([{ field: "playerId", message: bar }]);
  }
});

test("a player whom nothing bars plays on every face", async () => {
  const player = await place.player({ tier: "Gold" });
  for (const [face, ask] of Object.entries(FACES)) expect(REFUSALS, face).not.toContain(await ask(player));
  expect((await played(player)).length).toBeGreaterThan(1);
});
