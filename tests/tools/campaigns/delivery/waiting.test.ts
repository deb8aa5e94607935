import postgres from "postgres";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { EmailMessage } from "#runtime/channels/provider/channel.ts";
import { shifted } from "../../../support/database.ts";
import { accepted, runNext, vendor } from "../../../support/job-runner.ts";
import { openTransaction } from "../../../support/postgres/blocking.ts";
import { newScenario, type Scenario } from "../../../support/scenario.ts";
import { startService, type TestService } from "../../../support/service.ts";

let service: TestService;
let scenario: Scenario;

// Without a worker: the tests run its jobs.
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());
beforeEach(async () => {
  scenario = await newScenario(service, { timezone: "UTC" });
});

const BEGUN = new Date();
/** A time zone in which the hour is `hour` when the tests begin, so that nobody has to turn a clock. */
function zoneAt(hour: number): string {
  const ahead = (((hour - BEGUN.getUTCHours()) % 24) + 24) % 24;
  return ahead <= 12 ? `Etc/GMT-${ahead}` : `Etc/GMT+${24 - ahead}`;
}
const NIGHT = zoneAt(3);
const NOON = zoneAt(12);

const openByDay = (fields: object = {}) =>
  scenario.call("create_quiet_hours_rule", {
    channel: ["email"],
    open_local: "08:00",
    close_local: "21:00",
    ...fields,
  });
const player = (name: string, timezone: string) =>
  scenario.player({ player_id: name, email: `${name}@example.com`, timezone });
const to = (messages: EmailMessage[]) => messages.map((message) => message.to.split("@")[0]).sort();

async function planned(fields: Record<string, unknown> = {}): Promise<string> {
  const id = await scenario.campaign(fields);
  await scenario.send(id);
  await scenario.work({ only: "plan_campaign" });
  return id;
}

/** The sends by player, with the seconds from now until they are due. */
async function waits(id: string) {
  const rows = await scenario.query(
    (sql) => sql<{ player: string; status: string; skip_reasons: string[]; wait: number | null }[]>`
      select p.player_id as player, s.status, s.skip_reasons,
        extract(epoch from s.scheduled_for - now())::double precision as wait
      from campaign_sends s join players p on p.property_id = ${scenario.id} and p.id = s.player_id
      where s.property_id = ${scenario.id} and s.campaign_id = ${id}`,
  );
  return Object.fromEntries(rows.map(({ player: name, ...rest }) => [name, rest]));
}

/** Seconds until the campaign's next delivery. */
async function nextDelivery(id: string): Promise<number> {
  const [row] = await service.internals.db.asSystem(
    (sql) => sql<{ wait: number }[]>`
      select extract(epoch from run_at - now())::double precision as wait from queue
      where name = 'deliver_campaign' and input ->> 'campaignId' = ${id} and state = 'ready'`,
  );
  return row!.wait;
}

/** Lets the campaign go on as if what it waits for had come. */
async function timePasses(id: string): Promise<void> {
  await scenario.query(
    (sql) => sql`
    update campaign_sends set scheduled_for = now()
    where property_id = ${scenario.id} and campaign_id = ${id} and status = 'deferred'`,
  );
  await dueNow();
}

async function dueNow(): Promise<void> {
  await service.internals.db.asSystem(
    (sql) => sql`update queue set run_at = now() where property_id = ${scenario.id}`,
  );
}

/** Seconds until it is eight where it was night when the tests began, though an hour may have ended since. */
const toEight = () => (new Date(BEGUN).setUTCHours(BEGUN.getUTCHours() + 5, 0, 0, 0) - Date.now()) / 1000;

