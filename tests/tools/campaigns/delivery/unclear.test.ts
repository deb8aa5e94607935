import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { accepted, vendor } from "../../../support/job-runner.ts";
import { newScenario, type Scenario } from "../../../support/scenario.ts";
import { startService, type TestService } from "../../../support/service.ts";
import { column, dueNow, emitted, failed, hoursPass, unclear } from "./outcomes.ts";

let service: TestService;
let scenario: Scenario;

// Without a worker: the tests run its jobs, and stop them where they want.
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());
beforeEach(async () => {
  scenario = await newScenario(service, { from_email: "offers@casino.example" });
});

describe("errors in a row", () => {
  test("pause the campaign when they are more than it allows, over several jobs, and say so", async () => {
    await scenario.call("create_webhook_endpoint", {
      url: "https://receiver.example/hook",
      events: ["campaign.paused"],
    });
    const id = await scenario.planned(60, { max_send_errors: 20 });
    await service.internals.db.asSystem(
      (sql) => sql`
        insert into queue (id, name, property_id, input, max_attempts)
        select uuid_v7(), name, property_id, input, max_attempts from queue
        where name = 'deliver_campaign' and property_id = ${scenario.id}`,
    );
    let repaired = false;
    const { sender, given } = vendor({
      concurrency: 4,
      answer: (message) => (repaired ? accepted(message) : failed(message)),
    });
    await Promise.all([1, 2].map(() => scenario.work({ open: () => sender })));
    expect(given.length).toBeGreaterThan(20);
    expect(given.length).toBeLessThan(32);
    expect(await scenario.get(id)).toMatchObject({
      status: "paused",
      status_reason: expect.stringMatching(/messages in a row have failed/),
    });
    const [event, ...more] = await emitted(scenario, "campaign.paused");
    expect(more).toEqual([]);
    expect(event!.object.status_reason).toMatch(/in a row/);
    const { failed: lost } = await scenario.tally(id);
    expect(lost).toBe(given.length);
    repaired = true;
    await scenario.resume(id);
    await scenario.work({ open: () => sender });
    expect(await scenario.tally(id)).toEqual({ failed: lost, sent: 60 - lost! });
    expect((await scenario.get(id)).status).toBe("sent");
  });

  test("pause the campaign however few of a batch they are", async () => {
    const id = await scenario.planned(4, { max_send_errors: 3 });
    await scenario.work({ open: () => vendor({ answer: failed }).sender });
    expect(await scenario.get(id)).toMatchObject({ status: "paused" });
    expect(await scenario.tally(id)).toEqual({ failed: 4 });
  });

  test("do not pause the campaign when they are as many as it allows", async () => {
    const id = await scenario.planned(8, { max_send_errors: 8 });
    await scenario.work({ open: () => vendor({ answer: failed }).sender });
    expect(await scenario.get(id)).toMatchObject({ status: "sent", status_reason: null });
    expect(await scenario.tally(id)).toEqual({ failed: 8 });
  });

  test("are ended by a message that is sent, in any job", async () => {
    const id = await scenario.planned(90, { max_send_errors: 20 });
    let tried = 0;
    const { sender } = vendor({
      concurrency: 4,
      answer: (message) => (++tried % 9 === 0 ? accepted(message) : failed(message)),
    });
    await scenario.work({ open: () => sender });
    expect(await scenario.get(id)).toMatchObject({ status: "sent" });
    expect(await scenario.tally(id)).toEqual({ failed: 80, sent: 10 });
  });
});

