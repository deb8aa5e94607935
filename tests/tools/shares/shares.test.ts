import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startService, type TestService } from "../../support/service.ts";
import { type Arcade, arcade, HALF } from "../games/arcade.ts";

let service: TestService;
let place: Arcade;
beforeAll(async () => {
  service = await startService({ role: "web" });
  place = await arcade(service);
});
afterAll(() => service?.stop());

const link = (playerId: string, contentId: string, contentType = "game") =>
  place.call("create_share_link", {
    playerId,
    propertyId: place.id,
    network: "whatsapp",
    contentType,
    contentId,
  });
const refer = (shareId: string, playerId: string) =>
  place.call("record_referral", { shareId, playerId, propertyId: place.id });
const open = (url: string, agent: string) =>
  service.get(new URL(url).pathname, { "User-Agent": agent, "X-Api-Key": null });
const PERSON = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Safari/604.1";

describe("a link", () => {
  test("is the same for the same thing, and counts people and programs apart", async () => {
    const player = await place.player();
    const game = await place.game(HALF, { description: "Win <b>dinner</b>" });
    const { share } = await link(player, game);
    expect((await link(player, game)).share.id).toBe(share.id);
    expect((await link(player, game.toUpperCase())).share.id).toBe(share.id);
    const page = await open(share.share_url, PERSON);
    expect(page.status).toBe(200);
    expect(page.text).toContain("Win &lt;b&gt;dinner");
    expect(page.text).toContain('<meta property="og:description" content="Win &lt;b&gt;dinner');
    await open(share.share_url, PERSON);
    await open(share.share_url, "facebookexternalhit/1.1");
    expect(await place.call("get_social_share", { id: share.id })).toMatchObject({
      clicks: 2,
      machine_clicks: 1,
    });
    expect((await open(`${share.share_url}x`, PERSON)).status).toBe(404);
  });

  test.each([
    ["data", (playerId: string) => place.call("data_deletion", { playerId, propertyId: place.id })],
    ["self-exclusion", (playerId: string) => place.call("create_self_exclusion", { player_id: playerId })],
  ])("dies with its player's %s", async (_, end) => {
    const player = await place.player({ email: `${_}@example.com` });
    const { share } = await link(player, await place.game(HALF));
    expect((await open(share.share_url, PERSON)).status).toBe(200);
    await end(player);
    expect((await open(share.share_url, PERSON)).status).toBe(404);
  });

  test("leads to the casino's own page with the share's id, by which a sign-up is counted", async () => {
    const house = await arcade(service);
    const player = await house.player();
    const game = await house.game(HALF, { name: "Autumn", share_reward: { tickets: 1 } });
    const shared = (contentType: string, contentId: string) =>
      house.call("create_share_link", {
        ...{ playerId: player, propertyId: house.id, network: "x", contentType, contentId },
      });
    const before = await shared("game", game);
    expect(before.warning).toContain("leads nowhere");
    expect((await open(before.share.share_url, PERSON)).text).not.toContain('class="button"');
    await house.call("set_property_theme", {
      name: "Azure Bay",
      join_url: "https://azure.example/join?from=a#top",
    });
    const { share, warning } = await shared("game", game);
    expect(warning).toBeNull();
    const page = (await open(share.share_url, PERSON)).text;
    const [, way] = /<a class="button" href="([^"]+)"[^>]*>Play now</.exec(page)!;
    const address = new URL(way!.replaceAll("&amp;", "&"));
    expect(address.href).toMatch(
      new RegExp(`^https://azure.example/join\\?from=a&share=${share.id}&device=[\\w-]{22}#top$`),
    );
    const joined = await house.player();
    expect(
      await house.call("record_referral", {
        ...{ shareId: address.searchParams.get("share"), playerId: joined, propertyId: house.id },
      }),
    ).toMatchObject({ counted: true, tickets: 1 });
  });

  test("shows an offer's name and a campaign's subject, and greets nobody by another one's name", async () => {
    const house = await arcade(service);
    const player = await house.player();
    await house.call("set_property_theme", { join_url: "https://azure.example/join" });
    const campaign = async (subject: string) =>
      (await house.call("create_campaign", { name: subject, channel: "email", subject, audience: "all" })).id;
    const game = await house.game(HALF, { name: "Autumn" });
    const page = async (contentType: string, contentId: string, language = "en") => {
      const { share } = await house.call("create_share_link", {
        ...{ playerId: player, propertyId: house.id, network: "x", contentType, contentId },
      });
      const { text } = await service.get(new URL(share.share_url).pathname, {
        ...{ "User-Agent": PERSON, "X-Api-Key": null, "Accept-Language": language },
      });
      return text.replace(/<[^>]+>/g, " ");
    };
    expect(await page("offer", "Brunch for two")).toMatch(/Brunch for two.*has shared this with you.*Visit/);
    expect(await page("campaign", await campaign("Jazz tonight"))).toContain("Jazz tonight");
    expect(await page("campaign", await campaign("{{ first_name }}, come in"))).not.toContain("first_name");
    expect(await page("game", game, "de")).toContain("Jetzt spielen");
    await house.on("end_game", game);
    const over = await page("game", game, "fr");
    expect(over).toMatch(/Autumn.*Ce jeu n’est pas en cours.*Aller chez/s);
    expect(over).not.toContain("Jouer maintenant");
  });

  test("is refused for what is not there, and to a player who is barred", async () => {
    const player = await place.player();
    await expect(link(player, "weekend")).rejects.toMatchObject({ code: "invalid" });
    const other = await arcade(service);
    await expect(link(player, await other.game(HALF))).rejects.toMatchObject({ code: "not_found" });
    await link(player, "weekend", "offer");
    await place.call("create_self_exclusion", { player_id: player });
    await expect(link(player, "weekend", "offer")).rejects.toMatchObject({ code: "not_eligible" });
  });
});

