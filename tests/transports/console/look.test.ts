import { randomUUID } from "node:crypto";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isFull } from "../../support/proof-size.ts";
import { type Scenario, scenarioIn } from "../../support/scenario.ts";
import { callsIn } from "../../tools/voice-calls/scenario.ts";
import {
  dayAndNight,
  inspect,
  openBrowser,
  openTab,
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
let draft: string;
let credentials: { email: string; password: string; token: string };
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
    node: `/console/journeys/${journey.id}/nodes/${enrollments.enrollment.current_node_id}`,
    enrollment: `/console/journeys/${journey.id}/enrollments/${enrollments.enrollment.id}`,
    tested: `/console/campaigns/${await testedDraft()}`,
    ...(await voicePages()),
    proposals: "/console/approvals",
    proposal: `/console/approvals/${await waitingProposal()}`,
    decided: `/console/approvals/${await decidedProposal()}`,
    decisions: "/console/approvals?show=decided",
    audit: "/console/records/audit_logs?column=action&operator=eq&value=approve_proposal",
    compliance: "/console/compliance",
    verified: "/console/compliance?verify=1",
    ...(await evidencePages(campaign)),
    segments: "/console/segments",
    segment: `/console/segments/${segment}`,
    build: "/console/segments/new",
    rebuild: `/console/segments/${segment}/edit`,
    players: "/console/players",
    player: `/console/players/${playerId}`,
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
  await casino?.service.stop();
});

/** The pages that axe-core judges in every width: of each kind some. With PROOF=full it judges all of them. */
const IN_EVERY_WIDTH = ["now", "campaigns", "campaign", "journey", "player", "write", "build"];
/** And those that it judges in Spanish on the narrowest screen. It judges the others there for contrast alone. */
const IN_SPANISH = [
  ...["audit", "upload", "transcript", "record", "tested"],
  ...["template", "recipes", "simulated", "people", "theme"],
];
/** The pages that are seen in Spanish: these, and of the others each third. With PROOF=full all of them. */
const spanish = () => {
  const others = Object.keys(pages).filter((name) => !IN_SPANISH.includes(name));
  return [...IN_SPANISH, ...others.filter((_, index) => isFull || index % 3 === 0)];
};
const PARTS = [0, 1, 2, 3].map((turn) => ({ turn, part: `${turn + 1} of 4` }));
const partOf = (names: readonly string[], turn: number) => names.filter((_, index) => index % 4 === turn);

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

async function waitingProposal(campaignId = draft): Promise<string> {
  const { service } = casino;
  const propertyId = service.tenant.id;
  await service.call("update_property", { propertyId, approval_over_players: 0 });
  const key = { "X-Api-Key": service.tenant.key };
  const { details } = (await service.post("/api/functions/send-campaign", { campaignId }, key)).body;
  await service.call("update_property", { propertyId, approval_over_players: null });
  return details.find(({ field }: { field: string }) => field === "proposal_id").message;
}

