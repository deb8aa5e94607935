import { randomBytes, randomUUID } from "node:crypto";
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { insertedRows, insertedValues } from "#db/sql.ts";
import type { Channel } from "#tools/compliance/channels.ts";
import { capsCtes } from "#tools/compliance/frequency.ts";
import { addressHash } from "#tools/people/address.ts";
import { isFull } from "../../support/proof-size.ts";
import { type CapRule, freeAt, LAW, type Past } from "./oracles/frequency.ts";
import { newPlayer, openTwoProperties, type TwoProperties } from "./scenario.ts";

let fixture: TwoProperties;
beforeAll(async () => {
  fixture = await openTwoProperties();
  await fixture.sql((sql) => sql`select seed_voice_laws(${fixture.property.id})`);
});
afterAll(() => fixture.close());
beforeEach(async () => {
  const { id } = fixture.property;
  await fixture.sql(async (sql) => {
    await sql`delete from frequency_rules where property_id = ${id}`;
    await sql`delete from campaign_sends where property_id = ${id}`;
  });
});

const HOUR = 3_600_000;
/** 00:30 of the night after the clocks went forward in New York. */
const AT = Date.parse("2027-03-15T04:30:00Z");
const iso = (time: number) => new Date(time).toISOString();

async function campaign(values: object = {}): Promise<string> {
  const [row] = await fixture.sql(
    (sql) => sql<{ id: string }[]>`
      insert into campaigns ${insertedValues({ property_id: fixture.property.id, name: "c", ...values })} returning id`,
  );
  return row!.id;
}

const PLAIN = { channel: "sms", tag: null, transactional: false, status: "sent" } as const;

async function remember(
  player: string,
  past: readonly (Omit<Past, "channel"> & { channel: Channel; campaign: string | null })[],
  address?: string,
): Promise<void> {
  const { pepper } = fixture.property;
  const rows = past.map(({ at, channel, status, campaign: of }) => ({
    property_id: fixture.property.id,
    id: randomUUID(),
    campaign_id: of,
    player_id: player,
    channel,
    status,
    dedupe_key: randomBytes(16),
    claimed_at: iso(at),
    address_hash: address === undefined ? null : addressHash(pepper, address),
  }));
  await fixture.sql(async (sql) => {
    for (const row of rows) await sql`insert into campaign_sends ${insertedValues(row)}`;
  });
}

const ruleArbitrary = fc.record({
  channel: fc.constantFrom("any" as const, "phone" as const, "sms" as const, "email" as const),
  tag: fc.constantFrom(null, null, "bonus"),
  max_sends: fc.integer({ min: 1, max: 3 }),
  window: fc.constantFrom(
    ["hour", 1] as const,
    ["hour", 30] as const,
    ["day", 1] as const,
    ["day", 3] as const,
    ["week", 1] as const,
  ),
  mode: fc.constantFrom("rolling" as const, "calendar_player_tz" as const),
});

const SENDS = {
  property_id: "uuid",
  campaign_id: "uuid",
  player_id: "uuid",
  channel: "text",
  status: "text",
  dedupe_key: "bytea",
  claimed_at: "timestamptz",
};

const past = fc.array(
  fc.record({
    // Around the edges of windows, days and weeks, and none twice.
    at: fc
      .tuple(fc.constantFrom(0, 1, 3, 4, 24, 27, 30, 47, 48, 71, 72, 75, 166, 167, 168, 191), fc.nat(3))
      .map(([hours, minutes]) => AT - hours * HOUR - minutes * 60_000 - 1_000),
    channel: fc.constantFrom("sms" as const, "voice" as const, "email" as const),
    tag: fc.constantFrom(null, "bonus"),
    transactional: fc.nat(4).map((n) => n === 0),
    status: fc.constantFrom("sent", "delivered", "sending", "bounced", "unknown", "failed", "skipped"),
  }),
  { maxLength: 12 },
);

