import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { EmailMessage, SendOutcome } from "#runtime/channels/channel.ts";
import { type House, startHouse } from "../../support/house.ts";
import { type Casino, casino, vendor } from "./casino.ts";

let house: House;
let place: Casino & { id: string };

// Without a worker: the tests run its jobs, and stop them where they want.
beforeAll(async () => {
  house = await startHouse({ role: "web" });
});
afterAll(() => house?.stop());
beforeEach(async () => {
  const { id } = await house.newTenant();
  place = { ...casino(house, id), id };
});

const sent = (message: EmailMessage): SendOutcome => ({
  id: message.id,
  status: "sent",
  providerMessageId: message.id,
});

describe("a vendor", () => {
  /** As if the time until the next try had passed. */
  const later = async () => {
    await place.query(
      (sql) => sql`
      update campaign_sends set scheduled_for = now() where property_id = ${place.id} and status = 'pending'`,
    );
    await house.service.db.asSystem(
      (sql) => sql`update queue set run_at = now() where property_id = ${place.id}`,
    );
  };

  test("that is busy is asked again later, and the fifth refusal is final", async () => {
    const id = await place.planned(2);
    const { sender, given } = vendor({
      answer: (message) =>
        message.to === "p1@example.com"
          ? sent(message)
          : { id: message.id, status: "retry", code: "smtp_451", message: "busy", retryAfter: 90 },
    });
    for (const expected of [2, 3, 4, 5]) {
      await place.work({ open: () => sender });
      expect(given).toHaveLength(expected);
      expect(await place.get(id)).toMatchObject({ status: "sending" });
      await place.work({ open: () => sender });
      expect(given).toHaveLength(expected);
      await later();
    }
    await place.work({ open: () => sender });
    expect(await place.tally(id)).toEqual({ sent: 1, failed: 1 });
    expect(await place.get(id)).toMatchObject({ status: "sent" });
  });

  test("that takes but a few at a time gets the others later, and no message fails for it", async () => {
    const id = await place.planned(20);
    let taken = 0;
    const { sender, given } = vendor({
      answer: (message) =>
        taken++ < 3
          ? sent(message)
          : { id: message.id, status: "retry", code: "http_429", message: "too many", busy: true },
    });
    for (let round = 1; round <= 7; round += 1) {
      taken = 0;
      await place.work({ open: () => sender });
      // Not the whole campaign is shown to a vendor that takes no more: three lanes show three each, and the one
      // whose three were taken shows three more.
      expect(given.splice(0).length).toBeLessThanOrEqual(12);
      await later();
    }
    expect(await place.tally(id)).toEqual({ sent: 20 });
    expect(await place.get(id)).toMatchObject({ status: "sent" });
  });

  test("that is down for hours costs no message", async () => {
    const id = await place.planned(12);
    let down = true;
    const { sender, given } = vendor({
      answer: (message) =>
        down
          ? { id: message.id, status: "retry", code: "not_connected", message: "down", busy: true }
          : sent(message),
    });
    for (let round = 1; round <= 6; round += 1) {
      await place.work({ open: () => sender });
      expect(given.splice(0).length).toBeLessThanOrEqual(10);
      await later();
    }
    down = false;
    await place.work({ open: () => sender });
    expect(await place.tally(id)).toEqual({ sent: 12 });
  });

  test("that refuses us fails the campaign, and sending it again goes on without repeating anything", async () => {
    const id = await place.planned(20);
    let repaired = false;
    const { sender, given } = vendor({
      concurrency: 4,
      answer: (message) =>
        given.length <= 4 || repaired
          ? sent(message)
          : { id: message.id, status: "retry", code: "smtp_535", message: "bad password", fatal: true },
    });
    await place.work({ open: () => sender });
    const failed = await place.get(id);
    expect(failed).toMatchObject({ status: "failed" });
    expect(failed.status_reason).toContain("smtp_535");
    const before = await place.tally(id);
    expect((before.sent ?? 0) + (before.pending ?? 0)).toBe(20);
    repaired = true;
    given.splice(0);
    await place.send(id);
    await place.work({ open: () => sender });
    expect(given).toHaveLength(before.pending!);
    expect(await place.tally(id)).toEqual({ sent: 20 });
  });

  test("whose answer nobody can tell leaves the message unknown, never sent again", async () => {
    const id = await place.planned(3);
    const { sender, given } = vendor({
      answer: (message) => ({ id: message.id, status: "unknown", code: "cut", message: "connection cut" }),
    });
    await place.work({ open: () => sender });
    expect(given).toHaveLength(3);
    expect(await place.tally(id)).toEqual({ unknown: 3 });
    expect(await place.stats(id)).toMatchObject({ status: "sent", audience: 3, unknown: 3 });
  });
});
