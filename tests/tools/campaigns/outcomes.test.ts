import { HttpResponse, http } from "msw";
import { setupServer } from "msw/node";
import postgres from "postgres";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { EmailMessage, SendOutcome } from "#runtime/channels/channel.ts";
import { type House, startHouse } from "../../support/house.ts";
import { openProvider } from "../../support/provider.ts";
import { type Casino, casino, Killed, loseWorker, vendor } from "./casino.ts";

let house: House;
let place: Casino & { id: string };

// Without a worker: the tests run its jobs, and stop them where they want.
beforeAll(async () => {
  house = await startHouse({ role: "web" });
});
afterAll(() => house?.stop());
beforeEach(async () => {
  const { id } = await house.newTenant({ from_email: "offers@casino.example" });
  place = { ...casino(house, id), id };
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
    await place.query(
      (sql) =>
        sql`select ${sql(name)} as value from campaign_sends where property_id = ${place.id} order by id`,
    )
  ).map(({ value }) => value);
const dueNow = async () => {
  await place.query(
    (sql) => sql`
      update campaign_sends set scheduled_for = now()
      where property_id = ${place.id} and status in ('pending', 'deferred')`,
  );
  await house.service.db.asSystem(
    (sql) => sql`update queue set run_at = now() where property_id = ${place.id}`,
  );
};
const hoursPass = async (hours: number) => {
  await place.query(
    (sql) => sql`
      update campaign_sends set claimed_at = claimed_at - make_interval(hours => ${hours}) where property_id = ${place.id}`,
  );
  await house.service.db.asSystem(
    (sql) => sql`
      update queue set run_at = run_at - make_interval(hours => ${hours}) where property_id = ${place.id}`,
  );
};
const told = async (type: string) =>
  place.query(
    (sql) => sql<{ object: Record<string, unknown> }[]>`
      select data -> 'object' as object from outbox where property_id = ${place.id} and type = ${type}`,
  );

describe("what became of messages", () => {
  test("is recorded though a player's row is locked for longer than a lock is waited for, and the vendor's STOP too", async () => {
    const id = await place.planned(4);
    const [, stopping] = await place.query(
      (sql) => sql<{ id: string; email: string }[]>`
        select id, email from players where property_id = ${place.id} order by email`,
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
        holder ??= place.query(async (sql) => {
          await sql`select from players where property_id = ${place.id} and id = ${stopping!.id} for update`;
          isHeld();
          await held;
        });
        await holding;
        if (message.to !== stopping!.email) return sent(message);
        return { ...failed(message), code: "opted_out", optedOut: true } as SendOutcome;
      },
    });
    await place.work({ open: () => sender, only: "deliver_campaign" });
    expect(await place.tally(id)).toEqual({ sent: 3, failed: 1 });
    await expect(place.work()).rejects.toThrow(/lock/);
    release();
    await holder;
    await loseWorker(house, place.id);
    await place.work();
    const suppressed = await place.query(
      (sql) => sql`select reason from suppressions where property_id = ${place.id}`,
    );
    expect(suppressed).toHaveLength(1);
  });

  test("is recorded in whatever words and however long an id the vendor has for it", async () => {
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
      const id = await place.planned(3);
      await place.work({ open: (keep) => openProvider("email", "resend", { api_key: "re_key" }, keep) });
      expect(await place.tally(id)).toEqual({ sent: 2, failed: 1 });
      expect((await column("error_message")).filter(Boolean)).toEqual([`${"x".repeat(499)}\uFFFD`]);
    } finally {
      server.close();
    }
  });

  test("is recorded when the database breaks the record off", async () => {
    const id = await place.planned(2);
    const admin = postgres(house.database.url, { max: 2, onnotice: () => {} });
    let breaking: Promise<unknown> | undefined;
    // Holds the rows until the record waits for them, and then ends its connection.
    const breakOff = (ready: () => void) =>
      admin.begin(async (sql) => {
        await sql`select from campaign_sends where campaign_id = ${id} for update`;
        ready();
        await vi.waitFor(async () => {
          const ended = await admin`
            select pg_terminate_backend(pid) from pg_stat_activity
            where datname = current_database() and wait_event_type = 'Lock' and query like '%campaign_sends%'`;
          expect(ended.length).toBeGreaterThan(0);
        });
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
    await place.work({ open: () => sender });
    await breaking;
    await admin.end();
    expect(given).toHaveLength(2);
    expect(await place.tally(id)).toEqual({ sent: 2 });
  });

  test("is recorded and told of while the vendor says nothing of one of them", async () => {
    await place.call("create_webhook_endpoint", {
      url: "https://receiver.example/hook",
      events: ["campaign.message_sent"],
    });
    const id = await place.planned(6);
    const silence = Promise.withResolvers<void>();
    const { sender } = vendor({
      // All in one batch, in whatever order.
      concurrency: 18,
      answer: async (message) => {
        if (message.to === "p3@example.com") await silence.promise;
        return message.to === "p4@example.com" ? failed(message) : sent(message);
      },
    });
    const work = place.work({ open: () => sender });
    await vi.waitFor(async () => expect(await place.tally(id)).toEqual({ sent: 4, sending: 2 }), 10_000);
    expect(await told("campaign.message_sent")).toHaveLength(4);
    silence.resolve();
    await work;
    expect(await place.tally(id)).toEqual({ sent: 5, failed: 1 });
    expect(await column("attempts")).toEqual([1, 1, 1, 1, 1, 1]);
    expect(await told("campaign.message_sent")).toHaveLength(5);
  });

  test("is handed over while the vendor says nothing of a few before it, and of no more than a few", async () => {
    const id = await place.planned(120);
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
    const work = place.work({ open: () => sender });
    let before = -1;
    const isStill = () => {
      const [last, now] = [before, given.length];
      before = now;
      expect(open.size > 3 && now === last).toBe(true);
    };
    await vi.waitFor(isStill, { timeout: 40_000, interval: 3_000 });
    expect(given.length).toBeLessThan(120);
    silence.resolve();
    await work;
    expect(most).toBeLessThanOrEqual(12 + 3);
    expect(await place.tally(id)).toEqual({ sent: 120 });
    expect(new Set(given.map(({ to }) => to)).size).toBe(given.length);
    expect(await place.get(id)).toMatchObject({ status: "sent" });
  }, 90_000);

  test("that was left behind by a process which is killed then is unknown, and never sent again", async () => {
    const id = await place.planned(30);
    const silence = Promise.withResolvers<void>();
    const { sender, given } = vendor({
      concurrency: 12,
      answer: async (message) => {
        if (message.to === "p3@example.com") await silence.promise;
        return sent(message);
      },
    });
    const life = { left: 1_000 };
    const work = place.work({ open: () => sender, killedAfter: life });
    await vi.waitFor(async () => expect(await place.tally(id)).toEqual({ sent: 29, sending: 1 }), 20_000);
    life.left = 0;
    silence.resolve();
    await expect(work).rejects.toThrow(Killed);
    await loseWorker(house, place.id);
    await place.work({ open: () => sender });
    expect(await place.tally(id)).toEqual({ sent: 29, unknown: 1 });
    expect(given).toHaveLength(30);
  }, 60_000);

  test("is completed where the vendor's notice was faster than the record", async () => {
    const id = await place.planned(3);
    const { sender } = vendor({
      answer: async (message) => {
        await place.query(
          (sql) => sql`
            update campaign_sends set status = 'delivered', delivered_at = now(), sent_at = now()
            where property_id = ${place.id} and id = ${message.id}`,
        );
        return { ...sent(message), providerMessageId: `v-${message.id}` } as SendOutcome;
      },
    });
    await place.work({ open: () => sender });
    expect(await place.tally(id)).toEqual({ delivered: 3 });
    expect(await column("provider_message_id")).toEqual((await column("id")).map((send) => `v-${send}`));
    expect(await column("attempts")).toEqual([1, 1, 1]);
  });
});

