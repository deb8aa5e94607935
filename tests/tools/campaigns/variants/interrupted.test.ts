import { describe, expect, test } from "vitest";
import type { EmailMessage, StoreMessages } from "#runtime/channels/provider/channel.ts";
import { Killed, loseWorker, vendor } from "../../../support/job-runner.ts";
import { openProvider } from "../../../support/provider.ts";
import type { TestService } from "../../../support/service.ts";
import { eachInOwnProperty, MANY, repeats, TEST, VARIANTS, type VariantScenario } from "./scenario.ts";

let service: TestService;
let scenario: VariantScenario;
eachInOwnProperty((own, started) => {
  scenario = own;
  service = started;
});

describe("a test on its way", () => {
  test("survives being killed between any two steps: one message each, one winner, the same variants", async () => {
    await scenario.listen();
    await scenario.crowd(60);
    // Of 60, chance leaves neither a variant nor the rest without anybody.
    const id = await scenario.campaign({ ab_test: { ...TEST, test_percent: 70, min_sample: 1 } });
    await scenario.send(id);
    const given: EmailMessage[] = [];
    const open = (store: StoreMessages) => {
      const mailbox = openProvider("email", "mailbox", {}, store);
      return {
        ...mailbox,
        concurrency: 8,
        send: ((messages, options) => {
          given.push(...messages);
          return mailbox.send(messages, options);
        }) satisfies typeof mailbox.send,
      };
    };
    /** Runs the jobs, with a kill after 1, 2, 3 … transactions each time, until they are through. */
    const survive = async () => {
      for (let kills = 0; ; kills += 1) {
        try {
          await scenario.work({ open, killedAfter: { left: kills + 1 } });
          return kills;
        } catch (error) {
          if (!(error instanceof Killed)) throw error;
          await loseWorker(service, scenario.id);
        }
      }
    };
    expect(await survive()).toBeGreaterThan(2);
    const tried = await scenario.drawn(id);
    await scenario.engage(id, "b", 5);
    await scenario.timePasses(id);
    expect(await survive()).toBeGreaterThan(2);

    const kept = await scenario.mailbox();
    expect(kept).toHaveLength(60);
    expect(new Set(kept.map(({ recipient }) => recipient)).size).toBe(60);
    for (const { to, subject } of given) {
      expect(subject).toBe(`Offer ${(tried.get(to) ?? "b").toUpperCase()}`);
    }
    expect(await scenario.get(id)).toMatchObject({ status: "sent", ab_result: { winner_id: "b" } });
    expect(await scenario.winners()).toHaveLength(1);
  });

  test("has one winner though two jobs choose at once", async () => {
    await scenario.listen();
    const id = await scenario.planned(60);
    await scenario.work();
    await scenario.engage(id, "b", 5);
    await scenario.timePasses(id);
    await service.internals.db.asSystem(
      (sql) => sql`
        insert into queue (id, name, property_id, input, max_attempts)
        select uuid_v7(), name, property_id, input, max_attempts from queue
        where name = 'choose_winner' and property_id = ${scenario.id}`,
    );
    await Promise.all([1, 2].map(() => scenario.work({ only: "choose_winner" })));
    const { sender, given } = vendor();
    await Promise.all([1, 2].map(() => scenario.work({ open: () => sender })));
    expect(repeats(given)).toBe(0);
    expect(await scenario.winners()).toHaveLength(1);
    expect(await scenario.get(id)).toMatchObject({ status: "sent" });
  });

  test("hands who waited to one more delivery, however many they are: other campaigns need room too", async () => {
    const id = await scenario.planned(20);
    await scenario.work();
    await scenario.query(
      (sql) => sql`
        insert into campaign_sends (property_id, id, campaign_id, channel, status, dedupe_key)
        select ${scenario.id}, uuid_v7(), ${id}, 'email', 'deferred', sha256(n::text::bytea) from generate_series(1, 10100) n returning 1`,
    );
    await scenario.timePasses(id);
    let choosing = true;
    const choice = scenario.work({ only: "choose_winner" }).finally(() => {
      choosing = false;
    });
    // As a worker does that has room.
    const claim = () =>
      service.internals.db.asSystem(
        (sql) => sql`
          update queue set state = 'running', dedupe = null
          where property_id = ${scenario.id} and name = 'deliver_campaign' and state = 'ready'`,
      );
    await claim();
    let begun = 0;
    while (choosing) begun += (await claim()).count;
    await choice;
    expect(begun + (await claim()).count).toBe(1);
    // The claims, one behind another, leave the winner's choice little of a slow machine.
  }, 120_000);

  test("that is paused chooses when it goes on, and can be corrected but not made another test", async () => {
    const id = await scenario.planned(MANY);
    await scenario.work();
    const tried = (await scenario.drawn(id)).size;
    await scenario.engage(id, "b", 5);
    await scenario.pause(id);
    await scenario.timePasses(id);
    await scenario.work();
    expect(await scenario.get(id)).toMatchObject({ status: "paused", ab_result: null });
    const edit = (changes: object) =>
      scenario.call("update_campaign", { id, ab_test: { ...TEST, ...changes } });
    for (const changes of [{ test_percent: 60 }, { variants: VARIANTS.toReversed() }, { metric: "click" }]) {
      await expect(edit(changes)).rejects.toThrow("in ab_test only the subjects");
    }
    await expect(scenario.call("update_campaign", { id, ab_test: null })).rejects.toThrow("in ab_test");
    await edit({ variants: [VARIANTS[0], { ...VARIANTS[1], subject: "Offer B, corrected" }] });
    await scenario.resume(id);
    const { sender, given } = vendor();
    await scenario.work({ open: () => sender });
    expect(await scenario.get(id)).toMatchObject({ status: "sent", ab_result: { winner_id: "b" } });
    expect(given.map(({ subject }) => subject)).toEqual(Array(MANY - tried).fill("Offer B, corrected"));
  });

  test("lets nobody who waits be claimed before there is a winner, also with due rows and a late clock", async () => {
    const id = await scenario.planned(60);
    await scenario.work();
    const before = await scenario.sends(id);
    await scenario.query(
      (sql) => sql`
        update campaign_sends set scheduled_for = now(), status = 'pending'
        where property_id = ${scenario.id} and campaign_id = ${id} and status = 'deferred'`,
    );
    const { sender, given } = vendor();
    for (const hours of [1, 100]) {
      await scenario.query(
        (sql) => sql`
          update campaigns set started_at = now() - make_interval(hours => ${hours}), expires_from = started_at
          where property_id = ${scenario.id} and id = ${id}`,
      );
      await scenario.dueNow();
      await scenario.work({ open: () => sender });
    }
    expect(given).toEqual([]);
    const waiting = (await scenario.sends(id)).filter(({ status }) => status === "pending");
    expect(waiting).toHaveLength(before.filter(({ variant_id }) => variant_id === null).length);
    expect(await scenario.get(id)).toMatchObject({ status: "sending" });
  });

  test("that is cancelled chooses nothing, and who waited gets nothing", async () => {
    const id = await scenario.planned(60);
    await scenario.work();
    const tried = (await scenario.drawn(id)).size;
    await scenario.cancel(id);
    await scenario.timePasses(id);
    const { sender, given } = vendor();
    await scenario.work({ open: () => sender });
    expect(given).toEqual([]);
    expect(await scenario.get(id)).toMatchObject({ status: "cancelled", ab_result: null });
    expect(await scenario.stats(id)).toMatchObject({ sent: tried, cancelled: 60 - tried, pending: 0 });
  });

  test("does not make the rest stale: their three days begin when it ends", async () => {
    const id = await scenario.planned(60, { duration_minutes: 2880 });
    await scenario.work();
    const tried = (await scenario.drawn(id)).size;
    const age = (hours: number) =>
      scenario.query(
        (sql) => sql`
          update campaigns set started_at = now() - make_interval(hours => ${hours}),
            expires_from = now() - make_interval(hours => ${hours - 48}),
            ab_ends_at = now() - make_interval(hours => ${hours - 48})
          where property_id = ${scenario.id} and id = ${id}`,
      );
    await age(73);
    await scenario.dueNow();
    const { sender, given } = vendor();
    await scenario.work({ open: () => sender, only: "choose_winner" });
    const [first] = await scenario
      .sends(id)
      .then((rows) => rows.filter(({ status }) => status === "pending"));
    await scenario.query(
      (sql) => sql`
        update campaign_sends set status = 'deferred', scheduled_for = now() + interval '1 day'
        where property_id = ${scenario.id} and id = ${first!.id}`,
    );
    await scenario.work({ open: () => sender });
    expect(given).toHaveLength(59 - tried);
    // A send that still waits then has waited for too long.
    await age(121);
    await scenario.dueNow();
    await scenario.work({ open: () => sender });
    expect(given).toHaveLength(59 - tried);
    expect(await scenario.stats(id)).toMatchObject({ status: "sent", skipped: { expired: 1 } });
  });

  test("of a scheduled campaign begins when it fires", async () => {
    await scenario.crowd(60);
    const { id: segment_id } = await scenario.call("create_segment", {
      name: "All",
      conditions: [{ field: "status", operator: "eq", value: "active" }],
    });
    const id = await scenario.campaign({ ab_test: TEST });
    const scheduled_at = new Date(Date.now() + 86_400_000).toISOString();
    const { warnings } = await scenario.call("schedule_campaign", {
      campaign_id: id,
      scheduled_at,
      segment_id,
    });
    expect(warnings).toEqual([]);
    expect(await scenario.get(id)).toMatchObject({ status: "scheduled", ab_ends_at: null });
    await scenario.query(
      (sql) =>
        sql`update campaigns set scheduled_at = now() where property_id = ${scenario.id} and id = ${id}`,
    );
    await scenario.dueNow();
    await scenario.work();
    const { status, started_at, ab_ends_at } = await scenario.get(id);
    expect(status).toBe("sending");
    expect(Date.parse(ab_ends_at) - Date.parse(started_at)).toBe(3_600_000);
    await scenario.timePasses(id);
    await scenario.work();
    expect(await scenario.get(id)).toMatchObject({ status: "sent" });
  });
});