describe("a referral", () => {
  test("counts a person once, by a play or a sign-up, and gives its tickets within the limits", async () => {
    const early = await place.player();
    const player = await place.player({ email: "sharer@example.com" });
    const game = await place.game(HALF, { share_reward: { tickets: 2, per_day: 2, per_person: 5 } });
    const { share } = await link(player, game);
    expect(await refer(share.id, player)).toMatchObject({ counted: false, reason: "own_link" });
    expect(await refer(share.id, early)).toMatchObject({ counted: false, reason: "no_play_or_sign_up" });
    await place.play(game, early);
    expect(await refer(share.id, early)).toMatchObject({ counted: true, tickets: 2 });
    expect(await refer(share.id, early)).toMatchObject({ counted: false, reason: "counted_before" });
    const twin = await place.player({ email: "sharer@example.com" });
    expect(await refer(share.id, twin)).toMatchObject({ counted: false, reason: "own_address" });
    const [second, third] = [await place.player(), await place.player()];
    expect(await refer(share.id, second)).toMatchObject({ counted: true, tickets: 2 });
    expect(await refer(share.id, third)).toMatchObject({ counted: true, tickets: 0 });
    const tickets = await place.call("list_game_tickets", { filters: { "player_id.eq": player } });
    expect(tickets).toHaveLength(4);
    expect(tickets[0]).toMatchObject({ source: "share", source_id: share.id });
  });

  test("that races itself counts once", async () => {
    const player = await place.player();
    const game = await place.game(HALF, { share_reward: {} });
    const { share } = await link(player, game);
    const referred = await place.player();
    const tries = await Promise.all([1, 2, 3, 4, 5, 6].map(() => refer(share.id, referred)));
    expect(tries.filter(({ counted }) => counted)).toHaveLength(1);
    expect(await place.call("list_game_tickets", { filters: { "player_id.eq": player } })).toHaveLength(1);
  });
});
