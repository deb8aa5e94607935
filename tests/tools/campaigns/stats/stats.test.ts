import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { liftOf } from "#tools/campaigns/stats/holdout.ts";
import { shifted } from "../../../support/database.ts";
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

const HTML = '<a href="https://play.example/a">A</a><a href="https://play.example/b">B</a>';

/** A campaign that was sent to so many players a minute ago, and the paths of its links by recipient. */
async function sent(players: number, fields: Record<string, unknown> = {}) {
  await scenario.crowd(players);
  const id = await scenario.campaign({ body_html: HTML, ...fields });
  await scenario.send(id);
  const given: { id: string; html?: string }[] = [];
  await scenario.work({
    open: (store) => ({
      repeatable: true,
      concurrency: 10,
      send: async (messages) => {
        given.push(...messages);
        await store(
          messages.map((message) => ({ channel: "email", providerMessageId: message.id, message })),
        );
        return messages.map((message) => ({ id: message.id, status: "sent", providerMessageId: message.id }));
      },
    }),
  });
  await scenario.query((sql) => sql`update campaign_sends set sent_at = now() - interval '1 minute'`);
  const clicks = given.map(({ html }) =>
    Array.from(html!.matchAll(/"[^"]*(\/c\/[^"]+)"/g), ([, path]) => path!),
  );
  return { id, clicks };
}

const person = { "user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0" };
const visit = (path: string, headers: Record<string, string> = person) =>
  fetch(`${service.baseUrl}${path}`, { redirect: "manual", headers });
const due = (id: string) =>
  service.internals.db.asSystem(
    (sql) => sql`
    update queue set run_at = now() where name = 'refresh_campaign_stats' and input ->> 'campaignId' = ${id}`,
  );

describe("the cost of a campaign", () => {
  const priced = (unit_price: number | null, price_currency: string | null) =>
    scenario.call("create_message_provider", {
      channel: "sms",
      kind: "mailbox",
      name: `Gateway ${unit_price}`,
      unit_price,
      price_currency,
    });
  /** Texts of two segments that the provider has accepted, the last of which failed later, and one that it has refused. */
  const texts = (id: string, provider: { id: string } | null, count: number) =>
    scenario.query(
      (sql) => sql`
      insert into campaign_sends (property_id, campaign_id, channel, status, provider, provider_id, segments, sent_at, dedupe_key)
      select ${scenario.id}, ${id}, 'sms', case when n in (0, ${count}) then 'failed' else 'sent' end,
        'mailbox', ${provider?.id ?? null}, 2, case when n > 0 then now() end,
        sha256(convert_to(n::text || ${provider?.id ?? ""}::text, 'UTF8'))
      from generate_series(0, ${count}::int) n returning 1`,
    );

  test("is its accepted segments by the price of each one's provider, and says what has none", async () => {
    const id = await scenario.campaign({ channel: "sms", body_text: "Hi" });
    expect((await scenario.stats(id)).cost).toMatchObject({ amount: 0, currency: null, units: 0 });
    await texts(id, null, 2);
    expect((await scenario.stats(id)).cost).toEqual({
      amount: 0,
      currency: null,
      unit: "segment",
      units: 4,
      unpriced_units: 0,
    });
    const dollars = await priced(0.0079, "USD");
    await texts(id, dollars, 3);
    await texts(id, await priced(null, null), 5);
    // A provider that has refused all costs nothing, and brings no currency of its own.
    await texts(id, await priced(0.02, "EUR"), 0);
    expect((await scenario.stats(id)).cost).toEqual({
      amount: 0.0474,
      currency: "USD",
      unit: "segment",
      units: 20,
      unpriced_units: 10,
    });
    await texts(id, await priced(0.01, "EUR"), 1);
    expect((await scenario.stats(id)).cost).toMatchObject({ amount: null, currency: null, units: 22 });
  });

  test("is that of each message of a mail, by the price of now", async () => {
    const mail = {
      channel: "email",
      kind: "mailbox",
      name: "Mails",
      unit_price: 0.5,
      price_currency: "EUR",
      allows_gaming: true,
    };
    const { id: provider } = await scenario.call("create_message_provider", mail);
    const { id } = await sent(3, { provider_id: provider });
    const cost = { amount: 1.5, currency: "EUR", unit: "message", units: 3, unpriced_units: 0 };
    expect((await scenario.stats(id)).cost).toEqual(cost);
    await scenario.call("update_message_provider", { id: provider, unit_price: 0.25 });
    expect((await scenario.stats(id)).cost).toEqual({ ...cost, amount: 0.75 });
  });

  test("is that of its calls, as told, of those in the period", async () => {
    const script = { turns: [{ id: "hi", say: "Hi" }], callback_number: "+1 800 555 0100" };
    const id = await scenario.campaign({
      channel: "voice",
      voice_script: script,
      subject: null,
      body_html: null,
    });
    expect((await scenario.stats(id)).cost).toEqual({
      ...{ amount: 0, currency: null, unit: "minute", units: 0, unpriced_units: 0 },
    });
    const called = (
      seconds: number,
      cost: number | null,
      currency: string | null,
      at: string,
      simulated = false,
    ) =>
      scenario.query(
        (sql) => sql`
        with send as (
          insert into campaign_sends (property_id, campaign_id, channel, status, sent_at, dedupe_key)
          values (${scenario.id}, ${id}, 'voice', 'delivered', ${at}, ${Buffer.from(randomUUID())}) returning id)
        insert into voice_calls (property_id, campaign_id, send_id, provider, simulated, status, outcome, answered_by,
          seconds, cost, cost_currency)
        select ${scenario.id}, ${id}, id, 'vapi', ${simulated}, 'ended', 'completed', 'human', ${seconds}, ${cost},
          ${currency} from send returning 1`,
      );
    await called(59, 0.1, "USD", "2026-01-01T00:00:00Z");
    await called(61, 0.2, "USD", "2026-01-02T00:00:00Z");
    await called(121, null, null, "2026-01-02T00:00:00Z");
    await called(600, null, null, "2026-01-02T00:00:00Z", true);
    const cost = { amount: 0.3, currency: "USD", unit: "minute", units: 6, unpriced_units: 3 };
    expect((await scenario.stats(id)).cost).toEqual(cost);
    const day = await scenario.call("campaign_stats", {
      ...{ campaignId: id, propertyId: scenario.id, to: "2026-01-02T00:00:00Z" },
    });
    expect(day).toMatchObject({ delivered: 1, calls: { placed: 1, minutes: 1, simulated: { placed: 0 } } });
    expect(day.cost).toMatchObject({ amount: 0.1, units: 1, unpriced_units: 0 });
    await called(30, 0.1, "EUR", "2026-01-03T00:00:00Z");
    expect((await scenario.stats(id)).cost).toMatchObject({ amount: null, currency: null, units: 7 });
  });

  test("is unknown where no provider has a price", async () => {
    const id = await scenario.campaign({ channel: "sms", body_text: "Hi" });
    await texts(id, await priced(null, null), 1);
    expect((await scenario.stats(id)).cost).toMatchObject({ amount: null, units: 2, unpriced_units: 2 });
  });
});

describe("the figures of a campaign", () => {
  test("count clicks in all, by recipient, by person and by link", async () => {
    const { id, clicks } = await sent(3);
    await visit(clicks[0]![0]!);
    await visit(clicks[0]![0]!);
    await visit(clicks[1]![0]!, { "user-agent": "curl/8.1" });
    await visit(clicks[2]![1]!);
    const stats = await scenario.stats(id);
    expect(stats).toMatchObject({ audience: 3, sent: 3, clicks_total: 4, clicks_unique: 3, clicks_human: 2 });
    expect(stats.by_link).toMatchObject([
      { url: "https://play.example/a", clicks_total: 3, clicks_unique: 2, clicks_human: 1 },
      { url: "https://play.example/b", clicks_total: 1, clicks_unique: 1, clicks_human: 1 },
    ]);
  });

  test("are of the recipients whose message went out in a period, where one is named", async () => {
    const { id, clicks } = await sent(3);
    await visit(clicks[0]![0]!);
    const [first] = await scenario.sends(id);
    await scenario.query(
      (sql) => sql`
      update campaign_sends set sent_at = '2026-01-02T00:00:00Z', bounce_type = 'hard', status = 'bounced'
      where property_id = ${scenario.id} and id = ${first!.id}`,
    );
    const about = { campaignId: id, propertyId: scenario.id };
    const january = { from: "2026-01-01T00:00:00Z", to: "2026-02-01T00:00:00Z" };
    expect(await scenario.call("campaign_stats", { ...about, ...january })).toMatchObject({
      audience: 1,
      bounced: 1,
      bounced_hard: 1,
      bounced_soft: 0,
    });
    const later = await scenario.call("campaign_stats", { ...about, from: january.to });
    expect(later).toMatchObject({ audience: 2, sent: 2 });
    await expect(
      scenario.call("campaign_stats", { ...about, from: january.to, to: january.from }),
    ).rejects.toMatchObject({ code: "invalid" });
  });

  test("of the inbox are those of the period, too", async () => {
    const { id: player } = await scenario.call("create_player", { player_id: "inbox" });
    const id = await scenario.campaign({ channel: "loyaltyvip", body_text: "Hi", body_html: null });
    for (const day of ["01", "02"]) {
      await scenario.query(
        (sql) => sql`
        with send as (
          insert into campaign_sends (property_id, campaign_id, player_id, channel, status, sent_at, dedupe_key)
          values (${scenario.id}, ${id}, ${player}, 'inbox', 'delivered', ${`2026-01-${day}T00:00:00Z`}, ${Buffer.from(day)})
          returning id)
        insert into inbox_messages (property_id, id, player_id, campaign_id, title, body, read_at)
        select ${scenario.id}, id, ${player}, ${id}, 'Hi', 'Hi', now() from send returning 1`,
      );
    }
    expect((await scenario.stats(id)).inbox).toMatchObject({ read: 2 });
    const period = { campaignId: id, propertyId: scenario.id, from: "2026-01-02T00:00:00Z" };
    expect((await scenario.call("campaign_stats", period)).inbox).toMatchObject({ read: 1 });
  });

  test("stand in the campaign's record once it is sent, and follow what comes later", async () => {
    const draft = await scenario.campaign();
    expect((await scenario.get(draft)).stats).toEqual({});
    const { id, clicks } = await sent(2);
    const before = await scenario.get(id);
    expect(before.stats).toMatchObject({ audience: 2, sent: 2, clicks_unique: 0 });
    await visit(clicks[0]![0]!);
    await due(id);
    await scenario.work({ only: "refresh_campaign_stats" });
    const after = await scenario.get(id);
    expect(after.stats).toMatchObject({ clicks_unique: 1 });
    expect(after.version).toBe(before.version);
  });

  test("of a large campaign are those that were counted last, and say when", async () => {
    const { id } = await sent(2);
    await scenario.query(
      (sql) => sql`
      update campaigns set audience_count = 1000000, stats_at = '2026-01-02T00:00:00Z',
        stats = jsonb_set(stats, '{sent}', '7') where property_id = ${scenario.id} and id = ${id}`,
    );
    expect(await scenario.stats(id)).toMatchObject({ sent: 7, as_of: "2026-01-02T00:00:00+00:00" });
  });

  test("by the hour are counted anew, and of a large campaign those that its job has counted", async () => {
    const { id } = await sent(2);
    const hours = () => scenario.call("campaign_hours", { campaignId: id });
    const [hour] = (await hours()).hours;
    expect(hour).toMatchObject({ messages: 2, opened: 0, clicked: 0 });
    const resize = (audience: number) =>
      scenario.query(
        (sql) => sql`
        update campaigns set audience_count = ${audience}
        where property_id = ${scenario.id} and id = ${id}`,
      );
    await resize(1_000_000);
    expect((await hours()).hours).toEqual([hour]);
    await due(id);
    await scenario.work({ only: "refresh_campaign_stats" });
    const counted = await hours();
    await scenario.query(
      (sql) => sql`
      update campaign_sends set sent_at = ${shifted("sent_at", "-2 hours")}
      where property_id = ${scenario.id} and campaign_id = ${id}`,
    );
    expect(await hours()).toEqual(counted);
    await resize(2);
    expect((await hours()).hours[0].at).not.toBe(hour.at);
  });

  test("count who reached the goal within its time, once", async () => {
    await scenario.call("create_webhook_endpoint", {
      url: "https://crm.example.com/hooks",
      events: ["campaign.converted"],
    });
    const { id } = await sent(4, { goal: { event: "deposit", window_hours: 2 } });
    const report = (player_id: string, minutes: number, name = "deposit") =>
      scenario.call("create_player_event", {
        player_id,
        name,
        occurred_at: new Date(Date.now() + minutes * 60_000).toISOString(),
      });
    await report("p-1", 0);
    await report("p-1", 0);
    await report("p-2", -30);
    await report("p-3", 0, "visit");
    await scenario.query(
      (sql) => sql`
      update campaign_sends s set sent_at = now() - interval '3 hours' from players p
      where s.property_id = ${scenario.id} and p.property_id = ${scenario.id} and p.id = s.player_id and p.player_id = 'p-4'`,
    );
    await report("p-4", 0);
    for (let round = 0; round < 2; round += 1) {
      await due(id);
      await scenario.work({ only: "refresh_campaign_stats" });
    }
    expect(await scenario.stats(id)).toMatchObject({ converted: 1 });
    const events = await scenario.query(
      (sql) => sql`
      select data -> 'object' ->> 'event' as event from outbox
      where property_id = ${scenario.id} and type = 'campaign.converted'`,
    );
    expect([...events]).toEqual([{ event: "deposit" }]);
  });

  test("count who redeemed an offer: a prize that the campaign's ticket won, or the casino's own event", async () => {
    const { id } = await sent(4);
    const soon = () => new Date().toISOString();
    const offer = (player_id: string, campaign_id: string, occurred_at = soon()) =>
      scenario.call("create_player_event", {
        ...{ player_id, name: "offer_redeemed", properties: { campaign_id }, occurred_at },
      });
    await offer("p-1", id);
    await offer("p-1", id);
    await offer("p-2", randomUUID());
    await offer("p-3", id, "2026-01-01T00:00:00Z");
    const game = await scenario.call("create_game", { name: "Wheel", type: "spin_wheel" });
    await scenario.query(
      (sql) => sql`
      insert into game_plays (property_id, game_id, player_id, outcome, status, campaign_id, redeemed_at,
        odds_snapshot, server_seed_hash, client_seed, nonce, roll)
      select ${scenario.id}, ${game.id}, id, 'win', 'redeemed', ${id}, now(), '[]', '', '', 1, 0 from players
      where property_id = ${scenario.id} and player_id = 'p-4' returning 1`,
    );
    await due(id);
    await scenario.work({ only: "refresh_campaign_stats" });
    expect(await scenario.stats(id)).toMatchObject({ redeemed: 2, holdout: null, theo_uplift: null });
  });

  test("compare those who got the message with the held out", async () => {
    const goal = { event: "deposit", window_hours: 2 };
    const { id } = await sent(100, { holdout_percent: 50, goal });
    const sends = await scenario.sends(id);
    const held = sends.filter(({ status }) => status === "skipped").map(({ player }) => player);
    const reached = sends.filter(({ status }) => status === "sent").map(({ player }) => player);
    const report = (player_id: string, name: string, theo: unknown, occurred_at = new Date().toISOString()) =>
      scenario.call("create_player_event", { player_id, name, properties: { theo }, occurred_at });
    for (const player of reached.slice(0, 8)) await report(player, "deposit", 10);
    await report(reached[9]!, "visit", 25);
    await report(reached[9]!, "visit", "much");
    await report(reached[10]!, "deposit", 1000, "2026-01-01T00:00:00Z");
    await report(held[0]!, "deposit", 15);
    const at = await scenario.stats(id);
    expect(at.holdout.lift, "before conversions are marked").toBeCloseTo(
      8 / reached.length - 1 / held.length,
    );
    await due(id);
    await scenario.work({ only: "refresh_campaign_stats" });
    const { holdout, theo_uplift, skipped, converted } = await scenario.stats(id);
    expect(skipped).toEqual({ holdout: held.length });
    expect(converted).toBe(8);
    const lift = 8 / reached.length - 1 / held.length;
    expect(holdout).toMatchObject({ players: held.length, converted: 1, conversion_rate: 1 / held.length });
    expect(holdout.lift).toBeCloseTo(lift);
    expect(holdout.lift_low).toBeLessThan(lift);
    expect(holdout.lift_high).toBeGreaterThan(lift);
    expect(theo_uplift).toBeCloseTo(105 - (15 / held.length) * reached.length);
  });

  test("give the interval of a lift as the literature has it", () => {
    // Newcombe (1998), example: 56 of 70 and 48 of 80, 95 %: 0.0524 to 0.3339.
    const { lift, lift_low, lift_high } = liftOf([56, 70], [48, 80]);
    expect(lift).toBeCloseTo(0.2);
    expect(lift_low).toBeCloseTo(0.0524, 3);
    expect(lift_high).toBeCloseTo(0.3339, 3);
  });
});
