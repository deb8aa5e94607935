import { afterAll, beforeAll, expect, test } from "vitest";
import { startService, type TestService } from "../../support/service.ts";
import { type CallScenario, callScenario } from "../../tools/voice-calls/scenario.ts";
import { type FormBrowser, signedIn } from "./form-browser.ts";

let service: TestService;
let scenario: CallScenario;
let playerId: string;
let manager: FormBrowser;
let analyst: FormBrowser;

async function person(role: "analyst" | "manager"): Promise<FormBrowser> {
  const one = await signedIn(service, { role: null });
  const { users } = await service.call("list_users", {});
  const { id } = users.find(({ email }: { email: string }) => email === one.email);
  await service.call("grant_membership", { property_id: scenario.id, user_id: id, role });
  return one;
}

beforeAll(async () => {
  service = await startService();
  scenario = await callScenario(service, { mask_for_analysts: true });
  // Four of ten made-up people answer with words of their own; of 50 some do.
  playerId = await scenario.caller();
  for (let n = 0; n < 49; n += 1) await scenario.caller();
  manager = await person("manager");
  analyst = await person("analyst");
});
afterAll(() => service?.stop());

test("a call's record shows who said what, and an analyst sees the fixed sentences alone", async () => {
  await scenario.send(await scenario.voiceCampaign());
  await service.idle();
  const calls: { id: string; transcript: { by: string; text: string }[] }[] = await scenario.calls();
  const call = calls.find(({ transcript }) => transcript.some(({ by }) => by === "them"))!;
  const heard = call.transcript.find(({ by }) => by === "them")!.text;
  const path = `/console/records/voice_calls/${call.id}`;
  const { text } = await manager.get(path);
  expect(text).toContain(`<th scope="row">The player</th><td>${heard}</td>`);
  expect(text).toContain("The law wants this sentence.");
  expect(text).not.toContain("&quot;turn&quot;");
  const shown = await analyst.get(path);
  expect([shown.status, shown.text]).toEqual([200, expect.stringContaining("<td>•••</td>")]);
  expect(shown.text).not.toContain(`<td>${heard}</td>`);
  expect(shown.text).toContain("This is an automated call");
});

test("a report of calls has their results, and no opens and clicks", async () => {
  const id = await scenario.voiceCampaign();
  await scenario.send(id);
  await service.idle();
  const { text } = await manager.get(`/console/campaigns/${id}`);
  for (const name of ["Calls", "Answered", "Voicemail", "Opted out", "Abandoned", "Minutes", "Cost"]) {
    expect(text).toContain(`<dt>${name}</dt>`);
  }
  expect(text).toContain("in 30 days, at most 3 %");
  expect(text).not.toMatch(/Opened|Clicked|opens and clicks/);
  expect((await manager.get(`/console/campaigns/${id}/hours`)).text).not.toMatch(/opens|clicks/);
});

test("the hours of a campaign of texts have messages alone: nobody tells of their opening", async () => {
  const phone = "+17025550177";
  const player = await scenario.call("create_player", { player_id: "texted", phone });
  const consent = { propertyId: scenario.id, playerId: player.id, channel: "sms", consentGiven: true };
  await scenario.call("consent_record", consent);
  const id = await scenario.campaign({
    ...{ channel: "sms", subject: null, body_html: null, body_text: "Hi" },
    ...{ audience: null, conditions: [{ field: "player_id", operator: "eq", value: "texted" }] },
  });
  await scenario.call("send_sms_campaign", { campaignId: id, propertyId: scenario.id });
  await service.idle();
  const { text } = await manager.get(`/console/campaigns/${id}/hours`);
  expect(text).toContain('class="of-messages"');
  expect(text).not.toMatch(/of-opened|of-clicked/);
});

test("a voice campaign offers a rehearsal, in which nobody is called", async () => {
  const id = await scenario.voiceCampaign();
  const { text } = await manager.get(`/console/campaigns/${id}/check`);
  expect(text).toContain("Rehearse the call");
  const played = await manager.get(`/console/campaigns/${id}/rehearsal?persona=says_stop`);
  expect([played.status, played.text]).toEqual([200, expect.stringContaining("Please stop calling me.")]);
  expect((await scenario.calls({ "campaign_id.eq": id })).length).toBe(0);
});

test("a manager calls one player as a test, by a form that shows its fault again, and never twice", async () => {
  const id = await scenario.voiceCampaign();
  const callee = await scenario.caller();
  const { phone } = await scenario.call("get_player", { id: callee });
  const check = `/console/campaigns/${id}/check`;
  const form = /<form method="post" action="([^"]+\/test)".+?<\/form>/s.exec(
    (await manager.get(check)).text,
  )!;
  expect(form[0]).toContain("Telephone number of a player");
  expect((await analyst.get(check)).text).not.toContain("Telephone number of a player");
  const once = /name="once" value="([^"]+)"/.exec(form[0])![1]!;
  const strange = await manager.post(form[1]!, { to: "+13105550100" });
  expect([strange.status, strange.text]).toEqual([400, expect.stringContaining('value="+13105550100"')]);
  expect(strange.text).toContain("neither the address of a user");
  const sent = await manager.post(form[1]!, { to: phone, once });
  expect(sent.status).toBe(303);
  expect((await manager.post(form[1]!, { to: phone, once })).status).toBe(303);
  await service.idle();
  expect(await scenario.calls({ "player_id.eq": callee })).toMatchObject([
    { campaign_id: null, simulated: true },
  ]);
  expect((await manager.get(`${check}?tested=yes`)).text).toContain("The test call is on its way.");
});

test("each player at a node has a page that says why, until when, and what comes then", async () => {
  const { journey } = await scenario.call("create_journey_from_recipe", {
    propertyId: scenario.id,
    settings: { recipe: "welcome" },
    name: "Welcome",
  });
  await scenario.call("publish_journey", { journeyId: journey.id, propertyId: scenario.id });
  await scenario.call("enroll_players", {
    journeyId: journey.id,
    propertyId: scenario.id,
    playerIds: [playerId],
  });
  await service.idle();
  const told = await scenario.call("explain_enrollment", { journeyId: journey.id, playerId });
  const path = `/console/journeys/${journey.id}/enrollments/${told.enrollment.id}`;
  const node = await analyst.get(`/console/journeys/${journey.id}/nodes/${told.enrollment.current_node_id}`);
  expect(node.text).toContain(`href="${path}"`);
  const { status, text } = await analyst.get(path);
  expect(status).toBe(200);
  // Its times stand there by the property's clock.
  for (const words of told.why.split(/\d{4}-\d\d-\d\dT[\d:.+]+/)) {
    expect(text).toContain(words.replaceAll("'", "&#39;").replaceAll('"', "&quot;"));
  }
  expect(text).toContain("What comes then");
  for (const { node: passed } of told.path) expect(text).toContain(passed);
});
