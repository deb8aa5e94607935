import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isFull } from "../../support/proof-size.ts";
import { scenarioIn } from "../../support/scenario.ts";
import {
  dayAndNight,
  inspect,
  openBrowser,
  picture,
  type Screen,
  violations,
  visit,
} from "../pages/browser.ts";
import { type Casino, openCasino } from "../pages/casino.ts";
import { letIn } from "./form-browser.ts";

const browser: Browser | null = await openBrowser();
let casino: Casino;
let analyst: { token: string };
const pages: Record<string, string> = {};

beforeAll(async () => {
  if (!browser) return;
  casino = await openCasino();
  const { service } = casino;
  analyst = await service.signIn({ role: "analyst" });
  const scenario = scenarioIn(service);
  const player = await scenario.player({ player_id: "officer-1", email: "ana@example.com" });
  await scenario.send(await scenario.campaign({ name: "Weekend" }));
  await service.idle();
  const consents = await service.get(`/api/consent_records?player_id=eq.${player}`);
  const sends = await service.get(`/api/campaign_sends?player_id=eq.${player}`);
  Object.assign(pages, {
    compliance: "/console/compliance",
    verified: "/console/compliance?verify=1",
    consents: `/console/players/${player}/consents`,
    receipt: `/console/players/${player}/consents/${consents.body[0].id}`,
    evidence: `/console/messages/${sends.body[0].id}`,
  });
});
afterAll(async () => {
  await casino?.service.stop();
});

/** In a tab of the analyst. */
const visiting = (screen: Screen, work: (page: Page) => Promise<void>): Promise<void> =>
  visit(browser!, screen, casino.service.baseUrl, async (page) => {
    await letIn(page, casino.service, analyst);
    await work(page);
  });

describe.runIf(browser)("the compliance officer's pages", () => {
  test("no page has a violation, or is wider than the screen, on a phone and a desk, by day and at night", async () => {
    const screens = dayAndNight({ 360: { width: 360, height: 900 }, 1280: { width: 1280, height: 900 } });
    await visiting({ width: 360, height: 900, dark: false }, async (page) => {
      // The others are judged in look.test.ts.
      for (const name of isFull ? Object.keys(pages) : ["consents", "evidence"]) {
        await page.goto(casino.service.baseUrl + pages[name]);
        await inspect(page, `console-${name}`, screens);
      }
    });
  });

  test("lead, with scripts off, from a law to its row, and from a player to a receipt and a message's consent", async () => {
    await visiting({ width: 1280, height: 900, dark: false, scripts: false }, async (page) => {
      await page.goto(`${casino.service.baseUrl}/console`);
      await page.click("nav >> text=Compliance");
      const quiet = page.locator("#quiet_hours");
      expect(await quiet.textContent()).toContain("47 CFR 64.1200(c)(1)");
      expect(await quiet.textContent()).toContain("tests/tools/compliance/hours.test.ts");
      await page.click("text=Verify the ledgers now");
      await page.waitForSelector("text=Intact");
      await page.goto(casino.service.baseUrl + pages.consents);
      await page.click("tbody a");
      await page.waitForSelector("text=KI-CR-v1.1.0");
      await page.goto(casino.service.baseUrl + pages.evidence);
      await page.click("text=Its receipt");
      await page.waitForSelector("text=KI-CR-v1.1.0");
    });
  });

  test("print as a document: no navigation, all columns", async () => {
    await visiting({ width: 1280, height: 900, dark: false }, async (page) => {
      await page.goto(casino.service.baseUrl + pages.consents);
      await page.emulateMedia({ media: "print" });
      expect(await page.isVisible("nav[aria-label='Parts of the console']")).toBe(false);
      expect(await page.isVisible("th:has-text('Hash')")).toBe(true);
      expect(await violations(page), "on paper").toEqual([]);
      await picture(page, "console-consents-print");
      const pdf = await page.pdf({ format: "A4" });
      expect(pdf.subarray(0, 5).toString()).toBe("%PDF-");
    });
  });
});
