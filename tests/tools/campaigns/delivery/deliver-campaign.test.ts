import postgres from "postgres";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { EmailMessage, StoreMessages } from "#runtime/channels/provider/channel.ts";
import { enqueue } from "#runtime/jobs/queue.ts";
import type { Context } from "#runtime/operation/context.ts";
import { renderMessages } from "#tools/campaigns/content/render-messages.ts";
import { recoverSends } from "#tools/campaigns/delivery/repeats.ts";
import settleSends from "#tools/campaigns/delivery/settle-sends.job.ts";
import { parseField } from "#tools/templates/rendering/liquid.ts";
import { shifted } from "../../../support/database.ts";
import { accepted, Killed, loseWorker, vendor } from "../../../support/job-runner.ts";
import { openProvider } from "../../../support/provider.ts";
import { newScenario, type Scenario, scenarioIn } from "../../../support/scenario.ts";
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

const addresses = (messages: EmailMessage[]) => messages.map(({ to }) => to).sort();

describe("a worker that is killed", () => {
  /** Runs the jobs, with a kill after 1, 2, 3 … transactions each time, until they are through. */
  async function survive(
    open: (store: StoreMessages) => ReturnType<typeof vendor>["sender"],
  ): Promise<number> {
    for (let kills = 0; ; kills += 1) {
      try {
        await scenario.work({ open, killedAfter: { left: kills + 1 } });
        return kills;
      } catch (error) {
        if (!(error instanceof Killed)) throw error;
        await loseWorker(service, scenario.id);
      }
    }
  }

  test("between any two of its steps loses and doubles nothing in the mailbox", async () => {
    await scenario.crowd(12);
    const id = await scenario.campaign();
    await scenario.send(id);
    const kills = await survive((store) => ({
      ...openProvider("email", "mailbox", {}, store),
      concurrency: 4,
    }));
    expect(kills).toBeGreaterThan(3);
    expect(await scenario.tally(id)).toEqual({ sent: 12 });
    expect(await scenario.mailbox()).toHaveLength(12);
    expect((await scenario.get(id)).status).toBe("sent");
  });

  test("never repeats a message to a vendor that would deliver it twice", async () => {
    await scenario.crowd(12);
    const id = await scenario.campaign();
    await scenario.send(id);
    const { sender, given } = vendor({ repeatable: false, concurrency: 4 });
    await survive(() => sender);
    expect(new Set(addresses(given)).size).toBe(given.length);
    const counts = await scenario.tally(id);
    expect(counts.unknown).toBeGreaterThan(0);
    expect((counts.sent ?? 0) + (counts.unknown ?? 0)).toBe(12);
    expect((await scenario.get(id)).status).toBe("sent");
  });
});

test("a property that the statistics do not know is looked through once, and not once for each of its sends", async () => {
  const database = postgres(service.database.url, { max: 1, onnotice: () => {} });
  const sends = (propertyId: string, campaignId: string, count: number) => database`
    insert into campaign_sends (property_id, campaign_id, channel, status, dedupe_key, claimed_by)
    select ${propertyId}, ${campaignId}, 'email', 'sending', sha256(convert_to(i::text, 'UTF8')), uuid_v7()
    from generate_series(1, ${count}::int) i returning 1`;
  const older = await service.newProperty();
  await sends(older.id, await scenarioIn(service, older.id).campaign(), 8_000);
  await database`analyze campaign_sends`;
  const campaignId = await scenario.campaign();
  await sends(scenario.id, campaignId, 500);
  const read = await scenario.query(async (sql) => {
    const property = (await service.internals.directory.property(scenario.id))!;
    const context = { sql, property, enqueue: () => {} } as unknown as Context;
    await recoverSends(context, scenario.id, {
      campaign: { id: campaignId, journey_id: null },
      repeatable: null,
    });
    const [row] = await sql<[{ rows: number }]>`
      select (idx_tup_fetch + seq_tup_read)::int as rows from pg_stat_xact_user_tables where relname = 'campaign_sends'`;
    return row.rows;
  });
  await database.end();
  expect(await scenario.tally(campaignId)).toEqual({ unknown: 500 });
  expect(read).toBeLessThan(25_000);
});