describe("errors in a row", () => {
  test("pause the campaign when they are more than it allows, over several jobs, and say so", async () => {
    await place.call("create_webhook_endpoint", {
      url: "https://receiver.example/hook",
      events: ["campaign.paused"],
    });
    const id = await place.planned(60, { max_send_errors: 20 });
    await house.service.db.asSystem(
      (sql) => sql`
        insert into queue (id, name, property_id, input, max_attempts)
        select uuid_v7(), name, property_id, input, max_attempts from queue
        where name = 'deliver_campaign' and property_id = ${place.id}`,
    );
    let repaired = false;
    const { sender, given } = vendor({
      concurrency: 4,
      answer: (message) => (repaired ? sent(message) : failed(message)),
    });
    await Promise.all([1, 2].map(() => place.work({ open: () => sender })));
    expect(given.length).toBeGreaterThan(20);
    expect(given.length).toBeLessThan(32);
    expect(await place.get(id)).toMatchObject({
      status: "paused",
      status_reason: expect.stringMatching(/messages in a row have failed/),
    });
    const [event, ...more] = await told("campaign.paused");
    expect(more).toEqual([]);
    expect(event!.object.status_reason).toMatch(/in a row/);
    const { failed: lost } = await place.tally(id);
    expect(lost).toBe(given.length);
    repaired = true;
    await place.resume(id);
    await place.work({ open: () => sender });
    expect(await place.tally(id)).toEqual({ failed: lost, sent: 60 - lost! });
    expect((await place.get(id)).status).toBe("sent");
  });

  test("are ended by a message that is sent, in whichever job", async () => {
    const id = await place.planned(90, { max_send_errors: 20 });
    let tried = 0;
    const { sender } = vendor({
      concurrency: 4,
      answer: (message) => (++tried % 9 === 0 ? sent(message) : failed(message)),
    });
    await place.work({ open: () => sender });
    expect(await place.get(id)).toMatchObject({ status: "sent" });
    expect(await place.tally(id)).toEqual({ failed: 80, sent: 10 });
  });
});

