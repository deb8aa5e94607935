import postgres from "postgres";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startService, type TestService } from "../../support/service.ts";
import { chain, type JourneyClock, journeyClock } from "./clock.ts";

const HOUR = 60;

let service: TestService;
let clock: JourneyClock;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());
beforeEach(async () => {
  clock = await journeyClock(service);
});

const delay = (id: string, amount: number, unit = "hours") => ({
  id,
  type: "delay",
  config: { by: "duration", duration: { amount, unit } },
});
const message = (id: string, more: object = {}) => ({
  id,
  type: "message",
  config: { channel: "email", subject: "Hi", body_html: "<p>Hi</p>", ...more },
});
const end = { id: "end", type: "exit", config: {} };

/** Makes `count` players who may be emailed: p0, p1 and so on. */
async function crowd(count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) {
    ids.push(await clock.scenario.player({ player_id: `p${index}`, email: `p${index}@example.com` }));
  }
  return ids;
}

const states = async (journey: string) =>
  (await clock.entries(journey)).map(({ player, version, node, status, exit_reason }) => ({
    player,
    at: `${version}/${node}`,
    status: exit_reason ?? status,
  }));
const about = (journeyId: string) => ({ journeyId, propertyId: clock.scenario.id });
const sends = (journey: string) =>
  clock.scenario.query(
    (sql) => sql<{ player: string; status: string; reasons: string[] }[]>`
      select p.player_id as player, s.status, s.skip_reasons as reasons
      from campaign_sends s
        join campaigns c on c.property_id = ${clock.scenario.id} and c.id = s.campaign_id and c.journey_id = ${journey}
        left join players p on p.property_id = ${clock.scenario.id} and p.id = s.player_id
      where s.property_id = ${clock.scenario.id} order by p.player_id, s.created_at`,
  );