test("two jobs of one campaign send each message once, and finish it once", async () => {
  await scenario.call("create_webhook_endpoint", {
    url: "https://crm.example.com/hooks",
    events: ["campaign.*"],
  });
  await scenario.planned(60);
  await service.internals.db.asSystem(
    (sql) => sql`
    insert into queue (id, name, property_id, input, max_attempts)
    select uuid_v7(), name, property_id, input, max_attempts from queue
    where name = 'deliver_campaign' and property_id = ${scenario.id}`,
  );
  const { sender, given } = vendor({ concurrency: 6 });
  await Promise.all([scenario.work({ open: () => sender }), scenario.work({ open: () => sender })]);
  expect(given).toHaveLength(60);
  expect(new Set(addresses(given)).size).toBe(60);
  const events = await scenario.query(
    (sql) => sql`
    select data -> 'object' -> 'stats' as stats from outbox
    where property_id = ${scenario.id} and type = 'campaign.sent'`,
  );
  expect(events).toHaveLength(1);
  expect(events[0]!.stats).toMatchObject({ audience: 60, sent: 60, pending: 0 });
});

test("a vendor is told to start no message later than a second after its check", async () => {
  const id = await scenario.planned(6);
  const { sender } = vendor({ concurrency: 4 });
  const latest: number[] = [];
  const send: typeof sender.send = async (messages, options) => {
    latest.push(performance.timeOrigin + (options.startBy ?? Number.POSITIVE_INFINITY));
    return sender.send(messages, options);
  };
  await scenario.work({ open: () => ({ ...sender, send }) });
  const [last] = await scenario.query(
    (sql) => sql<{ claimed: number }[]>`
      select extract(epoch from max(claimed_at))::float8 * 1000 as claimed from campaign_sends
      where property_id = ${scenario.id} and campaign_id = ${id}`,
  );
  expect(latest.length).toBeGreaterThan(1);
  expect(Math.max(...latest)).toBeLessThanOrEqual(last!.claimed + 1_000);
});

test("a message whose rendering the machine was too busy for is tried again, and one that cannot be rendered is not", async () => {
  const part = parseField("html", "{{ name }}{{ tier }}", "html");
  const slow = {
    toString: () => {
      for (const until = performance.now() + 300; performance.now() < until; );
      return "Ana";
    },
  };
  const values: Record<string, object> = { late: { name: slow, tier: "Gold" }, wrong: { name: "Ana" } };
  const content = {
    messageTo: ({ send_id }: { send_id: string }) =>
      ({ id: send_id, html: part.render(values[send_id] as never) }) as never,
  } as never;
  const recipients = ["late", "wrong"].map((id) => ({ send_id: id, address: "ana@example.com" }));
  const { messages, unrendered } = await renderMessages(
    content,
    recipients,
    () => "",
    Number.POSITIVE_INFINITY,
  );
  expect(messages).toEqual([]);
  expect(unrendered).toMatchObject([
    { id: "late", status: "retry", code: "template_slow" },
    { id: "wrong", status: "failed", code: "template_error" },
  ]);
});

