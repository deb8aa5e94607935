import { createHash, createHmac, randomUUID } from "node:crypto";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isFull } from "../../support/proof-size.ts";
import { startService, type TestService } from "../../support/service.ts";
import { type Arcade, arcade, HALF, SURE } from "../../tools/games/arcade.ts";
import { dayAndNight, inspect, openBrowser, picture, type Screen, smallTargets, visit } from "./browser.ts";
import { THEMES } from "./casino.ts";

const WHEEL = [
  { label: "$50 dinner", value: 50, weight: 1, slice_index: 0 },
  { label: "No prize", kind: "no_prize", weight: 6, slice_index: 1 },
  { label: "$5 slot play", value: 5, weight: 2, slice_index: 2 },
  { label: "One more spin", kind: "free_play", weight: 1, slice_index: 3 },
];

const ONE = [{ label: "Ten", value: 10, slice_index: 0 }];

let service: TestService;
let place: Arcade;
let player: string;
/** The address of the player's games. */
let games: string;
beforeAll(async () => {
  service = await startService({ role: "web" });
  place = await arcade(service, { legal_name: "River Casino LLC", postal_address: "1 River Road, Reno" });
  player = await place.player({ first_name: "Ana" });
  games = await linkOf(player);
});
afterAll(() => service?.stop());

async function linkOf(playerId: string, more: object = {}): Promise<string> {
  const input = { propertyId: place.id, playerId, to: "game", ...more };
  const { url } = await place.call("create_player_link", input);
  return url.replace(service.internals.config.baseUrl, service.baseUrl);
}

const get = (url: string) => fetch(url, { redirect: "manual" });
const post = (url: string, fields: Record<string, string> = {}, headers: Record<string, string> = {}) =>
  fetch(url, { method: "POST", body: new URLSearchParams(fields), redirect: "manual", headers });
const textOf = async (url: string) => (await get(url)).text();
const numberIn = (page: string) => /name="play" value="(\d+)"/.exec(page)?.[1] ?? "";
const where = (answer: Response) => new URL(answer.headers.get("location")!, service.baseUrl).href;
const playsOf = (gameId: string) =>
  place.query(
    (sql) => sql<{ id: string; client_seed: string }[]>`
      select id, client_seed from game_plays where property_id = ${place.id} and game_id = ${gameId} order by nonce`,
  );

