import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startService, type TestService } from "../../support/service.ts";
import { openBrowser, openTab, picture } from "../pages/browser.ts";

const browser: Browser | null = await openBrowser();
const folder = mkdtempSync(join(tmpdir(), "console-afternoon-"));
let service: TestService;
let tab: Awaited<ReturnType<typeof openTab>>;
let credentials: { email: string; password: string };

const PLAYERS = [
  "Club No,First,Email Addr,Card,Visits theo,Opt in",
  "A1,Zoë,zoe@example.com,Gold,250,yes",
  "A2,Lee,lee@example.com,Gold,180,yes",
  "A3,Kim,kim@example.com,Gold,300,no",
  "A4,Bad,not-an-address,Gold,90,yes",
  "A5,Sam,sam@example.com,Silver,20,yes",
].join("\n");

beforeAll(async () => {
  if (!browser) return;
  service = await startService();
  credentials = await service.signIn({ role: "manager" });
  writeFileSync(join(folder, "players.csv"), PLAYERS);
  tab = await openTab(browser, { width: 1280, height: 900, dark: false }, service.baseUrl);
});
afterAll(async () => {
  await tab?.close();
  await service?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** One after another in one tab, each from the page where the last has ended. */
const STEPS = {
  "signs in": signIn,
  "imports a file": importFile,
  "builds a segment": buildSegment,
  "writes a template": writeTemplate,
  "makes a campaign of it": makeCampaign,
  "sends a test": sendTest,
  "sends it": send,
  "pauses a copy, and cancels it": pauseAndGoOn,
  "reads the report": readReport,
  "tests two subjects": testVariants,
  "publishes a journey": publishJourney,
  "looks up a player's consents": lookUpConsents,
};

describe.runIf(browser)("a marketer's afternoon, by clicking only:", () => {
  let done = 0;
  test.each(Object.entries(STEPS).map(([name, work], before) => ({ name, work, before })))(
    "$name",
    async ({ work, before }) => {
      expect(done, "the steps before have ended").toBe(before);
      await work(tab.page);
      expect(tab.complaints).toEqual([]);
      done += 1;
    },
  );
});

async function signIn(page: Page): Promise<void> {
  await page.goto(`${service.baseUrl}/console`);
  await page.getByLabel("Email").fill(credentials.email);
  await page.getByLabel("Password", { exact: true }).fill(credentials.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Now" }).waitFor();
}

async function importFile(page: Page): Promise<void> {
  await page.getByRole("link", { name: "Import players" }).first().click();
  await page.getByLabel("File").setInputFiles(join(folder, "players.csv"));
  await page.getByRole("button", { name: "Upload and look into it" }).click();
  await page.getByRole("heading", { name: "What each column is" }).waitFor();
  await page.getByLabel("Club No").selectOption("player_id");
  await page.getByLabel("First").selectOption("first_name");
  await page.getByLabel("Email Addr").selectOption("email");
  await page.getByLabel("Card").selectOption("tier");
  await page.getByLabel("Visits theo").selectOption("adt");
  await page.getByLabel("Opt in").selectOption("consent.email");
  await page.getByLabel("Source").fill("players club");
  await page.getByLabel("Version of the text").fill("1");
  await picture(page, "afternoon-mapping");
  await page.getByRole("button", { name: "Dry run" }).click();
  // No reload: the page shows by itself that the dry run has ended.
  await page.getByRole("button", { name: "Import 4 rows" }).waitFor();
  expect(await page.textContent("main")).toContain("Invalid email");
  await picture(page, "afternoon-dry-run");
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("link", { name: "Download the refused rows" }).click(),
  ]);
  expect(readFileSync((await download.path())!, "utf8")).toContain("not-an-address");
  expect(await playersKnown()).toBe(0);
  await page.getByRole("button", { name: "Import 4 rows" }).click();
  await page.getByRole("link", { name: "See these players" }).waitFor();
  expect(await playersKnown()).toBe(4);
}

async function playersKnown(): Promise<number> {
  const { body } = await service.get("/api/players");
  return body.length;
}

async function buildSegment(page: Page): Promise<void> {
  await page.getByRole("link", { name: "Build a segment" }).click();
  await page.getByLabel("Name").fill("Gold members");
  await page.getByLabel("Value of rule 1").fill("Gold, Platinum");
  await page.getByRole("button", { name: "Add a rule" }).click();
  await page.getByLabel("Rule 2", { exact: true }).selectOption("adt");
  // The comparisons become those of numbers, and the count follows by itself.
  await page.getByLabel("Comparison of rule 2").locator("option[value=gte]").waitFor({ state: "attached" });
  await page.getByLabel("Comparison of rule 2").selectOption("gte");
  await page.getByLabel("Value of rule 2").fill("100");
  await page.getByLabel("Value of rule 2").press("Tab");
  await page.locator("#effect .big", { hasText: "3" }).waitFor();
  expect(await page.textContent("#effect")).toMatch(/ADT\s*is at least 100/);
  await page.getByRole("button", { name: "Who can be reached" }).click();
  await page.getByRole("heading", { name: "Not reached by email, and why" }).waitFor();
  await picture(page, "afternoon-segment");
  await page.getByRole("button", { name: "Save the segment" }).click();
  await page.getByRole("heading", { name: "Gold members" }).waitFor();
  await page.getByRole("heading", { name: "Not reached by email, and why" }).waitFor();
}

async function writeTemplate(page: Page): Promise<void> {
  await page.getByRole("link", { name: "Templates" }).click();
  await page.getByRole("link", { name: "Write the first template" }).click();
  await page.getByLabel("Name").fill("Free play");
  await page.getByLabel("Subject or title").fill('{{ first_name | default: "Friend" }}, your free play');
  await page
    .getByLabel("Message, as HTML")
    .fill('<h1>$25 free play</h1><p><a href="https://casino.example/play">Pick it up</a></p>');
  await page.getByRole("button", { name: "Save" }).click();
  await page.frameLocator("iframe").getByText("$25 free play").waitFor();
  await page.getByRole("link", { name: "Make a campaign of it" }).click();
}

async function makeCampaign(page: Page): Promise<void> {
  await page.getByLabel("Name").fill("Free play week");
  const gold = page.locator("#to option", { hasText: "Gold members (3 players, counted " });
  await page.getByLabel(/^Audience/).selectOption((await gold.getAttribute("value"))!);
  await page.getByRole("button", { name: "Write the message" }).click();
  await page.getByRole("heading", { name: "Free play week" }).waitFor();
  await page.getByLabel("Preheader").fill("At every machine");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByLabel("As a player gets it").fill("A1");
  await page.getByRole("button", { name: "Show" }).click();
  await page.locator(".envelope", { hasText: "Zoë, your free play" }).waitFor();
  expect(await page.textContent(".envelope")).toContain("At every machine");
  await page.frameLocator("iframe").getByText("$25 free play").waitFor();
  await page.getByText(/links, none refused/).click();
  await page.getByLabel("Phone").check();
  await page.getByLabel("Dark, by its own styles").check();
  await picture(page, "afternoon-preview");
  await page.getByRole("radio", { name: "Plain text" }).check();
  await page.getByRole("region", { name: "The message as plain text" }).waitFor();
}

async function sendTest(page: Page): Promise<void> {
  await page.getByRole("link", { name: "Check before sending" }).click();
  await page.getByText("It can be sent now.").waitFor();
  await page.getByRole("button", { name: "Send a test to" }).click();
  await page.getByText("The test is on its way").waitFor();
  await service.idle();
  expect(await mailbox()).toEqual([credentials.email]);
}

async function send(page: Page): Promise<void> {
  await page.getByText("Send now…").click();
  await page.getByRole("button", { name: "Send 2 messages" }).click();
  await page.getByRole("heading", { name: "Where 3 recipients stand" }).waitFor();
  await service.idle();
  await page.locator(".states", { hasText: "sent" }).waitFor();
  expect((await mailbox()).sort()).toEqual([credentials.email, "lee@example.com", "zoe@example.com"].sort());
}

/** A campaign of a message a minute is long enough under way to be paused. */
async function pauseAndGoOn(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Copy" }).click();
  await page.getByRole("link", { name: "Check before sending" }).waitFor();
  const id = page.url().split("/").at(-1);
  await service.call("update_campaign", { id, throttle_per_minute: 1 }, service.tenant.id);
  await page.getByRole("link", { name: "Check before sending" }).click();
  await page.getByText("Send now…").click();
  await page.getByRole("button", { name: "Send 2 messages" }).click();
  // The button comes by itself as soon as the campaign sends.
  await page.getByRole("heading", { name: "Where 3 recipients stand" }).waitFor();
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByRole("button", { name: "Resume" }).waitFor();
  await picture(page, "afternoon-paused");
  await page.getByText("Cancel…").click();
  await page.getByRole("button", { name: "Cancel the campaign" }).click();
  await page.locator(".states", { hasText: "cancelled" }).waitFor();
}

async function readReport(page: Page): Promise<void> {
  await page.getByRole("link", { name: "Campaigns" }).first().click();
  await page.getByRole("link", { name: "Free play week", exact: true }).click();
  await page.getByRole("heading", { name: "Left out, and why" }).waitFor();
  expect(await page.textContent(".counts")).toMatch(/No consent/);
  await page.getByText("Messages", { exact: true }).first().waitFor();
  await picture(page, "afternoon-report");
}

/** Two subjects, of which the better one goes to the rest. */
async function testVariants(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Copy" }).click();
  await page.getByText("A/B test").click();
  const [first, second] = [
    page.getByRole("group", { name: "Variant A" }),
    page.getByRole("group", { name: "Variant B" }),
  ];
  await first.getByLabel("Name").fill("Plain");
  await second.getByLabel("Name").fill("With a price");
  await second.getByLabel("Subject or title").fill("$25 for {{ first_name | default: 'you' }}");
  await page.getByLabel("Share that tries it").fill("50");
  await page.getByLabel("Least messages of each").fill("1");
  await page.getByRole("button", { name: "Save the test" }).click();
  await page.getByLabel("Variant", { exact: true }).selectOption("b");
  await page.getByRole("button", { name: "Show" }).click();
  await page.locator(".envelope", { hasText: "$25 for" }).waitFor();
  await picture(page, "afternoon-variants");
  await page.getByRole("button", { name: "Remove the test" }).click();
  await page.getByLabel("Variant", { exact: true }).waitFor({ state: "detached" });
}

async function publishJourney(page: Page): Promise<void> {
  await page.getByRole("link", { name: "Journeys" }).click();
  await page.getByRole("link", { name: "Choose the first one" }).click();
  await page.getByText("Win back", { exact: true }).click();
  const form = page.locator("details[open]");
  await form.getByLabel("Segment").selectOption({ label: "Gold members" });
  await form.getByRole("button", { name: "Make the draft" }).click();
  await page.getByRole("heading", { name: "win back" }).waitFor();
  await page.getByRole("link", { name: "Simulate", exact: true }).click();
  await page.getByRole("button", { name: "Simulate" }).click();
  await page.getByRole("heading", { name: /^From / }).waitFor();
  await picture(page, "afternoon-simulated");
  await page.getByRole("link", { name: "win back" }).click();
  await page.getByText("Publish…").click();
  await page.getByRole("button", { name: "Publish the journey" }).click();
  await page.locator(".states", { hasText: "active" }).waitFor();
}

async function lookUpConsents(page: Page): Promise<void> {
  await page.getByRole("link", { name: "Players" }).click();
  await page.getByLabel("Player id, email or phone").fill("A3");
  await page.getByRole("button", { name: "Find" }).click();
  await page.getByRole("link", { name: "A3" }).click();
  await page.getByRole("heading", { name: "Consents over time" }).waitFor();
  const consents = await page.getByRole("region", { name: "Consents", exact: true }).textContent();
  expect(consents).toMatch(/email\s*denied/);
  expect(await page.textContent("main")).toContain("The player has no consent for the channel.");
  await picture(page, "afternoon-player");
}

async function mailbox(): Promise<string[]> {
  const { body } = await service.get("/api/mailbox_messages?select=recipient");
  return body.map(({ recipient }: { recipient: string }) => recipient);
}
