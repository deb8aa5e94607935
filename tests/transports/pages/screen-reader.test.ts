import { randomUUID } from "node:crypto";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { unsubscribeLinks } from "#tools/player-links/links.ts";
import { startService, type TestService } from "../../support/service.ts";
import { type Arcade, arcade } from "../../tools/games/arcade.ts";
import { openBrowser, picture, visit } from "./browser.ts";
import { FREE_PLAY } from "./casino.ts";
import { partsOf, readAloud, steady } from "./read-aloud.ts";

const PHONE = { width: 360, height: 780, dark: false };
const browser: Browser | null = await openBrowser();
let service: TestService;
let place: Arcade;

beforeAll(async () => {
  if (!browser) return;
  service = await startService();
  place = await arcade(service, {
    legal_name: "River Casino LLC",
    postal_address: "1 River Road, Reno",
    privacy_policy_url: "https://example.com/privacy",
    responsible_gaming_footer: "Gambling problem? Call 1-800-GAMBLER.",
  });
  await place.call("set_property_theme", {
    name: "River Casino",
    responsible_gaming_url: "https://example.com/break",
    join_url: "https://example.com/join",
  });
});
afterAll(async () => {
  await service?.stop();
});

const local = (url: string) => url.replace(service.internals.config.baseUrl, service.baseUrl);
const linkOf = async (playerId: string, to: string): Promise<string> =>
  local((await place.call("create_player_link", { propertyId: place.id, playerId, to })).url);

async function sendTo(playerId: string, fields: object): Promise<void> {
  const { id } = await place.call("create_campaign", {
    name: randomUUID(),
    conditions: [{ field: "id", operator: "eq", value: playerId }],
    ...fields,
  });
  await place.call("send_campaign", { campaignId: id, propertyId: place.id });
  await service.idle();
}

const NEVER = { label: "No prize", kind: "no_prize", weight: 2_000_000_000, slice_index: 1 };
const TEN = { label: "Ten dollars", kind: "comp", value: 10, slice_index: 0 };

/** A player's game of this type, and the address of its page. */
async function gameOf(type: string, prizes: object[], fields: object = {}, player: object = {}) {
  const names = { name: `Game ${randomUUID()}`, draw: "independent", type };
  const game = await place.game(prizes, { description: "Once a day.", ...names, ...fields });
  const playerId = await place.player(player);
  return { game, playerId, url: `${await linkOf(playerId, "game")}/${game}` };
}

async function inbox(more: object = {}): Promise<string> {
  const playerId = await place.player({ first_name: "Ana" });
  await sendTo(playerId, {
    channel: "loyaltyvip",
    subject: "Twelve new tables",
    body_text: "On the first floor.",
  });
  await sendTo(playerId, { channel: "loyaltyvip", ...FREE_PLAY, ...more });
  return linkOf(playerId, "inbox");
}

/** The links of a mail. */
async function mailed() {
  const email = `${randomUUID()}@example.com`;
  const playerId = await place.player({ email });
  const grant = { consentGiven: true, consentSource: "desk", consentVersion: "1" };
  await place.call("consent_record", { propertyId: place.id, playerId, channel: "email", ...grant });
  await sendTo(playerId, {
    ...{ channel: "email", subject: "Jazz", from_email: "a@example.com" },
    body_html: '<p><a href="{{ unsubscribe_url }}">Stop</a></p>',
  });
  const [send] = await place.query(
    (sql) => sql<{ id: string }[]>`
      select id from campaign_sends where property_id = ${place.id} and player_id = ${playerId}`,
  );
  return local(unsubscribeLinks(service.internals.config)(place.id, send!.id));
}

async function shared(fields: object = {}): Promise<string> {
  const { game, playerId } = await gameOf("spin_wheel", [TEN, NEVER], fields);
  const about = { playerId, propertyId: place.id, network: "x", contentType: "game", contentId: game };
  return local((await place.call("create_share_link", about)).share.share_url);
}

/** The same one for several pages, in the order in which a player comes to them. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
const theInbox = once(inbox);
const theMail = once(mailed);
const theWheel = once(async () => (await gameOf("spin_wheel", [TEN, NEVER])).url);
const withTickets = { cost: { type: "ticket" }, own_free_entry: true };
const theTicketGame = once(async () => (await gameOf("spin_wheel", [TEN], withTickets)).url);

interface Reading {
  open(): Promise<string>;
  /** The page moves as it does for those who have asked for no less. */
  moves?: true;
  /** Before the page is read. */
  act?(page: Page): Promise<void>;
}

