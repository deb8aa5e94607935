import { randomUUID } from "node:crypto";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { unsubscribeLinks } from "#tools/player-links/links.ts";
import { LANGUAGES } from "#tools/themes/theme.ts";
import type { Word } from "#transports/pages/words/en.ts";
import { WORDS } from "#transports/pages/words/words.ts";
import { isFull } from "../../support/proof-size.ts";
import { startService, type TestService } from "../../support/service.ts";
import { type Arcade, arcade, SURE } from "../../tools/games/arcade.ts";
import { cutOff, dayAndNight, inspect, openBrowser, picture, visit } from "./browser.ts";
import { FREE_PLAY } from "./casino.ts";

/** A window of 640 × 960 at a zoom of 200 %, as the page sees it. */
const ZOOMED = { width: 320, height: 480, dark: false };

const browser: Browser | null = await openBrowser();
let service: TestService;
let place: Arcade;

beforeAll(async () => {
  if (!browser) return;
  service = await startService();
  place = await arcade(service, {
    legal_name: "River Casino LLC",
    postal_address: "1 River Road, Reno, Nevada 89501",
    privacy_policy_url: "https://example.com/privacy",
    responsible_gaming_footer: "Must be 21 or older. Gambling problem? Call 1-800-GAMBLER.",
  });
  await place.call("set_property_theme", {
    name: "River Casino and Resort",
    responsible_gaming_url: "https://example.com/break",
    join_url: "https://example.com/join",
  });
});
afterAll(async () => {
  await service?.stop();
});

/** Works in a tab with scripts, or without, which has no complaint but the expected. */
const inTab = (scripts: boolean, work: (page: Page) => Promise<void>, expected: readonly string[] = []) =>
  visit(browser!, { ...ZOOMED, scripts }, service.baseUrl, work, expected);

const local = (url: string) => url.replace(service.internals.config.baseUrl, service.baseUrl);
const linkOf = async (playerId: string, to: string): Promise<string> =>
  local((await place.call("create_player_link", { propertyId: place.id, playerId, to })).url);
const gamesOf = (playerId: string) => linkOf(playerId, "game");

let numbered = 0;
const nextName = () => {
  numbered += 1;
  return `Autumn at the river ${numbered}`;
};

/** A player with a game that they may play, and the address of its page. */
async function inGame(fields: object): Promise<string> {
  const game = await place.game([{ ...SURE[0], slice_index: 0 }], { name: nextName(), ...fields });
  return `${await gamesOf(await place.player())}/${game}`;
}

/** The page of a play that has won. */
async function won(): Promise<string> {
  const game = await place.game(SURE, { name: nextName() });
  const player = await place.player();
  const { play_id } = await place.play(game, player);
  return `${await gamesOf(player)}/${game}/plays/${play_id}`;
}

/** A player's inbox with one message of an offer. */
async function inbox(): Promise<string> {
  const player = await place.player({ first_name: "Ana" });
  await sendTo(player, { channel: "loyaltyvip", ...FREE_PLAY });
  return linkOf(player, "inbox");
}

async function sendTo(player: string, fields: object): Promise<void> {
  const { id } = await place.call("create_campaign", {
    name: randomUUID(),
    conditions: [{ field: "id", operator: "eq", value: player }],
    ...fields,
  });
  await place.call("send_campaign", { campaignId: id, propertyId: place.id });
  await service.idle();
}

/** The link in a message that a player got. */
async function mailed(): Promise<{ unsubscribe: string; preferences: string }> {
  numbered += 1;
  const email = `guest${numbered}@example.com`;
  const player = await place.player({ email, phone: `+1702555${String(1_000 + numbered)}` });
  const grant = { consentGiven: true, consentSource: "desk", consentVersion: "1" };
  for (const channel of ["email", "sms"])
    await place.call("consent_record", { propertyId: place.id, playerId: player, channel, ...grant });
  await sendTo(player, {
    channel: "email",
    subject: "Jazz",
    from_email: "a@example.com",
    body_html: '<p>Tonight <a href="{{ unsubscribe_url }}">Stop</a></p>',
  });
  const [send] = await place.query(
    (sql) => sql<{ id: string }[]>`
      select id from campaign_sends where property_id = ${place.id} and player_id = ${player} and status <> 'skipped'`,
  );
  const unsubscribe = local(unsubscribeLinks(service.internals.config)(place.id, send!.id));
  return { unsubscribe, preferences: unsubscribe.replace("/u/", "/preferences/") };
}