describe("quiet hours", () => {
  test("a campaign sent at night waits for eight in the morning, and others get it at once", async () => {
    await openByDay();
    await player("asleep", NIGHT);
    await player("awake", NOON);
    const id = await planned();
    const { sender, given } = vendor();
    await scenario.work({ open: () => sender });
    expect(to(given)).toEqual(["awake"]);
    const { asleep, awake } = await waits(id);
    expect(awake).toMatchObject({ status: "sent" });
    expect(asleep).toMatchObject({ status: "deferred", skip_reasons: ["quiet_hours"] });
    expect(Math.abs(asleep!.wait! - toEight())).toBeLessThan(5);
    expect(Math.abs((await nextDelivery(id)) - toEight())).toBeLessThan(5);
    expect(await scenario.get(id)).toMatchObject({ status: "sending" });
    expect(await scenario.stats(id)).toMatchObject({ audience: 2, sent: 1, pending: 1, deferred: 1 });

    // At night nothing is claimed, also where the row is due.
    await timePasses(id);
    await scenario.work({ open: () => sender });
    expect(to(given)).toEqual(["awake"]);
    expect(Math.abs((await waits(id)).asleep!.wait! - toEight())).toBeLessThan(5);

    await scenario.call("update_player", { id: await idOf("asleep"), timezone: NOON });
    await timePasses(id);
    await scenario.work({ open: () => sender });
    expect(to(given)).toEqual(["asleep", "awake"]);
    expect(await scenario.get(id)).toMatchObject({ status: "sent" });
    expect(await scenario.stats(id)).toMatchObject({ sent: 2, pending: 0, deferred: 0, skipped: {} });
  });

  test("a message that is planned by day is not sent in a night that has come since", async () => {
    await player("ana", NIGHT);
    await player("bo", NIGHT);
    const id = await planned();
    expect(await waits(id)).toMatchObject({ ana: { status: "pending" } });
    await openByDay();
    const { sender, given } = vendor();
    await scenario.work({ open: () => sender });
    expect(given).toEqual([]);
    expect(await waits(id)).toMatchObject({
      ana: { status: "deferred", skip_reasons: ["quiet_hours"] },
      bo: { status: "deferred" },
    });
  });

  test("a rule that skips leaves the sleeping out, for this campaign alone", async () => {
    await openByDay({ action: "skip" });
    await player("asleep", NIGHT);
    await player("awake", NOON);
    const id = await planned();
    const { sender, given } = vendor();
    await scenario.work({ open: () => sender });
    expect(to(given)).toEqual(["awake"]);
    expect(await scenario.get(id)).toMatchObject({ status: "sent" });
    expect(await scenario.stats(id)).toMatchObject({ sent: 1, skipped: { quiet_hours: 1 } });
  });

  test("a rule about texts says nothing about mail", async () => {
    await openByDay({ channel: ["sms", "voice"] });
    await player("asleep", NIGHT);
    const { sender, given } = vendor();
    await planned();
    await scenario.work({ open: () => sender });
    expect(to(given)).toEqual(["asleep"]);
  });

  test("a player who is blocked by the morning is skipped then, and a cancelled campaign waits for nobody", async () => {
    await openByDay();
    const ana = await player("ana", NIGHT);
    await player("bo", NIGHT);
    const id = await planned();
    await scenario.call("update_player", { id: ana, timezone: NOON, status: "vip_hold" });
    await timePasses(id);
    await scenario.work();
    expect(await waits(id)).toMatchObject({
      ana: { status: "skipped", skip_reasons: ["vip_hold"] },
      bo: { status: "deferred" },
    });
    await scenario.cancel(id);
    await dueNow();
    const { sender, given } = vendor();
    await scenario.work({ open: () => sender });
    expect(given).toEqual([]);
    expect(await scenario.stats(id)).toMatchObject({ cancelled: 1, pending: 0, deferred: 0 });
  });
});

async function idOf(name: string): Promise<string> {
  const [row] = await scenario.query(
    (sql) =>
      sql<
        { id: string }[]
      >`select id from players where property_id = ${scenario.id} and player_id = ${name}`,
  );
  return row!.id;
}

test("a message that waits for three days after the start expires", async () => {
  await openByDay();
  await player("asleep", NIGHT);
  const id = await planned();
  await scenario.query(
    (sql) => sql`
    update campaigns set started_at = now() - interval '71 hours 59 minutes'
    where property_id = ${scenario.id} and id = ${id}`,
  );
  await dueNow();
  await scenario.work();
  // The morning comes too late: the campaign is looked at when it expires.
  expect(await nextDelivery(id)).toBeLessThan(61);
  await scenario.query(
    (sql) => sql`
    update campaigns set started_at = now() - interval '72 hours' where property_id = ${scenario.id} and id = ${id}`,
  );
  await dueNow();
  const { sender, given } = vendor();
  await scenario.work({ open: () => sender });
  expect(given).toEqual([]);
  expect(await scenario.get(id)).toMatchObject({ status: "sent" });
  expect(await scenario.stats(id)).toMatchObject({ audience: 1, skipped: { expired: 1 }, pending: 0 });
});