describe("a game's page", () => {
  test("leads from the list to a play, its prize, the claim with the code, and the proof", async () => {
    const game = await place.game(SURE, { name: "Box <b>of</b> joy", type: "mystery_box" });
    expect(await textOf(games)).toContain("Box &lt;b&gt;of&lt;/b&gt; joy");
    const page = await textOf(`${games}/${game}`);
    expect(page).not.toContain("weight");
    const hash = /<code>([0-9a-f]{64})<\/code>/.exec(page)![1];
    const played = await post(`${games}/${game}`, { play: numberIn(page), seed: "my word" });
    expect(played.status).toBe(303);
    const result = where(played);
    expect(await textOf(result)).toContain("You have won: Ten");
    // A reload shows the same play.
    expect(await textOf(result)).toContain("Claim the prize");
    expect((await post(result)).status).toBe(303);
    const code = /class="code">([^<]+)</.exec(await textOf(result))![1]!;
    await post(result);
    expect(await textOf(result)).toContain(code);
    await place.redeem(code);
    expect(await textOf(result)).toContain("Redeemed on");
    const proof = await textOf(`${result}/proof`);
    const value = (name: string) => new RegExp(`data-${name}="([^"]*)"`).exec(proof)![1]!;
    expect(value("hash")).toBe(hash);
    expect(
      createHash("sha256")
        .update(Buffer.from(value("seed"), "hex"))
        .digest("hex"),
    ).toBe(hash);
    expect(value("word")).toBe("my-word");
    expect((await playsOf(game))[0]).toMatchObject({ client_seed: "my-word" });
  });

  test("shows the rules with the odds as they were activated, and nothing that a later change says", async () => {
    const game = await place.game(HALF);
    const rules = await textOf(`${games}/${game}/rules`);
    expect(rules).toContain("River Casino LLC");
    expect(rules).toContain("Odds: 1 in 2");
  });

  test("grants the free ticket of a day once", async () => {
    const game = await place.game(SURE, { cost: { type: "ticket" }, own_free_entry: true });
    expect(await textOf(`${games}/${game}`)).toContain("No play left for now");
    const free = await linkOf(player, { to: "free_entry", gameId: game });
    expect(await textOf(free)).toContain("One ticket a day is free");
    expect(await (await post(free)).text()).toContain("Your free ticket of today is here");
    expect(await (await post(free)).text()).toContain("The next one comes tomorrow");
    expect(await textOf(`${games}/${game}`)).toContain("Plays left: 1");
    const other = await place.game(SURE);
    expect(await (await post(`${games}/${other}/free`)).text()).not.toContain("Your free ticket");
    for (const wrong of [
      { to: "free_entry", gameId: other },
      { to: "free_entry" },
      { to: "inbox", gameId: game },
      { to: "game", gameId: randomUUID() },
    ]) {
      await expect(linkOf(player, wrong)).rejects.toThrow(/gameId|game/);
    }
    expect(await textOf(await linkOf(player, { gameId: other }))).toContain("Play</button>");
  });

  test("says that a prize waits for its code while the pool is empty, and shows it afterwards", async () => {
    const pool = await place.call("create_code_pool", { name: "Late codes" });
    const game = await place.game([{ label: "Show", code_pool_id: pool.id }]);
    const result = where(await post(`${games}/${game}`, { play: "1" }));
    expect(await (await post(result)).text()).toContain("The code of this prize is not ready yet");
    await place.call("add_prize_codes", { poolId: pool.id, codes: ["LATE-1"], propertyId: place.id });
    expect((await post(result)).status).toBe(303);
    expect(await textOf(result)).toContain("LATE-1");
  });

  test("speaks the player's language", async () => {
    const id = await place.player({ language: "de" });
    const game = await place.game(ONE, { type: "spin_wheel" });
    expect(await textOf(`${await linkOf(id)}/${game}`)).toContain("Rad drehen");
  });
});

