import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startService, type Tenant, type TestService } from "../../support/service.ts";

let service: TestService;
let rival: Tenant;
beforeAll(async () => {
  service = await startService();
  rival = await service.newTenant();
});
afterAll(() => service.stop());

const FIELDS = [
  { key: "fav_game", label: "Favorite game", type: "text" },
  { key: "visits", type: "number" },
  { key: "vip", type: "boolean" },
  { key: "member_since", type: "date" },
  { key: "last_call", type: "datetime" },
  { key: "club", type: "enum", enum_values: ["Red", "Black"] },
  { key: "likes", type: "text_list", is_pii: true },
];

const define = async (input: object, key = service.tenant.key) =>
  service.post("/api/custom_fields", input, { "X-Api-Key": key });
const create = (custom: object) => service.post("/api/players", { custom });
const patch = (path: string, body: object) => service.request("PATCH", path, { body });

describe("with fields of every type", () => {
  beforeAll(async () => {
    expect((await define(FIELDS)).status).toBe(201);
  });

  test("values of the right types are stored, times in UTC, and texts without spaces around them", async () => {
    const { status, body } = await create({
      fav_game: " Slots ",
      visits: 3.5,
      vip: false,
      member_since: "2024-02-29",
      last_call: "2026-03-01T12:00:00-05:00",
      club: "Red",
      likes: ["golf", "wine"],
    });
    expect(status).toBe(201);
    expect(body.custom).toEqual({
      fav_game: "Slots",
      visits: 3.5,
      vip: false,
      member_since: "2024-02-29",
      last_call: "2026-03-01T17:00:00.000Z",
      club: "Red",
      likes: ["golf", "wine"],
    });
  });

  test.each([
    ["favgame", "Slots", "custom.favgame: is not a custom field of this property (there are club, fav_game,"],
    ["fav_game", 7, "custom.fav_game: must be a text of 1 to 2000 characters, not 7"],
    ["fav_game", "", "custom.fav_game: must be a text"],
    ["fav_game", "x".repeat(2001), "custom.fav_game: must be a text"],
    ["visits", "many", 'custom.visits: must be a number, not "many"'],
    ["vip", "yes", 'custom.vip: must be true or false, not "yes"'],
    [
      "member_since",
      "2023-02-29",
      'custom.member_since: must be a date such as 2026-05-31, not "2023-02-29"',
    ],
    ["last_call", "2026-03-01T12:00:00", "custom.last_call: must be a time with its zone"],
    ["club", "red", 'custom.club: must be one of Red, Black, not "red"'],
    [
      "likes",
      ["a", 1],
      'custom.likes: must be an array of at most 100 texts of 1 to 200 characters, not ["a",1]',
    ],
    ["likes", { a: 1 }, "custom.likes: must be an array"],
  ])("%s as %j is refused, and the field, the type and the value are named", async (key, value, message) => {
    const { status, body } = await create({ [key]: value });
    expect(status).toBe(400);
    expect(body.error).toContain(message);
    expect(body.details[0].field).toBe(`custom.${key}`);
  });

  test("a change sets the keys that it names, takes out those given as null, and leaves the others", async () => {
    const { body: player } = await create({ fav_game: "Slots", visits: 1, vip: true });
    const changed = await patch(`/api/players/${player.id}`, {
      custom: { visits: 2, vip: null, club: null, likes: ["golf"] },
    });
    expect(changed.body.custom).toEqual({ fav_game: "Slots", visits: 2, likes: ["golf"] });
    const refused = await patch(`/api/players/${player.id}`, { custom: { visits: "3", nope: 1 } });
    expect(refused.status).toBe(400);
    expect(refused.body.details.map(({ field }: { field: string }) => field)).toEqual([
      "custom.visits",
      "custom.nope",
    ]);
    expect((await service.get(`/api/players/${player.id}`)).body.custom.visits).toBe(2);
  });

  test("two changes of different keys at once are both there", async () => {
    const { body: player } = await create({});
    const keys = ["fav_game", "club", "visits", "vip"] as const;
    const values = { fav_game: "Keno", club: "Black", visits: 9, vip: true };
    await Promise.all(
      keys.map((key) => patch(`/api/players/${player.id}`, { custom: { [key]: values[key] } })),
    );
    expect((await service.get(`/api/players/${player.id}`)).body.custom).toEqual(values);
  });

  test("all values of a player together are bounded", async () => {
    const big = Array.from({ length: 100 }, () => "é".repeat(199));
    const { status, body } = await create({ likes: big });
    expect([status, body.error]).toEqual([400, "custom: is larger than 16384 bytes"]);
  });

  test("a list is filtered by a custom field in both forms, and numbers compare as numbers", async () => {
    for (const visits of [100, 200, 1000]) await create({ fav_game: `Game ${visits}`, visits });
    const found = async (query: string) =>
      (await service.get(`/api/players?order=created_at&${query}`)).body.map(
        ({ custom }: { custom: { visits: number } }) => custom.visits,
      );
    expect(await found("custom.fav_game.eq=Game 200")).toEqual([200]);
    expect(await found("custom->>fav_game=eq.Game 1000")).toEqual([1000]);
    expect(await found("custom.visits.gte=150")).toEqual([200, 1000]);
    expect(await found("custom->visits=gt.200")).toEqual([1000]);
    expect(await found("custom.fav_game.ilike=game*&custom.visits.lt=200")).toEqual([100]);
  });

  test("a segment takes a custom field for its type, and refuses one that is not there", async () => {
    const count = (field: string, operator: string, value: unknown) =>
      service.post("/api/functions/segment-preview", {
        propertyId: service.tenant.id,
        conditions: [{ field, operator, value }],
      });
    expect((await count("custom.visits", "between", [100, 999])).body.count).toBe(2);
    expect((await count("custom.last_call", "before", "2027-01-01")).body.count).toBe(1);
    const unknown = await count("custom.nope", "eq", 1);
    expect(unknown.status).toBe(400);
    expect(unknown.body.details[0].field).toBe("conditions[0].field");
    expect((await count("custom.visits", "contains", "1")).body.error).toContain("custom.visits (number)");
  });

  test("an import reads the columns of custom fields by key, label or mapping, each as its type", async () => {
    const csv = [
      "player_id,custom.visits,Favorite Game,VIP,Member-Since,Called,club,likes,custom.nope",
      'I1,"1,250",007,yes,2024-01-31,2026-01-01 10:00,black,golf;wine,x',
      "I2,lots,,,,,,,",
      "I3,,,,,,Blue,,",
      "I4,,,,,,,,",
    ].join("\n");
    const mapping = { Called: "custom.last_call" };
    const { body, status } = await service.post("/api/import_jobs", { csv, mapping, decimal: "." });
    expect(status).toBe(202);
    await service.idle();
    const errors = await service.get(`/api/import_jobs/${body.id}/errors`);
    expect(errors.body).toMatchObject([
      { row: 0, column: "custom.nope", code: "unknown_field" },
      { row: 2, column: "custom.visits", code: "type_mismatch", message: "custom.visits must be a number." },
      { row: 3, column: "club", code: "type_mismatch", message: "custom.club must be one of Red, Black." },
    ]);
    const { body: players } = await service.get("/api/players?player_id.in=(I1,I4)&order=player_id");
    expect(players[0].custom).toEqual({
      visits: 1250,
      fav_game: "007",
      vip: true,
      member_since: "2024-01-31",
      last_call: "2026-01-01T10:00:00.000Z",
      club: "Black",
      likes: ["golf", "wine"],
    });
    expect(players[1].custom).toEqual({});
  });

  test("an import that maps a column to no custom field is refused at once", async () => {
    const { status, body } = await service.post("/api/import_jobs", {
      csv: "player_id,a\n1,2\n",
      mapping: { a: "custom.gone" },
    });
    expect(status).toBe(400);
    expect(body.error).toContain("gone is not a custom field of this property");
  });

  test("another property has none of these fields, and can have its own by the same key", async () => {
    const headers = { "X-Api-Key": rival.key };
    expect((await service.post("/api/players", { custom: { visits: 1 } }, headers)).status).toBe(400);
    expect((await define({ key: "visits", type: "text" }, rival.key)).status).toBe(201);
    const theirs = await service.post("/api/players", { custom: { visits: "often" } }, headers);
    expect(theirs.body.custom).toEqual({ visits: "often" });
  });
});

