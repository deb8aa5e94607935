import { afterAll, beforeAll, expect, test } from "vitest";
import { refused } from "../../support/answers.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
const ids: string[] = [];
let segment: string;
beforeAll(async () => {
  service = await startService({ role: "web" });
  for (const adt of [10, 20, 30]) {
    ids.push((await service.post("/api/players", { player_id: `m-${adt}`, adt })).body.id);
  }
  const { body } = await service.post("/api/segments", {
    name: "High",
    conditions: [
      { field: "adt", operator: "gte", value: 20 },
      // By the property's calendar.
      { field: "birth_date", operator: "not_in_last_days", value: 1 },
    ],
  });
  segment = body.id;
});
afterAll(() => service?.stop());

test("the members of a dynamic segment are those whom its rules match now, in pages too", async () => {
  const rival = await service.newTenant();
  await service.post("/api/players", { player_id: "m-40", adt: 40 }, { "X-Api-Key": rival.key });
  const address = `/api/segment_members?segment_id.eq=${segment}&order=created_at`;
  const { body } = await service.get(address);
  expect(body.map((row: { player_id: string }) => row.player_id)).toEqual([ids[1], ids[2]]);
  expect(body[0]).toMatchObject({ segment_id: segment, source: "rule", added_at: null });
  const first = await service.get(`${address}&limit=1&cursor=`);
  expect(first.body).toHaveLength(1);
  const second = await service.get(`${address}&limit=1&cursor=${first.headers.get("X-Next-Cursor")}`);
  expect(second.body[0].player_id).toBe(ids[2]);
  const one = await service.get(`/api/segment_members?segment_id.eq=${segment}&player_id.eq=${ids[0]}`);
  expect(one.body).toEqual([]);
  const theirs = await service.get(address, { "X-Api-Key": rival.key });
  expect(theirs.body).toEqual([]);
});

test("a player who is not there, or in the list already, is named", async () => {
  const { body: list } = await service.post("/api/segments", { name: "List", type: "static" });
  const put = (player_id: string) => service.post("/api/segment_members", { segment_id: list.id, player_id });
  expect((await put(ids[0]!)).status).toBe(201);
  const twice = await refused(409, "conflict", put(ids[0]!));
  expect(twice.body.error).toBe("player_id: this player is in the segment already.");
  const stranger = await refused(404, "not_found", put("01900000-0000-7000-8000-000000000000"));
  expect(stranger.body.error).toMatch(/^player_id: no player 0190/);
  expect((await service.get(`/api/segment_members?segment_id.eq=${list.id}`)).body).toHaveLength(1);
});
