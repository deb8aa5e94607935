import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Scenario, scenarioIn } from "../../support/scenario.ts";
import { callsIn } from "../../tools/voice-calls/scenario.ts";
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

const browser: Browser | null = await openBrowser();
let casino: Casino;
let scenario: Scenario;
let draft: string;
let credentials: { email: string; password: string };
const pages: Record<string, string> = {};

beforeAll(async () => {
  if (!browser) return;
  casino = await openCasino();
  const { service, playerId } = casino;
  credentials = await service.signIn();
  await service.call(
    "create_player",
    { player_id: "second", first_name: "Bo", email: "bo@example.com", status: "inactive" },
    service.tenant.id,
  );
  scenario = scenarioIn(service);
  await scenario.crowd(3);
  const propertyId = service.tenant.id;
  const { id: segment } = await scenario.call("create_segment", {
    name: "Gold or generous",
    logic: "or",
    conditions: [{ field: "tier", operator: "in", value: ["Gold", "Platinum"] }],
    groups: [{ logic: "and", conditions: [{ field: "adt", operator: "gte", value: 100 }] }],
  });
  const { journey } = await scenario.call("create_journey_from_recipe", {
    propertyId,
    settings: { recipe: "welcome" },
    name: "Welcome",
  });
  await scenario.call("publish_journey", { journeyId: journey.id, propertyId });
  await scenario.call("enroll_players", { journeyId: journey.id, propertyId, playerIds: [playerId] });
  await service.idle();
  const enrollments = await service.call(
    "explain_enrollment",
    { journeyId: journey.id, playerId },
    propertyId,
  );
  draft = await scenario.campaign({ name: "Double points" });
  const campaign = await casino.send({ subject: "Brunch for two", name: "Sunday brunch" });
  Object.assign(pages, {
    now: "/console",
    campaigns: "/console/campaigns",
    none: "/console/campaigns?status=failed",
    campaign: `/console/campaigns/${campaign}`,
    hours: `/console/campaigns/${campaign}/hours`,
    write: `/console/campaigns/${draft}`,
    check: `/console/campaigns/${draft}?check=yes`,
    make: "/console/campaigns/new",
    journeys: "/console/journeys",
    journey: `/console/journeys/${journey.id}`,
    simulated: `/console/journeys/${journey.id}/simulate?segment=${segment}`,
    recipes: "/console/journeys/new",
    node: `/console/journeys/${journey.id}/nodes/${enrollments.node}`,
    enrollment: `/console/journeys/${journey.id}/enrollments/${enrollments.enrollment.id}`,
    tested: `/console/campaigns/${await testedDraft()}`,
    ...(await voicePages()),
    proposals: "/console/approvals",
    proposal: `/console/approvals/${await waitingProposal()}`,
    compliance: "/console/compliance",
    verified: "/console/compliance?verify=1",
    ...(await evidencePages(campaign)),
    segments: "/console/segments",
    segment: `/console/segments/${segment}`,
    build: "/console/segments/new",
    rebuild: `/console/segments/${segment}/edit`,
    players: "/console/players",
    player: `/console/players/${playerId}`,
    unknown: "/console/players/00000000-0000-7000-8000-000000000000",
    templates: "/console/templates",
    template: "/console/templates/new",
    imports: "/console/imports",
    upload: "/console/imports/new",
    settings: "/console/settings",
    property: "/console/settings/property",
    quiet: "/console/settings/hours",
    caps: "/console/settings/caps",
    theme: "/console/settings/theme",
    keys: "/console/settings/keys",
    limits: "/console/settings/limits",
    people: "/console/settings/people",
    records: "/console/records",
    table: "/console/records/players",
    record: `/console/records/players/${playerId}`,
  });
});
afterAll(async () => {
  await browser?.close();
  await casino?.service.stop();
});

