import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { CATALOG } from "#tools/catalog.ts";
import { onceOverMcp } from "../../support/operation-calls.ts";
import { startService, type TestService } from "../../support/service.ts";
import { type SmsScenario, smsScenarioIn } from "../sms/scenario.ts";

let service: TestService;
let scenario: SmsScenario;
let propertyId: string;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service?.stop());
beforeEach(async () => {
  service.tenant = await service.newTenant();
  scenario = smsScenarioIn(service);
  propertyId = service.tenant.id;
});

const BARS: [string, (phone: string) => Promise<unknown>, string[]][] = [
  [
    "STOP",
    (from) => scenario.call("receive_sms", { propertyId, from, to: "+18005550000", text: "STOP" }),
    ["no_consent", "suppressed"],
  ],
  ["a do-not-call entry", (phone) => scenario.call("create_dnc_entry", { phone, list: "internal" }), ["dnc"]],
  [
    "a revocation",
    (phone) => scenario.call("consent_revoke", { propertyId, phone, channel: "sms" }),
    ["no_consent", "suppressed"],
  ],
  [
    "a suppression",
    (address) => scenario.call("create_suppression", { address, channel: "sms", reason: "manual" }),
    ["suppressed"],
  ],
  [
    "a self-exclusion",
    (phone) => scenario.call("create_self_exclusion", { propertyId, phone, program: "state list" }),
    ["self_excluded"],
  ],
  [
    "the status of another record",
    (phone) => scenario.call("create_player", { player_id: "other", phone, status: "vip_hold" }),
    ["vip_hold"],
  ],
  [
    "the erasure of another record",
    async (phone) => {
      const { id } = await scenario.call("create_player", { player_id: "other", phone });
      await scenario.call("data_deletion", { propertyId, playerId: id });
    },
    ["erased"],
  ],
  [
    "a file's refusal",
    async (phone) => {
      const csv = `player_id,phone,sms_opt_in\nother,${phone},no`;
      await scenario.call("create_import_job", {
        propertyId,
        csv,
        mapping: { sms_opt_in: "consent.sms" },
        consent: { consentSource: "desk" },
      });
      await service.idle();
    },
    ["no_consent"],
  ],
];

/** Argentina writes a mobile number with a 9 behind its country code for texts from abroad, and without it at home. */
describe.each([
  ["+5491123456789", "+541123456789"],
  ["+541123456789", "+5491123456789"],
  ["+5493512345678", "0351 15 234-5678"],
])("of a player with %s", (theirs, other) => {
  beforeEach(() =>
    scenario.call("update_property", { propertyId: service.tenant.id, default_country: "AR" }),
  );

  test.each(BARS)("%s of the other form bars the number", async (_, bar, reasons) => {
    await scenario.player("ana", theirs);
    const check = () => scenario.call("compliance_check", { propertyId, channel: "sms", phone: theirs });
    expect((await check()).reasons).toEqual([]);
    await bar(other);
    expect((await check()).reasons).toEqual(expect.arrayContaining(reasons));
  });

  test("a file that knows its players by phone means the player", async () => {
    const id = await scenario.player("ana", theirs);
    const csv = `phone,tier\n${other},Gold\n${theirs},Silver`;
    await scenario.call("create_import_job", { propertyId, csv });
    await service.idle();
    const { body: players } = await scenario.get("/api/players?select=id,tier");
    expect(players).toEqual([{ id, tier: "Gold" }]);
  });

  test("a second record of the number is found as a duplicate", async () => {
    await scenario.player("ana", theirs);
    await scenario.player("ana2", other);
    const { groups } = await scenario.call("find_duplicate_players", { propertyId });
    expect(groups).toMatchObject([{ shared: ["phone"], count: 2 }]);
  });

  test("the number in its other form stays with its player, and no bar is left behind", async () => {
    const id = await scenario.player("ana", theirs, { consent: false });
    const no = { propertyId, playerId: id, channel: "sms", consentGiven: false, consentSource: "desk" };
    await scenario.call("consent_record", no);
    await scenario.call("update_player", { id, phone: other });
    expect((await scenario.get("/api/suppressions")).body).toEqual([]);
    await scenario.call("update_player", { id, phone: "+541187654321" });
    expect((await scenario.get("/api/suppressions?select=channel,reason")).body).toEqual([
      { channel: "sms", reason: "unsubscribed" },
    ]);
  });

  test("lists and segments find the number by its other form, and leave it out by it", async () => {
    await scenario.player("ana", theirs);
    await scenario.player("beth", "+5491187654321");
    await scenario.call("create_dnc_entry", { phone: theirs, list: "internal" });
    await scenario.call("create_suppression", { address: theirs, channel: "sms", reason: "manual" });
    const value = encodeURIComponent(other);
    for (const query of [
      `players?phone=eq.${value}`,
      `players?phone_e164=in.(${value})`,
      `players?phone=not.neq.${value}`,
      `dnc_entries?phone=eq.${value}`,
      `suppressions?address=eq.${value}`,
    ])
      expect((await scenario.get(`/api/${query}`)).body, query).toHaveLength(1);
    for (const query of [`neq.${value}`, `not.eq.${value}`, `not.in.(${value})`]) {
      const { body: rest } = await scenario.get(`/api/players?phone=${query}&select=player_id`);
      expect(rest, query).toEqual([{ player_id: "beth" }]);
    }
    const segment = async (operator: string, given: unknown) => {
      const conditions = [{ field: "phone", operator, value: given }];
      const { sample } = await scenario.call("segment_preview", { propertyId, conditions });
      return sample.map(({ player_id }: { player_id: string }) => player_id);
    };
    expect(await segment("eq", other)).toEqual(["ana"]);
    expect(await segment("in", [other])).toEqual(["ana"]);
    expect(await segment("neq", other)).toEqual(["beth"]);
    expect(await segment("not_in", [other])).toEqual(["beth"]);
  });

  test("a file with the other form lets go of no number on a list", async () => {
    await scenario.player("ana", theirs);
    await scenario.call("create_dnc_entry", { phone: theirs, list: "internal" });
    const operation = CATALOG.operations.get("create_import_job")!;
    const asked = async (phone: string) => {
      const csv = `player_id,phone\nana,${phone}`;
      return (await onceOverMcp(service, operation, { csv }, { "X-Api-Key": service.tenant.key })).data
        .message;
    };
    expect(await asked("+5491187654321")).toContain("let go of an address on a do-not-call list");
    expect(await asked(other)).not.toContain("let go of an address");
  });

  test("texts go to the number as it was given", async () => {
    await scenario.player("ana", theirs);
    await scenario.send(await scenario.campaign("Hola"));
    await service.idle();
    expect(await scenario.texts()).toMatchObject([{ recipient: theirs }]);
  });
});

test("player ids that read like the two forms of a number are two players", async () => {
  const csv = "player_id,tier\n+5491123456789,Gold\n+541123456789,Silver";
  await scenario.call("create_import_job", { propertyId, csv });
  await service.idle();
  const { body: players } = await scenario.get("/api/players?select=player_id&order=player_id.asc");
  expect(players).toHaveLength(2);
});