describe("publishing again", () => {
  /** One player waits at rest, one at more; the new version has rest, shorter, and no more. */
  async function edited(onPublish: string) {
    const [ana, ben] = await crowd(2);
    const journey = await clock.published(chain([delay("rest", 10), delay("more", 10), end]));
    await clock.enroll(journey, [ana!]);
    await clock.pass(1, journey);
    await clock.pass(10 * HOUR, journey);
    await clock.enroll(journey, [ben!]);
    await clock.pass(1, journey);
    const draft = chain([delay("rest", 1), end]);
    await clock.scenario.call("update_journey", { id: journey, draft_definition: draft });
    const preview = await clock.scenario.call("publish_journey", {
      ...about(journey),
      onPublish,
      dry_run: true,
    });
    const { inside } = await clock.scenario.call("publish_journey", { ...about(journey), onPublish });
    expect(inside).toEqual(preview.inside);
    for (const fate of ["finish", "move", "exit"]) {
      expect(preview.samples.filter((sample: { fate: string }) => sample.fate === fate)).toHaveLength(
        inside[fate],
      );
    }
    return { journey, inside };
  }

  test("finish_old lets everybody finish the version that they entered", async () => {
    const { journey, inside } = await edited("finish_old");
    expect(inside).toEqual({ finish: 2, move: 0, exit: 0 });
    await clock.pass(5 * HOUR, journey);
    expect((await states(journey)).map(({ at }) => at)).toEqual(["1/more", "1/rest"]);
    await clock.pass(5 * HOUR, journey);
    await clock.pass(10 * HOUR, journey);
    expect((await states(journey)).map(({ status }) => status)).toEqual(["completed", "completed"]);
  });

  test("move_matching_nodes moves who stands at a node of the same id and type, whose new wait holds at once", async () => {
    const { journey, inside } = await edited("move_matching_nodes");
    expect(inside).toEqual({ finish: 0, move: 1, exit: 1 });
    expect(await states(journey)).toEqual([
      { player: "p0", at: "1/more", status: "workflow_changed" },
      { player: "p1", at: "2/rest", status: "active" },
    ]);
    await clock.pass(HOUR, journey);
    expect((await states(journey))[1]).toEqual({ player: "p1", at: "2/end", status: "completed" });
    expect(await clock.verify(journey)).toMatchObject({ ok: true });
  });

  test("exit_old takes everybody out", async () => {
    const { journey, inside } = await edited("exit_old");
    expect(inside).toEqual({ finish: 0, move: 0, exit: 2 });
    expect((await states(journey)).map(({ status }) => status)).toEqual([
      "workflow_changed",
      "workflow_changed",
    ]);
    expect(await clock.verify(journey)).toMatchObject({ ok: true });
  });

  test("a version keeps the rules of its segments and the texts of its templates", async () => {
    const { scenario } = clock;
    const [ana] = await crowd(1);
    const { id: segment } = await scenario.call("create_segment", {
      name: "Ours",
      type: "dynamic",
      conditions: [{ field: "player_id", operator: "eq", value: "p0" }],
    });
    const { id: template_id } = await scenario.call("create_template", {
      name: "T",
      channel: "email",
      subject: "Old words",
      html: "<p>Old words</p>",
    });
    const conditions = [{ field: `segment.${segment}`, operator: "in_segment" }];
    const journey = await clock.published({
      nodes: [
        { id: "in", type: "trigger", config: { on: "api" } },
        { id: "ours", type: "branch", config: { branches: [{ label: "a", conditions }] } },
        { id: "hello", type: "message", config: { channel: "email", template_id } },
        end,
      ],
      edges: [
        { from: "in", to: "ours" },
        { from: "ours", to: "hello", label: "a" },
        { from: "ours", to: "end", label: "otherwise" },
        { from: "hello", to: "end" },
      ],
    });
    await scenario.call("update_segment", {
      id: segment,
      conditions: [{ field: "player_id", operator: "eq", value: "nobody" }],
    });
    await scenario.call("update_template", { id: template_id, subject: "New words" });
    await clock.enroll(journey, [ana!]);
    await clock.pass(1, journey);
    await clock.deliver();
    expect((await scenario.mailbox()).map(({ subject }) => subject)).toEqual(["Old words"]);
  });
});

describe("a pause", () => {
  test("stops entries, steps and messages; resuming lets the late go on at once", async () => {
    const [ana, ben, cora] = await crowd(3);
    const journey = await clock.published(chain([message("hello"), delay("rest", 1), end]));
    await clock.enroll(journey, [ana!, ben!]);
    await clock.pass(1, journey);
    await clock.scenario.call("pause_journey", about(journey));
    await expect(clock.enroll(journey, [cora!])).rejects.toThrow("paused");
    await clock.deliver();
    expect((await sends(journey)).map(({ status }) => status)).toEqual(["pending", "pending"]);
    await clock.job(journey);
    expect((await states(journey)).map(({ at }) => at)).toEqual(["1/hello", "1/hello"]);
    const { waiting_messages } = await clock.scenario.call("resume_journey", about(journey));
    expect(waiting_messages).toBe(2);
    await clock.deliver();
    expect((await sends(journey)).map(({ status }) => status)).toEqual(["sent", "sent"]);
    await clock.pass(1, journey);
    expect((await states(journey)).map(({ at }) => at)).toEqual(["1/rest", "1/rest"]);
  });

  test("of an hour makes waits an hour longer with shift, and without it those that ended are over", async () => {
    const [ana] = await crowd(1);
    const wakeAt = async (shift: boolean) => {
      const journey = await clock.published(chain([delay("rest", 5), end]), { name: `shift ${shift}` });
      await clock.enroll(journey, [ana!]);
      await clock.job(journey);
      const before = (await clock.entries(journey))[0]!.wake_at!;
      await clock.scenario.call("pause_journey", about(journey));
      await clock.scenario.query(
        (sql) => sql`
          update journeys set paused_at = now() - interval '1 hour'
          where property_id = ${clock.scenario.id} and id = ${journey}`,
      );
      await clock.scenario.call("resume_journey", { ...about(journey), shift });
      const after = (await clock.entries(journey))[0]!.wake_at!;
      return Math.round((Date.parse(after) - Date.parse(before)) / 60_000);
    };
    expect(await wakeAt(true)).toBe(60);
    expect(await wakeAt(false)).toBe(0);
  });
});

