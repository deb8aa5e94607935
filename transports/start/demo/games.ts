import type { Service } from "#runtime/funnel/service.ts";
import type { RunOperation } from "./inbox.ts";

/** A spin wheel and a scratch card that can be played, a draft, and a prize that somebody has won. */
export async function createGames({ db }: Service, propertyId: string, run: RunOperation): Promise<void> {
  const wheel = await createGame(run, {
    name: "Lucky wheel",
    type: "spin_wheel",
    play_limits: { per_player_per_day: 3 },
    own_free_entry: true,
    share_reward: { tickets: 1 },
    prizes: [
      { label: "500 points", kind: "points", value: 5, weight: 40, slice_index: 0 },
      { label: "Coffee", kind: "comp", value: 4, weight: 30, slice_index: 1 },
      { label: "1,000 points", kind: "points", value: 10, weight: 20, slice_index: 2 },
      { label: "Dinner for two", kind: "comp", value: 120, weight: 1, slice_index: 3, inventory_total: 20 },
      { label: "Breakfast", kind: "comp", value: 18, weight: 9, slice_index: 4, inventory_total: 200 },
    ],
  });
  const card = await createGame(run, {
    name: "Golden scratch card",
    type: "scratch_card",
    draw: "deck",
    play_limits: { per_player_per_day: 1 },
    prizes: [
      { label: "A night in a suite", kind: "comp", value: 400, weight: 1 },
      { label: "Free card", kind: "free_play", weight: 99 },
      { label: "$10 free slot play", kind: "coupon", value: 10, weight: 200 },
      { label: "No prize", kind: "no_prize", weight: 700 },
    ],
  });
  await createGame(run, {
    name: "Winter mystery box",
    type: "mystery_box",
    prizes: [{ label: "Spa voucher", kind: "comp", value: 60, weight: 1, inventory_total: 50 }],
  });
  for (const gameId of [wheel, card]) await run("activate_game", { gameId, propertyId });
  const [player] = await db.asProperty(
    propertyId,
    (sql) => sql<{ id: string }[]>`
      select id from players
      where property_id = ${propertyId} and deleted_at is null and status = 'active' and consents ->> 'email' = 'true'
      order by id limit 1`,
  );
  const playerId = player!.id;
  await run("grant_game_tickets", { gameId: card, propertyId, playerIds: [playerId], key: "welcome" });
  await run("play_game", { gameId: wheel, playerId, propertyId });
}

async function createGame(
  run: RunOperation,
  { prizes, ...fields }: { name: string; prizes: object[]; [field: string]: unknown },
): Promise<string> {
  const { id } = await run("create_game", fields);
  for (const prize of prizes) await run("create_game_prize", { game_id: id, ...prize });
  return String(id);
}
