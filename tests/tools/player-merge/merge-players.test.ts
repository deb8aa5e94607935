import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { scenarioIn } from "../../support/scenario.ts";
import { startService, type TestService } from "../../support/service.ts";
import { type Arcade, arcadeIn, HALF } from "../games/arcade.ts";

let service: TestService;
let here: ReturnType<typeof scenarioIn>;
let place: Arcade;
let made = 0;

beforeAll(async () => {
  service = await startService();
  here = scenarioIn(service);
  place = arcadeIn(here);
});
afterAll(() => service?.stop());

const propertyId = () => service.tenant.id;
const email = () => `merged${++made}@example.com`;
const player = async (fields: object = {}): Promise<string> =>
  (await here.call("create_player", { player_id: `M${++made}`, ...fields })).id;
const get = (id: string) => here.call("get_player", { id });
const merge = (playerId: string, duplicateId: string) =>
  here.call("merge_players", { propertyId: propertyId(), playerId, duplicateId });
const post = (name: string, input: object) =>
  service.post(`/api/functions/${name}`, { propertyId: propertyId(), ...input });
const consent = (playerId: string, channel: string, consentGiven: boolean) =>
  here.call("consent_record", {
    propertyId: propertyId(),
    playerId,
    channel,
    consentGiven,
    consentSource: "desk",
    consentVersion: "7",
  });

describe("of two records of one person", () => {
  test("the kept one is filled, and never overwritten", async () => {
    const kept = await player({
      first_name: "Ana",
      tier: "Gold",
      tags: ["slots"],
      state: "NV",
      country: "US",
    });
    const address = email();
    const other = await player({
      email: address,
      first_name: "Anna",
      last_name: "Lopez",
      state: "NJ",
      postal_code: "07001",
      tags: ["golf", "slots"],
      status: "vip_hold",
      birth_date: "1980-02-29",
    });
    await merge(kept, other);
    expect(await get(kept)).toMatchObject({
      email: address,
      first_name: "Ana",
      last_name: "Lopez",
      birth_date: "1980-02-29",
      tier: "Gold",
      state: "NV",
      postal_code: null,
      tags: ["slots", "golf"],
      status: "vip_hold",
    });
    const check = await post("compliance-check", { channel: "email", email: address });
    expect(check.body.results[0].player_id).toBe(kept);
    await expect(get(other)).rejects.toMatchObject({ code: "not_found" });
  });

  test("a refusal of either wins, also over a later consent", async () => {
    const kept = await here.player({ email: email() });
    const other = await player({ email: email(), phone: "+12025550171" });
    await consent(other, "email", false);
    await consent(kept, "email", true).catch(() => {});
    const { refused, granted } = await merge(kept, other);
    expect({ refused, granted }).toEqual({ refused: ["email"], granted: [] });
    const { email: address, consents } = await get(kept);
    expect(consents).toEqual({ email: false });
    const check = await post("compliance-check", { channel: "email", email: address });
    expect(check.body).toMatchObject({ allowed: false });
    expect(check.body.reasons).toContain("suppressed");
  });

  test("a consent passes over with its address alone", async () => {
    const shared = email();
    const [kept, other] = [
      await player({ email: shared }),
      await player({ email: shared, phone: "+12025550172" }),
    ];
    const stranger = await player({ email: email(), phone: "+12025550173" });
    for (const one of [other, stranger])
      for (const channel of ["email", "sms"]) await consent(one, channel, true);
    expect((await merge(kept, other)).granted.sort()).toEqual(["email", "sms"]);
    expect((await get(kept)).consents).toEqual({ email: true, sms: true });
    expect(await here.call("list_consent_records", { filters: { "player_id.eq": kept } })).toMatchObject([
      { consent_source: "desk", consent_version: "7" },
      { consent_source: "desk", consent_version: "7" },
    ]);
    const apart = await player({ email: email(), phone: "+12025550174" });
    expect((await merge(apart, stranger)).granted).toEqual([]);
    expect((await get(apart)).consents).toEqual({});
  });

  test("an age that bars the duplicate is not lost behind another birth date", async () => {
    const kept = await player({ birth_date: "1980-02-29" });
    const young = await here.player({ email: email(), birth_date: "2015-02-28" });
    const refused = await post("merge-players", { playerId: kept, duplicateId: young });
    expect([refused.status, refused.body.error]).toEqual([409, expect.stringContaining("birth date")]);
    expect((await get(kept)).email).toBeNull();
    const unknown = await player();
    await merge(unknown, young);
    expect((await get(unknown)).birth_date).toBe("2015-02-28");
    const old = await player({ birth_date: "1981-01-01" });
    await merge(kept, old);
    expect((await get(kept)).birth_date).toBe("1980-02-29");
  });

  test("a self-exclusion of the duplicate bars the kept one", async () => {
    const [kept, other] = [await here.player({ email: email() }), await player({ email: email() })];
    await here.call("create_self_exclusion", { player_id: other });
    await merge(kept, other);
    const { status, email: address } = await get(kept);
    expect(status).toBe("self_excluded");
    const check = await post("compliance-check", { channel: "email", email: address });
    expect(check.body.reasons).toContain("self_excluded");
  });
});

