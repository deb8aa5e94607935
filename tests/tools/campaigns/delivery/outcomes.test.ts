import { randomUUID } from "node:crypto";
import { HttpResponse, http } from "msw";
import { setupServer } from "msw/node";
import postgres from "postgres";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { SendOutcome } from "#runtime/channels/provider/channel.ts";
import { accepted, Killed, loseWorker, runNext, vendor } from "../../../support/job-runner.ts";
import { endLockWaits } from "../../../support/postgres/blocking.ts";
import { openProvider } from "../../../support/provider.ts";
import { newScenario, type Scenario } from "../../../support/scenario.ts";
import { startService, type TestService } from "../../../support/service.ts";
import { column, emitted, failed } from "./outcomes.ts";

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

describe("the outcome of messages", () => {
  test("is recorded though a player's row is locked for longer than a lock is waited for, and the vendor's STOP too", async () => {
    const id = await scenario.planned(4);
    const [, stopping] = await scenario.query(
      (sql) => sql<{ id: string; email: string }[]>`
        select id, email from players where property_id = ${scenario.id} order by email`,
    );
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let isHeld = () => {};
    const holding = new Promise<void>((resolve) => {
      isHeld = resolve;
    });
    let holder: Promise<unknown> | undefined;
    const { sender } = vendor({
      answer: async (message) => {
        // As a batch of an import does.
        holder ??= scenario.query(async (sql) => {
          await sql`select from players where property_id = ${scenario.id} and id = ${stopping!.id} for update`;
          isHeld();
          await held;
        });
        await holding;
        if (message.to !== stopping!.email) return accepted(message);
        return { ...failed(message), code: "opted_out", optedOut: true } as SendOutcome;
      },
    });
    await scenario.work({ open: () => sender, only: "deliver_campaign" });
    expect(await scenario.tally(id)).toEqual({ sent: 3, failed: 1 });
    await expect(scenario.work()).rejects.toThrow(/lock/);
    release();
    await holder;
    await loseWorker(service, scenario.id);
    await scenario.work();
    const suppressed = await scenario.query(
      (sql) => sql`select reason from suppressions where property_id = ${scenario.id}`,
    );
    expect(suppressed).toHaveLength(1);
  });

  test("is recorded in all words of the vendor, and with an id of any length", async () => {
    const words = `\0${"x".repeat(499)}😀`;
    const ids = [`\0${"i".repeat(10_000)}`, "half 😀".slice(0, -1)];
    const server = setupServer(
      http.post("https://api.resend.com/emails", async ({ request }) => {
        const { to } = (await request.json()) as { to: [string] };
        if (to[0] === "p1@example.com") return HttpResponse.json({ id: ids[0] });
        if (to[0] === "p2@example.com") return HttpResponse.json({ id: ids[1] });
        return HttpResponse.json({ name: "\0", message: words }, { status: 422 });
      }),
    );
    server.listen({ onUnhandledFrame: "error" });
    try {
      const id = await scenario.planned(3);
      await scenario.work({ open: (store) => openProvider("email", "resend", { api_key: "re_key" }, store) });
      expect(await scenario.tally(id)).toEqual({ sent: 2, failed: 1 });
      expect((await column(scenario, "error_message")).filter(Boolean)).toEqual([`${"x".repeat(499)}\uFFFD`]);
    } finally {
      server.close();
    }
  });

  test("is recorded when the database breaks the record off", async () => {
    const id = await scenario.planned(2);
    const admin = postgres(service.database.url, { max: 2, onnotice: () => {} });
    let breaking: Promise<unknown> | undefined;
    // Holds the rows until the record waits for them, and then ends its connection.
    const breakOff = (ready: () => void) =>
      admin.begin(async (sql) => {
        await sql`
          select from campaign_sends where property_id = ${scenario.id} and campaign_id = ${id} for update`;
        ready();
        await endLockWaits(admin, "campaign_sends");
      });
    const { sender, given } = vendor({
      answer: async (message) => {
        await new Promise<void>((resolve) => {
          if (breaking) resolve();
          breaking ??= breakOff(resolve);
        });
        return accepted(message);
      },
    });
    await scenario.work({ open: () => sender });
    await breaking;
    await admin.end();
    expect(given).toHaveLength(2);
    expect(await scenario.tally(id)).toEqual({ sent: 2 });
  });

  test("is recorded and told of while the vendor says nothing of one of them", async () => {
    await scenario.call("create_webhook_endpoint", {
      url: "https://receiver.example/hook",
      events: ["campaign.message_sent"],
    });
    const id = await scenario.planned(6);
    const silence = Promise.withResolvers<void>();
    const { sender } = vendor({
      // All in one batch, in any order.
      concurrency: 18,
      answer: async (message) => {
        if (message.to === "p3@example.com") await silence.promise;
        return message.to === "p4@example.com" ? failed(message) : accepted(message);
      },
    });
    const work = scenario.work({ open: () => sender });
    // The refused one is recorded with its batch: on a busy machine that may be a second batch, which has ended.
    const statuses = async () => (await scenario.sends(id)).map(({ status }) => status);
    await vi.waitFor(async () => {
      const isOpen = expect.stringMatching(/^(sending|pending|deferred|failed)$/);
      expect(await statuses()).toEqual(["sent", "sent", "sending", isOpen, "sent", "sent"]);
    }, 10_000);
    expect(await emitted(scenario, "campaign.message_sent")).toHaveLength(4);
    silence.resolve();
    await work;
    expect(await scenario.tally(id)).toEqual({ sent: 5, failed: 1 });
    expect(await column(scenario, "attempts")).toEqual([1, 1, 1, 1, 1, 1]);
    expect(await emitted(scenario, "campaign.message_sent")).toHaveLength(5);
  });

  test("is handed over while the vendor says nothing of a few before it, and of no more than a few", async () => {
    const id = await scenario.planned(120);
    const silence = Promise.withResolvers<void>();
    const open = new Set<string>();
    let most = 0;
    const { sender, given } = vendor({
      concurrency: 12,
      answer: async (message) => {
        most = Math.max(most, open.add(message.id).size);
        if (/[05]@/.test(message.to)) await silence.promise;
        open.delete(message.id);
        return accepted(message);
      },
    });
    const work = scenario.work({ open: () => sender });
    let before = -1;
    const isStill = () => {
      const [last, now] = [before, given.length];
      before = now;
      expect(open.size > 3 && now === last).toBe(true);
    };
    await vi.waitFor(isStill, { timeout: 20_000, interval: 1_000 });
    expect(given.length).toBeLessThan(120);
    silence.resolve();
    await work;
    expect(most).toBeLessThanOrEqual(12 + 3);
    expect(await scenario.tally(id)).toEqual({ sent: 120 });
    expect(new Set(given.map(({ to }) => to)).size).toBe(given.length);
    expect(await scenario.get(id)).toMatchObject({ status: "sent" });
  });

  test("that was left behind by a process which is killed then is unknown, and never sent again", async () => {
    const id = await scenario.planned(30);
    const silence = Promise.withResolvers<void>();
    const { sender, given } = vendor({
      concurrency: 12,
      answer: async (message) => {
        if (message.to === "p3@example.com") await silence.promise;
        return accepted(message);
      },
    });
    const life = { left: 1_000 };
    const work = scenario.work({ open: () => sender, killedAfter: life });
    await vi.waitFor(async () => expect(await scenario.tally(id)).toEqual({ sent: 29, sending: 1 }), 20_000);
    life.left = 0;
    silence.resolve();
    await expect(work).rejects.toThrow(Killed);
    await loseWorker(service, scenario.id);
    await scenario.work({ open: () => sender });
    expect(await scenario.tally(id)).toEqual({ sent: 29, unknown: 1 });
    expect(given).toHaveLength(30);
  });

  test("that a delivery held which is dead for good is unknown too, once another delivery works", async () => {
    const id = await scenario.planned(3);
    const silence = Promise.withResolvers<void>();
    const { sender, given } = vendor({
      answer: async (message) => {
        await silence.promise;
        return accepted(message);
      },
    });
    const life = { left: 1_000 };
    const work = scenario.work({ open: () => sender, killedAfter: life });
    await vi.waitFor(async () => expect(given).toHaveLength(3), 20_000);
    life.left = 0;
    silence.resolve();
    await expect(work).rejects.toThrow(Killed);
    await service.internals.db.asSystem(
      (sql) => sql`
        update queue set state = 'dead', lease = null, leased_until = null
        where state = 'running' and property_id = ${scenario.id}`,
    );
    await scenario.pause(id);
    await scenario.resume(id);
    await scenario.work({ open: () => sender });
    expect(await scenario.tally(id)).toEqual({ unknown: 3 });
    expect(given).toHaveLength(3);
  });

  test("is completed where the vendor's notice was faster than the record", async () => {
    const id = await scenario.planned(3);
    const noticed = new Date(Date.now() - 60_000).toISOString();
    const { sender } = vendor({
      answer: async (message) => {
        await scenario.query(
          (sql) => sql`
            update campaign_sends set status = 'delivered', delivered_at = now(), sent_at = ${noticed}
            where property_id = ${scenario.id} and id = ${message.id}`,
        );
        return { ...accepted(message), providerMessageId: `v-${message.id}` } as SendOutcome;
      },
    });
    await scenario.work({ open: () => sender });
    expect(await scenario.tally(id)).toEqual({ delivered: 3 });
    expect(await column(scenario, "provider_message_id")).toEqual(
      (await column(scenario, "id")).map((send) => `v-${send}`),
    );
    expect(await column(scenario, "attempts")).toEqual([1, 1, 1]);
    const times = (await column(scenario, "sent_at")).map((time) => new Date(time as string).toISOString());
    expect(times).toEqual([noticed, noticed, noticed]);
  });
});

