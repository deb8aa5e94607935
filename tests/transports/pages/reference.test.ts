import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isFull } from "../../support/proof-size.ts";
import { startService, type TestService } from "../../support/service.ts";
import { openBrowser, picture, visit } from "./browser.ts";

const browser: Browser | null = await openBrowser();
let service: TestService;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());

const reading = (work: (page: Page) => Promise<void>, expected?: string[]) => {
  const screen = { width: 1280, height: 1200, dark: false };
  return visit(browser!, screen, service.baseUrl, work, expected);
};

/** Opens one operation of a tag. */
async function opened(page: Page, tag: string, name: string) {
  await page.locator(`[data-tag="${tag}"]`).click();
  const operation = page.locator(`#operations-${tag}-${name}`);
  await operation.locator(".opblock-summary").click();
  await operation.locator(".responses-table").first().waitFor();
  return operation;
}

interface Operation {
  tags: string[];
  responses: Record<string, object>;
}

interface Description {
  paths: Record<string, Record<string, Operation>>;
}

/** The operations that are opened, with some of their answers. */
function partOf({ paths }: Description): Description["paths"] {
  const isShown = (status: string) => ["200", "201", "429"].includes(status);
  const part = (given: Operation): Operation => ({
    ...given,
    responses: Object.fromEntries(Object.entries(given.responses).filter(([status]) => isShown(status))),
  });
  return {
    "/api/players": { get: part(paths["/api/players"]!.get!) },
    "/api/journeys": { post: part(paths["/api/journeys"]!.post!) },
  };
}

describe.runIf(browser)("the API reference", () => {
  test("lists each tag of the whole description", async () => {
    await reading(async (page) => {
      const answer = await fetch(`${service.baseUrl}/api/openapi.json`);
      const { paths } = (await answer.json()) as Description;
      await page.goto(`${service.baseUrl}/docs/api`);
      const tags = [
        ...new Set(Object.values(paths).flatMap((one) => Object.values(one).flatMap(({ tags }) => tags))),
      ].sort();
      await page.locator("[data-tag]").first().waitFor();
      const listed = `[...document.querySelectorAll("[data-tag]")].map((one) => one.dataset.tag).sort()`;
      expect(await page.evaluate(listed)).toEqual(tags);
    });
  });

  test("shows an operation with the fields behind its references, tries it with the key, and one whose body refers to itself", async () => {
    await service.call("create_player", { player_id: "Tried", tier: "Gold" });
    await reading(async (page) => {
      // The port of a test is not that of BASE_URL. The viewer draws an example of each answer anew at each click.
      await page.route("**/api/openapi.json", async (route) => {
        const json = await (await route.fetch()).json();
        const paths = isFull ? json.paths : partOf(json);
        const servers = [{ url: service.baseUrl }];
        await route.fulfill({ json: { ...json, paths, servers } });
      });
      await page.goto(`${service.baseUrl}/docs/api`);
      const operation = await opened(page, "players", "list_players");
      const answers = await operation.locator(".responses-table").first().textContent();
      for (const field of ['"player_id"', '"retry_after"']) expect(answers).toContain(field);
      await picture(page, "api-reference");

      await page.locator(".btn.authorize").first().click();
      await page.locator(".auth-container input").first().fill(service.tenant.key);
      await page.locator(".auth-btn-wrapper .authorize").first().click();
      await page.locator(".btn-done").first().click();
      await operation.locator(".execute").click();
      const answered = operation.locator(".live-responses-table");
      await answered.waitFor();
      expect(await answered.textContent()).toContain("Tried");
      // Its body refers to itself.
      const recursive = await opened(page, "journeys", "create_journey");
      expect(await recursive.textContent()).toContain("draft_definition");
    });
  });

  test("says why the description did not come", async () => {
    await reading(
      async (page) => {
        const refused = { status: 503, json: { error: "The service is briefly unavailable." } };
        await page.route("**/api/openapi.json", (route) => route.fulfill(refused));
        await page.goto(`${service.baseUrl}/docs/api`);
        await page.getByText("did not come: The service is briefly unavailable.").waitFor();
      },
      ["console: Failed to load resource", "error: The API description did not come"],
    );
  });
});