describe("a definition", () => {
  const made = async (input: object) => (await define(input)).body as { id: string };

  test.each([
    [{ key: "Bad", type: "text" }, /key/],
    [{ key: "constructor", type: "text" }, /key/],
    [{ key: "a.b", type: "text" }, /key/],
    [{ key: "x".repeat(41), type: "text" }, /key/],
    [{ key: "e1", type: "enum" }, /enum_values/],
    [{ key: "e2", type: "enum", enum_values: ["a", "a"] }, /twice/],
    [{ key: "e3", type: "text", enum_values: ["a"] }, /enum_values/],
    [{ key: "e4", type: "money" }, /type/],
    [{ key: "e5" }, /type/],
  ])("that is wrong is refused: %j", async (input, message) => {
    const { status, body } = await define(input);
    expect(status).toBe(400);
    expect(body.error).toMatch(message);
  });

  test("has a label from its key, and its key once", async () => {
    expect((await define({ key: "shoe_size", type: "number" })).body).toMatchObject({ label: "Shoe size" });
    expect((await define({ key: "shoe_size", type: "text" })).status).toBe(409);
  });

  test("changes its type as long as no player has a value, and not while a segment asks for it", async () => {
    const { id } = await made({ key: "mood", type: "text" });
    const path = `/api/custom_fields/${id}`;
    expect((await patch(path, { type: "number" })).body.type).toBe("number");
    const { body: player } = await create({ mood: 5 });
    const refused = await patch(path, { type: "text" });
    expect(refused.status).toBe(409);
    expect(refused.body.error).toContain("players have values of it");
    expect((await patch(path, { label: "Mood of the day" })).status).toBe(200);
    await patch(`/api/players/${player.id}`, { custom: { mood: null } });
    const { body: segment } = await service.post("/api/segments", {
      name: "Happy",
      conditions: [{ field: "custom.mood", operator: "gt", value: 3 }],
    });
    expect((await patch(path, { type: "text" })).body.error).toContain(
      'The segment "Happy" uses this custom field',
    );
    await service.request("DELETE", `/api/segments/${segment.id}`);
    expect((await patch(path, { type: "text" })).status).toBe(200);
  });

  test("of an enum loses no value that a player has", async () => {
    const { id } = await made({ key: "seat", type: "enum", enum_values: ["front", "back", "none"] });
    await create({ seat: "back" });
    const path = `/api/custom_fields/${id}`;
    expect((await patch(path, { enum_values: ["front"] })).status).toBe(409);
    expect((await patch(path, { enum_values: ["back", "side"] })).status).toBe(200);
    expect((await create({ seat: "front" })).status).toBe(400);
  });

  test("that is archived takes no new values, keeps those that are there, and comes back", async () => {
    const { id } = await made({ key: "pet", type: "text" });
    const { body: player } = await create({ pet: "cat" });
    const path = `/api/custom_fields/${id}`;
    expect((await patch(path, { archived_at: new Date().toISOString() })).status).toBe(200);
    const refused = await patch(`/api/players/${player.id}`, { custom: { pet: "dog" } });
    expect(refused.body.error).toContain("custom.pet: is an archived field");
    const changed = await patch(`/api/players/${player.id}`, { first_name: "Ann" });
    expect(changed.body.custom).toEqual({ pet: "cat" });
    expect((await service.request("DELETE", path)).status).toBe(409);
    expect((await patch(path, { archived_at: null })).status).toBe(200);
    const back = await patch(`/api/players/${player.id}`, { custom: { pet: "dog" } });
    expect(back.body.custom).toEqual({ pet: "dog" });
    await patch(`/api/players/${player.id}`, { custom: { pet: null } });
    expect((await service.request("DELETE", path)).status).toBe(200);
    expect((await create({ pet: "dog" })).status).toBe(400);
  });

  test("that is removed while players get values of it is either kept, or none of them has it", async () => {
    for (let round = 0; round < 5; round++) {
      const key = `race_${round}`;
      const { id } = await made({ key, type: "number" });
      const writes = Array.from({ length: 6 }, () => create({ [key]: round }));
      const removal = service.request("DELETE", `/api/custom_fields/${id}`);
      await Promise.all([...writes, removal]);
      const left = (await service.get(`/api/players?custom.${key}.eq=${round}&select=id`)).body.length;
      expect((await removal).status).toBe(left > 0 ? 409 : 200);
    }
  });
});