describe("the duplicate's records", () => {
  test("follow: events, lists, messages; and what both have is there once", async () => {
    const [kept, other] = [await here.player({ email: email() }), await here.player({ email: email() })];
    const both = await here.call("create_segment", { name: `both ${kept}`, type: "static" });
    const one = await here.call("create_segment", { name: `one ${kept}`, type: "static" });
    await here.call("create_segment_member", { segment_id: both.id, player_id: kept });
    for (const { id } of [both, one])
      await here.call("create_segment_member", { segment_id: id, player_id: other });
    await here.call("create_player_event", { player_id: other, name: "visit" });
    const sent = await here.campaign({ audience: null, segment_id: one.id });
    await here.send(sent);
    await service.idle();
    const answer = await merge(kept, other);
    expect(answer.moved).toEqual({ player_events: 1, campaign_sends: 1, segment_members: 1 });
    for (const table of ["player_events", "campaign_sends"]) {
      expect((await service.get(`/api/${table}?player_id.eq=${kept}`)).body).toHaveLength(1);
      expect((await service.get(`/api/${table}?player_id.eq=${other}`)).body).toHaveLength(0);
    }
    expect((await service.get(`/api/segment_members?player_id.eq=${kept}`)).body).toHaveLength(2);
    const { body } = await service.get(`/api/audit_logs?action.eq=merge_players&entity_id.eq=${kept}`);
    expect(body).toMatchObject([{ diff: { merged_id: other, moved: answer.moved } }]);
  });

  test("that wait to be sent are cancelled: the person gets one message", async () => {
    const [kept, other] = [await here.player({ email: email() }), await here.player({ email: email() })];
    const list = await here.call("create_segment", { name: `wait ${kept}`, type: "static" });
    for (const id of [kept, other])
      await here.call("create_segment_member", { segment_id: list.id, player_id: id });
    const campaign = await here.campaign({ audience: null, segment_id: list.id });
    await here.query(
      (sql) => sql`
        insert into campaign_sends (property_id, campaign_id, player_id, channel, status, dedupe_key, scheduled_for)
        select ${propertyId()}, ${campaign}, p, 'email', 'deferred', uuid_send(p), now() + interval '1 day'
        from unnest(${[kept, other]}::uuid[]) p returning 1`,
    );
    await merge(kept, other);
    const { body } = await service.get(`/api/campaign_sends?player_id.eq=${kept}&order=status.asc`);
    expect(body.map(({ status }: { status: string }) => status).sort()).toEqual(["cancelled", "deferred"]);
  });

  test("that went to the duplicate go to the kept player no second time", async () => {
    const [kept, other] = [await here.player({ email: email() }), await here.player({ email: email() })];
    const [campaign, another] = [await here.campaign(), await here.campaign()];
    const add = (id: string, playerId: string, status: string) =>
      here.query(
        (sql) => sql`
          insert into campaign_sends (property_id, campaign_id, player_id, channel, status, dedupe_key, scheduled_for)
          values (${propertyId()}, ${id}, ${playerId}, 'email', ${status},
            sha256(convert_to(${`${id} ${playerId}`}, 'UTF8')), now() + interval '1 day')`,
      );
    await add(campaign, other, "delivered");
    await add(campaign, kept, "deferred");
    await add(another, other, "skipped");
    await add(another, kept, "deferred");
    await merge(kept, other);
    const { body } = await service.get(`/api/campaign_sends?player_id.eq=${kept}&order=status.asc`);
    const stands = (body as Record<string, unknown>[]).map(({ campaign_id, status, skip_reasons }) =>
      [campaign_id === campaign ? "sent" : "new", status, skip_reasons].join(" "),
    );
    expect(stands).toEqual([
      "sent cancelled duplicate_address",
      "new deferred ",
      "sent delivered ",
      "new skipped ",
    ]);
  });

  test("of games can be computed again, and count for the person", async () => {
    const game = await place.game(HALF);
    const [kept, other] = [await place.player(), await place.player()];
    const plays = [
      await place.play(game, kept),
      await place.play(game, other),
      await place.play(game, other),
    ];
    await place.grant(game, [kept, other]);
    const promised = (await place.check(game, kept)).next_seed_hash;
    await merge(kept, other);
    for (const { play_id } of plays) expect(await place.verify(play_id)).toMatchObject({ valid: true });
    expect(await place.check(game, kept)).toMatchObject({ nonce: 2, next_seed_hash: promised });
    const next = await place.play(game, kept);
    expect(next.proof.seed_hash).toBe(promised);
    const tickets = await here.query(
      (sql) => sql`select from game_tickets where property_id = ${propertyId()} and player_id = ${kept}`,
    );
    expect(tickets).toHaveLength(1);
  });

  test("of journeys go on, but for one that both are in", async () => {
    const [kept, other] = [await player(), await player()];
    const { id: journey } = await here.call("create_journey", { name: `Welcome ${kept}` });
    const enroll = (playerId: string, entry: number, status: string, key = "") =>
      here.query(
        (sql) => sql`
          insert into journey_enrollments (property_id, journey_id, version, player_id, entry_key, entry, status, node)
          values (${propertyId()}, ${journey}, 1, ${playerId}, ${key}, ${entry}, ${status}, 'start')`,
      );
    await enroll(kept, 1, "completed");
    await enroll(kept, 2, "active");
    await enroll(other, 1, "completed");
    await enroll(other, 2, "active");
    await enroll(other, 1, "active", "booking");
    expect((await merge(kept, other)).moved).toMatchObject({ journey_enrollments: 3 });
    const rows = await here.query(
      (sql) => sql`
        select entry_key, entry, status, exit_reason from journey_enrollments
        where property_id = ${propertyId()} and player_id = ${kept} order by entry_key, entry`,
    );
    expect(rows.map((row) => Object.values(row).join(" ").trim())).toEqual([
      "1 completed",
      "2 active",
      "3 completed",
      "4 exited manual",
      "booking 1 active",
    ]);
  });
});

