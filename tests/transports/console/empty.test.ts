import { afterAll, beforeAll, expect, test } from "vitest";
import { startService, type TestService } from "../../support/service.ts";
import { type FormBrowser, signedIn } from "./form-browser.ts";
import { consoleRoutes } from "./routes.ts";

let service: TestService;

beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());

/** The lists of the console, which an empty property has too. */
async function lists(one: FormBrowser): Promise<string[]> {
  const { text } = await one.get("/console/records");
  const tables = [...text.matchAll(/href="(\/console\/records\/\w+)"/g)].map(([, path]) => path!);
  const pages = consoleRoutes(service).filter(
    ({ method, path }) => method === "GET" && !path.includes(":") && path !== "/console/live",
  );
  return [
    ...pages.map(({ path }) => path),
    ...tables,
    "/console/approvals?show=decided",
    "/console/players?q=nobody",
  ];
}

const EMPTY = /<div class="empty">(.*?)<\/div>/gs;

/** The empty lists that lack a next step: a link, the person who takes it, or the step before. */
async function dead(one: FormBrowser, paths: readonly string[]): Promise<{ told: string[]; found: number }> {
  const told: string[] = [];
  const statuses = new Map<string, number>();
  const statusOf = async (path: string): Promise<number> => {
    const status = statuses.get(path) ?? (await one.get(path)).status;
    statuses.set(path, status);
    return status;
  };
  let found = 0;
  for (const path of paths) {
    const { status, text } = await one.get(path);
    if (status === 403 || status === 303) continue;
    if (status !== 200) told.push(`${path}: ${status}`);
    for (const [, empty] of text.matchAll(EMPTY)) {
      found += 1;
      const links = [...empty!.matchAll(/href="([^"]+)"/g)].map(([, href]) => href!.replaceAll("&amp;", "&"));
      for (const href of links) {
        const there = await statusOf(href);
        if (there !== 200) told.push(`${path}: ${href} answers ${there}`);
      }
      if (links.length === 0 && !/manager|admin|first/.test(empty!)) told.push(`${path}: ${empty}`);
    }
  }
  return { told, found };
}

test.each(["admin", "analyst"] as const)(
  "in an empty property each list says to the %s what to do next, and leads there",
  async (role) => {
    const one = await signedIn(service, { role });
    const { told, found } = await dead(one, (await lists(one)).toSorted());
    expect(told).toEqual([]);
    expect(found).toBeGreaterThan(40);
  },
);

test("so does a new record: a player without consents, a draft, a segment of nobody, a node without players", async () => {
  const { id } = service.tenant;
  const make = async (name: string, input: object) => (await service.call(name, input, id)) as { id: string };
  const player = await make("create_player", { player_id: "new" });
  const campaign = await make("create_campaign", { name: "New", channel: "email" });
  const conditions = [{ field: "tier", operator: "eq", value: "Nobody" }];
  const segment = await make("create_segment", { name: "Nobody", conditions });
  const settings = { recipe: "welcome" };
  const { journey } = await service.call("create_journey_from_recipe", { propertyId: id, settings }, id);
  const one = await signedIn(service);
  const { text } = await one.get(`/console/journeys/${journey.id}`);
  expect(text).toContain("not published yet");
  const { told, found } = await dead(one, [
    ...[`/console/players/${player.id}`, `/console/players/${player.id}/consents`],
    ...[`/console/campaigns/${campaign.id}`, `/console/campaigns/${campaign.id}/hours`],
    ...[`/console/segments/${segment.id}`, `/console/segments/${segment.id}/players`],
    ...[`/console/journeys/${journey.id}`, `/console/journeys/${journey.id}/nodes/signup`],
    `/console/records/campaign_sends?column=campaign_id&operator=eq&value=${campaign.id}`,
  ]);
  expect(told).toEqual([]);
  expect(found).toBeGreaterThan(5);
});