test("a bounce of which the vendor tells before it answers keeps its reason", async () => {
  const id = await scenario.planned(1);
  const { sender } = vendor({
    answer: async (message) => {
      await scenario.query(
        (sql) => sql`
          update campaign_sends set status = 'bounced', bounced_at = now(), error_code = 'smtp_550', error_message = 'gone'
          where property_id = ${scenario.id} and id = ${message.id}`,
      );
      return accepted(message);
    },
  });
  await scenario.work({ open: () => sender });
  expect(await scenario.tally(id)).toEqual({ bounced: 1 });
  expect([await column(scenario, "error_code"), await column(scenario, "error_message")]).toEqual([
    ["smtp_550"],
    ["gone"],
  ]);
});

test("the outcome of a message that another delivery has by now is that delivery's to record", async () => {
  const id = await scenario.planned(1);
  const other = randomUUID();
  const { sender } = vendor({
    answer: async (message) => {
      await scenario.query(
        (sql) => sql`
          update campaign_sends set claimed_by = ${other} where property_id = ${scenario.id} and id = ${message.id}`,
      );
      return failed(message);
    },
  });
  await runNext(service, scenario.id, { open: () => sender, only: "deliver_campaign" });
  expect(await scenario.tally(id)).toEqual({ sending: 1 });
  expect(await column(scenario, "claimed_by")).toEqual([other]);
});