describe("in the middle of a campaign", () => {
  test("pausing stops it, and resuming goes on with what has been edited meanwhile", async () => {
    const id = await scenario.planned(40);
    const once = first();
    const { sender, given } = vendor({
      concurrency: 8,
      answer: async (message) => {
        await once(() => scenario.pause(id));
        return accepted(message);
      },
    });
    await scenario.work({ open: () => sender });
    const before = given.length;
    expect(before).toBeLessThan(40);
    expect(await scenario.get(id)).toMatchObject({ status: "paused" });
    expect(await scenario.tally(id)).toEqual({ sent: before, pending: 40 - before });
    await scenario.call("update_campaign", { id, subject: "Corrected" });
    await scenario.resume(id);
    await scenario.work({ open: () => sender });
    expect(new Set(addresses(given)).size).toBe(40);
    expect(given).toHaveLength(40);
    expect(given[0]!.subject).toBe("Hello Ana");
    expect(given.at(-1)!.subject).toBe("Corrected");
    expect(await scenario.get(id)).toMatchObject({ status: "sent" });
  });

  test("an edit by which it cannot be sent fails the campaign and costs no recipient", async () => {
    const id = await scenario.planned(20);
    const once = first();
    const { sender, given } = vendor({
      concurrency: 4,
      answer: async (message) => {
        await once(async () => {
          await scenario.pause(id);
          await scenario.call("update_campaign", { id, body_html: "{{ player.shoe_size }}" });
          await scenario.resume(id);
        });
        return accepted(message);
      },
    });
    await scenario.work({ open: () => sender });
    expect(await scenario.get(id)).toMatchObject({
      status: "failed",
      status_reason: expect.stringContaining("shoe_size"),
    });
    expect(await scenario.tally(id)).toEqual({ sent: given.length, pending: 20 - given.length });
  });

  test("deleting it while it is paused leaves nothing behind", async () => {
    const id = await scenario.planned(4);
    await scenario.pause(id);
    await scenario.call("delete_campaign", { id });
    const { sender, given } = vendor();
    await scenario.work({ open: () => sender });
    expect(given).toEqual([]);
    expect(await scenario.tally(id)).toEqual({ cancelled: 4 });
  });

  test("cancelling ends it; what has been sent stays sent", async () => {
    const id = await scenario.planned(40);
    const once = first();
    const { sender, given } = vendor({
      concurrency: 8,
      answer: async (message) => {
        await once(() => scenario.cancel(id));
        return accepted(message);
      },
    });
    await scenario.work({ open: () => sender });
    expect(given.length).toBeLessThan(40);
    expect(await scenario.tally(id)).toEqual({ sent: given.length, cancelled: 40 - given.length });
    expect(await scenario.stats(id)).toMatchObject({
      status: "cancelled",
      audience: 40,
      cancelled: 40 - given.length,
    });
  });

  test("a player who takes consent back, is banned or moves gets nothing any more", async () => {
    const id = await scenario.planned(30);
    const last = await scenario.query(
      (sql) => sql<{ player: string; email: string; id: string }[]>`
        select p.player_id as player, p.email, p.id from campaign_sends s
        join players p on p.property_id = ${scenario.id} and p.id = s.player_id
        where s.property_id = ${scenario.id} and s.campaign_id = ${id} order by s.id desc limit 3`,
    );
    const [revoking, banned, moving] = [last[0]!, last[1]!, last[2]!];
    const once = first();
    const { sender, given } = vendor({
      concurrency: 4,
      answer: async (message) => {
        await once(async () => {
          await scenario.call("consent_revoke", {
            propertyId: scenario.id,
            email: revoking.email,
            channel: "email",
          });
          await scenario.query(
            (sql) => sql`
            update players set status = 'banned' where property_id = ${scenario.id} and id = ${banned.id}`,
          );
          await scenario.call("update_player", { id: moving.id, email: "elsewhere@example.com" });
        });
        return accepted(message);
      },
    });
    // One lane waits for the vendor; the other goes on, and must not reach them first.
    const slow = { ...sender, concurrency: 1, send: serial(sender.send) };
    await scenario.work({ open: () => slow });
    expect(given).toHaveLength(27);
    const sends = (await scenario.sends(id)).filter(({ status }) => status !== "sent");
    const found = sends.map(({ player, status, skip_reasons }) => [player, status, ...skip_reasons]);
    expect(found.sort()).toEqual(
      [
        [revoking.player, "cancelled", "suppressed"],
        [banned.player, "skipped", "banned"],
        [moving.player, "skipped", "address_changed"],
      ].sort(),
    );
  });
});

