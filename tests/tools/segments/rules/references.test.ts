import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Audience, compileConditions } from "#tools/segments/rules/compile.ts";
import { audienceMatching, audienceOf, loadSegments } from "#tools/segments/rules/references.ts";
import { ago, named, openSegments, row } from "./scenario.ts";

let segments: Awaited<ReturnType<typeof openSegments>>;

beforeAll(async () => {
  segments = await openSegments();
});

afterAll(() => segments.drop());

describe("the facts of other tables", () => {
  test("a suppression counts by player or by the channel's address, while it is in force", async () => {
    const [phone, email, other] = [Buffer.from("p"), Buffer.from("e"), Buffer.from("o")];
    const ids = { byId: randomUUID() };
    const property = await segments.propertyWith([
      { player_id: "by_id", id: ids.byId },
      { player_id: "by_phone", phone_hash: phone },
      { player_id: "by_email", email_hash: email },
      { player_id: "free", phone_hash: other, email_hash: other },
    ]);
    await segments.add(property, "suppressions", [
      { channel: "all", address_hash: Buffer.from("x"), reason: "manual", player_id: ids.byId },
      { channel: "sms", address_hash: phone, reason: "stop_keyword" },
      { channel: "email", address_hash: email, reason: "complaint", expires_at: ago(-1) },
      { channel: "email", address_hash: other, reason: "manual", lifted_at: ago(1) },
      { channel: "sms", address_hash: other, reason: "manual", expires_at: ago(1) },
    ]);
    const on = (channel: string, value = true) =>
      segments.matching(property, { conditions: [row(`suppressed.${channel}`, "eq", value)] });

    expect(await on("sms")).toEqual(["by_id", "by_phone"]);
    expect(await on("voice")).toEqual(["by_id"]);
    expect(await on("email")).toEqual(["by_email", "by_id"]);
    expect(await on("push")).toEqual(["by_id"]);
    expect(await on("all")).toEqual(["by_id"]);
    expect(await on("email", false)).toEqual(["by_phone", "free"]);
  });

  test("a campaign is known by who was sent it, opened it and clicked in it", async () => {
    const [campaign, ann, bob] = [randomUUID(), randomUUID(), randomUUID()];
    const property = await segments.propertyWith([
      { player_id: "ann", id: ann },
      { player_id: "bob", id: bob },
      { player_id: "cat" },
    ]);
    await segments.add(property, "campaigns", [{ id: campaign, name: "May" }]);
    const send = { campaign_id: campaign, channel: "email" };
    await segments.add(property, "campaign_sends", [
      { ...send, player_id: ann, status: "delivered", dedupe_key: Buffer.from("1"), opened_at: ago(1) },
      {
        ...{ ...send, player_id: bob, status: "skipped", dedupe_key: Buffer.from("2") },
        ...{ skip_reasons: ["holdout"], converted_at: ago(1) },
      },
    ]);
    const on = (what: string, operator: string, value: unknown) =>
      segments.matching(property, { conditions: [row(`campaign.${campaign}.${what}`, operator, value)] });

    expect(await on("sent", "eq", true)).toEqual(["ann"]);
    expect(await on("sent", "neq", true)).toEqual(["bob", "cat"]);
    expect(await on("opened", "is", true)).toEqual(["ann"]);
    expect(await on("clicked", "is", false)).toEqual(["ann", "bob", "cat"]);
    expect(await on("held_out", "eq", true)).toEqual(["bob"]);
    expect(await on("converted", "eq", true)).toEqual(["bob"]);
    expect(await on("redeemed", "eq", true)).toEqual([]);
  });

  test("the last message is that of a channel or of any, without tests and messages that never went", async () => {
    const [ann, bob] = [randomUUID(), randomUUID()];
    const property = await segments.propertyWith([
      { player_id: "ann", id: ann },
      { player_id: "bob", id: bob },
      { player_id: "cat" },
    ]);
    const send = (player_id: string, key: string, fields: object) => ({
      ...{ player_id, channel: "email", status: "sent", dedupe_key: Buffer.from(key), ...fields },
    });
    await segments.add(property, "campaign_sends", [
      send(ann, "1", { sent_at: ago(40) }),
      send(ann, "2", { sent_at: ago(2), channel: "sms", status: "delivered" }),
      send(bob, "3", { sent_at: ago(1), status: "failed" }),
      send(bob, "4", { sent_at: ago(9) }),
      send(bob, "5", { sent_at: ago(50), channel: "voice" }),
    ]);
    const asked = (channel: string, operator: string, value?: unknown) =>
      segments.matching(property, { conditions: [row(`last_sent.${channel}`, operator, value)] });
    expect(await asked("any", "in_last_days", 7)).toEqual(["ann"]);
    expect(await asked("email", "in_last_days", 7)).toEqual([]);
    expect(await asked("email", "in_last_days", 30)).toEqual(["bob"]);
    expect(await asked("sms", "is_set")).toEqual(["ann"]);
    expect(await asked("any", "is_not_set")).toEqual(["cat"]);
    expect(await asked("voice", "is_set")).toEqual(["bob"]);
    expect(await asked("push", "is_set")).toEqual([]);
    await expect(asked("pigeon", "is_set")).rejects.toThrow();
  });

  test("a deleted player is in no audience, not even as a member of a list", async () => {
    const [gone, list] = [randomUUID(), randomUUID()];
    const property = await segments.propertyWith([
      { player_id: "gone", id: gone, deleted_at: ago(1) },
      { player_id: "here" },
    ]);
    await segments.add(property, "segments", [{ id: list, name: "List", type: "static" }]);
    await segments.add(property, "segment_members", [{ segment_id: list, player_id: gone }]);
    expect(await segments.matching(property, { conditions: [row("tier", "is_not_set")] })).toEqual(["here"]);
    expect(await segments.matching(property, { conditions: [row(`segment.${list}`, "in_segment")] })).toEqual(
      [],
    );
  });
});

