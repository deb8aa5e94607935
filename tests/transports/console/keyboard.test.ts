import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type Scenario, scenarioIn } from "../../support/scenario.ts";
import { startService, type TestService } from "../../support/service.ts";
import { openBrowser, openTab } from "../pages/browser.ts";

const browser: Browser | null = await openBrowser();
const folder = mkdtempSync(join(tmpdir(), "console-keyboard-"));
let service: TestService;
let scenario: Scenario;
let tab: Awaited<ReturnType<typeof openTab>>;
let page: Page;
let keys: ReturnType<typeof keysOf>;
let admin: { id: string; email: string; password: string };

beforeAll(async () => {
  if (!browser) return;
  service = await startService();
  admin = await service.signIn();
  scenario = scenarioIn(service);
  await scenario.crowd(3);
  writeFileSync(join(folder, "players.csv"), "player_id,email\nK1,k1@example.com\n");
  tab = await openTab(browser, { width: 1280, height: 900, dark: false }, service.baseUrl);
  page = tab.page;
  keys = keysOf(page);
});
afterAll(async () => {
  await tab?.close();
  await service?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Works on a page by the keys alone. */
function keysOf(page: Page) {
  const focused = async (): Promise<string[]> =>
    page.evaluate("[document.activeElement.id, document.activeElement.textContent.trim()]");
  const to = async (wanted: string): Promise<void> => {
    for (let count = 0; count < 150; count += 1) {
      if ((await focused()).includes(wanted)) return;
      await page.keyboard.press("Tab");
    }
    throw new Error(`the keyboard does not reach ${wanted} of ${page.url()}`);
  };
  const press = async (wanted: string): Promise<void> => {
    await to(wanted);
    await page.keyboard.press("Enter");
  };
  return {
    press,
    /** Past the parts of the console. */
    skip: () => press("Skip to the content"),
    write: async (id: string, text: string): Promise<void> => {
      await to(id);
      await page.keyboard.type(text);
    },
  };
}

describe.runIf(browser)("by the keyboard alone, one after another in one tab,", () => {
  afterEach(() => expect(tab.complaints).toEqual([]));

  test("a person signs in", async () => {
    await page.goto(`${service.baseUrl}/console`);
    await keys.write("email", admin.email);
    await keys.write("password", admin.password);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Now" }).waitFor();
  });

  test("a file is imported", async () => {
    await keys.press("Imports");
    await page.getByRole("heading", { name: "Imports" }).waitFor();
    await keys.skip();
    await keys.press("Import a file");
    await page.waitForURL(/\/new$/);
    const choosing = page.waitForEvent("filechooser");
    await keys.skip();
    await keys.press("file");
    await (await choosing).setFiles(join(folder, "players.csv"));
    await keys.press("Upload and look into it");
    await page.getByRole("heading", { name: "What each column is" }).waitFor();
    await keys.skip();
    await keys.press("Dry run");
    await page.getByRole("button", { name: "Import 1 row" }).waitFor();
    await keys.skip();
    await keys.press("Import 1 row");
    await page.getByRole("link", { name: "See these players" }).waitFor();
  });

  test("a segment is built, and a journey is published", {
    timeout: 60_000,
  }, async () => {
    await page.goto(`${service.baseUrl}/console/segments/new`);
    await keys.skip();
    await keys.write("name", "Gold members");
    await keys.write("g0r0.value", "Gold");
    await keys.press("Save the segment");
    await page.getByRole("heading", { name: "Gold members" }).waitFor();
    await page.goto(`${service.baseUrl}/console/journeys/new`);
    await keys.skip();
    const welcome = page.locator("summary", { hasText: "Welcome" }).first();
    await keys.press((await welcome.textContent())!.trim());
    await keys.press("Make the draft");
    await page.waitForURL(/\/journeys\/[0-9a-f-]{36}$/);
    await keys.skip();
    await keys.press("Publish…");
    await keys.press("Publish the journey");
    await page.locator(".states", { hasText: "active" }).waitFor();
  });

  test("a proposal is refused with a reason, and a person is invited", async () => {
    const propertyId = service.tenant.id;
    const campaignId = await scenario.campaign({ name: "Proposed" });
    await service.call("update_property", { propertyId, approval_over_players: 0 });
    const { body } = await service.post("/api/functions/send-campaign", { campaignId });
    const proposal = body.details.find(({ field }: { field: string }) => field === "proposal_id").message;
    await page.goto(`${service.baseUrl}/console/approvals`);
    await page.locator("tbody a").first().waitFor();
    await keys.skip();
    await keys.press((await page.locator("tbody a").first().textContent())!.trim());
    await page.locator("#decide").waitFor();
    await keys.skip();
    await keys.press("Refuse…");
    await keys.write("reason", "Too many this week");
    await keys.press("Refuse");
    await page.getByText("Done. The agent has been told.").waitFor();
    expect(await page.textContent("main")).toContain("Too many this week");
    expect((await service.get(`/api/proposals/${proposal}`)).body).toMatchObject({
      status: "refused",
      reason: "Too many this week",
      decided_by: admin.id,
    });
    await page.goto(`${service.baseUrl}/console/settings/people`);
    await keys.skip();
    await keys.write("email", "keys@example.com");
    await keys.press("Send the invitation");
    await page.getByRole("heading", { name: "Invited" }).waitFor();
    await service.call("update_property", { propertyId, approval_over_players: null });
  });
});
