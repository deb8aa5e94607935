import { newScenario, type Scenario } from "../../support/scenario.ts";
import type { TestService } from "../../support/service.ts";

/** A property with short calls for its games. */
export async function arcade(service: TestService, settings: object = {}) {
  return arcadeIn(await newScenario(service, settings));
}

/** The same in an existing property. */
export function arcadeIn(scenario: Scenario) {
  let players = 0;
  const about = (gameId: string) => ({ gameId, propertyId: scenario.id });
  const place = {
    ...scenario,
    player: async (fields: object = {}): Promise<string> => {
      players += 1;
      return (await scenario.call("create_player", { player_id: `G${players}`, ...fields })).id;
    },
    draft: async (prizes: object[], fields: object = {}): Promise<string> => {
      players += 1;
      const { id } = await scenario.call("create_game", {
        name: `Game ${players}`,
        type: "instant_win",
        draw: "independent",
        ...fields,
      });
      for (const prize of prizes) {
        await scenario.call("create_game_prize", {
          game_id: id,
          label: "Prize",
          kind: "comp",
          weight: 1,
          ...prize,
        });
      }
      return id;
    },
    activate: (gameId: string) => scenario.call("activate_game", about(gameId)),
    game: async (prizes: object[], fields: object = {}): Promise<string> => {
      const id = await place.draft(prizes, fields);
      await place.activate(id);
      return id;
    },
    play: (gameId: string, playerId: string, more: object = {}) =>
      scenario.call("play_game", { ...about(gameId), playerId, ...more }),
    check: (gameId: string, playerId: string) =>
      scenario.call("check_game_play", { ...about(gameId), playerId }),
    grant: (gameId: string, playerIds: string[], key = "gift") =>
      scenario.call("grant_game_tickets", { ...about(gameId), playerIds, key }),
    claim: (playId: string, playerId: string) =>
      scenario.call("claim_game_prize", { playId, playerId, propertyId: scenario.id }),
    redeem: (code: string) =>
      scenario.call("redeem_prize", {
        code,
        propertyId: scenario.id,
        redeemedBy: "Kim",
        redeemedWhere: "Desk 4",
      }),
    on: (operation: string, gameId: string, more: object = {}) =>
      scenario.call(operation, { ...about(gameId), ...more }),
    verify: (playId: string) => scenario.call("verify_game_play", { playId, propertyId: scenario.id }),
  };
  return place;
}

export type Arcade = Awaited<ReturnType<typeof arcade>>;

/** Half of the plays win. */
export const HALF = [
  { label: "Ten", value: 10 },
  { label: "None", kind: "no_prize" },
];
/** Every play wins. */
export const SURE = [{ label: "Ten", value: 10 }];