async function shared(): Promise<string> {
  const game = await place.game(SURE, { name: nextName() });
  const { share } = await place.call("create_share_link", {
    ...{ playerId: await place.player(), propertyId: place.id, network: "x" },
    ...{ contentType: "game", contentId: game },
  });
  return local(share.share_url);
}

/** A player who has turned notifications on. */
async function subscribed(): Promise<string> {
  const player = await place.player();
  const key = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4";
  await place.call("subscribe_push", {
    ...{ playerId: player, agreed: true, endpoint: `https://push.example.com/${player}` },
    ...{ p256dh: key, auth: "BTBZMqHH6r4Tts7J_aSIgg" },
  });
  return linkOf(player, "push");
}

/** A way through the pages: the names of the controls that a player uses one after another. */
interface Flow {
  open(): Promise<string>;
  steps: readonly string[];
  /** The words at the end, within the page's content. */
  end: string;
  /** Without scripts its pages are forms as those of another flow: it is walked by those with PROOF=full. */
  alike?: true;
  /** With scripts its keys are those of another flow, too, or of the card in games.test.ts. */
  sameKeys?: true;
  /** With scripts it asks for notifications, which only the whole browser can show: push.test.ts walks it. */
  notifies?: true;
  /** The player has asked for no calm: a card is scratched open. */
  moves?: true;
  /** Other steps for a page without scripts. */
  withoutScripts?: Pick<Flow, "steps" | "end">;
}

const FLOWS: Record<string, Flow> = {
  "reading, pinning and archiving a message": {
    open: inbox,
    steps: ["Ana, $25 free play is yours", "Pin", "Archive", "Archived", "Move to inbox"],
    end: "Nothing is archived",
  },
  "reading the rules and checking a draw": {
    alike: true,
    open: won,
    steps: ["Check this draw", "Back to the play", "Rules and odds", "Autumn at the river", "All games"],
    end: "Autumn at the river",
  },
  "the free entry": {
    open: () => inGame({ cost: { type: "ticket" }, own_free_entry: true }),
    steps: ["Free entry", "Get the free ticket", "Back to the game"],
    end: "Plays left: 1",
  },
  "a wheel, and once more": {
    open: () => inGame({ type: "spin_wheel", play_limits: { per_player_total: 3 } }),
    steps: [
      "Spin the wheel",
      "Spin again",
      "Spin the wheel",
      "See your prize",
      "Claim the prize",
      "Spin again",
    ],
    end: "Plays left: 1",
    withoutScripts: {
      steps: ["Spin the wheel", "Spin again", "Spin the wheel", "Claim the prize", "Check this draw"],
      end: "The service has computed this draw again",
    },
  },
  "a scratch card": {
    alike: true,
    sameKeys: true,
    moves: true,
    open: () => inGame({ type: "scratch_card", play_limits: { per_player_total: 1 } }),
    steps: ["Take a card", "Reveal", "See your prize", "Claim the prize", "Back to the game"],
    end: "No play left for now",
    withoutScripts: {
      steps: ["Take a card", "Claim the prize", "Back to the game"],
      end: "No play left for now",
    },
  },
  "a mystery box": {
    alike: true,
    sameKeys: true,
    open: () => inGame({ type: "mystery_box" }),
    steps: ["Open the box", "Open another box"],
    end: "Ten",
  },
  "an instant win": {
    alike: true,
    sameKeys: true,
    open: () => inGame({}),
    steps: ["Play", "Play again"],
    end: "Ten",
  },
  "stopping everything": {
    alike: true,
    open: async () => (await mailed()).preferences,
    steps: ["Stop everything"],
    end: "Off. Ask us to turn it on.",
  },
  "unsubscribing, and turning email on again": {
    open: async () => (await mailed()).unsubscribe,
    steps: ["Unsubscribe", "See your preferences", "Email", "Text messages", "Save"],
    end: "Saved. It takes effect at once.",
  },
  "stopping notifications": {
    open: subscribed,
    steps: ["Stop all notifications"],
    end: "You get no more notifications",
  },
  "turning notifications on": {
    open: async () => linkOf(await place.player(), "push"),
    notifies: true,
    steps: [],
    end: "Turning notifications on needs JavaScript",
  },
};