/** A proposal that the signed-in person has approved. */
async function decidedProposal(): Promise<string> {
  const { service } = casino;
  const proposalId = await waitingProposal(await scenario.campaign({ name: "Approved by a person" }));
  const path = "/api/functions/approve-proposal";
  const { body } = await service.get(`/api/proposals/${proposalId}`);
  const asked = { proposalId, propertyId: service.tenant.id, shownHash: body.shown_hash };
  const person = { "X-Api-Key": null, Authorization: `Bearer ${credentials.token}` };
  const { status } = await service.post(path, asked, person);
  expect(status).toBe(200);
  await service.idle();
  return proposalId;
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

const SPANISH = { console_language: "es" };

const visiting = (screen: Screen, work: (page: Page) => Promise<void>): Promise<void> =>
  visit(browser!, screen, casino.service.baseUrl, work);

/** In the tab of a person who has signed in. */
const inside = (screen: Screen, work: (page: Page) => Promise<void>): Promise<void> =>
  visiting(screen, async (page) => {
    await letIn(page, casino.service, credentials);
    await work(page);
  });

/** A page weighs what a first visit transfers: its HTML, which is sent as it is, and our packed files. */
async function expectSmall(page: Page, name: string): Promise<void> {
  const weight = await page.evaluate<number>(
    "performance.getEntriesByType('navigation')[0].encodedBodySize + [...document.querySelectorAll('link[rel=stylesheet], script[src]')].map((one) => performance.getEntriesByName(one.href || one.src)[0]?.encodedBodySize ?? 0).reduce((sum, one) => sum + one, 0)",
  );
  expect(weight, `${name} weighs ${weight} bytes`).toBeLessThanOrEqual(40_000);
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

  test("at each width, the row of parts shows the part that is open", async () => {
    await inside({ ...size(320), dark: false }, async (page) => {
      for (const width of [320, 768]) {
        await page.setViewportSize(size(width));
        for (const part of ["settings", "campaigns"]) {
          await page.goto(`${casino.service.baseUrl}/console/${part}`);
          const { x, width: taken } = (await page.locator("nav a[aria-current]").boundingBox())!;
          expect([width, part, x >= 0 && x + taken <= width]).toEqual([width, part, true]);
          expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
          // The same pages are judged on other widths, with the row in them.
          if (isFull) expect(await violations(page), part).toEqual([]);
          await picture(page, `console-parts-${part}-${width}`);
        }
      }
    });
  });

  test.each(PARTS)(
    "part $part of the pages, in every width, by day and at night: no violation, no complaint, nothing cut off",
    async ({ turn }) => {
      await visiting({ ...size(1280), dark: false }, async (page) => {
        if (turn === 0) {
          await page.goto(`${casino.service.baseUrl}/console`);
          await inspect(page, "console-sign-in", screens);
        }
        await letIn(page, casino.service, credentials);
        for (const name of partOf(isFull ? Object.keys(pages) : IN_EVERY_WIDTH, turn)) {
          await page.goto(casino.service.baseUrl + pages[name]);
          await settled(page);
          await inspect(page, `console-${name}`, screens);
        }
      });
      // Six looks at each page.
    },
    120_000,
  );

  test("a record that is not here: no violation, nothing cut off", async () => {
    const refused = "console: Failed to load resource: the server responded with a status of 404";
    const work = async (page: Page) => {
      await letIn(page, casino.service, credentials, SPANISH);
      const answer = await page.goto(`${casino.service.baseUrl}/console/players/${randomUUID()}`);
      expect(answer!.status()).toBe(404);
      await inspect(page, "console-unknown-spanish", screens);
      expect(await page.evaluate(CUT_OFF)).toEqual([]);
    };
    await visit(browser!, { ...size(1280), dark: false }, casino.service.baseUrl, work, [refused]);
  });

  test("a long name leaves the other columns of a list in sight", async () => {
    const name = "Gold_and_Platinum_members_who_have_not_come_".repeat(3).slice(0, 120);
    await scenario.call("create_segment", {
      name,
      conditions: [{ field: "adt", operator: "gte", value: 1 }],
    });
    await scenario.campaign({ name, subject: "A subject of many words, ".repeat(6).trim() });
    await inside({ ...size(1280), dark: false }, async (page) => {
      for (const part of ["campaigns", "segments"]) {
        await page.goto(`${casino.service.baseUrl}/console/${part}`);
        expect(await page.textContent("tbody")).toContain(name);
        const hidden =
          "document.querySelector('.wide').scrollWidth - document.querySelector('.wide').clientWidth";
        expect([part, await page.evaluate(hidden)]).toEqual([part, 0]);
      }
    });
  });

  test("works with scripts off, from signing in to signing out", async () => {
    await visiting({ width: 1280, height: 900, dark: false, scripts: false }, async (page) => {
      await page.goto(`${casino.service.baseUrl}/console`);
      await page.fill("#email", credentials.email);
      await page.fill("#password", credentials.password);
      await page.press("#password", "Enter");
      await page.waitForSelector("nav[aria-label='Parts of the console']");
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

  test("makes, checks and sends a campaign by the keyboard alone", async () => {
    await inside({ width: 1280, height: 900, dark: false }, async (page) => {
      await page.goto(`${casino.service.baseUrl}/console`);
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
      /** Past the parts of the console. */
      const skip = async () => {
        await focusOn("textContent", "Skip to the content");
        await page.keyboard.press("Enter");
      };
      await focusOn("textContent", "Skip to the content");
      await focusOn("textContent", "Campaigns");
      await page.keyboard.press("Enter");
      await page.waitForURL(/\/console\/campaigns$/);
      await skip();
      await focusOn("textContent", "New campaign");
      await page.keyboard.press("Enter");
      await page.waitForURL(/\/new$/);
      await skip();
      await write("name", "By keyboard");
      await write("to", "Every player");
      await focusOn("textContent", "Write the message");
      await page.keyboard.press("Enter");
      await page.waitForURL(/[0-9a-f-]{36}$/);
      await skip();
      await write("subject", "Keys");
      await write("body_html", "<p>Keys alone.</p>");
      await focusOn("textContent", "Save");
      await page.keyboard.press("Enter");
      await page.frameLocator("iframe").getByText("Keys alone.").waitFor();
      await skip();
      await focusOn("textContent", "Check before sending");
      await page.keyboard.press("Enter");
      await page.waitForSelector("text=It can be sent now.");
      await skip();
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

  test.each(PARTS)(
    "in Spanish part $part of the pages has no violation, cuts none of its longer words, and is not large",
    async ({ turn }) => {
      await visiting({ ...size(320), dark: false }, async (page) => {
        await letIn(page, casino.service, credentials, SPANISH);
        for (const name of partOf(spanish(), turn)) {
          await page.goto(casino.service.baseUrl + pages[name]);
          await settled(page);
          expect(await page.getAttribute("html", "lang")).toBe("es");
          await expectSmall(page, name);
          // The narrowest screen is the hardest for longer words, and colours are the same in each language.
          const narrow = { ...size(320), dark: turn > 1 };
          const recolored = !IN_SPANISH.includes(name);
          await inspect(page, `console-${name}-spanish`, { narrow }, { translated: true, recolored });
          expect([name, await page.evaluate(CUT_OFF)]).toEqual([name, []]);
          const lines = await page.evaluate("document.querySelector('.house p').offsetHeight");
          expect(lines, `${name}: the casino's name`).toBeLessThan(50);
        }
      });
    },
    120_000,
  );

  test("shows by itself what happens by the hour in a campaign, and when it was counted", async () => {
    const screen = { width: 1280, height: 900, dark: false };
    // The message's frame complains of the page's clock, which the test turns: it lets no script in.
    const { page, close } = await openTab(browser!, screen, casino.service.baseUrl);
    try {
      await page.clock.install();
      await letIn(page, casino.service, credentials);
      const { tenant, database, baseUrl } = casino.service;
      const id = await scenario.campaign({ name: "Hour by hour", throttle_per_minute: 1 });
      await casino.service.call("send_campaign", { campaignId: id }, tenant.id);
      await page.goto(`${baseUrl}/console/campaigns/${id}`);
      const shown = async () => {
        await page.clock.runFor(5_000);
        return page.textContent("#hours");
      };
      await expect.poll(shown).toMatch(/Messages1\D.*Counted /);
      // The others go out, as they would minute after minute.
      await database.db.asProperty(tenant.id, async (sql) => {
        const rest = sql`property_id = ${tenant.id} and campaign_id = ${id} and sent_at is null`;
        await sql`update campaign_sends set status = 'sent', sent_at = now() where ${rest} and status = 'pending'`;
        await sql`update campaigns set updated_at = now() where property_id = ${tenant.id} and id = ${id}`;
      });
      await expect.poll(shown).toMatch(/Messages3\D.*Counted /);
    } finally {
      await close();
    }
  });

  test("shows by itself that a campaign has begun", async () => {
    await inside({ width: 1280, height: 900, dark: false }, async (page) => {
      await page.goto(`${casino.service.baseUrl}/console/campaigns`);
      await page.waitForSelector("text=Campaign");
      await casino.send({ name: "A late campaign", subject: "Late" });
      await page.waitForSelector("text=A late campaign");
    });
  });
});