test("a plain count over the past says the same of who is capped, and until when", async () => {
  const { property } = fixture;
  const places = [
    { timezone: "America/New_York" },
    { timezone: "Asia/Tokyo" },
    { phone: "+18505550177" },
    { phone: "+18005550177" },
  ];
  const zonesOf = [
    ["America/New_York"],
    ["Asia/Tokyo"],
    ["America/Chicago", "America/New_York"],
    [property.timezone],
  ];
  const players = await Promise.all(places.map((place) => newPlayer(fixture, place)));
  const campaigns = new Map<string, string>();
  for (const tag of [null, "bonus"]) {
    for (const transactional of [true, false]) {
      const id = await campaign({ tags: tag ? [tag] : [], is_transactional: transactional });
      campaigns.set(`${tag} ${transactional}`, id);
    }
  }
  let capped = 0;
  const world = fc.record({
    rules: fc.array(ruleArbitrary, { minLength: 1, maxLength: 4 }),
    pasts: fc.tuple(past, past, past, past),
    channel: fc.constantFrom("sms" as const, "email" as const, "voice" as const),
    tags: fc.constantFrom([], ["bonus"], ["other", "bonus"]),
  });
  await fc.assert(
    fc.asyncProperty(world, async ({ rules, pasts, channel, tags }) => {
      const rows = await fixture.sql(async (sql) => {
        await sql`delete from frequency_rules where property_id = ${property.id}`;
        await sql`delete from campaign_sends where property_id = ${property.id}`;
        for (const { window, ...rule } of rules) {
          const [window_unit, window_count] = window;
          const values = { property_id: property.id, window_unit, window_count, ...rule };
          await sql`insert into frequency_rules ${insertedValues(values)}`;
        }
        const sends = pasts.flatMap((list, index) =>
          list.map((one) => ({
            property_id: property.id,
            campaign_id: campaigns.get(`${one.tag} ${one.transactional}`)!,
            player_id: players[index]!.id,
            channel: one.channel,
            status: one.status,
            dedupe_key: `\\x${randomBytes(16).toString("hex")}`,
            claimed_at: iso(one.at),
          })),
        );
        await sql`insert into campaign_sends ${insertedRows(SENDS, sends)} returning 1`;
        const caps = capsCtes({ property, channel, at: iso(AT), tags }, "subject");
        return sql<{ id: string; free: number }[]>`
          with subject as materialized (
            select id, zones, region from players where property_id = ${property.id}
          ), ${caps}
          select id, extract(epoch from free_at)::double precision * 1000 as free from caps`;
      });
      const told = players.map(({ id }) => rows.find((row) => row.id === id)?.free ?? null);
      const expected = pasts.map((list, index) =>
        freeAt(
          [
            ...rules.map(({ window, ...rule }): CapRule => ({ ...rule, unit: window[0], count: window[1] })),
            ...(channel === "voice" ? [LAW] : []),
          ],
          list,
          { at: AT, zones: zonesOf[index]!, channel, tags },
        ),
      );
      expect(told).toEqual(expected);
      capped += expected.filter((free) => free !== null).length;
    }),
    { ...(isFull ? { numRuns: 150 } : { numRuns: 60, seed: 3 }) },
  );
  expect(capped).toBeGreaterThan(isFull ? 50 : 30);
});

test("a rule counts messages that a vendor may have, but no inbox, and not the campaign's own repeats; an inactive one counts none", async () => {
  const { property } = fixture;
  const rule = {
    property_id: property.id,
    channel: "any",
    max_sends: 1,
    window_unit: "day",
    window_count: 1,
  };
  const write = (values: object) =>
    fixture.sql(
      (sql) => sql`insert into frequency_rules ${insertedValues({ ...rule, mode: "rolling", ...values })}`,
    );
  const [own, other] = [await campaign(), await campaign()];
  const isCapped = async (send: object, by: string | null = null) => {
    const player = await newPlayer(fixture, {});
    const values = {
      ...{ property_id: property.id, player_id: player.id, channel: "sms", dedupe_key: randomBytes(16) },
      ...{ claimed_at: iso(AT - HOUR), status: "sent", ...send },
    };
    const at = { at: iso(AT), ...(by && { campaignId: by }) };
    return await fixture.sql(async (sql) => {
      await sql`insert into campaign_sends ${insertedValues(values)}`;
      const rows = await sql`
        with subject as materialized (select id, zones, region from players where property_id = ${property.id} and id = ${player.id}),
          ${capsCtes({ property, channel: "sms", tags: [], ...at }, "subject")}
        select from caps`;
      return rows.length === 1;
    });
  };
  await write({ is_active: false });
  expect(await isCapped({})).toBe(false);
  await write({});
  expect(await isCapped({})).toBe(true);
  expect(await isCapped({ channel: "inbox" })).toBe(false);
  const repeated = { campaign_id: own, status: "pending", repeats: true };
  expect(await isCapped(repeated, own)).toBe(false);
  expect(await isCapped(repeated, other)).toBe(true);
  expect(await isCapped({ ...repeated, repeats: false }, other)).toBe(false);
  expect(await isCapped({ status: "failed", repeats: true, sent_at: null })).toBe(true);
  expect(await isCapped({ status: "failed", repeats: true, sent_at: iso(AT - HOUR) })).toBe(false);
  expect(await isCapped({ status: "failed" })).toBe(false);
});

