import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { unsubscribeLinks } from "#tools/player-links/links.ts";
import { isFull } from "../../support/proof-size.ts";
import { cutOff, dayAndNight, inspect, openBrowser, type Screen, smallTargets, visit } from "./browser.ts";
import { type Casino, FREE_PLAY, openCasino, THEMES } from "./casino.ts";

const browser: Browser | null = await openBrowser();
let casino: Casino;
let messages: string[];
const pages: Record<string, string> = {};

beforeAll(async () => {
  if (!browser) return;
  casino = await openCasino();
  const { service, playerId } = casino;
  await service.call(
    "update_property",
    {
      propertyId: service.tenant.id,
      privacy_policy_url: "https://demo-casino.example/privacy",
      responsible_gaming_footer: "Must be 21 or older. Gambling problem? Call 1-800-GAMBLER.",
    },
    service.tenant.id,
  );
  await casino.send({
    subject: "Your Sunday brunch for two",
    body_text: "Brunch is on us this Sunday, from 10 to 2, at the Terrace. Bring someone you like.",
    inbox: { category: "Dining", offer: { type: "Brunch for two", value: "On the house", valid_days: 3 } },
  });
  await casino.send({
    subject: "New: the Lucky Dragon tables are open",
    body_text: "Twelve new tables on the first floor, every day from noon.",
  });
  await casino.send({
    subject: "Last month's bonus",
    body_text: "Thank you for playing with us.",
    inbox: {
      category: "Rewards",
      offer: { type: "Bonus points", value: "500", code: "OLD-1", valid_days: 1 },
    },
  });
  await service.database.db.asProperty(service.tenant.id, async (sql) => {
    await sql`
      update inbox_messages set offer = offer || '{"expires_at": "2026-01-05T20:00:00Z"}', read_at = now(), seen_at = now()
      where property_id = ${service.tenant.id} and title like 'Last%'`;
  });
  await casino.send({ ...FREE_PLAY, inbox: { ...FREE_PLAY.inbox, pinned: true } });
  const { items } = await service.call("show_inbox", { playerId }, service.tenant.id);
  messages = items.map(({ id }: { id: string }) => id);
  const [send] = await service.database.db.asProperty(
    service.tenant.id,
    (sql) =>
      sql<{ id: string }[]>`select id from campaign_sends where property_id = ${service.tenant.id} limit 1`,
  );
  const empty = await service.call(
    "create_player",
    { player_id: "new", email: "new@example.com", phone: "+17025550111" },
    service.tenant.id,
  );
  Object.assign(pages, {
    inbox: casino.inbox,
    message: `${casino.inbox}/${messages[0]}`,
    archive: `${casino.inbox}?folder=archive`,
    unsubscribe: unsubscribeLinks(service.internals.config)(service.tenant.id, send!.id).replace(
      service.internals.config.baseUrl,
      service.baseUrl,
    ),
    empty: await casino.link("inbox", empty.id),
    preferences: await casino.link("preferences", empty.id),
    push: await casino.link("push", empty.id),
    home: service.baseUrl,
    reset: `${service.baseUrl}/password-reset`,
    guide: `${service.baseUrl}/docs/inbox`,
  });
});
afterAll(async () => {
  await casino?.service.stop();
});

const SIZES = { phone: { width: 360, height: 780 }, desktop: { width: 1280, height: 900 } };

const setTheme = (theme: object) =>
  casino.service.call(
    "set_property_theme",
    { responsible_gaming_url: "https://demo-casino.example/break", ...theme },
    casino.service.tenant.id,
  );

const visiting = (screen: Screen, work: (page: Page) => Promise<void>): Promise<void> =>
  visit(browser!, screen, casino.service.baseUrl, work);

const withBrowser = describe.runIf(browser);

withBrowser("every page, by day and at night, on a phone and a desk", () => {
  const screens = dayAndNight(SIZES);
  // Of two pages the other themes are seen on one each, and with PROOF=full on both.
  const themes = Object.entries(THEMES).map(([theme, colors], turn) => ({ theme, colors, turn }));
  for (const { theme, colors, turn } of themes) {
    test(`in the theme ${theme}: no violation, no complaint, nothing cut off`, async () => {
      await setTheme(colors);
      await visiting({ ...SIZES.phone, dark: false }, async (page) => {
        for (const [index, [name, url]] of Object.entries(pages).entries()) {
          const isOurs = theme === "default" || !["home", "reset", "guide"].includes(name);
          if (!isOurs || (theme !== "default" && !isFull && index % 2 !== turn % 2)) continue;
          await page.goto(url);
          await inspect(page, `${theme}-${name}`, screens, { recolored: theme !== "default" });
        }
      });
    });
  }
});

withBrowser("the inbox in a browser", () => {
  test("marks messages as seen after a second in view, and takes the badge's number from the answer", async () => {
    const { service } = casino;
    const { id } = await service.call("create_player", { player_id: "watcher" }, service.tenant.id);
    for (const subject of ["Look at me", "And at me"]) await casino.send({ subject });
    const { items } = await service.call("show_inbox", { playerId: id }, service.tenant.id);
    await visiting({ ...SIZES.phone, dark: false }, async (page) => {
      await page.goto(await casino.link("inbox", id));
      expect(await page.textContent("[data-unread]")).toBe("2 new");
      // Read on another device meanwhile.
      const read = { playerId: id, ids: [items[0].id], mark: "read" };
      await service.call("mark_inbox_messages", read, service.tenant.id);
      const marked = await page.waitForResponse((answer) => answer.url().endsWith("/player/inbox/mark"));
      expect(await marked.json()).toMatchObject({ unseen: 0, unread: 1 });
      await page.getByText("1 new").waitFor();
    });
  });

  test("a long name stays within a phone, and a name from right to left keeps its order", async () => {
    const { service } = casino;
    const players = { long: "x".repeat(90), right: "محمد" };
    const links: Record<string, string> = {};
    for (const [key, first_name] of Object.entries(players)) {
      const { id } = await service.call("create_player", { player_id: key, first_name }, service.tenant.id);
      links[key] = await casino.link("inbox", id);
    }
    const part = "{{ first_name }} 25 €";
    await casino.send({ subject: part, body_text: part, inbox: { offer: { type: "Bonus", value: part } } });
    await visiting({ ...SIZES.phone, dark: false }, async (page) => {
      for (const link of Object.values(links)) {
        await page.goto(link);
        expect(await cutOff(page)).toEqual([]);
        await page.locator(".message h2 a").first().click();
        expect(await cutOff(page)).toEqual([]);
      }
      // The last character stands at the left.
      const isReversed = `[...document.querySelectorAll("h1, .value, .text p")].map((one) => {
        const side = (at) => {
          const range = document.createRange();
          range.setStart(one.firstChild, at);
          range.setEnd(one.firstChild, at + 1);
          return range.getBoundingClientRect().left;
        };
        return side(one.textContent.length - 1) < side(0);
      })`;
      expect(await page.evaluate(isReversed)).toEqual([true, true, true]);
    });
  });

  test("has targets of at least 24 px", async () => {
    await visiting({ ...SIZES.phone, dark: false }, async (page) => {
      for (const name of ["inbox", "message", "preferences", "push", "reset"]) {
        await page.goto(pages[name]!);
        expect(await smallTargets(page), name).toEqual([]);
      }
    });
  });
});