/** Runs what it is given the first time, and nothing after that. */
function first(): (work: () => Promise<unknown>) => Promise<void> {
  let over = false;
  return async (work) => {
    if (over) return;
    over = true;
    await work();
  };
}

/** One call at a time, in order. */
function serial<A extends unknown[], R>(call: (...given: A) => Promise<R>): (...given: A) => Promise<R> {
  let line: Promise<unknown> = Promise.resolve();
  return (...given) => {
    const result = line.then(() => call(...given));
    line = result.catch(() => {});
    return result;
  };
}

test("an endpoint that has asked hears of each message that is sent, and of each that fails", async () => {
  await scenario.call("create_webhook_endpoint", {
    url: "https://receiver.example/hook",
    events: ["campaign.message_sent", "campaign.message_failed"],
  });
  const id = await scenario.planned(5);
  let left = 2;
  const { sender } = vendor({
    answer: (message) =>
      left-- > 0
        ? { id: message.id, status: "failed", code: "smtp_550", message: "no such mailbox" }
        : accepted(message),
  });
  await scenario.work({ open: () => sender, only: "deliver_campaign" });
  const told = await scenario.query(
    (sql) => sql<{ type: string; object: Record<string, unknown> }[]>`
      select o.type, o.data -> 'object' as object
      from webhook_backlog b cross join unnest(b.event_ids) as e(id)
      join outbox o on o.property_id = b.property_id and o.id = e.id
      where b.property_id = ${scenario.id}`,
  );
  const of = (type: string) => told.filter((one) => one.type === type).map(({ object }) => object);
  expect(of("campaign.message_sent")).toHaveLength(3);
  expect(of("campaign.message_failed")).toHaveLength(2);
  expect(of("campaign.message_failed")[0]).toMatchObject({ campaign_id: id, error_code: "smtp_550" });
});

test("the unknown outcomes of a cancelled campaign are settled a day later too, and told once", async () => {
  await scenario.call("create_webhook_endpoint", {
    url: "https://receiver.example/hook",
    events: ["campaign.message_failed"],
  });
  const id = await scenario.planned(4);
  let cancelled: Promise<unknown> | undefined;
  const { sender } = vendor({
    concurrency: 2,
    answer: async (message) => {
      cancelled ??= scenario.call("cancel_campaign", { campaignId: id, propertyId: scenario.id });
      await cancelled;
      return { id: message.id, status: "unknown", code: "cut", message: "no answer" };
    },
  });
  await scenario.work({ open: () => sender });
  expect(await scenario.tally(id)).toEqual({ unknown: expect.any(Number), cancelled: expect.any(Number) });
  await scenario.query(
    (sql) => sql`
      update campaign_sends set claimed_at = ${shifted("claimed_at", "-25 hours")} where property_id = ${scenario.id}`,
  );
  await service.internals.db.asSystem(
    (sql) =>
      sql`update queue set run_at = now() where property_id = ${scenario.id} and name = 'settle_sends'`,
  );
  const told = () =>
    scenario.query(
      (sql) => sql<{ send: string; status: string }[]>`
        select data #>> '{object,id}' as send, data #>> '{object,status}' as status from outbox
        where property_id = ${scenario.id} and type = 'campaign.message_failed' order by send`,
    );
  expect(await told()).toEqual([]);
  const settled = (await scenario.sends(id)).filter(({ status }) => status === "unknown");
  for (const _ of [1, 2]) {
    await scenario.work();
    await service.internals.db.asSystem((sql) =>
      enqueue(sql, settleSends, { campaignId: id }, { propertyId: scenario.id }),
    );
  }
  expect(await scenario.tally(id)).toEqual({ failed: expect.any(Number), cancelled: expect.any(Number) });
  const ids = settled.map(({ id: send }) => send).sort();
  expect(await told()).toEqual(ids.map((send) => ({ send, status: "failed" })));
});
