import { Session } from "node:inspector/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Scenario, scenarioIn } from "../support/scenario.ts";
import { startService, type TestService } from "../support/service.ts";

/** A stranger who follows a request reads the files whose functions run for it. For `send` the goal is 50. */
const MOST_READ = { list: 28, send: 55 };

const root = fileURLToPath(new URL("../..", import.meta.url));
const OURS = /^(db|runtime|tools|transports)\//;
const ROUNDS = 4;
const profiler = new Session();
let service: TestService;
let scenario: Scenario;

beforeAll(async () => {
  service = await startService({ role: "web" });
  scenario = scenarioIn(service);
  await scenario.player({ email: "ana@example.com", tier: "gold" });
  profiler.connect();
  await profiler.post("Profiler.enable");
  await profiler.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
});
afterAll(async () => {
  await profiler.post("Profiler.stopPreciseCoverage");
  profiler.disconnect();
  await service?.stop();
});

/** The files with a function that ran in each of some requests: timers run in some of them only. */
async function filesRead(request: () => Promise<void>): Promise<string[]> {
  await request();
  let read: Set<string> | undefined;
  for (let round = 0; round < ROUNDS; round++) {
    await profiler.post("Profiler.takePreciseCoverage");
    await request();
    const { result } = await profiler.post("Profiler.takePreciseCoverage");
    const ran = result.filter(({ functions }) => functions.some(({ ranges }) => ranges[0]!.count > 0));
    const files = new Set(ran.map(({ url }) => url.replace("file://", "").replace(root, "")));
    read = read ? new Set([...read].filter((file) => files.has(file))) : files;
  }
  return [...read!].filter((file) => OURS.test(file)).sort();
}

test("a filtered list of players is read through few files", async () => {
  const list = async () => {
    const { status } = await service.get("/api/players?tier.eq=gold");
    expect(status).toBe(200);
  };
  let read: string[] = [];
  // On a busy machine a read may be stopped, and then goes a longer way for ten seconds.
  await expect
    .poll(async () => {
      read = await filesRead(list);
      return read.length;
    })
    .toBeLessThanOrEqual(MOST_READ.list);
  expect(read).toContain("db/query/reader.ts");
});

test("sending a campaign is read through few files", async () => {
  const campaigns: string[] = [];
  for (let round = 0; round <= ROUNDS; round++) campaigns.push(await scenario.campaign());
  const read = await filesRead(async () => {
    const body = { campaignId: campaigns.pop(), propertyId: service.tenant.id };
    const { status } = await service.post("/api/functions/send-campaign", body);
    expect(status).toBe(200);
  });
  expect(read).toContain("tools/campaigns/sending.ts");
  expect(read.length, read.join("\n")).toBeLessThanOrEqual(MOST_READ.send);
});
