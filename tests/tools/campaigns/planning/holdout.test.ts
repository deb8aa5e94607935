import { afterAll, beforeAll, expect, test } from "vitest";
import { type Scenario, scenarioIn } from "../../../support/scenario.ts";
import { startService, type TestService } from "../../../support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service?.stop());

/** Enough players to bring the held-out share near the percentage. */
const PEOPLE = 300;

async function crowded(): Promise<Scenario> {
  const { id } = await service.newProperty();
  const scenario = scenarioIn(service, id);
  await scenario.crowd(PEOPLE);
  // Everybody is there twice, with one address.
  await scenario.query(
    (sql) => sql`
      insert into players (property_id, player_id, email, email_hash, first_name, consents)
      select property_id, player_id || '-twin', email, email_hash, first_name, consents from players
      where property_id = ${id} returning 1`,
  );
  return scenario;
}

async function heldOf(scenario: Scenario, id: string): Promise<string[]> {
  const sends = await scenario.sends(id);
  return sends.filter(({ skip_reasons }) => skip_reasons.includes("holdout")).map(({ player }) => player);
}

test("a held-out share gets nothing, chosen by address, as the preflight has counted it", async () => {
  const scenario = await crowded();
  const id = await scenario.campaign({ holdout_percent: 30 });
  const { blocked, allowed } = await scenario.preflight(id);
  await scenario.send(id);
  await service.idle();

  const held = await heldOf(scenario, id);
  // Seven standard deviations to either side.
  expect(held.length / 2 / PEOPLE).toBeGreaterThan(0.11);
  expect(held.length / 2 / PEOPLE).toBeLessThan(0.49);
  const singles = held.filter((player) => !player.endsWith("-twin"));
  expect(held).toEqual(singles.flatMap((player) => [player, `${player}-twin`]));
  const reached = PEOPLE - singles.length;
  expect(blocked).toEqual({ holdout: held.length, duplicate_address: reached });
  expect(allowed).toBe(reached);
  expect(await scenario.stats(id)).toMatchObject({
    audience: 2 * PEOPLE,
    sent: reached,
    skipped: { holdout: held.length, duplicate_address: reached },
  });
  const got = new Set((await scenario.mailbox()).map(({ recipient }) => recipient));
  expect(got.size).toBe(reached);
  expect(singles.some((player) => got.has(`${player.replace("-", "")}@example.com`))).toBe(false);

  const { campaign } = await scenario.call("duplicate_campaign", {
    campaignId: id,
    propertyId: (await scenario.get(id)).property_id,
  });
  expect(campaign.holdout_percent).toBe(30);
  await scenario.send(campaign.id);
  await service.idle();
  // Each campaign draws anew: nobody is left out of all of them.
  expect(await heldOf(scenario, campaign.id)).not.toEqual(held);
});

test("100 percent holds everybody out, and the share stays once recipients are planned", async () => {
  const scenario = await crowded();
  const id = await scenario.campaign({ holdout_percent: 100 });
  await scenario.send(id);
  await service.idle();
  expect(await scenario.stats(id)).toMatchObject({
    status: "sent",
    sent: 0,
    skipped: { holdout: 2 * PEOPLE },
  });
  expect(await scenario.mailbox()).toEqual([]);
  await expect(scenario.call("update_campaign", { id, holdout_percent: 0 })).rejects.toThrow(
    "holdout_percent",
  );
  await expect(scenario.campaign({ holdout_percent: 101 })).rejects.toThrow("holdout_percent");
});