describe("a cheat", () => {
  test("gets one play for one press, however often it is sent, also 30 times at once", async () => {
    const game = await place.game(HALF, { play_limits: { per_player_total: 2 } });
    const url = `${games}/${game}`;
    const number = numberIn(await textOf(url));
    const answers = await Promise.all(Array.from({ length: 30 }, () => post(url, { play: number })));
    const ended = answers.filter(({ status }) => status === 303);
    expect(new Set(ended.map(where)).size).toBe(1);
    expect(await playsOf(game)).toHaveLength(1);
    // The same form again, a day later, leads to the same play.
    expect(where(await post(url, { play: number }))).toBe(where(ended[0]!));
    await post(url, { play: "2" });
    await post(url, { play: "3" });
    expect(await playsOf(game)).toHaveLength(2);
    expect(await textOf(url)).toContain("No play left for now");
  });

  test("draws once for 20 words that are sent at once for one play, and not again by a better word", async () => {
    const game = await place.game([
      { label: "Car", value: 100, weight: 1 },
      { label: "None", kind: "no_prize", weight: 199 },
    ]);
    const url = `${games}/${game}`;
    const words = Array.from({ length: 20 }, (_, index) => `word${index}`);
    const answers = await Promise.all(words.map((seed) => post(url, { play: "1", seed })));
    const ended = answers.filter(({ status }) => status === 303);
    expect(ended.length).toBeGreaterThan(0);
    expect(new Set(ended.map(where)).size).toBe(1);
    const [drawn, ...more] = await playsOf(game);
    expect(more).toEqual([]);
    expect(where(await post(url, { play: "1", seed: "better" }))).toBe(where(ended[0]!));
    expect(await playsOf(game)).toEqual([drawn]);
  });

  test("gains no time: not by a later end written into the link, and not by a clock of the browser", async () => {
    const game = await place.game(SURE, { play_limits: { cooldown_seconds: 3600 } });
    const address = new URL(games);
    const [payload = "", signature = ""] = address.pathname.split("/").at(-1)!.split(".");
    const text = Buffer.from(payload, "base64url").toString();
    const later = text.replace(/"e":(\d+)/, (_, end) => `"e":${Number(end) + 31_536_000}`);
    expect(later).not.toBe(text);
    const edited = `${Buffer.from(later).toString("base64url")}.${signature}`;
    expect((await get(`${address.origin}/games/${edited}/${game}`)).status).toBe(404);
    const url = `${games}/${game}`;
    await post(url, { play: "1" });
    const tomorrow = new Date(Date.now() + 86_400_000).toUTCString();
    await post(
      url,
      { play: "2" },
      { Date: tomorrow, "If-Unmodified-Since": tomorrow, "X-Request-Time": tomorrow },
    );
    expect(await playsOf(game)).toHaveLength(1);
  });

  test("plays nothing by an edited form: a number that is not the next, a word that breaks the message", async () => {
    const game = await place.game(SURE);
    const url = `${games}/${game}`;
    for (const number of ["", "0", "-1", "2", "99999999999", "1e3", "x"]) {
      expect(where(await post(url, { play: number }))).toBe(url);
    }
    expect(await playsOf(game)).toHaveLength(0);
    await post(url, { play: "1", seed: `a:b\n${"é".repeat(300)}` });
    const [play] = await playsOf(game);
    expect(play!.client_seed).toMatch(/^[\x21-\x39\x3b-\x7e]{60}$/);
  });

  test("sees nobody else's play, not by another player's link and not by another game's address", async () => {
    const game = await place.game(SURE);
    const other = await place.game(SURE);
    const { play_id } = await place.play(game, player);
    const thief = await linkOf(await place.player());
    for (const url of [
      `${thief}/${game}/plays/${play_id}`,
      `${thief}/${game}/plays/${play_id}/proof`,
      `${games}/${other}/plays/${play_id}`,
      `${games}/${game}/plays/${randomUUID()}`,
      `${games}/${randomUUID()}`,
      `${games}/${await place.draft(SURE)}`,
    ]) {
      expect((await get(url)).status, url).toBe(404);
    }
    expect((await post(`${thief}/${game}/plays/${play_id}`)).status).toBe(404);
    const [play] = await place.query(
      (sql) => sql`select status from game_plays where property_id = ${place.id} and id = ${play_id}`,
    );
    expect(play).toEqual({ status: "revealed" });
  });

  test("comes in by no link of another page, property, or time", async () => {
    const inbox = await linkOf(player, { to: "inbox" });
    expect((await get(inbox.replace("/inbox/", "/games/"))).status).toBe(404);
    expect((await get(`${games.slice(0, -4)}AAAA`)).status).toBe(404);
    const elsewhere = await arcade(service);
    const foreign = await elsewhere.game(SURE);
    expect((await get(`${games}/${foreign}`)).status).toBe(404);
    expect((await post(`${games}/${foreign}`, { play: "1" })).status).toBe(404);
  });
});

describe("a bar", () => {
  const excluded = async (id: string) =>
    place.call("create_self_exclusion", { player_id: id, program: "state", jurisdiction: "US-NV" });

  test("ends the link with self-exclusion and erasure: no game, no prize, no code", async () => {
    const id = await place.player({ email: "barred@example.com" });
    const game = await place.game(SURE);
    const link = await linkOf(id);
    const result = where(await post(`${link}/${game}`, { play: "1" }));
    await post(result);
    expect((await get(result)).status).toBe(200);
    await excluded(id);
    for (const url of [link, `${link}/${game}`, result, `${result}/proof`, `${link}/${game}/rules`]) {
      expect((await get(url)).status).toBe(404);
    }
    expect((await post(`${link}/${game}`, { play: "2" })).status).toBe(404);
    expect((await post(result)).status).toBe(404);
    expect(await playsOf(game)).toHaveLength(1);
    await expect(place.call("create_player_link", { playerId: id, to: "game" })).rejects.toMatchObject({
      code: "not_found",
    });
  });

  test("of age, state or segment shows a page that says so, and plays nothing", async () => {
    const child = await place.player({ birth_date: "2010-05-05" });
    const floridian = await place.player({ state: "FL", country: "US" });
    const game = await place.game(SURE, { void_in: ["FL"], min_age: 21 });
    for (const id of [child, floridian]) {
      const link = await linkOf(id);
      expect(await textOf(link)).not.toContain(game);
      for (const answer of [await get(`${link}/${game}`), await post(`${link}/${game}`, { play: "1" })]) {
        expect(answer.status).toBe(403);
        expect(await answer.text()).toContain("This game is not open to you");
      }
    }
    expect(await playsOf(game)).toHaveLength(0);
  });

  test("of the game itself: paused and ended", async () => {
    const game = await place.game(SURE);
    const { play_id } = await place.play(game, player);
    await place.on("pause_game", game);
    expect(await textOf(`${games}/${game}`)).toContain("The game is not running");
    await post(`${games}/${game}`, { play: "2" });
    await place.on("end_game", game);
    expect(await playsOf(game)).toHaveLength(1);
    expect(await textOf(`${games}/${game}/plays/${play_id}`)).toContain("Claim the prize");
    // The end reveals the master seed, and the proof shows it.
    expect(await textOf(`${games}/${game}/plays/${play_id}/proof`)).toContain("The game’s secret");
  });
});