test("a message of a campaign that lets it wait for fewer hours expires then, also where they change on its way", async () => {
  await openByDay();
  await player("asleep", NIGHT);
  const id = await planned();
  await scenario.query(
    (sql) => sql`
    update campaigns set started_at = now() - interval '3 hours' where property_id = ${scenario.id} and id = ${id}`,
  );
  await dueNow();
  await scenario.work();
  expect(await scenario.stats(id)).toMatchObject({ pending: 1, deferred: 1 });
  await scenario.call("update_campaign", { id, expires_after_hours: 4 });
  await dueNow();
  await scenario.work();
  expect(await nextDelivery(id)).toBeLessThan(3_601);
  await scenario.call("update_campaign", { id, expires_after_hours: 3 });
  await dueNow();
  const { sender, given } = vendor();
  await scenario.work({ open: () => sender });
  expect(given).toEqual([]);
  expect(await scenario.stats(id)).toMatchObject({ skipped: { expired: 1 }, pending: 0 });
});

test("a campaign at everyone's own hour waits for the last clocks", async () => {
  const own = { send_in_player_timezone: true, expires_after_hours: 12 };
  await expect(scenario.campaign(own)).rejects.toThrow("expires_after_hours: must be more than 26");
  for (const expires_after_hours of [0, 73, 1.5]) {
    await expect(scenario.campaign({ expires_after_hours })).rejects.toMatchObject({ code: "invalid" });
  }
  const { expires_after_hours } = await scenario.get(await scenario.campaign({}));
  expect(expires_after_hours).toBe(72);
});

describe("frequency rules", () => {
  test("of two campaigns at once only one takes the last place for a player", async () => {
    await scenario.call("create_frequency_rule", { channel: "email", max_sends: 1, window_unit: "day" });
    await scenario.crowd(60);
    const first = await scenario.campaign({ name: "First" });
    const second = await scenario.campaign({ name: "Second" });
    for (const id of [first, second]) await scenario.send(id);
    await scenario.work({ only: "plan_campaign" });
    const { sender, given } = vendor({ concurrency: 14 });
    // Each runs one job of the two, at the same time.
    await Promise.all([1, 2, 3].map(() => scenario.work({ open: () => sender })));
    expect(given).toHaveLength(60);
    expect(new Set(to(given)).size).toBe(60);
    const [one, two] = [await scenario.stats(first), await scenario.stats(second)];
    expect([one.sent + two.sent, one.deferred + two.deferred]).toEqual([60, 60]);
    const waiting = Object.values(await waits(two.deferred > 0 ? second : first)).find(
      ({ status }) => status === "deferred",
    );
    expect(waiting).toMatchObject({ skip_reasons: ["frequency_capped"] });
    expect(Math.abs(waiting!.wait! - 86_400)).toBeLessThan(120);
    // Nobody is looked at again before their cap has ended.
    const early = await scenario.query(
      (sql) => sql`
        select from campaign_sends d
          join campaign_sends s on s.property_id = ${scenario.id} and s.player_id = d.player_id and s.status = 'sent'
        where d.property_id = ${scenario.id} and d.status = 'deferred'
          and d.scheduled_for < s.claimed_at + interval '1 day'`,
    );
    expect(early).toHaveLength(0);
  });

  test("a recipient waits while another claim has a second record of the address", async () => {
    await scenario.call("create_frequency_rule", { channel: "email", max_sends: 1, window_unit: "day" });
    await player("ann", "UTC");
    const id = await planned();
    await scenario.query(
      (sql) => sql`
        insert into players (property_id, player_id, email, email_hash, first_name, consents)
        select property_id, 'twin', email, email_hash, first_name, consents from players
        where property_id = ${scenario.id} returning 1`,
    );
    const admin = postgres(service.database.url, { max: 1, onnotice: () => {} });
    const { sender, given } = vendor();
    try {
      const close = await openTransaction(
        admin,
        (sql) => sql`
          select from players where property_id = ${scenario.id} and player_id = 'twin' for no key update`,
      );
      await runNext(service, scenario.id, { open: () => sender, only: "deliver_campaign" });
      const meanwhile = to(given);
      await close();
      expect(meanwhile).toEqual([]);
      await dueNow();
      await scenario.work({ open: () => sender });
      expect(to(given)).toEqual(["ann"]);
      expect(await scenario.stats(id)).toMatchObject({ sent: 1 });
    } finally {
      await admin.end();
    }
  });

  test("two records of one address share its last place, though two campaigns take them at once", async () => {
    await scenario.call("create_frequency_rule", { channel: "email", max_sends: 1, window_unit: "day" });
    await scenario.crowd(40);
    await scenario.query(
      (sql) => sql`
        insert into players (property_id, player_id, email, email_hash, first_name, consents)
        select property_id, 'twin-' || player_id, email, email_hash, first_name, consents from players
        where property_id = ${scenario.id} returning 1`,
    );
    for (const value of ["p-", "twin-"]) {
      const conditions = [{ field: "player_id", operator: "starts_with", value }];
      await scenario.send(await scenario.campaign({ name: value, audience: null, conditions }));
    }
    await scenario.work({ only: "plan_campaign" });
    const { sender, given } = vendor({ concurrency: 14 });
    await Promise.all([1, 2, 3].map(() => scenario.work({ open: () => sender })));
    expect(given).toHaveLength(40);
    expect(new Set(to(given)).size).toBe(40);
  });

  test("a rule that comes while a campaign is on its way holds for the rest of it", async () => {
    await scenario.crowd(30);
    const before = await planned({ name: "Before" });
    await scenario.work();
    expect(await scenario.stats(before)).toMatchObject({ sent: 30 });
    const id = await planned();
    let rule: Promise<unknown> | undefined;
    const { sender, given } = vendor({
      concurrency: 4,
      answer: async (message) => {
        rule ??= scenario.call("create_frequency_rule", { max_sends: 1, window_unit: "day" });
        await rule;
        return accepted(message);
      },
    });
    await scenario.work({ open: () => sender });
    expect(given.length).toBeLessThan(12);
    expect(await scenario.stats(id)).toMatchObject({ sent: given.length, deferred: 30 - given.length });
  });

  test("transactional campaigns, and those that ignore the cap, go out all the same", async () => {
    await scenario.call("create_frequency_rule", { channel: "any", max_sends: 1, window_unit: "day" });
    await scenario.call("create_frequency_rule", {
      channel: "any",
      tag: "bonus",
      max_sends: 1,
      window_unit: "week",
    });
    await player("ana", NOON);
    const results = [];
    for (const fields of [
      { is_transactional: true },
      {},
      {},
      { is_transactional: true },
      { ignore_frequency_cap: true },
      { tags: ["bonus"] },
    ]) {
      const id = await planned(fields);
      await scenario.work();
      results.push((await waits(id)).ana!.status);
    }
    expect(results).toEqual(["sent", "sent", "deferred", "sent", "sent", "deferred"]);
  });
});

