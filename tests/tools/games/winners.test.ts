import { afterAll, beforeAll, expect, test } from "vitest";
import { startService, type TestService } from "../../support/service.ts";
import { type Arcade, arcade, SURE } from "./arcade.ts";

let service: TestService;
let place: Arcade;
beforeAll(async () => {
  service = await startService({ role: "web" });
  place = await arcade(service);
});
afterAll(() => service?.stop());

const inbox = (player: string) =>
  place.query(
    (sql) => sql<{ id: string; title: string; body: string; cta_url: string; expires_at: string | null }[]>`
      select id, title, body, cta_url, expires_at from inbox_messages
      where property_id = ${place.id} and player_id = ${player}
        and (expires_at is null or expires_at > now())`,
  );

test("a won prize lies in the player's inbox once, in their language, and leads to its claim", async () => {
  const game = await place.game([{ ...SURE[0], label: "Dinner for two", redeem_within_days: 7 }], {
    name: "Wheel",
  });
  const player = await place.player({ language: "es-MX" });
  const { play_id } = await place.play(game, player);
  await place.work();
  const [message, ...others] = await inbox(player);
  expect(others).toEqual([]);
  expect(message).toMatchObject({ id: play_id, title: "Ha ganado: Dinner for two" });
  expect(message!.body).toContain("Wheel");
  const { redemption_code } = await place.claim(play_id, player);
  expect(JSON.stringify(message)).not.toContain(redemption_code);
  const page = await fetch(service.baseUrl + new URL(message!.cta_url).pathname);
  expect(await page.text()).toContain(redemption_code);
});

test("a play without a prize and a free play say nothing", async () => {
  const lost = await place.game([...SURE, { label: "None", kind: "no_prize", weight: 2_000_000_000 }]);
  const again = await place.game([{ label: "One more", kind: "free_play" }]);
  const player = await place.player();
  for (const game of [lost, again]) await place.play(game, player);
  await place.work();
  expect(await inbox(player)).toEqual([]);
});

test("nobody who is barred or erased since, and no voided prize, gets a message", async () => {
  const game = await place.game(SURE);
  const [voided, gone, excluded, late] = await Promise.all([
    place.player(),
    place.player(),
    place.player(),
    place.player(),
  ]);
  const play = async (player: string): Promise<string> => (await place.play(game, player)).play_id;
  await place.call("void_game_play", {
    playId: await play(voided!),
    propertyId: place.id,
    reason: "An error",
  });
  await play(gone!);
  await place.call("data_deletion", { propertyId: place.id, playerId: gone, reason: "asked" });
  await play(excluded!);
  await place.call("create_self_exclusion", { player_id: excluded });
  const told = await play(late!);
  await place.work();
  for (const player of [voided!, gone!, excluded!]) expect(await inbox(player)).toEqual([]);
  expect(await inbox(late!)).toHaveLength(1);
  await place.call("void_game_play", { playId: told, propertyId: place.id, reason: "An error" });
  expect(await inbox(late!)).toEqual([]);
});