/** The control with this name, as a screen reader says it. */
function controlOf(page: Page, name: string) {
  const named = { name, exact: false } as const;
  return page
    .getByRole("link", named)
    .or(page.getByRole("button", named))
    .or(page.getByRole("checkbox", named))
    .locator("visible=true")
    .first();
}

/** Goes to a control by Tab alone, and presses it. A box is ticked by the space bar. */
async function pressByKeyboard(page: Page, name: string): Promise<void> {
  // Found once: to find it by its role at each step takes longer than the step.
  const control = (await controlOf(page, name).elementHandle())!;
  for (let count = 0; count < 40; count += 1) {
    if (await control.evaluate((one) => one.matches(":focus"))) {
      const isBox = await control.evaluate((one) => one.matches("input[type=checkbox]"));
      return page.keyboard.press(isBox ? "Space" : "Enter");
    }
    await page.keyboard.press("Tab");
  }
  throw new Error(`the keyboard does not reach ${name}`);
}

const BOXES = ["Text messages", "Email"];
/** The controls after which a page with scripts stays. */
const MOVING = ["Spin the wheel", "Take a card", "Reveal", "Open the box", "Play"];

/** Walks a flow from its first page on. Every page of it fits its window. */
async function walk(
  page: Page,
  url: string,
  { steps, end, moves }: Pick<Flow, "steps" | "end" | "moves">,
  { staying, press }: { staying: readonly string[]; press(page: Page, name: string): Promise<void> },
): Promise<void> {
  // A page asks for it once, as it opens.
  if (!moves) await page.emulateMedia({ reducedMotion: "reduce" });
  await page.goto(url);
  for (const step of steps) {
    expect(await cutOff(page), step).toEqual([]);
    await (staying.includes(step)
      ? press(page, step)
      : Promise.all([page.waitForEvent("load"), press(page, step)]));
  }
  await expect.poll(() => page.evaluate("document.querySelector('main').innerText")).toContain(end);
  expect(await cutOff(page), end).toEqual([]);
}

describe.runIf(browser).each(Object.entries(FLOWS))("%s", (_, flow) => {
  test.runIf(!flow.notifies && (isFull || !flow.sameKeys))(
    "works at a zoom of 200 % with the keyboard alone",
    async () => {
      const url = await flow.open();
      await inTab(true, (page) =>
        walk(page, url, flow, { staying: [...BOXES, ...MOVING], press: pressByKeyboard }),
      );
    },
  );

  test.runIf(isFull || !flow.alike)("works with scripts off", async () => {
    const url = await flow.open();
    const press = (tab: Page, name: string) => controlOf(tab, name).click();
    await inTab(false, (page) => walk(page, url, flow.withoutScripts ?? flow, { staying: BOXES, press }));
  });
});

test.runIf(browser)("a shared link leads on by keyboard and without scripts", async () => {
  const url = await shared();
  for (const scripts of [true, false]) {
    await inTab(scripts, async (page) => {
      await page.goto(url);
      expect(await cutOff(page)).toEqual([]);
      const way = controlOf(page, "Play now");
      expect(await way.getAttribute("href")).toMatch(/^https:\/\/example\.com\/join\?share=[\w-]{36}/);
      for (const _ of ["skip", "button"]) await page.keyboard.press("Tab");
      expect(await way.evaluate((one) => one.matches(":focus"))).toBe(true);
    });
  }
});