describe("a message of which nobody can tell", () => {
  test("is settled a day after its own claim, also of a campaign that is paused", async () => {
    const id = await place.planned(6);
    const { sender } = vendor({ concurrency: 2, answer: unclear });
    await place.work({ open: () => sender });
    const early = (await place.tally(id)).unknown!;
    expect(early).toBeGreaterThan(0);
    expect(early).toBeLessThan(6);
    await place.pause(id);
    await hoursPass(23);
    expect(await place.tally(id)).toMatchObject({ unknown: early });
    await place.resume(id);
    await dueNow();
    await place.work({ open: () => sender });
    await place.pause(id).catch(() => {});
    const later = (await place.tally(id)).unknown! - early;
    expect(later).toBeGreaterThan(0);
    await hoursPass(2);
    await place.work({ open: () => sender });
    expect(await place.tally(id)).toMatchObject({ failed: early, unknown: later });
    await hoursPass(24);
    await place.work({ open: () => sender });
    expect(await place.tally(id)).toMatchObject({ failed: early + later });
  });

  test("is settled a day later though it is a test", async () => {
    await place.player({ player_id: "ana", email: "ana@example.com" });
    const id = await place.campaign();
    await place.call("send_test_message", {
      campaignId: id,
      propertyId: place.id,
      to: "ana@example.com",
    });
    const { sender } = vendor({ answer: unclear });
    await place.work({ open: () => sender });
    expect(await column("status")).toEqual(["unknown"]);
    await hoursPass(25);
    await place.work();
    expect(await column("status")).toEqual(["failed"]);
  });

  test("is tried again after a new check where the vendor knows it again, and by the same id", async () => {
    const id = await place.planned(4);
    let tried = 0;
    const { sender, given } = vendor({
      repeatable: true,
      answer: (message) => (++tried <= 4 ? unclear(message) : sent(message)),
    });
    await place.work({ open: () => sender });
    expect(await place.tally(id)).toEqual({ pending: 4 });
    const [out] = await place.query(
      (sql) =>
        sql<{ id: string }[]>`select id from players where property_id = ${place.id} order by email limit 1`,
    );
    await place.query(
      (sql) => sql`update players set status = 'banned' where property_id = ${place.id} and id = ${out!.id}`,
    );
    const revoking = { propertyId: place.id, email: "p2@example.com", channel: "email" };
    await place.call("consent_revoke", revoking);
    await dueNow();
    await place.work({ open: () => sender });
    // Who is blocked by now may have got it all the same.
    expect(await place.tally(id)).toEqual({ sent: 2, unknown: 2 });
    expect(given).toHaveLength(6);
    expect(new Set(given.map((one) => one.id)).size).toBe(4);
  });

  test("counts against the caps of others while it waits to be tried again, and not against its own", async () => {
    await place.query(
      (sql) =>
        sql`insert into frequency_rules (property_id, channel, max_sends) values (${place.id}, 'email', 1)`,
    );
    const first = await place.planned(2);
    const lost = vendor({ repeatable: true, answer: unclear });
    await place.work({ open: () => lost.sender });
    expect(lost.given).toHaveLength(2);
    expect(await place.tally(first)).toEqual({ pending: 2 });
    const second = await place.campaign();
    await place.send(second);
    const { sender, given } = vendor({ repeatable: true });
    await place.work({ open: () => sender });
    expect(await place.tally(second)).toEqual({ deferred: 2 });
    expect(given).toHaveLength(0);
    await dueNow();
    await place.work({ open: () => sender });
    expect(await place.tally(first)).toEqual({ sent: 2 });
    expect(await place.tally(second)).toEqual({ deferred: 2 });
  });
});

test("what was not handed over, or was not taken, counts against no limit", async () => {
  await place.call("create_message_provider", {
    channel: "email",
    kind: "resend",
    name: "resend",
    credentials: { api_key: "re" },
    allows_gaming: true,
    daily_limit: 30,
  });
  const id = await place.planned(20, { throttle_per_minute: 25 });
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
  for (let round = 0; round < 8; round += 1) {
    await place.work({ open: () => sender });
    await dueNow();
  }
  expect(tried).toBeGreaterThan(45);
  expect(await place.tally(id)).toEqual({ sent: 20 });
  const [usage] = await place.query(
    (sql) => sql`select used from provider_usage where property_id = ${place.id}`,
  );
  expect(usage).toEqual({ used: 20 });
});

test("an endpoint that has asked hears of each player who gets nothing, and why, once", async () => {
  await place.call("create_webhook_endpoint", {
    url: "https://receiver.example/hook",
    events: ["campaign.message_skipped"],
  });
  await place.player({ player_id: "no", email: "no@example.com" }, false);
  const banned = await place.player({ player_id: "banned", email: "banned@example.com" });
  const id = await place.planned(3);
  await place.query(
    (sql) => sql`update players set status = 'banned' where property_id = ${place.id} and id = ${banned}`,
  );
  await place.work();
  expect(await place.tally(id)).toEqual({ sent: 3, skipped: 2 });
  const reasons = (await told("campaign.message_skipped")).map(({ object }) => object);
  expect(reasons.map(({ campaign_id, skip_reasons }) => [campaign_id, skip_reasons]).sort()).toEqual([
    [id, ["banned"]],
    [id, ["no_consent"]],
  ]);
});
