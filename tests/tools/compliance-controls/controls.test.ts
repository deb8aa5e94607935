import { existsSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CONTROLS } from "#tools/compliance-controls/controls.ts";
import { ROOT } from "../../support/checkout/source-files.ts";
import { scenarioIn } from "../../support/scenario.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service?.stop());

interface Control {
  name: string;
  rows: { id: string | null; words: string; source: string | null }[];
}

const controls = async (): Promise<Record<string, Control>> => {
  const input = { propertyId: service.tenant.id };
  const answered = await service.call("list_compliance_controls", input, service.tenant.id);
  return Object.fromEntries(answered.controls.map((control: Control) => [control.name, control]));
};

test("the files that enforce and test a control exist", () => {
  const named = CONTROLS.flatMap(({ enforced, tested }) => [...enforced, ...tested]);
  expect(named.filter((path) => !existsSync(new URL(path, ROOT)))).toEqual([]);
  expect(CONTROLS.every(({ enforced, tested }) => enforced.length > 0 && tested.length > 0)).toBe(true);
});

test("a control shows the property's own rows, as they are now", async () => {
  const { call } = scenarioIn(service);
  const rule = { channel: ["sms"], country: "US", state: "FL", open_local: "08:00", close_local: "20:00" };
  const { id } = await call("create_quiet_hours_rule", { ...rule, source_note: "Florida Statutes 501.616" });
  await call("update_property", { propertyId: service.tenant.id, min_age: 25 });
  const { quiet_hours, age, consent } = await controls();
  expect(quiet_hours!.rows).toEqual([
    {
      table: "quiet_hours_rules",
      id,
      words: "US-FL, sms: Sun Mon Tue Wed Thu Fri Sat 08:00 to 20:00; outside it a message waits.",
      source: "Florida Statutes 501.616",
    },
  ]);
  expect(age!.rows).toMatchObject([{ words: "At least 25 years." }]);
  expect(consent!.rows[0]).toMatchObject({ words: "Email: only with a consent." });
});

test("the evidence of a message has the consent that was in force, not a later one", async () => {
  const scenario = scenarioIn(service);
  const player = await scenario.player({ player_id: "evidence", email: "ana@example.com" });
  await scenario.call("update_property", { propertyId: service.tenant.id, min_age: 18 });
  const campaign = await scenario.campaign();
  await scenario.send(campaign);
  await service.idle();
  const [send] = (await service.get(`/api/campaign_sends?campaign_id=eq.${campaign}`)).body;
  await scenario.call("consent_revoke", {
    propertyId: service.tenant.id,
    playerId: player,
    channel: "email",
  });
  const evidence = await scenario.call("send_evidence", { propertyId: service.tenant.id, sendId: send.id });
  expect(evidence).toMatchObject({
    send: { id: send.id, status: "sent" },
    consent: { action: "granted", channel: "email", player_id: player },
    campaign: { id: campaign, approved: { by: { type: "system" } } },
  });
  expect(evidence.acts.map(({ action }: { action: string }) => action)).toContain("send_campaign");
});
