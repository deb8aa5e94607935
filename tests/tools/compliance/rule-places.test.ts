import { afterAll, beforeAll, expect, test } from "vitest";
import { raw } from "#db/sql.ts";
import { newScenario, type Scenario } from "../../support/scenario.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
let scenario: Scenario;
beforeAll(async () => {
  service = await startService({ role: "web" });
  scenario = await newScenario(service);
});
afterAll(() => service?.stop());

const MAKE = {
  create_quiet_hours_rule: { channel: ["sms"], open_local: "08:00", close_local: "20:00" },
  create_frequency_rule: {
    channel: "sms",
    max_sends: 1,
    window_count: 1,
    window_unit: "day",
    mode: "rolling",
  },
  create_game_law: { kind: "registration", amount: 1000 },
};
const UPDATE = {
  create_quiet_hours_rule: "update_quiet_hours_rule",
  create_frequency_rule: "update_frequency_rule",
  create_game_law: "update_game_law",
};

// No player is ever in such a place, so the rule would bar nobody, and nobody would notice.
test.each(Object.keys(MAKE) as (keyof typeof MAKE)[])(
  "%s refuses a place that does not exist",
  async (name) => {
    const make = (place: object) => scenario.call(name, { ...MAKE[name], ...place });
    await expect(make({ country: "US", state: "FA" })).rejects.toThrow(
      "state: US has no state FA: write its code, such as FL",
    );
    await expect(make({ country: "CA", state: "FL" })).rejects.toThrow("state: CA has no state FL");
    await expect(make({ country: "XX" })).rejects.toThrow("country: must be an ISO 3166 code, such as US");
    const { id } = await make({ country: "US", state: "FL" });
    const change = { id, state: "FA" };
    await expect(scenario.call(UPDATE[name], change)).rejects.toThrow("state: US has no state FA");
    await make({ country: "CA", state: "ON" });
    await make({ country: "DE", state: "BY" });
  },
);

// Made before places were checked.
test.each([
  ["create_quiet_hours_rule", "quiet_hours_rules", { open_local: "09:00" }],
  ["create_frequency_rule", "frequency_rules", { is_active: false }],
  ["create_game_law", "game_laws", { is_active: false }],
] as const)(
  "what %s has made for a place that does not exist can be changed in another column",
  async (name, table, change) => {
    const { id } = await scenario.call(name, { ...MAKE[name], country: "US", state: "NV" });
    await service.database.db.asProperty(
      scenario.id,
      (sql) => sql`update ${raw(table)} set state = 'FA' where property_id = ${scenario.id} and id = ${id}`,
    );
    expect(await scenario.call(UPDATE[name], { id, ...change })).toMatchObject({ state: "FA" });
    await expect(scenario.call(UPDATE[name], { id, country: "US" })).rejects.toThrow("US has no state FA");
  },
);

test("a game is void in states that exist", async () => {
  const game = { name: "Wheel", type: "spin_wheel" };
  for (const state of ["FA", "ON", "XX"]) {
    await expect(scenario.call("create_game", { ...game, void_in: ["NY", state] }), state).rejects.toThrow(
      "void_in[1]: is no state of the US: write its code, such as FL",
    );
  }
  await expect(scenario.call("create_game", { ...game, void_in: ["florida"] })).rejects.toThrow(
    /^void_in\[0\]: must be a state's code, such as FL$/,
  );
  const made = await scenario.call("create_game", { ...game, void_in: ["FL", "DC", "PR"] });
  expect(made.void_in).toEqual(["FL", "DC", "PR"]);
});

test("a property's country is refused with one sentence", async () => {
  const change = { propertyId: scenario.id, default_country: "Argentina" };
  await expect(scenario.call("update_property", change)).rejects.toThrow(
    /^default_country: must be an ISO 3166 code, such as US$/,
  );
});

test("a do-not-call entry of an American number names a state that exists, by its code", async () => {
  const make = (fields: object) => scenario.call("create_dnc_entry", { list: "state", ...fields });
  const wrong = "state: must be a state of the US or Canada, by its code or name, such as FL";
  await expect(make({ phone: "+17025550187", state: "XX" })).rejects.toThrow(wrong);
  const { id, state } = await make({ phone: "+17025550187", state: "Nevada" });
  expect(state).toBe("NV");
  await expect(scenario.call("update_dnc_entry", { id, state: "XX" })).rejects.toThrow(wrong);
  expect(await scenario.call("update_dnc_entry", { id, state: "on" })).toMatchObject({ state: "ON" });
  expect(await make({ phone: "+4930901820", state: "BE" })).toMatchObject({ state: "BE" });
});

test("a do-not-call entry of another number is found by its state too", async () => {
  await scenario.call("create_dnc_entry", { list: "state", phone: "+4930901821", state: "florida" });
  await scenario.call("create_dnc_entry", { list: "state", phone: "+4930901822", state: "Berlin" });
  const found = async (state: string) =>
    (await scenario.call("list_dnc_entries", { filters: { "state.eq": state } })).map(
      ({ phone }: { phone: string }) => phone,
    );
  expect(await found("Florida")).toEqual(["+4930901821"]);
  expect(await found("Berlin")).toEqual(["+4930901822"]);
});

// Made before states were checked.
test("a do-not-call entry with a state that does not exist can be changed in another column", async () => {
  const { id } = await scenario.call("create_dnc_entry", { phone: "+17025550188", list: "state" });
  await service.database.db.asProperty(
    scenario.id,
    (sql) => sql`update dnc_entries set state = 'XX' where property_id = ${scenario.id} and id = ${id}`,
  );
  expect(await scenario.call("update_dnc_entry", { id, note: "Asked by letter" })).toMatchObject({
    state: "XX",
  });
});