describe("a throttled campaign", () => {
  test("hands over so many a minute and no more, over several jobs", async () => {
    await scenario.crowd(20);
    const id = await planned({ throttle_per_minute: 7 });
    await service.internals.db.asSystem(
      (sql) => sql`
      insert into queue (id, name, property_id, input, max_attempts)
      select uuid_v7(), name, property_id, input, max_attempts from queue
      where name = 'deliver_campaign' and property_id = ${scenario.id}`,
    );
    const { sender, given } = vendor({ concurrency: 4 });
    const work = () => Promise.all([1, 2].map(() => scenario.work({ open: () => sender })));
    await work();
    expect(given).toHaveLength(7);
    expect(await nextDelivery(id)).toBeGreaterThan(50);
    expect(await nextDelivery(id)).toBeLessThan(65);
    await dueNow();
    await work();
    expect(given).toHaveLength(7);
    for (const expected of [14, 20]) {
      await minutePasses();
      await dueNow();
      await work();
      expect(given).toHaveLength(expected);
    }
    expect(new Set(to(given)).size).toBe(20);
    expect(await scenario.get(id)).toMatchObject({ status: "sent" });
  });

  const minutePasses = () =>
    scenario.query(
      (sql) => sql`
      update campaign_claims set claimed_at = ${shifted("claimed_at", "-63 seconds")} where property_id = ${scenario.id}`,
    );

  test("can be given another pace on its way", async () => {
    await scenario.crowd(12);
    const id = await planned({ throttle_per_minute: 3 });
    const { sender, given } = vendor({ concurrency: 4 });
    await scenario.work({ open: () => sender });
    await scenario.call("update_campaign", { id, throttle_per_minute: 5 });
    await dueNow();
    await scenario.work({ open: () => sender });
    expect(given).toHaveLength(5);
    await scenario.call("update_campaign", { id, throttle_per_minute: null });
    await dueNow();
    await scenario.work({ open: () => sender });
    expect(given).toHaveLength(12);
  });
});