test("archiving ends it for everybody, cancels what has not left, and lets nobody in", async () => {
  const [ana, ben] = await crowd(2);
  const journey = await clock.published(chain([message("hello"), end]));
  await clock.enroll(journey, [ana!]);
  await clock.pass(1, journey);
  expect(await clock.scenario.call("archive_journey", about(journey))).toMatchObject({ exited: 1 });
  await clock.deliver();
  expect(await sends(journey)).toMatchObject([{ status: "cancelled" }]);
  await expect(clock.enroll(journey, [ben!])).rejects.toThrow("archived");
  expect((await states(journey)).map(({ status }) => status)).toEqual(["journey_archived"]);
  expect(await clock.verify(journey)).toMatchObject({ ok: true });
});

test("at its end the journey is over for everybody who moves then", async () => {
  const [ana] = await crowd(1);
  const ends_at = new Date(Date.now() + 2 * HOUR * 60_000).toISOString();
  const journey = await clock.published(chain([delay("rest", 3), message("late"), end]), { ends_at });
  await clock.enroll(journey, [ana!]);
  await clock.pass(1, journey);
  await clock.pass(3 * HOUR, journey);
  expect(await states(journey)).toEqual([{ player: "p0", at: "1/rest", status: "journey_ended" }]);
  expect(await sends(journey)).toEqual([]);
});

describe("a goal", () => {
  test("counts within its window alone, and takes nobody out where it should not", async () => {
    const [ana, ben] = await crowd(2);
    const journey = await clock.published(chain([delay("rest", 2), delay("more", 5), end]), {
      goal: { event: { name: "deposit" }, window_hours: 3, exit_on_goal: false },
    });
    await clock.enroll(journey, [ana!, ben!]);
    await clock.pass(1, journey);
    await clock.happens(ana!, "deposit");
    await clock.pass(2 * HOUR, journey);
    await clock.pass(2 * HOUR, journey);
    await clock.happens(ben!, "deposit");
    await clock.pass(5 * HOUR, journey);
    expect((await clock.entries(journey)).map(({ status, goal }) => [status, goal])).toEqual([
      ["completed", true],
      ["completed", false],
    ]);
    expect((await clock.report(journey)).figures).toMatchObject({ goal_reached: 1, completed: 2 });
  });
});

