import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CATALOG } from "#tools/catalog.ts";
import { onceOverMcp } from "../../support/operation-calls.ts";
import { newScenario, type Scenario } from "../../support/scenario.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
let scenario: Scenario;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());

type Fields = Record<string, unknown>;

const set = (settings: Fields) => service.call("update_property", { propertyId: scenario.id, ...settings });

/** A campaign that an agent's human has approved for a year from now. */
async function approved(fields: Fields = {}): Promise<string> {
  const { api_key } = await service.call("create_api_key", {
    property_id: scenario.id,
    name: "agent",
    rate_limit: 1_000_000,
  });
  const agent = (input: Fields) =>
    onceOverMcp(service, CATALOG.operations.get("schedule_campaign")!, input, { "X-Api-Key": api_key });
  const id = await scenario.campaign(fields);
  const scheduled_at = new Date(Date.now() + 365 * 86_400_000).toISOString();
  const input = { campaign_id: id, segment_id: null, scheduled_at };
  const { confirm_token } = (await agent(input)).data;
  expect((await agent({ ...input, confirm_token })).data).toMatchObject({
    campaign: { status: "scheduled" },
  });
  return id;
}

async function fire(id: string): Promise<void> {
  await scenario.comeDue(id);
  await scenario.work();
}

describe("a setting of the property that was changed after the approval", () => {
  test.each<[string, Fields, string]>([
    ["mail without consent", { email_consent_mode: "opt_out" }, "whether the property's mail needs consent"],
    ["younger players", { min_age: 18 }, "the least age of the property's players"],
    [
      "opens and clicks that are counted",
      { tracking: "off" },
      "whether the property counts opens and clicks",
    ],
  ])("holds the campaign at its hour: %s", async (_, change, words) => {
    scenario = await newScenario(service);
    await scenario.player({ email: "ann@example.com", birth_date: "1980-01-01" });
    await scenario.player({ email: "bea@example.com" }, false);
    const young = new Date(Date.now() - 19.5 * 365.25 * 86_400_000).toISOString().slice(0, 10);
    await scenario.player({ email: "cyd@example.com", birth_date: young });
    const id = await approved();
    await set(change);
    await fire(id);
    expect(await scenario.get(id)).toMatchObject({
      status: "paused",
      status_reason: `changed since it was approved: ${words}`,
    });
    expect(await scenario.tally(id)).toEqual({});
    await scenario.resume(id);
    await scenario.work();
    expect((await scenario.get(id)).status).toBe("sent");
  });
});

describe("between a test of variants and the message of its winner", () => {
  const TESTED = {
    ab_test: {
      variants: [
        { id: "a", subject: "Calm" },
        { id: "b", subject: "Loud" },
      ],
      metric: "open",
      test_percent: 50,
      min_sample: 1,
    },
  };
  test.each<[string, (id: string) => Promise<unknown>, string]>([
    [
      "the footer",
      () => set({ responsible_gaming_footer: "Nobody approved this" }),
      "the property's names and footer",
    ],
    ["the sender", () => set({ from_email: "evil@example.com" }), "the property's default sender"],
    [
      "the winner's subject, behind the service's back",
      (id) =>
        scenario.query(
          (sql) => sql`
            update campaigns set ab_test = jsonb_set(ab_test, '{variants,0,subject}', '"Nobody approved this"')
            where property_id = ${scenario.id} and id = ${id}`,
        ),
      "the test of variants",
    ],
  ])("a change holds the rest back until somebody resumes it: %s", async (_, change, words) => {
    scenario = await newScenario(service, { from_email: "offers@example.com" });
    await scenario.crowd(40);
    const id = await approved(TESTED);
    await fire(id);
    const { sent } = await scenario.tally(id);
    expect(sent).toBeLessThan(40);
    await change(id);
    await scenario.query(
      (sql) => sql`
        update campaigns set ab_ends_at = now() - interval '1 minute' where property_id = ${scenario.id} and id = ${id}`,
    );
    await service.database.db.asSystem(
      (sql) => sql`update queue set run_at = now() where property_id = ${scenario.id}`,
    );
    await scenario.work();
    expect(await scenario.tally(id)).toMatchObject({ sent });
    expect(await scenario.get(id)).toMatchObject({
      status: "paused",
      status_reason: `changed since it was approved: ${words}`,
    });
    await scenario.resume(id);
    await scenario.work();
    expect(await scenario.tally(id)).toEqual({ sent: 40 });
  });

  test("nothing holds it back where nothing has changed", async () => {
    scenario = await newScenario(service);
    await scenario.crowd(40);
    const id = await approved(TESTED);
    await fire(id);
    await scenario.query(
      (sql) => sql`
        update campaigns set ab_ends_at = now() - interval '1 minute' where property_id = ${scenario.id} and id = ${id}`,
    );
    await service.database.db.asSystem(
      (sql) => sql`update queue set run_at = now() where property_id = ${scenario.id}`,
    );
    await scenario.work();
    expect(await scenario.tally(id)).toEqual({ sent: 40 });
    expect((await scenario.get(id)).status).toBe("sent");
  });
});