describe("a campaign by the players' clocks", () => {
  const inHours = (hours: number) =>
    new Date(Math.floor(Date.now() / 1000 + hours * 3600) * 1000).toISOString();
  async function schedule(id: string, scheduled_at: string) {
    const { id: segment_id } = await scenario.call("create_segment", {
      name: "All",
      conditions: [{ field: "status", operator: "in", value: ["active"] }],
    });
    return scenario.call("schedule_campaign", {
      campaign_id: id,
      property_id: scenario.id,
      scheduled_at,
      segment_id,
    });
  }

  test("reaches each when their clock shows the hour, the first of them first", async () => {
    await player("east", "Etc/GMT-2");
    await player("home", "UTC");
    await player("west", "Etc/GMT+5");
    const id = await scenario.campaign({ send_in_player_timezone: true, audience: null });
    await schedule(id, inHours(1));
    await dueNow();
    const { sender, given } = vendor();
    await scenario.work({ open: () => sender });
    // In the east it is an hour past the time, so at once.
    expect(to(given)).toEqual(["east"]);
    const { home, west } = await waits(id);
    expect([home!.status, home!.skip_reasons]).toEqual(["deferred", ["player_timezone"]]);
    expect(Math.abs(home!.wait! - 3600)).toBeLessThan(5);
    expect(Math.abs(west!.wait! - 6 * 3600)).toBeLessThan(5);
    expect(Math.abs((await nextDelivery(id)) - 3600)).toBeLessThan(5);
  });

  test("starts by the clocks of its audience, and of nobody else", async () => {
    await player("home", "UTC");
    await scenario.call("create_player", {
      player_id: "elsewhere",
      timezone: "Etc/GMT-2",
      status: "inactive",
    });
    const id = await scenario.campaign({ send_in_player_timezone: true, audience: null });
    const at = inHours(3);
    await schedule(id, at);
    const [job] = await service.internals.db.asSystem(
      (sql) => sql<{ run_at: string }[]>`
        select run_at from queue where name = 'fire_campaign' and input ->> 'campaignId' = ${id}`,
    );
    expect(Date.parse(job!.run_at)).toBe(Date.parse(at));
  });

  test("starts when the first player's clock shows the hour, and waits for the morning of those who sleep then", async () => {
    await player("east", "Etc/GMT-2");
    await player("asleep", "UTC");
    const id = await scenario.campaign({ send_in_player_timezone: true, audience: null });
    // 23:30 of tomorrow.
    const at = new Date(Math.floor(Date.now() / 86_400_000 + 2) * 86_400_000 - 1_800_000).toISOString();
    await schedule(id, at);
    const [job] = await service.internals.db.asSystem(
      (sql) => sql<{ run_at: string }[]>`
        select run_at from queue where name = 'fire_campaign' and input ->> 'campaignId' = ${id}`,
    );
    expect(Date.parse(at) - Date.parse(job!.run_at)).toBe(2 * 3_600_000);
    await openByDay();
    await dueNow();
    await scenario.work();
    // Not due by the database's clock, also where the queue says so.
    expect(await scenario.get(id)).toMatchObject({ status: "scheduled" });
    await scenario.query(
      (sql) => sql`update campaigns set fires_at = now() where property_id = ${scenario.id} and id = ${id}`,
    );
    await service.internals.db.asSystem(
      (sql) => sql`
      insert into queue (id, name, property_id, input, max_attempts)
      values (uuid_v7(), 'fire_campaign', ${scenario.id}, ${{ campaignId: id } as never}, 5)`,
    );
    await scenario.work();
    const { asleep } = await waits(id);
    const morning = Date.parse(at) + 8.5 * 3_600_000;
    expect(asleep).toMatchObject({ status: "deferred", skip_reasons: ["player_timezone"] });
    expect(Math.abs(Date.now() + asleep!.wait! * 1000 - morning)).toBeLessThan(5_000);
  });

  test("sent now it goes out now, and its clock is settled before it is scheduled", async () => {
    await player("west", "Etc/GMT+5");
    const id = await scenario.campaign({ send_in_player_timezone: true, audience: null });
    await schedule(id, inHours(30));
    await expect(scenario.call("update_campaign", { id, send_in_player_timezone: false })).rejects.toThrow(
      /while it is draft/,
    );
    await scenario.send(id);
    const { sender, given } = vendor();
    await scenario.work({ open: () => sender });
    expect(to(given)).toEqual(["west"]);
  });
});