describe("a message of which nobody can tell", () => {
  test("is settled a day after its own claim, also of a campaign that is paused", async () => {
    const id = await scenario.planned(6);
    const { sender } = vendor({ concurrency: 2, answer: unclear });
    await scenario.work({ open: () => sender });
    const early = (await scenario.tally(id)).unknown!;
    expect(early).toBeGreaterThan(0);
    expect(early).toBeLessThan(6);
    await scenario.pause(id);
    await hoursPass(service, scenario, 23);
    expect(await scenario.tally(id)).toMatchObject({ unknown: early });
    await scenario.resume(id);
    await dueNow(service, scenario);
    await scenario.work({ open: () => sender });
    await scenario.pause(id).catch(() => {});
    const later = (await scenario.tally(id)).unknown! - early;
    expect(later).toBeGreaterThan(0);
    await hoursPass(service, scenario, 2);
    await scenario.work({ open: () => sender });
    expect(await scenario.tally(id)).toMatchObject({ failed: early, unknown: later });
    await hoursPass(service, scenario, 24);
    await scenario.work({ open: () => sender });
    expect(await scenario.tally(id)).toMatchObject({ failed: early + later });
  });

  test("is settled a day later though it is a test", async () => {
    await scenario.player({ player_id: "ana", email: "ana@example.com" });
    const id = await scenario.campaign();
    await scenario.call("send_test_message", {
      campaignId: id,
      propertyId: scenario.id,
      to: "ana@example.com",
    });
    const { sender } = vendor({ answer: unclear });
    await scenario.work({ open: () => sender });
    expect(await column(scenario, "status")).toEqual(["unknown"]);
    await hoursPass(service, scenario, 25);
    await scenario.work();
    expect(await column(scenario, "status")).toEqual(["failed"]);
  });

  test("is tried again after a new check where the vendor knows it again, and by the same id", async () => {
    const id = await scenario.planned(4);
    let tried = 0;
    const { sender, given } = vendor({
      repeatable: true,
      answer: (message) => (++tried <= 4 ? unclear(message) : accepted(message)),
    });
    await scenario.work({ open: () => sender });
    expect(await scenario.tally(id)).toEqual({ pending: 4 });
    const [out] = await scenario.query(
      (sql) =>
        sql<
          { id: string }[]
        >`select id from players where property_id = ${scenario.id} order by email limit 1`,
    );
    await scenario.query(
      (sql) =>
        sql`update players set status = 'banned' where property_id = ${scenario.id} and id = ${out!.id}`,
    );
    const revoking = { propertyId: scenario.id, email: "p2@example.com", channel: "email" };
    await scenario.call("consent_revoke", revoking);
    await dueNow(service, scenario);
    await scenario.work({ open: () => sender });
    // A player who is blocked by now may have got it all the same.
    expect(await scenario.tally(id)).toEqual({ sent: 2, unknown: 2 });
    expect(given).toHaveLength(6);
    expect(new Set(given.map((one) => one.id)).size).toBe(4);
  });

  test("is given to no other vendor, also where it comes back to a delivery that is under way", async () => {
    const id = await scenario.planned(40);
    let last: Promise<unknown> | undefined;
    const { sender, given } = vendor({
      concurrency: 2,
      repeatable: true,
      answer: async (message) => {
        last ??= scenario.query(
          (sql) => sql`
            update campaign_sends set repeats = true, provider = 'another', claimed_at = now()
            where property_id = ${scenario.id} and status = 'pending' and id = (
              select id from campaign_sends where property_id = ${scenario.id} order by id desc limit 1)`,
        );
        await last;
        return accepted(message);
      },
    });
    await scenario.work({ open: () => sender });
    expect(await scenario.tally(id)).toEqual({ sent: 39, unknown: 1 });
    expect(given).toHaveLength(39);
  });

  test("does not count as failed when the vendor refuses it the second time", async () => {
    const id = await scenario.planned(1);
    let tried = 0;
    const { sender } = vendor({
      repeatable: true,
      answer: (message) => (++tried === 1 ? unclear(message) : failed(message)),
    });
    await scenario.work({ open: () => sender });
    await dueNow(service, scenario);
    await scenario.work({ open: () => sender });
    expect(tried).toBe(2);
    expect(await scenario.tally(id)).toEqual({ unknown: 1 });
  });

  test("is settled a day after its first claim, whenever it was tried again", async () => {
    const id = await scenario.planned(1);
    let tried = 0;
    const { sender } = vendor({
      repeatable: true,
      answer: (message) => (++tried === 1 ? unclear(message) : failed(message)),
    });
    await scenario.work({ open: () => sender });
    for (const [hours, outcome] of [
      [20, "unknown"],
      [5, "failed"],
    ] as const) {
      await hoursPass(service, scenario, hours);
      await dueNow(service, scenario);
      await scenario.work({ open: () => sender });
      expect(await scenario.tally(id)).toEqual({ [outcome]: 1 });
    }
    expect(tried).toBe(2);
  });

  test("counts against the caps of others while it waits to be tried again, and not against its own", async () => {
    await scenario.query(
      (sql) =>
        sql`insert into frequency_rules (property_id, channel, max_sends) values (${scenario.id}, 'email', 1)`,
    );
    const first = await scenario.planned(2);
    const lost = vendor({ repeatable: true, answer: unclear });
    await scenario.work({ open: () => lost.sender });
    expect(lost.given).toHaveLength(2);
    expect(await scenario.tally(first)).toEqual({ pending: 2 });
    const second = await scenario.campaign();
    await scenario.send(second);
    const { sender, given } = vendor({ repeatable: true });
    await scenario.work({ open: () => sender });
    expect(await scenario.tally(second)).toEqual({ deferred: 2 });
    expect(given).toHaveLength(0);
    await dueNow(service, scenario);
    await scenario.work({ open: () => sender });
    expect(await scenario.tally(first)).toEqual({ sent: 2 });
    expect(await scenario.tally(second)).toEqual({ deferred: 2 });
  });
});

test("a message that was not handed over, or was not taken, counts against no limit", async () => {
  await scenario.call("create_message_provider", {
    channel: "email",
    kind: "resend",
    name: "resend",
    credentials: { api_key: "re" },
    allows_gaming: true,
    daily_limit: 30,
  });
  const id = await scenario.planned(20, { throttle_per_minute: 25 });
  const trouble = [
    { code: "not_started", message: "too late" },
    { code: "http_429", message: "too many", busy: true as const },
    { code: "aborted", message: "stopped" },
  ];
  let tried = 0;
  const { sender } = vendor({
    concurrency: 10,
    answer: (message) => {
      const about = trouble[Math.floor(tried++ / 10)];
      return about ? { id: message.id, status: "retry", ...about } : accepted(message);
    },
  });
  // From the first 429 on it is tried with one message a round.
  for (let round = 0; round < 30; round += 1) {
    await scenario.work({ open: () => sender });
    await dueNow(service, scenario);
  }
  expect(tried).toBeGreaterThan(45);
  expect(await scenario.tally(id)).toEqual({ sent: 20 });
  const [usage] = await scenario.query(
    (sql) => sql`select used from provider_usage where property_id = ${scenario.id}`,
  );
  expect(usage).toEqual({ used: 20 });
});
