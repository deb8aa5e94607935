import { randomUUID } from "node:crypto";
import { HttpResponse, http } from "msw";
import { setupServer } from "msw/node";
import postgres from "postgres";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { identifier } from "#db/sql.ts";
import type { EmailMessage, SendOutcome } from "#runtime/channels/provider/channel.ts";
import { shifted } from "../../../support/database.ts";
import { Killed, loseWorker, runNext, vendor } from "../../../support/job-runner.ts";
import { endLockWaits } from "../../../support/postgres/blocking.ts";
import { openProvider } from "../../../support/provider.ts";
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
  scenario = await newScenario(service, { from_email: "offers@casino.example" });
});

const sent = ({ id }: EmailMessage): SendOutcome => ({ id, status: "sent", providerMessageId: id });
const failed = ({ id }: EmailMessage): SendOutcome => ({
  id,
  status: "failed",
  code: "smtp_550",
  message: "no such mailbox",
});
const unclear = ({ id }: EmailMessage): SendOutcome => ({
  id,
  status: "unknown",
  code: "no_answer",
  message: "timeout",
});

const column = async (name: string) =>
  (
    await scenario.query(
      (sql) =>
        sql`select ${identifier(name)} as value from campaign_sends where property_id = ${scenario.id} order by id`,
    )
  ).map(({ value }) => value);
const dueNow = async () => {
  await scenario.query(
    (sql) => sql`
      update campaign_sends set scheduled_for = now()
      where property_id = ${scenario.id} and status in ('pending', 'deferred')`,
  );
  await service.internals.db.asSystem(
    (sql) => sql`update queue set run_at = now() where property_id = ${scenario.id}`,
  );
};
const hoursPass = async (hours: number) => {
  await scenario.query(
    (sql) => sql`
      update campaign_sends set claimed_at = ${shifted("claimed_at", `-${hours} hours`)} where property_id = ${scenario.id}`,
  );
  await service.internals.db.asSystem(
    (sql) => sql`
      update queue set run_at = run_at - make_interval(hours => ${hours}) where property_id = ${scenario.id}`,
  );
};
const told = async (type: string) =>
  scenario.query(
    (sql) => sql<{ object: Record<string, unknown> }[]>`
      select data -> 'object' as object from outbox where property_id = ${scenario.id} and type = ${type}`,
  );

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
        if (message.to !== stopping!.email) return sent(message);
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
      expect((await column("error_message")).filter(Boolean)).toEqual([`${"x".repeat(499)}\uFFFD`]);
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
        return sent(message);
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
        return message.to === "p4@example.com" ? failed(message) : sent(message);
      },
    });
    const work = scenario.work({ open: () => sender });
    // The refused one is recorded with its batch: on a busy machine that may be a second batch, which has ended.
    const statuses = async () => (await scenario.sends(id)).map(({ status }) => status);
    await vi.waitFor(async () => {
      const isOpen = expect.stringMatching(/^(sending|pending|deferred|failed)$/);
      expect(await statuses()).toEqual(["sent", "sent", "sending", isOpen, "sent", "sent"]);
    }, 10_000);
    expect(await told("campaign.message_sent")).toHaveLength(4);
    silence.resolve();
    await work;
    expect(await scenario.tally(id)).toEqual({ sent: 5, failed: 1 });
    expect(await column("attempts")).toEqual([1, 1, 1, 1, 1, 1]);
    expect(await told("campaign.message_sent")).toHaveLength(5);
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
        return sent(message);
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
        return sent(message);
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
        return sent(message);
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
        return { ...sent(message), providerMessageId: `v-${message.id}` } as SendOutcome;
      },
    });
    await scenario.work({ open: () => sender });
    expect(await scenario.tally(id)).toEqual({ delivered: 3 });
    expect(await column("provider_message_id")).toEqual((await column("id")).map((send) => `v-${send}`));
    expect(await column("attempts")).toEqual([1, 1, 1]);
    const times = (await column("sent_at")).map((time) => new Date(time as string).toISOString());
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
      return sent(message);
    },
  });
  await scenario.work({ open: () => sender });
  expect(await scenario.tally(id)).toEqual({ bounced: 1 });
  expect([await column("error_code"), await column("error_message")]).toEqual([["smtp_550"], ["gone"]]);
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
  expect(await column("claimed_by")).toEqual([other]);
});

test("a message of which the vendor's notice has told is not told of again", async () => {
  await scenario.call("create_webhook_endpoint", {
    url: "https://receiver.example/hook",
    events: ["campaign.message_sent"],
  });
  const id = await scenario.planned(2);
  const [first] = await column("id");
  const { sender } = vendor({
    answer: async (message) => {
      await scenario.query(
        (sql) => sql`
          update campaign_sends set status = 'sent', sent_at = now()
          where property_id = ${scenario.id} and id = ${message.id} and id = ${first}`,
      );
      return sent(message);
    },
  });
  await scenario.work({ open: () => sender });
  expect(await scenario.tally(id)).toEqual({ sent: 2 });
  expect(await told("campaign.message_sent")).toHaveLength(1);
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
      answer: (message) => (repaired ? sent(message) : failed(message)),
    });
    await Promise.all([1, 2].map(() => scenario.work({ open: () => sender })));
    expect(given.length).toBeGreaterThan(20);
    expect(given.length).toBeLessThan(32);
    expect(await scenario.get(id)).toMatchObject({
      status: "paused",
      status_reason: expect.stringMatching(/messages in a row have failed/),
    });
    const [event, ...more] = await told("campaign.paused");
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
      answer: (message) => (++tried % 9 === 0 ? sent(message) : failed(message)),
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
    await hoursPass(23);
    expect(await scenario.tally(id)).toMatchObject({ unknown: early });
    await scenario.resume(id);
    await dueNow();
    await scenario.work({ open: () => sender });
    await scenario.pause(id).catch(() => {});
    const later = (await scenario.tally(id)).unknown! - early;
    expect(later).toBeGreaterThan(0);
    await hoursPass(2);
    await scenario.work({ open: () => sender });
    expect(await scenario.tally(id)).toMatchObject({ failed: early, unknown: later });
    await hoursPass(24);
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
    expect(await column("status")).toEqual(["unknown"]);
    await hoursPass(25);
    await scenario.work();
    expect(await column("status")).toEqual(["failed"]);
  });

  test("is tried again after a new check where the vendor knows it again, and by the same id", async () => {
    const id = await scenario.planned(4);
    let tried = 0;
    const { sender, given } = vendor({
      repeatable: true,
      answer: (message) => (++tried <= 4 ? unclear(message) : sent(message)),
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
    await dueNow();
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
        return sent(message);
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
    await dueNow();
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
      await hoursPass(hours);
      await dueNow();
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
    await dueNow();
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
      return about ? { id: message.id, status: "retry", ...about } : sent(message);
    },
  });
  // From the first 429 on it is tried with one message a round.
  for (let round = 0; round < 30; round += 1) {
    await scenario.work({ open: () => sender });
    await dueNow();
  }
  expect(tried).toBeGreaterThan(45);
  expect(await scenario.tally(id)).toEqual({ sent: 20 });
  const [usage] = await scenario.query(
    (sql) => sql`select used from provider_usage where property_id = ${scenario.id}`,
  );
  expect(usage).toEqual({ used: 20 });
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
  const reasons = (await told("campaign.message_skipped")).map(({ object }) => object);
  expect(reasons.map(({ campaign_id, skip_reasons }) => [campaign_id, skip_reasons]).sort()).toEqual([
    [id, ["banned"]],
    [id, ["no_consent"]],
  ]);
});
