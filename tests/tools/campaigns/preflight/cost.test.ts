import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { newScenario, type Scenario } from "../../../support/scenario.ts";
import { startService, type TestService } from "../../../support/service.ts";

let service: TestService;
let scenario: Scenario;

beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());
beforeEach(async () => {
  scenario = await newScenario(service);
});

const SES = { region: "us-east-1", access_key_id: "AKIAEXAMPLE", secret_access_key: "very-s3cret" };
const email = (values: object = {}) =>
  scenario.call("create_message_provider", {
    channel: "email",
    kind: "ses",
    name: "SES",
    credentials: SES,
    from_address: "offers@casino.example",
    allows_gaming: true,
    ...values,
  });
const UNKNOWN = expect.stringContaining("the cost is not known");

test("an email is paid for by the message, at the price of the provider that is tried first", async () => {
  await email({ name: "Second", unit_price: 5, price_currency: "EUR" });
  await email({ name: "First", unit_price: 0.0004, price_currency: "USD", is_default: true });
  await scenario.crowd(150);
  await scenario.player({ email: "no@example.com" }, false);
  const told = await scenario.preflight(await scenario.campaign());
  expect(told).toMatchObject({
    allowed: 150,
    estimated_cost: {
      amount: 0.06,
      currency: "USD",
      channel: "email",
      unit: "message",
      units: 150,
      unit_price: 0.0004,
    },
  });
  expect(told.warnings).not.toContainEqual(UNKNOWN);
});

test("players who share an address cost one message, also where thousands stand between them", async () => {
  await email({ unit_price: 0.0004, price_currency: "USD" });
  await scenario.query(
    (sql) => sql`
      insert into players (property_id, player_id, email, email_hash, consents)
      select ${scenario.id}, n, 'p' || n % 20000 || '@example.com', sha256(convert_to((n % 20000)::text, 'UTF8')),
        case when n = 7 then '{}' else '{"email": true}' end::jsonb
      from generate_series(1, 20017) n order by n returning 1`,
  );
  const told = await scenario.preflight(await scenario.campaign());
  // The first of one address was never asked, so the second of that address gets the message.
  expect(told).toMatchObject({
    audience: 20_017,
    allowed: 20_000,
    blocked: { no_consent: 1, duplicate_address: 16 },
    estimated_cost: { amount: 8, units: 20_000 },
  });
});

test("a missing price is unknown, and differs from zero", async () => {
  const { id } = await email();
  await scenario.crowd(2);
  const campaign = await scenario.campaign();
  const told = await scenario.preflight(campaign);
  expect(told).toMatchObject({
    ok: true,
    estimated_cost: { amount: null, currency: null, units: 2, unit_price: null },
  });
  expect(told.warnings).toContainEqual(UNKNOWN);
  await scenario.call("update_message_provider", { id, unit_price: 0, price_currency: "USD" });
  expect((await scenario.preflight(campaign)).estimated_cost).toMatchObject({ amount: 0, currency: "USD" });
  await scenario.call("update_message_provider", { id, allows_gaming: false });
  expect((await scenario.preflight(campaign)).estimated_cost).toMatchObject({
    amount: null,
    unit_price: null,
  });
});

test("a message that the service keeps itself costs nothing", async () => {
  await scenario.crowd(2);
  const told = await scenario.preflight(await scenario.campaign());
  expect(told.estimated_cost).toMatchObject({ amount: 0, currency: null, units: 2, unit_price: 0 });
  const inbox = await scenario.campaign({
    channel: "loyaltyvip",
    body_text: "Double points",
    body_html: null,
  });
  expect((await scenario.preflight(inbox)).estimated_cost).toMatchObject({
    amount: 0,
    channel: "loyaltyvip",
  });
});

test("a text is paid for by the segment", async () => {
  await scenario.call("create_message_provider", {
    channel: "sms",
    kind: "twilio",
    name: "Twilio",
    from_address: "+17025550999",
    credentials: { account_sid: `AC${"0".repeat(32)}`, auth_token: "secret" },
    allows_gaming: true,
    unit_price: 0.0079,
    price_currency: "USD",
  });
  for (const phone of ["+17025550101", "+17025550102"]) {
    const { id } = await scenario.call("create_player", { phone });
    const consent = { propertyId: scenario.id, playerId: id, channel: "sms", consentGiven: true };
    await scenario.call("consent_record", consent);
  }
  const body_text = `${"x".repeat(200)} STOP`;
  const told = await scenario.preflight(
    await scenario.campaign({ channel: "sms", body_text, body_html: null, subject: null }),
  );
  expect(told).toMatchObject({
    allowed: 2,
    segments: 4,
    estimated_cost: { amount: 0.0316, currency: "USD", unit: "segment", units: 4, unit_price: 0.0079 },
  });
});

test("going on with a paused campaign says what is left, and what it would cost", async () => {
  await email({ unit_price: 0.5, price_currency: "USD" });
  await scenario.crowd(3);
  const id = await scenario.campaign();
  await scenario.send(id);
  await scenario.query(
    (sql) => sql`
      update campaigns set status = 'paused' where property_id = ${scenario.id} and id = ${id}`,
  );
  await scenario.query(
    (sql) => sql`
      insert into campaign_sends (property_id, campaign_id, channel, status, dedupe_key)
      select ${scenario.id}, ${id}, 'email', 'pending', sha256(convert_to(n::text, 'UTF8')) from generate_series(1, 2) n returning 1`,
  );
  const about = { campaignId: id, propertyId: scenario.id, dry_run: true };
  expect(await scenario.call("resume_campaign", about)).toMatchObject({
    remaining: 2,
    estimated_cost: { amount: 1, currency: "USD", units: 2 },
  });
});

test("a price needs its currency, is zero or more, and the currency is a real one", async () => {
  const { id } = await email();
  const change = (body: object) =>
    scenario.call("update_message_provider", { id, ...body }).then(
      () => null,
      (error: Error) => error.message,
    );
  expect(await change({ unit_price: 1 })).toContain("price_currency");
  expect(await change({ unit_price: -1, price_currency: "USD" })).toContain("unit_price");
  expect(await change({ unit_price: 1, price_currency: "dollars" })).toContain("price_currency");
  expect(await change({ unit_price: 1, price_currency: "USD" })).toBeNull();
  expect(await change({ price_currency: null })).toContain("price_currency");
  expect(await change({ unit_price: null, price_currency: null })).toBeNull();
});