test("the kept player leaves all journeys by the stricter status of the duplicate, before the answer", async () => {
  const [kept, other] = [await player(), await player()];
  const { id: journey } = await here.call("create_journey", { name: `Barred ${kept}` });
  await here.query(
    (sql) => sql`
      insert into journey_enrollments (property_id, journey_id, version, player_id, status, node)
      values (${propertyId()}, ${journey}, 1, ${kept}, 'active', 'start')`,
  );
  await here.call("set_player_status", { playerId: other, propertyId: propertyId(), status: "banned" });
  await merge(kept, other);
  const [entry] = await here.call("list_journey_enrollments", { filters: { "player_id.eq": kept } });
  expect(entry).toMatchObject({ status: "exited", exit_reason: "banned" });
});

test("the duplicate's player_id means the kept player from then on", async () => {
  const kept = await player({ player_id: "KEPT-1", email: email() });
  const middle = await player({ player_id: "OLD-1" });
  await merge(middle, await player({ player_id: "OLD-0" }));
  await merge(kept, middle);
  for (const name of ["OLD-0", "OLD-1"]) {
    await here.call("create_player_event", { player_id: name, name: "alias" });
    const twin = await service.post("/api/players", { player_id: name });
    expect(twin.status).toBe(409);
    expect(twin.body.error).toContain(kept);
  }
  expect((await service.get(`/api/player_events?player_id.eq=${kept}&name.eq=alias`)).body).toHaveLength(2);
  const job = await service.post("/api/import_jobs", {
    type: "player_import",
    csv: "player_id,tier\nOLD-0,Jade\nOLD-1,Onyx\nKEPT-1,Ruby\n",
  });
  expect(job.status).toBe(202);
  await service.idle();
  expect((await service.get(`/api/import_jobs/${job.body.id}`)).body).toMatchObject({
    created_count: 0,
    updated_count: 1,
    failed: 2,
  });
  expect(await get(kept)).toMatchObject({ player_id: "KEPT-1", tier: "Jade" });
  expect((await post("restore-player", { playerId: middle })).body.error).toContain("was merged into");
});

