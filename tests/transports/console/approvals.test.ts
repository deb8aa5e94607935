import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CATALOG } from "#tools/catalog.ts";
import { onceOverMcp } from "../../support/operation-calls.ts";
import { isFull } from "../../support/proof-size.ts";
import { type Scenario, scenarioIn } from "../../support/scenario.ts";
import type { TestService } from "../../support/service.ts";
import {
  dayAndNight,
  inspect,
  openBrowser,
  picture,
  type Screen,
  settled,
  violations,
  visit,
} from "../pages/browser.ts";
import { type Casino, openCasino } from "../pages/casino.ts";
import { letIn } from "./form-browser.ts";

const browser: Browser | null = await openBrowser();
let casino: Casino;
let scenario: Scenario;
let manager: Awaited<ReturnType<TestService["signIn"]>>;

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
  await casino?.service.stop();
});

/** A proposal of an agent to send a campaign. */
async function proposal(name: string): Promise<{ id: string; campaign: string }> {
  const campaign = await scenario.campaign({
    name,
    subject: "{{ first_name | default: 'Friend' }}, double points",
    body_html: "<h1>Double points</h1><p>This weekend.</p>",
  });
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

/** In a tab of the manager. */
const visiting = (screen: Screen, work: (page: Page) => Promise<void>): Promise<void> =>
  visit(browser!, screen, casino.service.baseUrl, async (page) => {
    await letIn(page, casino.service, manager);
    await work(page);
  });

const SCREENS: Record<string, Screen> = dayAndNight({
  360: { width: 360, height: 900 },
  1280: { width: 1280, height: 900 },
});

describe.runIf(browser)("approvals in the console", () => {
  test("no page has a violation, or is wider than the screen, on a phone and a desk, by day and at night", async () => {
    const { id, campaign } = await proposal("Double points");
    await visiting({ width: 360, height: 900, dark: false }, async (page) => {
      const check = async (name: string, path: string, screens: typeof SCREENS) => {
        await page.goto(casino.service.baseUrl + path);
        await settled(page);
        if (name === "approval") await page.frameLocator("iframe").locator("h1").waitFor();
        await inspect(page, `console-${name}`, screens);
      };
      await check("approval", `/console/approvals/${id}`, SCREENS);
      await casino.service.call(
        "update_campaign",
        { id: campaign, subject: "Triple points" },
        casino.service.tenant.id,
      );
      // It differs by its warning alone.
      const phone = { phone: { width: 360, height: 900, dark: true } };
      await check("approval-stale", `/console/approvals/${id}`, isFull ? SCREENS : phone);
      // The lists are in look.test.ts.
    });
  });

  test("works with scripts off: a person looks, approves, and the campaign goes", async () => {
    const { id, campaign } = await proposal("Approved by hand");
    await visiting({ width: 1280, height: 900, dark: false, scripts: false }, async (page) => {
      await page.goto(`${casino.service.baseUrl}/console`);
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

  test("show the whole message: of a chosen player, on a phone, in the dark, as text, with its size and links", async () => {
    const { id } = await proposal("Looked at closely");
    const [player] = await scenario.call("list_players", { filters: { "email.not.is": "null" }, limit: 1 });
    await scenario.call("update_player", { id: player.id, first_name: "Zoë" });
    await visiting({ width: 1280, height: 900, dark: false }, async (page) => {
      await page.goto(`${casino.service.baseUrl}/console/approvals/${id}`);
      await page.getByLabel("As a player gets it").fill(player.email);
      await page.getByRole("button", { name: "Show" }).click();
      await page.waitForURL(/player=/);
      const preview = page.getByRole("region", { name: "Preview" });
      await preview.locator(".envelope", { hasText: "Zoë, double points" }).waitFor();
      await page.frameLocator("iframe").locator("h1", { hasText: "Double points" }).waitFor();
      expect(await preview.locator("iframe").getAttribute("src")).toContain(`player=${player.id}`);
      await preview.getByLabel("Phone").check();
      expect((await preview.locator("iframe").boundingBox())!.width).toBeLessThanOrEqual(375);
      // A mail program's choice is not the console's.
      const scheme = () => page.evaluate("getComputedStyle(document.querySelector('iframe')).colorScheme");
      expect(await scheme()).toBe("light");
      await preview.getByLabel("Dark, by its own styles").check();
      expect(await scheme()).toBe("dark");
      await picture(page, "console-proposal-phone-dark");
      await preview.getByRole("radio", { name: "Plain text" }).check();
      await preview.getByRole("region", { name: "The message as plain text" }).waitFor();
      expect(await preview.textContent()).toMatch(/\d+\.\d kB/);
      await preview.getByText(/links, none refused/).click();
    });
  });

  test("of a journey show its messages, one by one", async () => {
    const { service } = casino;
    const propertyId = service.tenant.id;
    const settings = { recipe: "welcome" };
    const player = "marisol-1";
    await scenario.player({ player_id: player, email: "marisol@example.com", first_name: "Marisol" });
    const { journey } = await scenario.call("create_journey_from_recipe", { propertyId, settings });
    const asked = { journeyId: journey.id, propertyId };
    const answered = await service.post("/api/functions/publish-journey", asked);
    const named = ({ field }: { field: string }) => field === "proposal_id";
    const id = answered.body.details.find(named).message;
    await visiting({ width: 1280, height: 900, dark: true }, async (page) => {
      await page.goto(`${service.baseUrl}/console/approvals/${id}`);
      const messages = page.getByRole("list", { name: "Messages of the journey" });
      await messages.waitFor();
      const first = await page.textContent(".envelope");
      await messages.getByRole("link", { name: "reminder" }).click();
      await page.waitForURL(/variant=reminder/);
      await page.locator(".envelope").waitFor();
      expect(await page.textContent(".envelope")).not.toBe(first);
      // The message is one player's, with the values of theirs, in the frame and as text.
      await page.getByLabel("As a player gets it").fill(player);
      await page.getByRole("button", { name: "Show", exact: true }).click();
      await page.waitForURL(/player=.*/);
      await page.locator(".envelope").waitFor();
      expect(await page.textContent(".envelope")).toContain("m***@e***.com");
      expect(await page.textContent(".as-text")).toContain("Marisol");
      await page.frameLocator("iframe.mail").getByText("Marisol").first().waitFor();
      expect(new URL(page.url()).searchParams.get("variant")).toBe("reminder");
      expect(await violations(page), "a journey's proposal").toEqual([]);
      await picture(page, "console-proposal-journey");
    });
  });

  test("that were decided say who decided, when, why and on which hash, as the audit log does", async () => {
    const { id } = await proposal("Decided for good");
    const { shown_hash } = (await casino.service.get(`/api/proposals/${id}`)).body;
    await visiting({ width: 1280, height: 900, dark: false }, async (page) => {
      await page.goto(`${casino.service.baseUrl}/console/approvals/${id}`);
      await page.click("text=Refuse…");
      await page.fill("#reason", "Not this week");
      await page.getByRole("button", { name: "Refuse", exact: true }).click();
      const decision = page.getByRole("region", { name: "The decision" });
      for (const told of ["refused", manager.email, "Not this week", shown_hash]) {
        expect(await decision.textContent()).toContain(told);
      }
      await picture(page, "console-approval-decided");
      await decision.getByRole("link", { name: "In the audit log" }).click();
      const row = page.getByRole("row", { name: /refuse_proposal/ });
      for (const told of [manager.id, manager.email, shown_hash])
        expect(await row.textContent()).toContain(told);
      await row.getByRole("link").first().click();
      await page.waitForSelector("h1");
      expect(await page.textContent("main")).toContain(shown_hash);
      await picture(page, "console-audit-decision");
      await page.goto(`${casino.service.baseUrl}/console/approvals?show=decided`);
      const listed = page.getByRole("row", { name: /Not this week/ });
      expect(await listed.textContent()).toContain(manager.email);
      expect(await listed.textContent()).toContain(shown_hash.slice(0, 16));
    });
  });
});