const press = (name: string) => async (page: Page) => {
  await page.getByRole("button", { name, exact: false }).first().click();
  await page.waitForLoadState();
};
const playing = (button: string) => async (page: Page) => {
  await page.getByRole("button", { name: button }).click();
  await page.waitForSelector("[data-next]:not([hidden])");
};

const GAMES: Record<string, string> = {
  spin_wheel: "Spin the wheel",
  scratch_card: "Take a card",
  mystery_box: "Open the box",
  instant_win: "Play",
};

const won = once(async () => {
  const { game, playerId, url } = await gameOf("spin_wheel", [TEN]);
  return `${url}/plays/${(await place.play(game, playerId)).play_id}`;
});

const PAGES: Record<string, Reading> = {
  "the inbox": { open: theInbox },
  "a message": { open: theInbox, act: async (page) => page.getByRole("link", { name: "$25" }).click() },
  "the archive of an inbox": { open: async () => `${await theInbox()}?folder=archive` },
  "an empty inbox": { open: async () => linkOf(await place.player(), "inbox") },
  "the games": {
    open: async () => {
      const url = await theWheel();
      return url.slice(0, url.lastIndexOf("/"));
    },
  },
  ...Object.fromEntries(
    Object.entries(GAMES).flatMap(([type, button]): [string, Reading][] => [
      [`${type} before the play`, { open: async () => (await gameOf(type, [TEN, NEVER])).url }],
      [`${type} after a win`, { open: async () => (await gameOf(type, [TEN])).url, act: playing(button) }],
    ]),
  ),
  "spin_wheel without a win": {
    open: theWheel,
    act: playing("Spin the wheel"),
  },
  "a scratch card before it is revealed": {
    moves: true,
    open: async () => (await gameOf("scratch_card", [TEN])).url,
    act: async (page) => {
      await press("Take a card")(page);
      await page.waitForSelector("[data-reveal]:not([hidden])");
    },
  },
  "a game without a ticket": { open: theTicketGame },
  "a game for others": {
    open: async () =>
      (await gameOf("spin_wheel", [TEN], { void_in: ["FL"] }, { state: "FL", country: "US" })).url,
  },
  "a won play": { open: won },
  "a claimed prize": { open: won, act: press("Claim") },
  "the proof": { open: async () => `${await won()}/proof` },
  "the rules": { open: async () => `${await theWheel()}/rules` },
  "a free entry": {
    open: async () => `${await theTicketGame()}/free`,
  },
  "a free entry that was given": {
    open: async () => `${await theTicketGame()}/free`,
    act: press("Get the free ticket"),
  },
  "a shared game": { open: shared },
  unsubscribe: { open: theMail },
  unsubscribed: { open: mailed, act: press("Unsubscribe") },
  preferences: { open: async () => (await theMail()).replace("/u/", "/preferences/") },
  "saved preferences": {
    open: async () => (await mailed()).replace("/u/", "/preferences/"),
    act: press("Save"),
  },
  "a link that is not ours": { open: async () => `${service.baseUrl}/inbox/nothing` },
};

/** The page for notifications is in push.test.ts: only the whole browser can show them. */
test.runIf(browser)(
  "a screen reader is told each thing of a page by its role, its name and its state, in order",
  async () => {
    const read = new Map<string, string[]>();
    const frames = new Set<string>();
    const readIn = async (page: Page, name: string, { open, act, moves }: Reading) => {
      await page.emulateMedia({ reducedMotion: moves ? "no-preference" : "reduce" });
      await page.goto(await open());
      await act?.(page);
      expect(await page.getAttribute("html", "lang"), name).toBe("en");
      const { main, frame } = partsOf((await readAloud(page)).map(steady));
      await picture(page, `said-${name}`);
      frames.add(frame.join("\n"));
      read.set(name, [`# ${name}: ${steady(await page.title())}`, ...main, ""]);
    };
    const work = async (page: Page) => {
      for (const [name, reading] of Object.entries(PAGES)) await readIn(page, name, reading);
    };
    await visit(browser!, PHONE, service.baseUrl, work, ["console: Failed to load resource"]);
    const around = [...frames].map((frame) => `# around a page\n${frame}\n`);
    await expect(
      [...around, ...Object.keys(PAGES).flatMap((name) => read.get(name)!)].join("\n"),
    ).toMatchFileSnapshot("./screen-reader.txt");
  },
  120_000,
);
