import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import findDuplicates from "#tools/player-merge/find-duplicate-players.ts";
import { onceOverMcp } from "../../support/operation-calls.ts";
import { newScenario, type Scenario } from "../../support/scenario.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
let here: Scenario;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());
beforeEach(async () => {
  here = await newScenario(service);
});

const player = async (player_id: string, fields: object) =>
  (await here.call("create_player", { player_id, ...fields })).id as string;

interface Found {
  groups: { shared: string[]; count: number; players: { player_id: string }[] }[];
  total: number;
  players: number;
  has_more: boolean;
}
const find = (input: object = {}): Promise<Found> =>
  here.call("find_duplicate_players", { propertyId: here.id, ...input });
const namesOf = ({ groups }: Found) =>
  groups.map(({ shared, count, players }) => ({
    shared,
    count,
    players: players.map(({ player_id }) => player_id),
  }));

test("players who share an email or a phone are one group each, the largest first, the latest visit first in it", async () => {
  await player("solo", { email: "solo@example.com", phone: "+17025550190" });
  for (const id of ["a", "b"]) await player(id, { email: "Two@Example.com", phone: "+17025550191" });
  await player("c", { email: "three@example.com" });
  await player("d", {
    email: "three@example.com",
    phone: "+17025550192",
    last_visit_at: "2026-01-02T10:00:00Z",
  });
  await player("e", { email: "three@example.com" });
  await player("f", { phone: "+17025550192" });
  const found = await find();
  expect(namesOf(found)).toEqual([
    { shared: ["email"], count: 3, players: ["d", "c", "e"] },
    { shared: ["email", "phone"], count: 2, players: ["a", "b"] },
    { shared: ["phone"], count: 2, players: ["d", "f"] },
  ]);
  expect(found).toMatchObject({ total: 3, players: 7, has_more: false });
  expect(namesOf(await find({ by: ["phone"] })).map(({ players }) => players)).toEqual([
    ["a", "b"],
    ["d", "f"],
  ]);
  const page = await find({ limit: 1, offset: 1 });
  expect(namesOf(page)[0]!.players).toEqual(["a", "b"]);
  expect(page.has_more).toBe(true);
});

test("deleted and merged records, and those of another property, are no duplicates", async () => {
  const kept = await player("kept", { email: "same@example.com" });
  const gone = await player("gone", { email: "same@example.com" });
  const other = await newScenario(service);
  await other.call("create_player", { player_id: "far", email: "same@example.com" });
  expect((await find()).total).toBe(1);
  await here.call("merge_players", { propertyId: here.id, playerId: kept, duplicateId: gone });
  expect(await find()).toEqual({ groups: [], total: 0, players: 0, has_more: false });
});

test("a name that is given twice is compared once", async () => {
  for (const id of ["t1", "t2"]) await player(id, { email: "twice@example.com" });
  expect(namesOf(await find({ by: ["email", "email"] }))).toEqual([
    { shared: ["email"], count: 2, players: ["t1", "t2"] },
  ]);
});

test("a key that sees masked values is refused: an import of made-up addresses would show which ones are known", async () => {
  for (const id of ["m1", "m2"]) await player(id, { email: "masked.guest@example.com" });
  const { api_key: key } = await here.call("create_api_key", {
    property_id: here.id,
    name: "masked",
    scopes: ["read"],
    pii_masked: true,
  });
  const answer = await onceOverMcp(service, findDuplicates, {}, { "X-Api-Key": key });
  expect(JSON.stringify(answer)).toContain("sees no personal data");
  expect(JSON.stringify(answer)).not.toContain("masked.guest");
});