test("a message of which the vendor's notice has told is not told of again", async () => {
  await scenario.call("create_webhook_endpoint", {
    url: "https://receiver.example/hook",
    events: ["campaign.message_sent"],
  });
  const id = await scenario.planned(2);
  const [first] = await column(scenario, "id");
  const { sender } = vendor({
    answer: async (message) => {
      await scenario.query(
        (sql) => sql`
          update campaign_sends set status = 'sent', sent_at = now()
          where property_id = ${scenario.id} and id = ${message.id} and id = ${first}`,
      );
      return accepted(message);
    },
  });
  await scenario.work({ open: () => sender });
  expect(await scenario.tally(id)).toEqual({ sent: 2 });
  expect(await emitted(scenario, "campaign.message_sent")).toHaveLength(1);
});

test("an endpoint that has asked hears of each player who gets nothing, and why, once", async () => {
  await scenario.call("create_webhook_endpoint", {
    url: "https://receiver.example/hook",
    events: ["campaign.message_skipped"],
  });
  await scenario.player({ player_id: "no", email: "no@example.com" }, false);
  const banned = await scenario.player({ player_id: "banned", email: "banned@example.com" });
  const id = await scenario.planned(3);
  await scenario.query(
    (sql) => sql`update players set status = 'banned' where property_id = ${scenario.id} and id = ${banned}`,
  );
  await scenario.work();
  expect(await scenario.tally(id)).toEqual({ sent: 3, skipped: 2 });
  const reasons = (await emitted(scenario, "campaign.message_skipped")).map(({ object }) => object);
  expect(reasons.map(({ campaign_id, skip_reasons }) => [campaign_id, skip_reasons]).sort()).toEqual([
    [id, ["banned"]],
    [id, ["no_consent"]],
  ]);
});
