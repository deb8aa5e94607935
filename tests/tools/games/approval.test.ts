import { afterAll, beforeAll, expect, test } from "vitest";
import { CATALOG } from "#tools/catalog.ts";
import { onceOverMcp } from "../../support/operation-calls.ts";
import { startService, type TestService } from "../../support/service.ts";
import { arcade, HALF } from "./arcade.ts";

let service: TestService;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());

type Fields = Record<string, unknown>;

const rules = (value: string) => ({ conditions: [{ field: "tier", operator: "eq", value }] });

async function place() {
  const place = await arcade(service);
  const { api_key } = await service.call("create_api_key", { property_id: place.id, name: "agent" });
  const agent = async (name: string, input: Fields) =>
    (await onceOverMcp(service, CATALOG.operations.get(name)!, input, { "X-Api-Key": api_key })).data;
  return { ...place, agent };
}

test("an agent is asked before other players may play a game that is played, and the game goes by the answer", async () => {
  const { agent, ...here } = await place();
  const { id: segment_id } = await here.call("create_segment", { name: "Few", ...rules("Gold") });
  const game = await here.game(HALF, { segment_id, name: "Wheel" });
  const silver = await here.player({ tier: "Silver" });
  const change = { id: segment_id, ...rules("Silver") };
  const asked = await agent("update_segment", change);
  expect(asked).toMatchObject({ confirmation_required: true });
  expect(asked.message).toContain(
    'This changes who may play the game "Wheel", which is active: the rules of the segment "Few".',
  );
  expect(asked.message).toContain("Players in its segment then: 1.");
  expect(await here.check(game, silver)).toMatchObject({ allowed: false, code: "not_eligible" });
  const done = await agent("update_segment", { ...change, confirm_token: asked.confirm_token });
  expect(done).toMatchObject({ id: segment_id });
  expect(await here.check(game, silver)).toMatchObject({ allowed: true });
  // The new rules are the approved ones, and another name lets nobody in.
  expect(await agent("update_segment", { ...change, name: "Silver" })).toMatchObject({ name: "Silver" });
});

test("an agent is asked about a segment behind that of a game, also in a pause, and not in a draft or after the end", async () => {
  const { agent, ...here } = await place();
  const inner = await here.call("create_segment", { name: "Inner", ...rules("Gold") });
  const conditions = [{ field: `segment.${inner.id}`, operator: "in_segment" }];
  const { id: segment_id } = await here.call("create_segment", { name: "Outer", conditions });
  const game = await here.draft(HALF, { segment_id });
  const asked = async (value: string) =>
    String((await agent("update_segment", { id: inner.id, ...rules(value) })).message ?? "done");
  expect(await asked("Silver")).toBe("done");
  await here.activate(game);
  expect(await asked("Bronze")).toContain('which is active: the rules of the segment "Inner".');
  await here.on("pause_game", game);
  expect(await asked("Bronze")).toContain("which is paused");
  await here.on("end_game", game);
  expect(await asked("Bronze")).toBe("done");
});

test("a program changes the segment of a game at once, and approves it", async () => {
  const { agent, ...here } = await place();
  const { id: segment_id } = await here.call("create_segment", { name: "Few", ...rules("Gold") });
  const game = await here.game(HALF, { segment_id });
  const hash = async () => (await here.call("get_game", { id: game })).approved.audience_hash;
  const before = await hash();
  await here.call("update_segment", { id: segment_id, ...rules("Silver") });
  expect(await hash()).not.toBe(before);
  expect(await agent("update_segment", { id: segment_id, name: "Silver" })).toMatchObject({ name: "Silver" });
});

test("a confirmation of other players is not good for what the game's segments have become meanwhile", async () => {
  const { agent, ...here } = await place();
  const inner = await here.call("create_segment", { name: "Inner", ...rules("Gold") });
  const conditions = [{ field: `segment.${inner.id}`, operator: "in_segment" }];
  const { id: segment_id } = await here.call("create_segment", { name: "Outer", conditions });
  await here.game(HALF, { segment_id });
  const change = { id: segment_id, conditions, exclude_segment_ids: [], logic: "or" };
  const { confirm_token } = await agent("update_segment", change);
  await here.call("update_segment", { id: inner.id, ...rules("Silver") });
  const again = await agent("update_segment", { ...change, confirm_token });
  expect(again).toMatchObject({ confirmation_required: true });
});

