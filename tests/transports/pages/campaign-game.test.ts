import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { shifted } from "../../support/database.ts";
import { startService, type TestService } from "../../support/service.ts";
import { type Arcade, arcade, SURE } from "../../tools/games/arcade.ts";

let service: TestService;
let place: Arcade;
beforeAll(async () => {
  service = await startService();
  place = await arcade(service);
});
afterAll(() => service?.stop());

const BY_TICKET = { cost: { type: "ticket" }, own_free_entry: true };
const textOf = async (url: string) => (await fetch(url)).text();
const ticketsOf = (gameId: string) =>
  place.call("list_game_tickets", { filters: { "game_id.eq": gameId }, order: "created_at.asc" });
const campaignOf = (players: string[], fields: object) =>
  place.campaign({
    channel: "loyaltyvip",
    subject: "Your turn",
    body_text: "Come in.",
    body_html: null,
    audience: null,
    conditions: [{ field: "id", operator: "in", value: players }],
    ...fields,
  });

/** Sends the campaign. Answers the address of the game in each player's message. */
async function sent(campaign: string, players: readonly string[]): Promise<string[]> {
  await place.send(campaign);
  await service.idle();
  const links: string[] = [];
  for (const playerId of players) {
    const { items } = await place.call("show_inbox", { playerId });
    links.push(items[0].cta_url.replace(service.internals.config.baseUrl, service.baseUrl));
  }
  return links;
}

describe("a campaign's link to a game", () => {
  test("brings its recipient one ticket, however often it is opened, and the play names the campaign", async () => {
    const game = await place.game(SURE, BY_TICKET);
    const [ana, ben] = [await place.player(), await place.player()];
    const players = [ana, ben];
    const campaign = await campaignOf(players, {
      inbox: { cta_label: "Play", cta_url: `{{ game_url }}/${game}` },
      game_ticket: { game_id: game, expires_in_days: 7 },
    });
    const [hers] = await sent(campaign, players);
    expect(await ticketsOf(game)).toEqual([]);
    const pages = await Promise.all(Array.from({ length: 5 }, () => textOf(hers!)));
    for (const page of pages) expect(page).toContain("Plays left: 1");
    const [ticket, ...more] = await ticketsOf(game);
    expect(more).toEqual([]);
    expect(ticket).toMatchObject({ player_id: ana, source: "campaign", source_id: campaign });
    const days = (Date.parse(ticket.expires_at) - Date.now()) / 86_400_000;
    expect(days).toBeGreaterThan(6.9);
    expect(days).toBeLessThanOrEqual(7);
    const { play_id } = await place.play(game, ana);
    expect(await place.call("get_game_play", { id: play_id })).toMatchObject({
      entry: "campaign",
      campaign_id: campaign,
    });
    // Opened again after the play, it leads to the free entry.
    const page = await textOf(hers!);
    expect(page).toContain("This game takes a ticket for each play.");
    expect(page).toMatch(/<a class="button" href="[^"]+\/free">Free entry</);
    expect(await ticketsOf(game)).toHaveLength(1);
  });

  test("brings nothing to a player who is barred since, and nothing once its days are over", async () => {
    const game = await place.game(SURE, BY_TICKET);
    const [barred, late] = [await place.player(), await place.player()];
    const campaign = await campaignOf([barred, late], {
      inbox: { cta_label: "Play", cta_url: `{{ game_url }}/${game}` },
      game_ticket: { game_id: game, expires_in_days: 7 },
    });
    const [of, after] = await sent(campaign, [barred, late]);
    await place.call("create_self_exclusion", { player_id: barred });
    expect((await fetch(of!)).status).toBe(404);
    await place.query(
      (sql) => sql`
        update campaign_sends set sent_at = ${shifted("sent_at", "-8 days")}
        where property_id = ${place.id} and player_id = ${late}`,
    );
    expect(await textOf(after!)).toContain("This game takes a ticket for each play.");
    expect(await ticketsOf(game)).toEqual([]);
  });

  test("without a ticket says what the game takes, and leads on", async () => {
    const game = await place.game(SURE, { cost: { type: "ticket" }, own_free_entry: true });
    const daily = await place.game(SURE, { play_limits: { per_player_per_day: 1 } });
    const slow = await place.game(SURE, { play_limits: { cooldown_seconds: 7_200 } });
    const once = await place.game(SURE, { play_limits: { per_player_total: 1 } });
    const ana = await place.player();
    const campaign = await campaignOf([ana], { inbox: { cta_label: "Play", cta_url: "{{ game_url }}" } });
    const [link] = await sent(campaign, [ana]);
    for (const id of [daily, slow, once]) await place.play(id, ana);
    for (const [id, words] of [
      [game, "This game takes a ticket for each play."],
      [daily, "Your next play is ready tomorrow."],
      [slow, "Your next play is ready in 2 hours."],
      [once, "You have had all your plays of this game."],
    ]) {
      const page = await textOf(`${link}/${id}`);
      expect(page).toContain(words);
      expect(page).toMatch(/<div class="notice">.*<a class="button[^>]+>(Free entry|All games)</s);
    }
  });

  test("is checked before it is sent: the game is there and not over, and the message has the link", async () => {
    const game = await place.draft(SURE, BY_TICKET);
    const ana = await place.player();
    const link = { inbox: { cta_label: "Play", cta_url: "{{ game_url }}" } };
    await expect(campaignOf([ana], { game_ticket: { game_id: ana } })).rejects.toThrow(
      "not in this property",
    );
    const other = await arcade(service);
    const foreign = await other.draft(SURE);
    await expect(campaignOf([ana], { game_ticket: { game_id: foreign } })).rejects.toThrow(
      "not in this property",
    );
    const campaign = await campaignOf([ana], { game_ticket: { game_id: game } });
    const check = () => place.preflight(campaign);
    expect((await check()).errors).toMatchObject([{ field: "game_ticket", stops_sending: true }]);
    await place.call("update_campaign", { id: campaign, ...link });
    const ready = await check();
    expect(ready.errors).toEqual([]);
    expect(ready.warnings.join()).toContain("is draft; its players wait until it runs");
    await place.activate(game);
    expect((await check()).warnings.join()).not.toContain("game_ticket");
    await place.on("end_game", game);
    expect((await check()).errors).toMatchObject([{ message: "the game is ended: nobody could play" }]);
  });
});