test("the third message of a day to Florida is the last, over calls and texts together, and allowed stays true", async () => {
  await fixture.sql((sql) => sql`select seed_sending_rules(${fixture.property.id})`);
  const florida = await newPlayer(fixture, { phone: "+13055550178" });
  const nevada = await newPlayer(fixture, { phone: "+17025550178" });
  const id = await campaign();
  const noon = Date.parse("2027-07-01T16:00:00Z");
  for (const player of [florida, nevada]) {
    await fixture.run("consent_record", { playerId: player.id, channel: "sms", consentGiven: true });
    await remember(player.id, [
      { ...PLAIN, at: noon - 20 * HOUR, campaign: id },
      { ...PLAIN, at: noon - 2 * HOUR, campaign: id, channel: "voice" },
    ]);
  }
  const ask = () =>
    fixture.run("compliance_check", { channel: "sms", phones: [florida.phone, nevada.phone], at: iso(noon) });
  expect(await ask()).toMatchObject({ allowed: true });
  expect((await ask()).defer).toBeUndefined();
  await remember(florida.id, [{ ...PLAIN, at: noon - HOUR, campaign: null }]);
  await remember(nevada.id, [{ ...PLAIN, at: noon - HOUR, campaign: null }]);
  // Four hours on is 16:00 in Miami, and open.
  expect(await ask()).toMatchObject({
    allowed: true,
    defer: { reasons: ["frequency_capped"], retry_at: "2027-07-01T20:00:00+00:00" },
  });
  const { results } = await fixture.run<{ results: object[] }>("compliance_check", {
    ...{ channel: "sms", phones: [florida.phone, nevada.phone], at: iso(noon) },
  });
  expect(results).toMatchObject([
    { allowed: true, defer_reasons: ["frequency_capped"], retry_at: "2027-07-01T20:00:00+00:00" },
    { allowed: true },
  ]);
  // Florida's law is not Nevada's.
  expect(results[1]).not.toHaveProperty("defer_reasons");
});

test("a second record of a number, and a new one after the first is deleted, share its cap", async () => {
  await fixture.sql((sql) => sql`select seed_sending_rules(${fixture.property.id})`);
  const noon = Date.parse("2027-07-01T16:00:00Z");
  const phone = "+13055550180";
  const first = await newPlayer(fixture, { phone });
  const past = [1, 2, 3].map((hours) => ({ ...PLAIN, at: noon - hours * HOUR, campaign: null }));
  await remember(first.id, past, phone);
  const twin = await newPlayer(fixture, { phone });
  const capped = async (playerId: string) =>
    (await fixture.run("compliance_check", { channel: "sms", playerId, at: iso(noon) })).defer;
  expect(await capped(twin.id)).toEqual({
    reasons: ["frequency_capped"],
    retry_at: "2027-07-02T13:00:00+00:00",
  });
  await fixture.run("delete_player", { id: first.id });
  expect(await capped(twin.id)).toBeDefined();
  await fixture.run("update_player", { id: twin.id, phone: "+13055550181" });
  expect(await capped(twin.id)).toBeUndefined();
});

test("a cap of a channel without quiet hours gives the very moment at which it ends", async () => {
  const noon = Date.parse("2027-07-01T16:00:00Z");
  const player = await newPlayer(fixture, { phone: "+13055550182" });
  const cap = { channel: "email", max_sends: 1, window_count: 3, window_unit: "hour" };
  const { id } = await fixture.run("create_frequency_rule", cap);
  await remember(player.id, [{ ...PLAIN, at: noon - HOUR, campaign: null, channel: "email" }]);
  const asked = { channel: "email", playerId: player.id, at: iso(noon) };
  const { defer } = await fixture.run("compliance_check", asked);
  expect(defer).toEqual({ reasons: ["frequency_capped"], retry_at: "2027-07-01T18:00:00+00:00" });
  await fixture.run("delete_frequency_rule", { id });
});

test("a cap that ends at night gives the morning", async () => {
  await fixture.sql((sql) => sql`select seed_sending_rules(${fixture.property.id})`);
  const player = await newPlayer(fixture, { phone: "+13055550179" });
  const evening = Date.parse("2027-07-01T23:30:00Z");
  await remember(
    player.id,
    [1, 2, 23].map((hours) => ({ ...PLAIN, at: evening - hours * HOUR, campaign: null })),
  );
  const checked = await fixture.run("compliance_check", {
    channel: "sms",
    phone: player.phone,
    at: iso(evening),
  });
  expect(checked.defer).toEqual({ reasons: ["frequency_capped"], retry_at: "2027-07-02T12:00:00+00:00" });
});

test("ten rules may be active, and windows are of thirty days at the most", async () => {
  const create = (input: object) =>
    fixture.run("create_frequency_rule", { max_sends: 1, window_unit: "day", ...input });
  const asleep = await create({ is_active: false });
  for (let made = 0; made < 9; made++) await create({ max_sends: made + 1 });
  // Two at once: one of them is the tenth.
  const both = await Promise.allSettled([create({}), create({})]);
  expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  await expect(create({})).rejects.toMatchObject({ code: "conflict" });
  await expect(
    fixture.run("update_frequency_rule", { id: asleep.id, is_active: true }),
  ).rejects.toMatchObject({
    code: "conflict",
  });
  for (const input of [
    { window_count: 31 },
    { window_unit: "week", window_count: 5 },
    { window_unit: "hour", window_count: 721 },
    { max_sends: 0 },
    { state: "FL" },
    { mode: "sometimes" },
  ]) {
    await expect(create({ ...input, is_active: false })).rejects.toMatchObject({ code: "invalid" });
  }
});
