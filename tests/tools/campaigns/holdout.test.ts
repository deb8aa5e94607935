import { afterAll, beforeAll, expect, test } from "vitest";
import { type House, startHouse } from "../../support/house.ts";
import { type Casino, casino } from "./casino.ts";

let house: House;
beforeAll(async () => {
  house = await startHouse();
});
afterAll(() => house?.stop());

async function crowded(): Promise<Casino> {
  const { id } = await house.newTenant();
  const place = casino(house, id);
  await place.crowd(100);
  // Everybody is there twice, with one address.
  await place.query(
    (sql) => sql`
      insert into players (property_id, player_id, email, email_hash, first_name, consents)
      select property_id, player_id || '-twin', email, email_hash, first_name, consents from players
      where property_id = ${id}`,
  );
  return place;
}

async function heldOf(place: Casino, id: string): Promise<string[]> {
  const sends = await place.sends(id);
  return sends.filter(({ skip_reasons }) => skip_reasons.includes("holdout")).map(({ player }) => player);
}

test("a held-out share gets nothing, chosen by address, as the preflight has counted it", async () => {
  const place = await crowded();
  const id = await place.campaign({ holdout_percent: 30 });
  const { blocked, allowed } = await place.preflight(id);
  await place.send(id);
  await house.idle();

  const held = await heldOf(place, id);
  // Four standard deviations to either side.
  expect(held.length / 2).toBeGreaterThan(11);
  expect(held.length / 2).toBeLessThan(49);
  const singles = held.filter((player) => !player.endsWith("-twin"));
  expect(held).toEqual(singles.flatMap((player) => [player, `${player}-twin`]));
  const reached = 100 - singles.length;
  expect(blocked).toEqual({ holdout: held.length, duplicate_address: reached });
  expect(allowed).toBe(reached);
  expect(await place.stats(id)).toMatchObject({
    audience: 200,
    sent: reached,
    skipped: { holdout: held.length, duplicate_address: reached },
  });
  const got = new Set((await place.mailbox()).map(({ recipient }) => recipient));
  expect(got.size).toBe(reached);
  expect(singles.some((player) => got.has(`${player.replace("-", "")}@example.com`))).toBe(false);

  const { campaign } = await place.call("duplicate_campaign", {
    campaignId: id,
    propertyId: (await place.get(id)).property_id,
  });
  expect(campaign.holdout_percent).toBe(30);
  await place.send(campaign.id);
  await house.idle();
  // Each campaign draws anew: nobody is left out of all of them.
  expect(await heldOf(place, campaign.id)).not.toEqual(held);
});

test("100 percent holds everybody out, and the share stays once recipients are planned", async () => {
  const place = await crowded();
  const id = await place.campaign({ holdout_percent: 100 });
  await place.send(id);
  await house.idle();
  expect(await place.stats(id)).toMatchObject({ status: "sent", sent: 0, skipped: { holdout: 200 } });
  expect(await place.mailbox()).toEqual([]);
  await expect(place.call("update_campaign", { id, holdout_percent: 0 })).rejects.toThrow("holdout_percent");
  await expect(place.campaign({ holdout_percent: 101 })).rejects.toThrow("holdout_percent");
});
