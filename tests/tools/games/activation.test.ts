import { afterAll, beforeAll, expect, test } from "vitest";
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
