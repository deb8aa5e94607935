import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { vendor } from "../../../support/job-runner.ts";
import { eachInOwnProperty, letter, MANY, repeats, TEST, type VariantScenario } from "./scenario.ts";

let scenario: VariantScenario;
eachInOwnProperty((own) => {
  scenario = own;
});

describe("a campaign with variants", () => {
  test("tries them on a share at once, and sends the rest the one that more people opened", async () => {
    await scenario.listen();
    const id = await scenario.planned(MANY);
    const { sender, given } = vendor();
    await scenario.work({ open: () => sender });
    const tried = await scenario.drawn(id);
    expect(tried.size / MANY).toBeGreaterThan(0.25);
    expect(tried.size / MANY).toBeLessThan(0.75);
    expect(new Map(given.map((one) => [one.to, letter(one)]))).toEqual(tried);
    const waiting = (await scenario.sends(id)).filter(({ status }) => status === "deferred");
    expect(waiting).toHaveLength(MANY - tried.size);
    for (const one of waiting) {
      expect(one).toMatchObject({ variant_id: null, skip_reasons: ["ab_test"] });
      expect(Math.abs(one.wait! - 3600)).toBeLessThan(60);
    }
    expect(await scenario.get(id)).toMatchObject({ status: "sending", ab_result: null });
    expect(await scenario.stats(id)).toMatchObject({
      sent: tried.size,
      deferred: MANY - tried.size,
      ab_test: { metric: "open", leader_id: null, verdict: "not_enough_messages", winner_id: null },
    });
    // A machine's openings decide nothing.
    await scenario.engage(id, "a", 20, "opened_at");
    await scenario.engage(id, "b", 6);
    expect((await scenario.stats(id)).ab_test).toMatchObject({
      variants: [
        { id: "a", count: 0, rate: 0 },
        { id: "b", count: 6 },
      ],
      leader_id: "b",
      winner_id: null,
    });

    await scenario.timePasses(id);
    await scenario.work({ open: () => sender });
    expect(given).toHaveLength(MANY);
    expect(repeats(given)).toBe(0);
    expect(given.slice(tried.size).map(letter)).toEqual(Array(MANY - tried.size).fill("b"));
    const record = await scenario.get(id);
    const sampleOf = (variant: string) => [...tried.values()].filter((one) => one === variant).length;
    expect(record).toMatchObject({ status: "sent" });
    expect(record.ab_result).toMatchObject({
      winner_id: "b",
      reason: "best",
      metric: "open",
      variants: [
        { id: "a", sample: sampleOf("a"), count: 0, rate: 0 },
        { id: "b", sample: sampleOf("b"), count: 6, rate: 6 / sampleOf("b") },
      ],
    });
    const events = await scenario.winners();
    expect(events).toHaveLength(1);
    expect(events[0]!.data.object).toMatchObject({ id, ab_result: { winner_id: "b" } });
    const { by_variant, sent, ab_test } = await scenario.stats(id);
    expect(ab_test).toMatchObject({
      leader_id: "b",
      runner_up_id: "a",
      lead: 6 / sampleOf("b"),
      winner_id: "b",
    });
    expect(ab_test.variants).toEqual(record.ab_result.variants);
    expect(by_variant.a).toMatchObject({
      audience: sampleOf("a"),
      sent: sampleOf("a"),
      opens_human: 0,
      open_rate: 0,
    });
    expect(by_variant.b).toMatchObject({ opens_human: 6, open_rate: 6 / (MANY - sampleOf("a")) });
    expect([sent, by_variant.a.sent + by_variant.b.sent]).toEqual([MANY, MANY]);
  });

  test("gives one address one variant once, the one that its hash names, though two players have it", async () => {
    await scenario.crowd(60);
    await scenario.query(
      (sql) => sql`
        insert into players (property_id, player_id, email, email_hash, first_name, consents)
        select property_id, 'twin-' || player_id, email, email_hash, first_name, consents from players
        where property_id = ${scenario.id} returning 1`,
    );
    const test = {
      ...TEST,
      test_percent: 100,
      variants: [
        { id: "a", weight: 3, subject: "Offer A" },
        { id: "b", subject: "Offer B" },
      ],
    };
    const id = await scenario.campaign({ ab_test: test });
    await scenario.send(id);
    const { sender, given } = vendor();
    await scenario.work({ open: () => sender });
    expect(given).toHaveLength(60);
    expect(repeats(given)).toBe(0);
    const hashes = await scenario.query(
      (sql) => sql<{ email: string; hash: Buffer }[]>`
        select distinct email, email_hash as hash from players where property_id = ${scenario.id}`,
    );
    const expected = hashes.map(({ email, hash }) => {
      const draw = createHash("sha256").update(`${id}|1|variant|`).update(hash).digest().readUInt32BE();
      return [email, draw < 0.75 * 2 ** 32 ? "a" : "b"] as const;
    });
    expect(new Map(given.map((one) => [one.to, letter(one)]))).toEqual(new Map(expected));
  });

  test("of which all recipients get one only announces the winner, when the time is over", async () => {
    await scenario.listen();
    const id = await scenario.planned(60, { test_percent: 100 });
    await scenario.work();
    expect(await scenario.get(id)).toMatchObject({ status: "sent", ab_result: null });
    await scenario.engage(id, "a", 4);
    await scenario.timePasses(id);
    await scenario.work();
    expect(await scenario.get(id)).toMatchObject({
      status: "sent",
      ab_result: { winner_id: "a", reason: "best" },
    });
    expect(await scenario.winners()).toHaveLength(1);
  });

  test.each([
    ["too few were tried", { min_sample: 1000 }, 3, "too_few", "a"],
    [
      "too few were tried, and another is named for that",
      { min_sample: 1000, fallback_variant_id: "b" },
      3,
      "too_few",
      "b",
    ],
    ["nobody opened either", { fallback_variant_id: "b" }, 0, "tie", "b"],
  ])("falls back where %s", async (_, changes, opened, reason, winner_id) => {
    const id = await scenario.planned(MANY, changes);
    await scenario.work();
    await scenario.engage(id, "a", opened);
    await scenario.timePasses(id);
    await scenario.work();
    expect(await scenario.get(id)).toMatchObject({ status: "sent", ab_result: { reason, winner_id } });
  });

  test("decided by conversions counts those that no one has counted yet", async () => {
    const goal = { event: "deposit", window_hours: 2 };
    const id = await scenario.planned(MANY, { metric: "conversion" }, { goal });
    await scenario.work({ only: "deliver_campaign" });
    for (const [email, variant] of await scenario.drawn(id)) {
      if (variant !== "b") continue;
      const player_id = email.replace(/^p(\d+)@.*/, "p-$1");
      await scenario.call("create_player_event", { player_id, name: "deposit" });
    }
    await scenario.timePasses(id);
    await scenario.work();
    const { ab_result } = await scenario.get(id);
    expect(ab_result).toMatchObject({ winner_id: "b", reason: "best", variants: [{ rate: 0 }, { rate: 1 }] });
  });

  test("passes the same gate with each of them: who is blocked after the plan gets none", async () => {
    const id = await scenario.planned(60);
    await scenario.work();
    const before = await scenario.sends(id);
    const waiting = before.filter(({ status }) => status === "deferred");
    await scenario.call("create_suppression", { channel: "email", address: waiting[0]!.email });
    await scenario.query(
      (sql) => sql`
        update players set consents = '{}' where property_id = ${scenario.id} and email = ${waiting[1]!.email}`,
    );
    await scenario.timePasses(id);
    const { sender, given } = vendor();
    await scenario.work({ open: () => sender });
    expect(given).toHaveLength(waiting.length - 2);
    const after = new Map((await scenario.sends(id)).map((one) => [one.email, one]));
    expect(after.get(waiting[0]!.email)).toMatchObject({
      status: expect.stringMatching(/skipped|cancelled/),
    });
    expect(after.get(waiting[1]!.email)).toMatchObject({ status: "skipped", skip_reasons: ["no_consent"] });
    const { by_variant } = await scenario.stats(id);
    for (const variant of ["a", "b"]) {
      const theirs = [...after.values()].filter(({ variant_id }) => variant_id === variant);
      const counted = Object.entries(Object.groupBy(theirs, ({ status }) => status));
      const states = Object.fromEntries(counted.map(([status, some]) => [status, some!.length]));
      expect(by_variant[variant]).toMatchObject({ audience: theirs.length, pending: 0, ...states });
    }
  });
});
