import { afterAll, beforeAll, expect, test } from "vitest";
import { unsubscribeLinks } from "#tools/player-links/links.ts";
import { startService, type TestService } from "../../support/service.ts";
import { type Arcade, arcade, SURE } from "../../tools/games/arcade.ts";
import { FREE_PLAY, THEMES } from "./casino.ts";

const MOST = 40_960;
const LONG = "A turn a day, all summer long. ".repeat(5);

let service: TestService;
let place: Arcade;
let pages: Record<string, string>;

beforeAll(async () => {
  service = await startService({ role: "web" });
  place = await arcade(service, {
    legal_name: "River Casino LLC",
    postal_address: "1 River Road, Reno, Nevada 89501",
    privacy_policy_url: "https://example.com/privacy",
    responsible_gaming_footer: "Must be 21 or older. Gambling problem? Call 1-800-GAMBLER.",
  });
  await place.call("set_property_theme", {
    ...THEMES.noir,
    responsible_gaming_url: "https://example.com/break",
    join_url: "https://example.com/join",
  });
  const player = await place.player({ first_name: "Ana", language: "fr" });
  const game = await wheel("The anniversary wheel");
  for (let more = 0; more < 11; more += 1) {
    await place.game(SURE, {
      name: `Box ${more} of a summer with many games`,
      type: "mystery_box",
      description: LONG,
    });
  }
  const { play_id: play } = await place.play(game, player);
  for (let more = 0; more < 25; more += 1) await place.play(game, player);
  const sends = await messages();
  const [inbox, games] = [await link(player, "inbox"), await link(player, "game")];
  const { items } = await place.call("show_inbox", { playerId: player });
  const { share } = await place.call("create_share_link", {
    playerId: player,
    propertyId: place.id,
    network: "whatsapp",
    contentType: "game",
    contentId: game,
  });
  pages = {
    inbox,
    archive: `${inbox}?folder=archive`,
    message: `${inbox}/${items[0].id}`,
    games,
    game: `${games}/${game}`,
    rules: `${games}/${game}/rules`,
    "free entry": `${games}/${game}/free`,
    result: `${games}/${game}/plays/${play}`,
    proof: `${games}/${game}/plays/${play}/proof`,
    preferences: await link(player, "preferences"),
    push: await link(player, "push"),
    share: local(share.share_url),
    unsubscribe: local(unsubscribeLinks(service.internals.config)(place.id, sends[0]!.id)),
    "a link that is not ours": `${service.baseUrl}/inbox/nothing`,
  };
});
afterAll(() => service?.stop());

const local = (url: string) => url.replace(service.internals.config.baseUrl, service.baseUrl);

const link = async (playerId: string, to: string) =>
  local((await place.call("create_player_link", { propertyId: place.id, playerId, to })).url);

/** A game with as many prizes as a wheel shows well. */
const wheel = (name: string) =>
  place.game(
    Array.from({ length: 24 }, (_, slice) => ({
      label: `Prize number ${slice} of the great wheel`,
      value: slice,
      slice_index: slice,
    })),
    {
      name,
      type: "spin_wheel",
      own_free_entry: true,
      description: "A turn a day, all summer long. ".repeat(5),
    },
  );

/** A page of messages, each with an offer and a long text. */
async function messages() {
  for (let count = 0; count < 22; count += 1) {
    const { id } = await place.call("create_campaign", {
      ...FREE_PLAY,
      name: `News ${count}`,
      subject: `News ${count} ${"of the house ".repeat(6)}`,
      body_text: "A long text about the house. ".repeat(60),
      channel: "loyaltyvip",
      audience: "all",
    });
    await place.call("send_campaign", { campaignId: id, propertyId: place.id });
  }
  await place.work();
  return place.query(
    (sql) => sql<{ id: string }[]>`select id from campaign_sends where property_id = ${place.id} limit 1`,
  );
}

/** The page and the files of ours that it loads, by their bytes before any compression. */
async function weigh(url: string): Promise<{ bytes: number; files: string[] }> {
  const headers = { "user-agent": "Mozilla/5.0 Chrome/140.0", "accept-encoding": "identity" };
  const answer = await fetch(url, { headers });
  const html = await answer.text();
  expect(html, url).toContain("<h1");
  const files = [
    ...html.matchAll(/<(?:link rel="(?:stylesheet|icon)"|script|img)[^>]*? (?:href|src)="(\/[^"]+)"/g),
  ].map(([, path]) => path!);
  let bytes = Buffer.byteLength(html);
  for (const path of files) {
    const file = await fetch(service.baseUrl + path, { headers });
    expect(file.status, path).toBe(200);
    bytes += (await file.arrayBuffer()).byteLength;
  }
  return { bytes, files };
}

test("every page of players weighs at most 40 kB with its own style sheets and modules", async () => {
  const heavy: string[] = [];
  for (const [name, url] of Object.entries(pages)) {
    const { bytes, files } = await weigh(url);
    expect(
      files.some((path) => path.includes("page-")),
      name,
    ).toBe(true);
    if (bytes > MOST) heavy.push(`${name}: ${bytes} bytes with ${files.length} files`);
  }
  expect(heavy).toEqual([]);
});