/** The pages that say that something is not here, or not for this player. A player whose language nobody knows. */
interface Refusal {
  heading: Word;
  status: number;
  open(): Promise<string>;
  /** Brings the page back once it has opened again: a minute may end between two looks. */
  again?(url: string): Promise<void>;
}

const REFUSALS: Record<string, Refusal> = {
  "a link that is not ours": {
    heading: "link_invalid",
    status: 404,
    open: async () => `${service.baseUrl}/inbox/nothing`,
  },
  "a message's link that leads nowhere": {
    heading: "link_nowhere",
    status: 404,
    open: async () => `${service.baseUrl}/c/nothing`,
  },
  "a game that is not here": {
    heading: "game_gone",
    status: 404,
    open: async () => `${await gamesOf(await place.player())}/${randomUUID()}`,
  },
  "a message that is not here": {
    heading: "message_gone",
    status: 404,
    open: async () => `${await linkOf(await place.player(), "inbox")}/${randomUUID()}`,
  },
  "a game of another state": {
    heading: "not_for_you",
    status: 403,
    open: async () => {
      const game = await place.game(SURE, { void_in: ["FL"] });
      return `${await gamesOf(await place.player({ state: "FL", country: "US" }))}/${game}`;
    },
  },
  "too many requests": {
    heading: "failed",
    status: 429,
    open: async () => {
      // The page that asks the database for the least.
      const url = await linkOf(await place.player(), "push");
      await untilRefused(url);
      return url;
    },
    again: untilRefused,
  },
};

async function untilRefused(url: string): Promise<void> {
  for (let isOpen = true; isOpen; ) {
    const answers = await Promise.all(Array.from({ length: 24 }, () => fetch(url)));
    await Promise.all(answers.map(({ body }) => body?.cancel()));
    isOpen = answers.every(({ status }) => status === 200);
  }
}

describe
  .runIf(browser)
  .each(Object.entries(REFUSALS).map(([name, refusal], index) => ({ name, index, ...refusal })))(
  "the page of $name",
  ({ name, index, heading, status, open, again }) => {
    // Of five languages one, another one for each page; all of them with PROOF=full.
    const languages = isFull ? LANGUAGES : [LANGUAGES[index % LANGUAGES.length]!];
    test("is plain in each language, by day and at night, on the smallest phone", async () => {
      const url = await open();
      const refused = `console: Failed to load resource: the server responded with a status of ${status}`;
      await inTab(
        true,
        async (page) => {
          for (const language of languages) {
            await page.setExtraHTTPHeaders({ "accept-language": language });
            let answer = await page.goto(url);
            while (again && answer!.status() === 200) {
              await again(url);
              answer = await page.goto(url);
            }
            expect(answer!.status()).toBe(status);
            expect(await page.textContent("h1")).toBe(WORDS[language][heading]);
            expect(await page.getAttribute("html", "lang")).toBe(language);
            expect(await cutOff(page), language).toEqual([]);
            await picture(page, `${name}-${language}`);
          }
          // They have one layout, of which one in three is judged.
          if (isFull || index % 3 === 0) await inspect(page, name, dayAndNight({ smallest: ZOOMED }));
        },
        [refused],
      );
    });
  },
);

test.runIf(browser)(
  "the link beside the button that stops emails keeps out of the way of a thumb",
  async () => {
    const { unsubscribe } = await mailed();
    await visit(browser!, ZOOMED, service.baseUrl, async (page) => {
      await page.goto(unsubscribe);
      const button = await controlOf(page, "Unsubscribe").boundingBox();
      const link = await page.locator("form + p a").boundingBox();
      expect(link!.y - (button!.y + button!.height)).toBeGreaterThanOrEqual(12);
    });
  },
);