describe("messages", () => {
  test("to two players who share an address are one; the second player moves on", async () => {
    const { scenario } = clock;
    const ids = [
      await scenario.player({ player_id: "p0", email: "same@example.com" }),
      await scenario.player({ player_id: "p1", email: "same@example.com" }),
    ];
    const journey = await clock.published(chain([message("hello"), end]));
    await clock.enroll(journey, ids);
    await clock.pass(1, journey);
    await clock.deliver();
    await clock.pass(1, journey);
    expect((await sends(journey)).map(({ status, reasons }) => [status, ...reasons]).toSorted()).toEqual([
      ["sent"],
      ["skipped", "duplicate_address"],
    ]);
    expect((await states(journey)).map(({ status }) => status)).toEqual(["completed", "completed"]);
    expect(await scenario.mailbox()).toHaveLength(1);
  });

  test("go to nobody behind the answer to a refusal, an exclusion or an erasure", async () => {
    const { scenario } = clock;
    const [ana, ben, cora, dora] = await crowd(4);
    const journey = await clock.published(chain([message("hello"), end]));
    await clock.enroll(journey, [ana!, ben!, cora!, dora!]);
    await clock.pass(1, journey);
    await scenario.call("consent_revoke", {
      propertyId: scenario.id,
      playerId: ana,
      channel: "email",
      method: "agent",
    });
    await scenario.call("create_self_exclusion", { player_id: ben });
    await scenario.call("data_deletion", { playerId: cora, propertyId: scenario.id });
    expect((await states(journey)).map(({ status }) => status).toSorted()).toEqual([
      "active",
      "consent_revoked",
      "erased",
      "self_excluded",
    ]);
    await clock.deliver();
    expect((await scenario.mailbox()).map(({ recipient }) => recipient)).toEqual(["p3@example.com"]);
  });

  test("have no player any more who has refused the last of their channels, in any way", async () => {
    const { scenario } = clock;
    const [ana, ben, cora] = await crowd(3);
    const text = { id: "text", type: "message", config: { channel: "sms", body_text: "Come back" } };
    const journey = await clock.published(chain([message("hello"), text, end]));
    await clock.enroll(journey, [ana!, ben!, cora!]);
    const answer = { propertyId: scenario.id };
    await scenario.call("consent_revoke", { ...answer, playerId: ana, channel: "email" });
    await scenario.call("consent_record", {
      ...answer,
      playerId: ben,
      channel: "email",
      consentGiven: false,
    });
    await scenario.call("consent_revoke", { ...answer, playerId: cora, channel: "sms" });
    expect((await states(journey)).map(({ status }) => status)).toEqual(["active", "active", "active"]);
    await scenario.call("consent_revoke", { ...answer, playerId: ana, channel: "sms" });
    await scenario.call("consent_record", { ...answer, playerId: ben, channel: "sms", consentGiven: false });
    expect((await states(journey)).map(({ status }) => status).toSorted()).toEqual([
      "active",
      "consent_revoked",
      "consent_revoked",
    ]);
    expect(await clock.verify(journey)).toMatchObject({ ok: true });
  });

  test("stay for players whose refusal is older than their consent, or of another channel", async () => {
    const { scenario } = clock;
    const [ana, ben] = await crowd(2);
    const journey = await clock.published(chain([message("hello"), end]));
    const refusal = { propertyId: scenario.id, consentGiven: false };
    await scenario.call("consent_record", { ...refusal, playerId: ben, channel: "email" });
    await clock.enroll(journey, [ana!, ben!]);
    await scenario.call("consent_record", {
      ...{ ...refusal, playerId: ana, channel: "email" },
      occurredAt: "2020-01-01T00:00:00Z",
    });
    // Ben has refused emails before he came in, and a text now.
    await scenario.call("consent_record", { ...refusal, playerId: ben, channel: "sms" });
    expect((await states(journey)).map(({ status }) => status)).toEqual(["active", "active"]);
  });

  test("have no duplicate any more whose kept record has refused their channel", async () => {
    const { scenario } = clock;
    const [ana, ben] = await crowd(2);
    const journey = await clock.published(chain([message("hello"), end]));
    const other = await clock.published(chain([delay("rest", 1), end]), { name: "Rest" });
    await scenario.call("consent_revoke", { propertyId: scenario.id, playerId: ana, channel: "email" });
    for (const one of [journey, other]) await clock.enroll(one, [ben!]);
    await scenario.call("merge_players", { propertyId: scenario.id, playerId: ana, duplicateId: ben });
    expect((await states(journey)).map(({ status }) => status)).toEqual(["consent_revoked"]);
    expect((await states(other)).map(({ status }) => status)).toEqual(["active"]);
  });

  test("expire by their own age, not by the journey's", async () => {
    const { scenario } = clock;
    const [ana, ben] = await crowd(2);
    const journey = await clock.published(chain([message("hello"), end]));
    await clock.enroll(journey, [ana!]);
    await clock.pass(1, journey);
    await scenario.query(async (sql) => {
      await sql`
        update campaigns set started_at = now() - interval '30 days'
        where property_id = ${scenario.id} and journey_id = ${journey}`;
      await sql`
        update campaign_sends set created_at = now() - interval '73 hours' where property_id = ${scenario.id}`;
    });
    await clock.enroll(journey, [ben!]);
    await clock.job(journey);
    await clock.deliver();
    expect(await sends(journey)).toMatchObject([
      { player: "p0", status: "skipped", reasons: ["expired"] },
      { player: "p1", status: "sent" },
    ]);
  });
});