const [day, night] = [false, true].map((dark) => ({ width: 1280, height: 900, dark }));
/** Pages with the longest words: figures, tables, forms, rules in words and settings. */
const SPANISH = {
  now: day!,
  campaign: night!,
  check: day!,
  journey: night!,
  build: day!,
  quiet: night!,
  player: day!,
};

/** The texts of buttons, states and headings that do not fit into their own box. */
const CUT_OFF = `[...document.querySelectorAll("button, .button, .chip, .badge, h1, h2, label, summary, dt, nav a")]
  .filter((one) => one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 1 && getComputedStyle(one).display !== "inline")
  .map((one) => one.textContent.trim())`;
/** A draft with an A/B test, whose form is open. */
async function testedDraft(): Promise<string> {
  const variants = [
    { id: "a", name: "Plain" },
    { id: "b", name: "With a name", subject: "{{ first_name }}, brunch" },
  ];
  return scenario.campaign({ name: "A tested campaign", ab_test: { variants, metric: "click" } });
}

/** A rehearsed call, and the record of a made one with its transcript. */
async function voicePages(): Promise<Record<string, string>> {
  const calls = callsIn(scenario);
  await calls.caller();
  const id = await calls.voiceCampaign();
  await calls.send(id);
  await casino.service.idle();
  const [call] = await calls.calls();
  const draft = await calls.voiceCampaign();
  return {
    script: `/console/campaigns/${draft}`,
    rehearsal: `/console/campaigns/${draft}/rehearsal?persona=says_stop`,
    calls: `/console/campaigns/${id}`,
    transcript: `/console/records/voice_calls/${call!.id}`,
  };
}

async function waitingProposal(): Promise<string> {
  const { service } = casino;
  const propertyId = service.tenant.id;
  await service.call("update_property", { propertyId, approval_over_players: 0 });
  const key = { "X-Api-Key": service.tenant.key };
  const { details } = (await service.post("/api/functions/send-campaign", { campaignId: draft }, key)).body;
  await service.call("update_property", { propertyId, approval_over_players: null });
  return details.find(({ field }: { field: string }) => field === "proposal_id").message;
}

/** A player's consents, a receipt, and the evidence of a message. */
async function evidencePages(campaign: string): Promise<Record<string, string>> {
  const [send] = await scenario.call("list_campaign_sends", { filters: { "campaign_id.eq": campaign } });
  const [consent] = await scenario.call("list_consent_records", { limit: 1 });
  const player = `/console/players/${consent.player_id}/consents`;
  return {
    consents: player,
    receipt: `${player}/${consent.id}`,
    evidence: `/console/messages/${send.id}`,
  };
}

async function signIn(page: Page): Promise<void> {
  await page.goto(`${casino.service.baseUrl}/console`);
  await page.fill("#email", credentials.email);
  await page.fill("#password", credentials.password);
  await page.press("#password", "Enter");
  await page.waitForSelector("nav[aria-label='Parts of the console']");
}

const visiting = (screen: Screen, work: (page: Page) => Promise<void>): Promise<void> =>
  visit(browser!, screen, casino.service.baseUrl, work);

/** A page weighs what a first visit transfers: its HTML, which is sent as it is, and our packed files. */
async function expectSmall(page: Page, path: string): Promise<void> {
  const weight = await page.evaluate<number>(
    "performance.getEntriesByType('navigation')[0].encodedBodySize + [...document.querySelectorAll('link[rel=stylesheet], script[src]')].map((one) => performance.getEntriesByName(one.href || one.src)[0]?.encodedBodySize ?? 0).reduce((sum, one) => sum + one, 0)",
  );
  expect(weight, `${path} weighs ${weight} bytes`).toBeLessThanOrEqual(40_000);
}