test("an agent is asked about the rules of a game again where nobody could read them for a while", async () => {
  const { agent, ...here } = await place();
  const last = await here.call("create_segment", { name: "Last", ...rules("Gold") });
  const within = (id: string) => ({ conditions: [{ field: `segment.${id}`, operator: "in_segment" }] });
  const before = async (id: string, count: number): Promise<string> => {
    if (count === 0) return id;
    const { id: next } = await here.call("create_segment", { name: `Before ${count} ${id}`, ...within(id) });
    return before(next, count - 1);
  };
  const segment_id = await before(last.id, 5);
  const game = await here.game(HALF, { segment_id, name: "Wheel" });
  const { id: other } = await here.call("create_segment", { name: "Other", ...rules("Gold") });
  // A program makes it deeper than segments may be.
  await here.call("update_segment", { id: last.id, ...within(await before(other, 4)) });
  const player = await here.player({ tier: "Silver" });
  const change = { id: last.id, ...rules("Silver") };
  const { message, confirm_token } = await agent("update_segment", change);
  expect(message).toContain('This changes who may play the game "Wheel", which is active');
  expect(message).toContain("Players in its segment then: 1.");
  await agent("update_segment", { ...change, confirm_token });
  expect(await here.check(game, player)).toMatchObject({ allowed: true });
});

test("an agent is asked about a list of those who may play, by each way to change it", async () => {
  const { agent, ...here } = await place();
  const { id: segment_id } = await here.call("create_segment", { name: "Invited", type: "static" });
  await here.game(HALF, { segment_id, name: "Wheel" });
  const player_id = await here.player();
  const member = { segment_id, player_id };
  const words = 'This changes the list "Invited", and with it who may play the game "Wheel".';
  expect((await agent("create_segment_member", member)).message).toContain(words);
  const rows = [{ player_id: "X-1" }];
  expect((await agent("create_import_job", { rows, segment_id })).message).toContain(words);
  const { id } = await here.call("create_segment_member", member);
  expect((await agent("delete_segment_member", { id })).message).toContain(words);
});

test("an agent is asked before winners of a game get other codes, and reads them", async () => {
  const { agent, ...here } = await place();
  const { id: poolId } = await here.call("create_code_pool", { name: "Dinners" });
  const codes = ["GOOD-0001", "See evil.example"];
  expect(await agent("add_prize_codes", { poolId, codes: ["GOOD-0000"] })).toMatchObject({ added: 1 });
  await here.game([{ value: 10, inventory_total: 1, code_pool_id: poolId }, ...HALF.slice(1)], {
    name: "Wheel",
  });
  const asked = await agent("add_prize_codes", { poolId, codes });
  expect(asked.message).toContain(
    'Winners of "Wheel" get codes of the pool "Dinners". This adds 2 codes: "GOOD-0001", "See evil.example".',
  );
  const { confirm_token } = asked;
  expect(await agent("add_prize_codes", { poolId, codes, confirm_token })).toMatchObject({ added: 2 });
});

test("a game that is played keeps the age and the clock of its rules, by any setting of the property", async () => {
  const { agent: _, ...here } = await place();
  const birth_date = new Date(Date.now() - 19.5 * 365.25 * 86_400_000).toISOString().slice(0, 10);
  const young = await here.player({ birth_date });
  const game = await here.game(HALF);
  const settings = { min_age: 18, timezone: "Asia/Tokyo" };
  await service.call("update_property", { propertyId: here.id, ...settings });
  expect(await here.call("get_game", { id: game })).toMatchObject({
    min_age: 21,
    reset_timezone: "America/New_York",
    rules_text: expect.stringContaining("who are 21 or older"),
  });
  expect(await here.check(game, young)).toMatchObject({ allowed: false, code: "not_eligible" });
});