test("an export and an erasure of the person reach the ledger rows of the duplicate", async () => {
  const kept = await here.player({ email: email() });
  const other = await here.player({ email: email(), phone: "+12025550175" });
  await merge(kept, other);
  const { body } = await post("data-export", { playerId: kept });
  expect(body.consent_records.map((row: { player_id: string }) => row.player_id).sort()).toEqual(
    [kept, other].sort(),
  );
  for (const name of ["data-export", "data-deletion"]) {
    const refused = await post(name, { playerId: other });
    expect([refused.status, refused.body.error]).toEqual([409, expect.stringContaining(kept)]);
  }
  const erased = await post("data-deletion", { playerId: kept });
  expect(erased.body).toMatchObject({ anonymized: { players: 2, consent_records: 2 } });
  const left = await here.query(
    (sql) => sql`
      select status, email, phone, merged_into from players
      where property_id = ${propertyId()} and id in (${kept}, ${other})`,
  );
  const gone = { status: "erased", email: null, phone: null, merged_into: null };
  expect([...left]).toEqual([gone, gone]);
  for (const ledger of ["consent_records", "audit_logs"]) {
    expect((await post("verify-ledger", { ledger })).body).toMatchObject({ intact: true });
  }
});

test("records that are one, unknown, foreign, deleted or on legal hold are refused", async () => {
  const [kept, deleted] = [await player(), await player()];
  await here.call("delete_player", { id: deleted });
  const held = await player();
  await here.query(
    (sql) => sql`update players set legal_hold = true where property_id = ${propertyId()} and id = ${held}`,
  );
  const { key } = await service.newTenant();
  const foreign = (await service.post("/api/players", {}, { "X-Api-Key": key })).body.id;
  for (const [duplicateId, status] of [
    [kept, 400],
    [randomUUID(), 404],
    [foreign, 404],
    [deleted, 404],
    [held, 409],
  ]) {
    expect((await post("merge-players", { playerId: kept, duplicateId })).status).toBe(status);
  }
});

test("two merges of one pair at once make one record, and a webhook learns of it", async () => {
  await here.call("create_webhook_endpoint", { url: "https://receiver.example/", events: ["player.merged"] });
  const [left, right] = [await player(), await player()];
  const answers = await Promise.all([
    post("merge-players", { playerId: left, duplicateId: right }),
    post("merge-players", { playerId: right, duplicateId: left }),
  ]);
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 404]);
  const told = await here.query(
    (sql) => sql`
      select data -> 'object' ->> 'merged_id' as merged from outbox
      where property_id = ${propertyId()} and type = 'player.merged'
        and data -> 'object' ->> 'id' in (${left}, ${right})`,
  );
  expect(told).toHaveLength(1);
});