describe.runIf(browser)("the console", () => {
  const size = (width: number) => ({ width, height: 900 });
  // 320 pixels are 1280 at a zoom of 400 %, and 640 are those at 200 %.
  const screens = {
    ...dayAndNight({ 320: size(320), 1280: size(1280) }),
    360: { ...size(360), dark: true },
    640: { ...size(640), dark: false },
    1920: { ...size(1920), dark: false },
  };

  test.each([320, 360, 768])(
    "%i pixels wide, the row of parts shows the part that is open",
    async (width) => {
      await visiting({ ...size(width), dark: width === 360 }, async (page) => {
        await signIn(page);
        for (const part of ["settings", "campaigns", "compliance"]) {
          await page.goto(`${casino.service.baseUrl}/console/${part}`);
          const { x, width: taken } = (await page.locator("nav a[aria-current]").boundingBox())!;
          expect([part, x >= 0 && x + taken <= width]).toEqual([part, true]);
          expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
          expect(await violations(page), part).toEqual([]);
          await picture(page, `console-parts-${part}-${width}`);
        }
      });
    },
  );

  test.each([
    ["the even pages", (index: number) => index % 2 === 0],
    ["the odd pages", (index: number) => index % 2 === 1],
  ])(
    "%s, in every width, by day and at night: no violation, no complaint, nothing cut off, no large page",
    async (_, isWanted) => {
      await visiting({ ...size(1280), dark: false }, async (page) => {
        await page.goto(`${casino.service.baseUrl}/console`);
        await inspect(page, "console-sign-in", screens);
        await signIn(page);
        for (const [index, [name, path]] of Object.entries(pages).entries()) {
          if (name === "unknown" || !isWanted(index)) continue;
          await page.goto(casino.service.baseUrl + path);
          await page.waitForSelector("[aria-busy]", { state: "detached" });
          await inspect(page, `console-${name}`, screens);
          await expectSmall(page, path);
        }
      });
      // Six looks at each page of the console.
    },
    120_000,
  );

  test("works with scripts off, from signing in to signing out", async () => {
    await visiting({ width: 1280, height: 900, dark: false, scripts: false }, async (page) => {
      await signIn(page);
      await page.click("text=Players");
      await page.fill("#q", "second");
      await page.click("text=Find");
      await page.click("tbody a");
      await page.waitForURL(/\/console\/players\/[0-9a-f-]{36}$/);
      expect(await page.textContent("h1")).toBe("Bo");
      await page.click("text=Sign out");
      await page.waitForURL(/\/console\/sign-in$/);
      await page.goto(`${casino.service.baseUrl}/console/players`);
      expect(page.url()).toMatch(/\/console\/sign-in\?to=/);
    });
  });

  test("can be used with the keyboard alone", async () => {
    await visiting({ width: 1280, height: 900, dark: false }, async (page) => {
      await signIn(page);
      const focusOn = async (text: string) => {
        for (let count = 0; count < 40; count += 1) {
          await page.keyboard.press("Tab");
          const focused = await page.evaluate("document.activeElement.textContent ?? ''");
          if (String(focused).trim() === text) return;
        }
        throw new Error(`the keyboard does not reach ${text}`);
      };
      await focusOn("Skip to the content");
      await focusOn("Campaigns");
      await page.keyboard.press("Enter");
      await page.waitForURL(/\/console\/campaigns$/);
      await focusOn("Sunday brunch");
      await page.keyboard.press("Enter");
      await page.waitForURL(/\/console\/campaigns\/[0-9a-f-]{36}$/);
      expect(await page.textContent("h1")).toBe("Sunday brunch");
    });
  });

  test("makes, checks and sends a campaign by the keyboard alone", { timeout: 90_000 }, async () => {
    await visiting({ width: 1280, height: 900, dark: false }, async (page) => {
      await signIn(page);
      const focused = (read: string) => page.evaluate(`document.activeElement.${read} ?? ""`);
      const focusOn = async (read: "id" | "textContent", wanted: string) => {
        for (let count = 0; count < 80; count += 1) {
          await page.keyboard.press("Tab");
          if (String(await focused(read)).trim() === wanted) return;
        }
        throw new Error(`the keyboard does not reach ${wanted}`);
      };
      const write = async (id: string, text: string) => {
        await focusOn("id", id);
        await page.keyboard.type(text);
      };
      await page.goto(`${casino.service.baseUrl}/console/campaigns`);
      await focusOn("textContent", "New campaign");
      await page.keyboard.press("Enter");
      await page.waitForURL(/\/new$/);
      await write("name", "By keyboard");
      await write("to", "Every player");
      await focusOn("textContent", "Write the message");
      await page.keyboard.press("Enter");
      await page.waitForURL(/[0-9a-f-]{36}$/);
      await write("subject", "Keys");
      await write("body_html", "<p>Keys alone.</p>");
      await focusOn("textContent", "Save");
      await page.keyboard.press("Enter");
      await page.frameLocator("iframe").getByText("Keys alone.").waitFor();
      await focusOn("textContent", "Check before sending");
      await page.keyboard.press("Enter");
      await page.waitForSelector("text=It can be sent now.");
      await focusOn("textContent", "Send now…");
      await page.keyboard.press("Enter");
      await focusOn("textContent", "Send 3 messages");
      await page.keyboard.press("Enter");
      await page.waitForSelector("text=Where 6 recipients stand");
      // A word explains itself on focus, and Escape sends the explanation away.
      await focusOn("textContent", String(await page.locator(".term").first().textContent()).trim());
      await page.locator(".term:focus > .says").waitFor({ state: "visible" });
      await page.keyboard.press("Escape");
      await page.locator(".says >> visible=true").first().waitFor({ state: "detached" });
    });
  });

  test("changes its language by the keyboard and with scripts off", async () => {
    await visiting({ width: 320, height: 900, dark: false, scripts: false }, async (page) => {
      const press = async (name: string) => {
        for (let count = 0; count < 30; count += 1) {
          await page.keyboard.press("Tab");
          if ((await page.locator(":focus").textContent())?.startsWith(name))
            return page.keyboard.press("Enter");
        }
        throw new Error(`the keyboard does not reach ${name}`);
      };
      await page.goto(`${casino.service.baseUrl}/console/players`);
      await press("Español");
      await page.waitForSelector("html[lang=es]");
      await picture(page, "console-sign-in-spanish");
      await page.fill("#email", credentials.email);
      await page.fill("#password", credentials.password);
      await page.press("#password", "Enter");
      await page.waitForSelector("nav[aria-label='Partes de la consola']");
      await press("English");
      await page.waitForSelector("nav[aria-label='Parts of the console']");
      expect(new URL(page.url()).pathname).toBe("/console/players");
    });
  });

  test("in Spanish cuts none of its longer words", { timeout: 90_000 }, async () => {
    await visiting({ ...size(320), dark: false }, async (page) => {
      await signIn(page);
      await page.locator("button[lang=es]").click();
      await page.waitForSelector("html[lang=es]");
      for (const [name, screen] of Object.entries(SPANISH)) {
        await page.goto(casino.service.baseUrl + pages[name]);
        await page.waitForSelector("[aria-busy]", { state: "detached" });
        await inspect(page, `console-${name}-spanish`, {
          wide: screen,
          narrow: { ...size(320), dark: false },
        });
        expect([name, await page.evaluate(CUT_OFF)]).toEqual([name, []]);
        const lines = await page.evaluate("document.querySelector('.house p').offsetHeight");
        expect(lines, `${name}: the casino's name`).toBeLessThan(50);
      }
    });
  });

  test("shows by itself that a campaign has begun", async () => {
    await visiting({ width: 1280, height: 900, dark: false }, async (page) => {
      await signIn(page);
      await page.goto(`${casino.service.baseUrl}/console/campaigns`);
      await page.waitForSelector("text=Campaign");
      await casino.send({ name: "A late campaign", subject: "Late" });
      await page.waitForSelector("text=A late campaign");
    });
  });
});