test("a rule that fails pauses the journey with its node; nobody moves, and nobody is lost", async () => {
  const { scenario } = clock;
  const [ana, ben] = await crowd(2);
  await scenario.call("create_custom_field", { key: "points", label: "Points", type: "number" });
  const journey = await clock.published(
    chain([
      delay("rest", 1, "minutes"),
      {
        id: "wait",
        type: "wait_until",
        config: {
          conditions: [{ field: "custom.points", operator: "gte", value: 1 }],
          timeout: { amount: 1, unit: "days" },
        },
      },
      end,
    ]),
  );
  await clock.enroll(journey, [ana!, ben!]);
  await clock.job(journey);
  await scenario.query(
    (sql) => sql`
      update journey_enrollments set wake_at = now() where property_id = ${scenario.id} and journey_id = ${journey}`,
  );
  // As no operation leaves a version: the field that it names is gone from it.
  const admin = postgres(service.database.url, { max: 1 });
  await admin`update journey_versions set referred = referred || '{"customs": []}' where journey_id = ${journey}`;
  await admin.end();
  await clock.job(journey);
  expect(await scenario.call("get_journey", { id: journey })).toMatchObject({
    status: "paused",
    status_reason: expect.stringContaining("The node wait:"),
  });
  expect((await states(journey)).map(({ at, status }) => [at, status])).toEqual([
    ["1/rest", "active"],
    ["1/rest", "active"],
  ]);
});

test("validating warns of marketing by text to players whose consent is not in writing", async () => {
  const { scenario } = clock;
  const levels = [
    ["express", "+12025550101"],
    ["express_written", "+12025550102"],
    ["express", "+493012345678"],
  ] as const;
  for (const [consentLevel, phone] of levels) {
    const playerId = await scenario.player({ email: `${phone.slice(1)}@example.com`, phone }, false);
    const evidence = { consentSource: "desk", consentVersion: "1" };
    const given = { playerId, channel: "sms", consentGiven: true, consentLevel, ...evidence };
    await scenario.call("consent_record", { propertyId: scenario.id, ...given });
  }
  const text = (config: object) => ({
    id: "text",
    type: "message",
    config: { channel: "sms", body_text: "Hi", ...config },
  });
  const warningsOf = async (config: object) => {
    const { id } = await scenario.call("create_journey", {
      name: JSON.stringify(config),
      draft_definition: chain([text(config), end]),
    });
    return (await scenario.call("validate_journey", about(id))).warnings;
  };
  expect(await warningsOf({})).toEqual([
    expect.objectContaining({ node: "text", message: expect.stringMatching(/^1 player has agreed to sms/) }),
  ]);
  expect(await warningsOf({ is_transactional: true })).toEqual([]);
});

test("validating warns of messages that come at an hour that is closed", async () => {
  const { scenario } = clock;
  await scenario.call("create_quiet_hours_rule", {
    country: "US",
    channel: ["email"],
    open_local: "09:00",
    close_local: "20:00",
    action: "skip",
  });
  const night = { id: "night", type: "delay", config: { by: "until_local_time", time: "21:00" } };
  const noon = { id: "noon", type: "delay", config: { by: "until_local_time", time: "12:00" } };
  const { id } = await scenario.call("create_journey", {
    name: "Late",
    draft_definition: chain([night, message("late"), noon, message("early"), end]),
  });
  const { ok, warnings } = await scenario.call("validate_journey", about(id));
  expect(ok).toBe(true);
  expect(warnings).toEqual([
    expect.objectContaining({ node: "late", message: expect.stringContaining("the message is not sent") }),
  ]);
});