const browser: Browser | null = await openBrowser();

const visiting = (screen: Screen, work: (page: Page) => Promise<void>): Promise<void> =>
  visit(browser!, screen, service.baseUrl, work);

/** The other themes are seen on pages with parts of their own colours, and with PROOF=full on all. */
const COLORED: Record<string, string[]> = {
  azure: ["share", "wheel", "prize"],
  noir: ["list", "wheel", "closed"],
};

const PHONE = { width: 360, height: 780 };
const SIZES = { phone: PHONE, desktop: { width: 1280, height: 900 } };

describe.runIf(browser)("in a browser", () => {
  let urls: Record<string, string>;
  beforeAll(async () => {
    const wheel = await place.game(WHEEL, {
      name: "Winter wheel",
      description: "Spin once a day until the snow is gone.",
      type: "spin_wheel",
      own_free_entry: true,
      ends_at: "2027-02-01T00:00:00Z",
    });
    const game = (type: string, more: object = {}) =>
      place.game(SURE, {
        name: `The ${type.replace("_", " ")}_without_any_space_to_break_its_name_at`,
        type,
        ...more,
      });
    const card = await game("scratch_card");
    const box = await game("mystery_box");
    const instant = await game("instant_win", { cost: { type: "ticket" }, own_free_entry: true });
    const { play_id } = await place.play(card, player);
    await place.claim(play_id, player);
    await place.call("set_property_theme", { join_url: "https://example.com/join" });
    const { share } = await place.call("create_share_link", {
      playerId: player,
      network: "whatsapp",
      contentType: "game",
      contentId: wheel,
    });
    urls = {
      share: share.share_url.replace(service.internals.config.baseUrl, service.baseUrl),
      list: games,
      wheel: `${games}/${wheel}`,
      card: `${games}/${card}`,
      box: `${games}/${box}`,
      closed: `${games}/${instant}`,
      rules: `${games}/${wheel}/rules`,
      free: `${games}/${instant}/free`,
      prize: `${games}/${card}/plays/${play_id}`,
      proof: `${games}/${card}/plays/${play_id}/proof`,
    };
  });

  test.each(Object.keys(THEMES))(
    "every page in the theme %s: no violation, no complaint, nothing cut off",
    async (theme) => {
      if (theme !== "default") await place.call("set_property_theme", THEMES[theme]!);
      await visiting({ ...PHONE, dark: false }, async (page) => {
        for (const name of isFull ? Object.keys(urls) : (COLORED[theme] ?? Object.keys(urls))) {
          await page.goto(urls[name]!);
          expect(await smallTargets(page), name).toEqual([]);
          await inspect(page, `${theme}-game-${name}`, dayAndNight(SIZES), {
            recolored: theme !== "default",
          });
        }
      });
    },
    // Two looks at ten pages: 5 s of a free processor.
    60_000,
  );

  test("the wheel stops at the prize that the service has drawn, and the focus is on the result", async () => {
    // The first slice, and one that a wheel which turns the other way would miss.
    for (const index of isFull ? WHEEL.keys() : [0, 3]) {
      const only = WHEEL.map((prize, at) => ({ ...prize, weight: at === index ? 1_000_000 : 1 }));
      const game = await place.game(only, { type: "spin_wheel", play_limits: { per_player_per_day: 2 } });
      await visiting({ ...PHONE, dark: false }, async (page) => {
        await page.emulateMedia({ reducedMotion: "reduce" });
        await page.goto(`${games}/${game}`);
        await page.click("button:has-text('Spin')");
        await page.waitForSelector("[data-next]:not([hidden])");
        expect(await page.evaluate("document.activeElement.dataset.result")).toBe("");
        const left = WHEEL[index]!.kind === "free_play" ? 2 : 1;
        expect(await page.textContent("[data-left]")).toBe(`Plays left: ${left}`);
        // The name of the drawn slice stands upright at the top.
        const names = await page.evaluate(`[...document.querySelectorAll(".wheel text")].map((one) => {
          const box = one.getBoundingClientRect();
          return { name: one.textContent, top: box.top, tall: box.height > box.width };
        })`);
        const top = (names as { name: string; top: number; tall: boolean }[]).sort(
          (a, b) => a.top - b.top,
        )[0];
        expect(top).toMatchObject({ name: WHEEL[index]!.label, tall: true });
        // The wheels differ in the slice at the top alone.
        if (isFull || index === 0)
          await inspect(page, `wheel-after-${index}`, { phone: { ...PHONE, dark: false } });
        await page.click("[data-next]");
        await page.waitForURL(/\/plays\//);
      });
      await place.on("end_game", game);
    }
  });

  test("a card is scratched open by a finger, or by the button with the keyboard alone", async () => {
    const game = await place.game(SURE, { type: "scratch_card" });
    await visiting({ ...PHONE, dark: false }, async (page) => {
      await page.goto(`${games}/${game}`);
      await page.focus("button:has-text('Take a card')");
      await page.keyboard.press("Enter");
      await page.waitForSelector("[data-reveal]:not([hidden])");
      expect(await page.evaluate("document.activeElement.textContent")).toBe("Reveal");
      await page.keyboard.press("Enter");
      await page.waitForSelector("[data-next]:not([hidden])");
      expect(await page.textContent("[data-result]")).toContain("You have won: Ten");

      await page.goto(`${games}/${game}`);
      await page.click("button:has-text('Take a card')");
      await page.waitForSelector("canvas:not([hidden])");
      const box = (await page.locator("canvas").boundingBox())!;
      await page.mouse.move(box.x + 4, box.y + 4);
      await page.mouse.down();
      for (let y = 10; y < box.height; y += 26) {
        await page.mouse.move(box.x + 4, box.y + y, { steps: 2 });
        await page.mouse.move(box.x + box.width - 4, box.y + y, { steps: 16 });
        if (y < 60) await picture(page, "scratching");
      }
      await page.mouse.up();
      await page.waitForSelector("[data-next]:not([hidden])");
    });
    expect(await playsOf(game)).toHaveLength(2);
  });

  test("the browser computes the draw itself, and sees a number that was edited", async () => {
    const game = await place.game(HALF);
    const { play_id, proof } = await place.play(game, player, { clientSeed: "mine" });
    const seed = Buffer.from(proof.seed, "hex");
    const digest = createHmac("sha256", seed).update("mine:1:0").digest();
    expect(Number(digest.readBigUInt64BE() >> 63n)).toBe(proof.number);
    const url = `${games}/${game}/plays/${play_id}/proof`;
    const page = await textOf(url);
    const verdicts = [
      [page, "Your own device has computed this draw again: it is right."],
      [page.replace(/data-drawn="\d"/, 'data-drawn="7"'), "This draw does not match its proof."],
      [
        page.replace(/data-word="mine"/, 'data-word="mine!"').replace(/data-drawn="\d"/, 'data-drawn="3"'),
        "This draw does not match",
      ],
    ] as const;
    await visiting({ ...PHONE, dark: false }, async (tab) => {
      for (const [body, verdict] of verdicts) {
        await tab.unroute(url);
        await tab.route(url, async (route) => route.fulfill({ response: await route.fetch(), body }));
        await tab.goto(url);
        await tab.waitForSelector("[data-verdict]:not([hidden])");
        expect(await tab.textContent("[data-verdict]")).toContain(verdict);
      }
    });
  });
});
