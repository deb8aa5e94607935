import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CATALOG } from "#tools/catalog.ts";
import { onceOverMcp } from "../../support/operation-calls.ts";
import { type Scenario, scenarioIn } from "../../support/scenario.ts";
import { openBrowser, picture, type Screen, violations, visit } from "../pages/browser.ts";
import { type Casino, openCasino } from "../pages/casino.ts";

const browser: Browser | null = await openBrowser();
let casino: Casino;
let scenario: Scenario;
let manager: { id: string; email: string; password: string };

beforeAll(async () => {
  if (!browser) return;
  casino = await openCasino();
  const { service } = casino;
  manager = await service.signIn({ role: "manager" });
  scenario = scenarioIn(service);
  await scenario.crowd(3);
  const limits = { propertyId: service.tenant.id, approval_over_players: 2 };
  await service.call("update_property", limits);
});
afterAll(async () => {
  await browser?.close();
  await casino?.service.stop();
});

/** A proposal of an agent to send a campaign. */
async function proposal(name: string): Promise<{ id: string; campaign: string }> {
  const campaign = await scenario.campaign({ name, body_html: "<h1>Double points</h1><p>This weekend.</p>" });
  const send = (input: object) =>
    onceOverMcp(
      casino.service,
      CATALOG.operations.get("send_campaign")!,
      { campaignId: campaign, ...input },
      {
        "X-Api-Key": casino.service.tenant.key,
      },
    );
  const { data } = await send({});
  const answered = await send({ confirm_token: data.confirm_token });
  return { id: (answered.data.proposal as { id: string }).id, campaign };
}

async function signIn(page: Page): Promise<void> {
  await page.goto(`${casino.service.baseUrl}/console`);
  await page.fill("#email", manager.email);
  await page.fill("#password", manager.password);
  await page.press("#password", "Enter");
  await page.waitForSelector("nav[aria-label='Parts of the console']");
}

const visiting = (screen: Screen, work: (page: Page) => Promise<void>): Promise<void> =>
  visit(browser!, screen, casino.service.baseUrl, work);

describe.runIf(browser)("approvals in the console", () => {
  for (const width of [360, 1280]) {
    for (const dark of [false, true]) {
      test(`${width} pixels wide, ${dark ? "dark" : "light"}: no violation, nothing cut off`, async () => {
        const look = dark ? "dark" : "light";
        const { id, campaign } = await proposal(`Double points ${width} ${look}`);
        await visiting({ width, height: 900, dark }, async (page) => {
          await signIn(page);
          const check = async (name: string, path: string) => {
            await page.goto(casino.service.baseUrl + path);
            await page.waitForSelector("[aria-busy]", { state: "detached" });
            if (name === "approval") await page.frameLocator("iframe").locator("h1").waitFor();
            expect(await violations(page), name).toEqual([]);
            const overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
            expect(overflow, `${name} is wider than the screen`).toBeLessThanOrEqual(0);
            await picture(page, `console-${name}-${width}-${look}`);
          };
          await check("approvals", "/console/approvals");
          await check("approval", `/console/approvals/${id}`);
          await casino.service.call(
            "update_campaign",
            { id: campaign, subject: "Triple points" },
            casino.service.tenant.id,
          );
          await check("approval-stale", `/console/approvals/${id}`);
          await check("approvals-decided", "/console/approvals?show=decided");
        });
      });
    }
  }

  test("works with scripts off: a person looks, approves, and the campaign goes", async () => {
    const { id, campaign } = await proposal("Approved by hand");
    await visiting({ width: 1280, height: 900, dark: false, scripts: false }, async (page) => {
      await signIn(page);
      await page.click("nav >> text=Approvals");
      await page.click(`a[href="/console/approvals/${id}"]`);
      expect(await page.textContent("main")).toContain("It reaches");
      await page.click("text=See it as it is now, and decide");
      await page.frameLocator("iframe").locator("text=Double points").waitFor();
      await page.click("text=Approve and do it now");
      await page.waitForSelector("text=The agent has been told");
      await casino.service.idle();
      const { status } = await casino.service.call(
        "get_campaign",
        { id: campaign },
        casino.service.tenant.id,
      );
      expect(status).toBe("sent");
    });
  });

  test("is refused with the keyboard alone, with a reason that the agent reads", async () => {
    const { id } = await proposal("Refused by hand");
    await visiting({ width: 1280, height: 900, dark: false }, async (page) => {
      await signIn(page);
      await page.goto(`${casino.service.baseUrl}/console/approvals/${id}`);
      await page.locator("#decide").waitFor();
      const focusOn = async (text: string) => {
        for (let count = 0; count < 60; count += 1) {
          await page.keyboard.press("Tab");
          const focused = await page.evaluate("document.activeElement.textContent ?? ''");
          if (String(focused).trim() === text) return;
        }
        throw new Error(`nothing to focus says ${text}`);
      };
      await focusOn("Refuse…");
      await page.keyboard.press("Enter");
      await page.keyboard.press("Tab");
      await page.keyboard.type("Too many this week");
      await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      await page.waitForSelector("text=The agent has been told");
      const read = await casino.service.get(`/api/proposals/${id}`);
      expect(read.body).toMatchObject({
        status: "refused",
        reason: "Too many this week",
        decided_by: manager.id,
      });
    });
  });
});
