import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { accepted, vendor } from "../../../support/job-runner.ts";
import { newScenario, type Scenario } from "../../../support/scenario.ts";
import { startService, type TestService } from "../../../support/service.ts";

let service: TestService;
let scenario: Scenario;

// Without a worker: the tests run its jobs, and stop them where they want.
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());
beforeEach(async () => {
  scenario = await newScenario(service);
});

describe("a vendor", () => {
  /** As if the time until the next try had passed. */
  const later = async () => {
    await scenario.query(
      (sql) => sql`
      update campaign_sends set scheduled_for = now() where property_id = ${scenario.id} and status = 'pending'`,
    );
    await service.internals.db.asSystem(
      (sql) => sql`update queue set run_at = now() where property_id = ${scenario.id}`,
    );
  };

  /** Minutes until the one message that waits is tried again. */
  const minutesLeft = async () => {
    const [send] = await scenario.query(
      (sql) => sql<{ wait: number }[]>`
        select extract(epoch from scheduled_for - now())::double precision / 60 as wait from campaign_sends
        where property_id = ${scenario.id} and status = 'pending'`,
    );
    return send!.wait;
  };

  test("that is busy is asked again when it says, and the fifth refusal is final", async () => {
    const id = await scenario.planned(2);
    const { sender, given } = vendor({
      answer: (message) =>
        message.to === "p1@example.com"
          ? accepted(message)
          : { id: message.id, status: "retry", code: "smtp_451", message: "busy", retryAfter: 90 },
    });
    for (const expected of [2, 3, 4, 5]) {
      await scenario.work({ open: () => sender });
      expect(given).toHaveLength(expected);
      expect(await scenario.get(id)).toMatchObject({ status: "sending" });
      const minutes = await minutesLeft();
      expect(minutes).toBeLessThanOrEqual(1.5);
      expect(minutes).toBeGreaterThan(1);
      await scenario.work({ open: () => sender });
      expect(given).toHaveLength(expected);
      await later();
    }
    await scenario.work({ open: () => sender });
    expect(await scenario.tally(id)).toEqual({ sent: 1, failed: 1 });
    expect(await scenario.get(id)).toMatchObject({ status: "sent" });
  });

  test("that does not say when is asked after one, two, four and eight minutes, and its own outage counts for nothing", async () => {
    const id = await scenario.planned(1);
    let fate: { code: string; message: string; busy?: true } = { code: "smtp_451", message: "later" };
    const { sender } = vendor({
      answer: (message) => ({ id: message.id, status: "retry", ...fate }),
    });
    for (const minutes of [1, 2, 4, 8]) {
      await scenario.work({ open: () => sender });
      const left = await minutesLeft();
      expect(left).toBeLessThanOrEqual(minutes);
      expect(left).toBeGreaterThan(minutes - 0.5);
      await later();
    }
    fate = { code: "not_connected", message: "down", busy: true };
    for (let round = 1; round <= 2; round += 1) {
      await scenario.work({ open: () => sender });
      expect(await scenario.tally(id)).toEqual({ pending: 1 });
      await later();
    }
    fate = { code: "smtp_451", message: "later" };
    await scenario.work({ open: () => sender });
    expect(await scenario.tally(id)).toEqual({ failed: 1 });
  });

  test("that takes but a few at a time gets the others later, and no message fails for it", async () => {
    const id = await scenario.planned(20);
    let taken = 0;
    const { sender, given } = vendor({
      answer: (message) =>
        taken++ < 3
          ? accepted(message)
          : { id: message.id, status: "retry", code: "http_429", message: "too many", busy: true },
    });
    for (let round = 1; round <= 7; round += 1) {
      taken = 0;
      await scenario.work({ open: () => sender });
      // A vendor that takes no more is shown a part of the campaign: three lanes show three each, and the one whose
      // three were taken shows three more.
      expect(given.splice(0).length).toBeLessThanOrEqual(12);
      await later();
    }
    expect(await scenario.tally(id)).toEqual({ sent: 20 });
    expect(await scenario.get(id)).toMatchObject({ status: "sent" });
  });

  test("that is down for hours costs no message", async () => {
    const id = await scenario.planned(12);
    let down = true;
    const { sender, given } = vendor({
      answer: (message) =>
        down
          ? { id: message.id, status: "retry", code: "not_connected", message: "down", busy: true }
          : accepted(message),
    });
    for (let round = 1; round <= 6; round += 1) {
      await scenario.work({ open: () => sender });
      expect(given.splice(0).length).toBeLessThanOrEqual(10);
      await later();
    }
    down = false;
    await scenario.work({ open: () => sender });
    expect(await scenario.tally(id)).toEqual({ sent: 12 });
  });

  test("that refuses us fails the campaign, and sending it again goes on without repeating anything", async () => {
    const id = await scenario.planned(20);
    let repaired = false;
    const { sender, given } = vendor({
      concurrency: 4,
      answer: (message) =>
        given.length <= 4 || repaired
          ? accepted(message)
          : { id: message.id, status: "retry", code: "smtp_535", message: "bad password", fatal: true },
    });
    await scenario.work({ open: () => sender });
    const failed = await scenario.get(id);
    expect(failed).toMatchObject({ status: "failed" });
    expect(failed.status_reason).toContain("smtp_535");
    const before = await scenario.tally(id);
    expect((before.sent ?? 0) + (before.pending ?? 0)).toBe(20);
    repaired = true;
    given.splice(0);
    await scenario.send(id);
    await scenario.work({ open: () => sender });
    expect(given).toHaveLength(before.pending!);
    expect(await scenario.tally(id)).toEqual({ sent: 20 });
  });

  test("whose answer nobody can tell leaves the message unknown, never sent again", async () => {
    const id = await scenario.planned(3);
    const { sender, given } = vendor({
      answer: (message) => ({ id: message.id, status: "unknown", code: "cut", message: "connection cut" }),
    });
    await scenario.work({ open: () => sender });
    expect(given).toHaveLength(3);
    expect(await scenario.tally(id)).toEqual({ unknown: 3 });
    expect(await scenario.stats(id)).toMatchObject({ status: "sent", audience: 3, unknown: 3 });
  });
});
