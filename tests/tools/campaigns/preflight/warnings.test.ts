import { afterAll, beforeAll, expect, test } from "vitest";
import { CATALOG } from "#tools/catalog.ts";
import { onceOverMcp } from "../../../support/operation-calls.ts";
import { startService, type TestService } from "../../../support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

async function preflightOf(fields: object, propertyId: string) {
  const content = { name: "News", channel: "email", subject: "Hi", body_text: "Hello", audience: "all" };
  const { id } = await service.call("create_campaign", { ...content, ...fields }, propertyId);
  return service.call("preflight_campaign", { campaignId: id, propertyId }, propertyId);
}

/** Five players: two agreed, one refused, one was never asked, one has no address. */
async function openProperty() {
  const { id } = await service.newProperty();
  const player = (input: object) => service.call("create_player", input, id);
  const consent = (playerId: string, given: boolean) =>
    service.call("consent_record", {
      ...{ propertyId: id, playerId, channel: "email", consentGiven: given },
      ...{ consentSource: "desk", consentText: "I agree" },
    });
  const yes = await player({ email: "w1@example.com", first_name: "Ann" });
  const also = await player({ email: "w2@example.com" });
  const no = await player({ email: "w3@example.com" });
  await player({ email: "w4@example.com" });
  await player({ player_id: "w5" });
  await consent(yes.id, true);
  await consent(also.id, true);
  await consent(no.id, false);
  return id;
}

test("a preflight warns of mail that nobody receives, of local links, and of fields that players lack", async () => {
  const property = await openProperty();
  const told = await preflightOf({ body_text: "Hello {{ player.first_name | default: 'you' }}" }, property);
  expect(told.warnings).toEqual([
    expect.stringContaining("built-in mailbox, and no player receives"),
    expect.stringMatching(/links in the message point to http:\/\/127/),
    expect.stringMatching(/^4 of 5 players have no first_name/),
  ]);
  expect(told).toMatchObject({
    ...{ audience: 5, allowed: 2, missing_fields: { first_name: 4 } },
    ...{
      blocked: { no_consent: 3 },
      no_consent: { refused: 1, insufficient: 0, never_asked: 1, no_address: 1 },
    },
  });
});

test("a value that no player has is told, also where a segment leaves it out, and to the person who agrees", async () => {
  const property = await openProperty();
  const gold = { field: "tier", operator: "neq", value: "gold" };
  const { id: others } = await service.call(
    "create_segment",
    { name: "Others", conditions: [gold] },
    property,
  );
  await service.call("create_player", { tier: "Gold" }, property);
  const content = { name: "News", channel: "email", subject: "Hi", body_text: "Hello", segment_id: others };
  const { id } = await service.call("create_campaign", content, property);
  const told = await service.call("preflight_campaign", { campaignId: id, propertyId: property }, property);
  const said =
    'the audience names a value that no player has: tier: nothing here has "gold"; there are "Gold".';
  expect(told.warnings).toContain(said);
  const key = await service.call("create_api_key", { property_id: property, name: "agent" });
  const operation = CATALOG.operations.get("send_campaign")!;
  const { data } = await onceOverMcp(service, operation, { campaignId: id }, { "X-Api-Key": key.api_key });
  expect(data.message).toContain(`Warning: ${said}`);
});

test("a test that cannot reach its sample is told", async () => {
  const property = await openProperty();
  const ab_test = {
    variants: [
      { id: "a", subject: "A" },
      { id: "b", subject: "B" },
    ],
    ...{ metric: "click", test_percent: 100 },
  };
  const { warnings } = await preflightOf({ ab_test }, property);
  expect(warnings).toContainEqual(expect.stringMatching(/smallest variant gets about 1 message.*is 100/));
  const small = await preflightOf({ ab_test: { ...ab_test, min_sample: 1 } }, property);
  expect(small.warnings).not.toContainEqual(expect.stringContaining("smallest variant"));
});

/** Everybody who may get a message has one today, and no second one. */
async function cappedProperty() {
  const property = await openProperty();
  await service.call(
    "create_frequency_rule",
    { max_sends: 1, channel: "email", window_unit: "day" },
    property,
  );
  const { id } = await service.call(
    "create_campaign",
    { name: "First", channel: "email", subject: "Hi", body_text: "Hello", audience: "all" },
    property,
  );
  await service.call("send_campaign", { campaignId: id, propertyId: property }, property);
  await service.idle();
  return { property, campaignId: id };
}

test("the allowed who wait are counted by reason, with the first and last time", async () => {
  expect((await preflightOf({}, await openProperty())).deferred).toEqual({});
  const { property, campaignId } = await cappedProperty();
  const stats = await service.call("campaign_stats", { campaignId, propertyId: property }, property);
  expect(stats.no_consent).toEqual({ refused: 1, insufficient: 0, never_asked: 1, no_address: 1 });
  const { allowed, deferred } = await preflightOf({}, property);
  expect([allowed, deferred]).toEqual([
    2,
    { frequency_capped: { count: 2, first_at: expect.any(String), last_at: expect.any(String) } },
  ]);
  expect(Date.parse(deferred.frequency_capped.first_at)).toBeGreaterThan(Date.now());
});

test("one message waits for players who share an address", async () => {
  const { property } = await cappedProperty();
  for (const player_id of ["w6", "w7"]) {
    const { id } = await service.call("create_player", { player_id, email: "w1@example.com" }, property);
    await service.call("consent_record", {
      ...{ propertyId: property, playerId: id, channel: "email", consentGiven: true },
      ...{ consentSource: "desk", consentText: "I agree" },
    });
  }
  const { allowed, blocked, deferred } = await preflightOf({}, property);
  expect([allowed, blocked.duplicate_address, deferred.frequency_capped.count]).toEqual([2, 2, 2]);
  const reach = await service.call("segment_reach", { propertyId: property, channel: "email" }, property);
  expect([reach.allowed, reach.waiting]).toEqual([2, 2]);
  const agent = await service.call("create_api_key", { property_id: property, name: "agent" });
  const mail = { channel: "email", subject: "Hi", body_text: "Hello", audience: "all" };
  const { id } = await service.call("create_campaign", { name: "Second", ...mail }, property);
  const send = CATALOG.operations.get("send_campaign")!;
  const { data } = await onceOverMcp(service, send, { campaignId: id }, { "X-Api-Key": agent.api_key });
  expect(data.message).toMatch(/It would reach 2 of \d+ players\./);
  expect(data.message).toContain("0 of them at that time; 2 wait longer: frequency_capped 2.");
});