describe("segments", () => {
  const ids = { list: randomUUID(), gold: randomUUID(), rest: randomUUID(), mixed: randomUUID() };
  const one = { ann: randomUUID(), bob: randomUUID(), cat: randomUUID(), dan: randomUUID() };

  let home: string;

  beforeAll(async () => {
    home = await segments.propertyWith([
      { player_id: "ann", id: one.ann, tier: "Gold", adt: 10 },
      { player_id: "bob", id: one.bob, tier: "Gold", adt: 500 },
      { player_id: "cat", id: one.cat, tier: null, adt: 500 },
      { player_id: "dan", id: one.dan, tier: null, adt: null },
    ]);
    await segments.add(home, "segments", [
      { id: ids.list, name: "List", type: "static" },
      { id: ids.gold, name: "Gold", conditions: [row("tier", "eq", "Gold")] },
      { id: ids.rest, name: "Rest", conditions: [row(`segment.${ids.gold}`, "not_in_segment")] },
      {
        id: ids.mixed,
        name: "Mixed",
        logic: "or",
        conditions: [row(`segment.${ids.list}`, "eq", true)],
        groups: [
          { logic: "and", conditions: [row(`segment.${ids.gold}`, "in_segment"), row("adt", "gt", 100)] },
        ],
        exclude_segment_ids: [ids.rest],
      },
    ]);
    await segments.add(home, "segment_members", [
      { segment_id: ids.list, player_id: one.ann },
      { segment_id: ids.list, player_id: one.dan },
    ]);
  });

  const of = (id: string) =>
    segments.as(home, async (sql) => named(sql, home, await audienceOf(sql, home, id)));

  test("a static segment is its members, a dynamic one its rules", async () => {
    expect(await of(ids.list)).toEqual(["ann", "dan"]);
    expect(await of(ids.gold)).toEqual(["ann", "bob"]);
    expect(await of(ids.gold.toUpperCase())).toEqual(["ann", "bob"]);
  });

  test("players outside a segment include those for whom its rule is unknown", async () => {
    expect(await of(ids.rest)).toEqual(["cat", "dan"]);
    const conditions = [row(`segment.${ids.gold}`, "eq", false)];
    expect(await segments.matching(home, { conditions })).toEqual(["cat", "dan"]);
  });

  test("a segment leaves out the segments that it excludes", async () => {
    expect(await of(ids.mixed)).toEqual(["ann", "bob"]);
  });

  test("an exclusion whose rule is unknown for a player leaves the player in", async () => {
    const kept = randomUUID();
    await segments.add(home, "segments", [
      { id: kept, name: "Kept", conditions: [row("adt", "gte", 0)], exclude_segment_ids: [ids.gold] },
    ]);
    expect(await of(kept)).toEqual(["cat"]);
  });

  test("an audience can be inserted from, behind values of one's own", async () => {
    const job = randomUUID();
    const inserted = await segments.as(home, async (sql) => {
      const audience = await audienceOf(sql, home, ids.mixed);
      return sql<{ player_id: string }[]>`
        insert into campaign_sends (property_id, player_id, channel, status, dedupe_key)
        select p.property_id, p.id, ${`email ${job}`}::text, 'pending', convert_to(p.id::text, 'UTF8')
        from players p where p.property_id = ${home} and (${audience}) returning player_id`;
    });
    expect(inserted.map((each) => each.player_id).sort()).toEqual([one.ann, one.bob].sort());
  });

  test("a rival's segment and an unknown one are told apart by nobody", async () => {
    for (const [property, id] of [
      [await segments.propertyWith([]), ids.gold],
      [home, randomUUID()],
    ] as const) {
      const attempt = segments.as(property, (sql) => audienceOf(sql, property, id));
      await expect(attempt).rejects.toMatchObject({
        code: "not_found",
        message: `segment ${id} is not in this property.`,
      });
    }
  });

  test("a campaign that is not there is refused: everybody would be one who was not sent it", async () => {
    const id = randomUUID();
    const rules = { conditions: [{ field: `campaign.${id}.sent`, operator: "eq" as const, value: false }] };
    await expect(segments.as(home, (sql) => audienceMatching(sql, home, rules))).rejects.toMatchObject({
      code: "not_found",
      message: `campaign ${id} is not in this property.`,
    });
  });

  test("a circle of segments is refused and named", async () => {
    const [a, b, c] = [randomUUID(), randomUUID(), randomUUID()];
    await segments.add(home, "segments", [
      { id: a, name: "A", conditions: [row(`segment.${b}`, "in_segment")] },
      { id: b, name: "B", type: "static", exclude_segment_ids: [c] },
      { id: c, name: "C", groups: [{ logic: "and", conditions: [row(`segment.${a}`, "eq", false)] }] },
    ]);
    await expect(of(a)).rejects.toMatchObject({
      code: "conflict",
      message: 'These segments refer to one another in a circle: "A" → "B" → "C" → "A".',
    });
  });

  test("segments nest eight deep and no deeper", async () => {
    const chain = Array.from({ length: 9 }, () => randomUUID());
    await segments.add(
      home,
      "segments",
      chain.map((id, index) => ({
        id,
        name: `Chain ${index}`,
        conditions: [
          index === 8 ? row("tier", "eq", "Gold") : row(`segment.${chain[index + 1]}`, "in_segment"),
        ],
      })),
    );
    expect(await of(chain[1]!)).toEqual(["ann", "bob"]);
    await expect(of(chain[0]!)).rejects.toThrow("8 deep at most");
  });

  test("segments that grow one another out of proportion are refused, not compiled", () => {
    const segments = new Map<string, Audience>();
    const chain = Array.from({ length: 7 }, () => randomUUID());
    chain.forEach((id, index) => {
      const next = chain[index + 1];
      const conditions = Array.from({ length: 10 }, () =>
        next ? row(`segment.${next}`, "in_segment") : row("adt", "gt", 1),
      );
      segments.set(id, { id, name: id, type: "dynamic", logic: "and", conditions, exclude_segment_ids: [] });
    });
    const rules = { conditions: [row(`segment.${chain[0]}`, "in_segment")] };
    expect(() => compileConditions(rules, { property: home, segments })).toThrow("at most 2000");
  });

  test("a stored segment's fault names the segment and its row", async () => {
    const [odd, void_] = [randomUUID(), randomUUID()];
    await segments.add(home, "segments", [
      { id: odd, name: "Odd", conditions: [row("adt", "gt", "many")] },
      { id: void_, name: "Void" },
    ]);
    await expect(of(odd)).rejects.toThrow(`segment ${odd} conditions[0].value: must be a number`);
    await expect(of(void_)).rejects.toThrow(`segment ${void_} conditions: needs at least one condition`);
  });

  test("the closure of shared segments is loaded once each", async () => {
    const loaded = await segments.as(home, (sql) => loadSegments(sql, home, [ids.mixed, ids.rest]));
    expect([...loaded.keys()].sort()).toEqual([ids.mixed, ids.rest, ids.list, ids.gold].sort());
  });
});
