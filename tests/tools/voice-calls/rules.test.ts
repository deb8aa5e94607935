import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { maskedValue } from "#runtime/masking/values.ts";
import type { Keyword } from "#tools/sms/keywords.ts";
import { EXAMPLE_SCRIPT } from "#tools/voice/describe.ts";
import { stopReader } from "#tools/voice/engine/heard.ts";
import { startService, type TestService } from "../../support/service.ts";
import { type CallScenario, callScenario, SCRIPT } from "./scenario.ts";

let service: TestService;
let scenario: CallScenario;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service?.stop());
beforeEach(async () => {
  scenario = await callScenario(service);
});

const sent = async (fields: object = {}) => {
  const id = await scenario.voiceCampaign(fields);
  await scenario.send(id);
  await service.idle();
  return id;
};

test("a call starts only while the longest one ends before the hours do", async () => {
  const { name: timezone, clock } = zoneAtNoon();
  scenario = await callScenario(service, { timezone });
  await scenario.caller({ timezone });
  const { id } = await scenario.call("create_quiet_hours_rule", {
    channel: ["voice"],
    open_local: "00:00",
    close_local: clock(4),
  });
  expect(await scenario.sends(await sent())).toMatchObject([
    { status: "deferred", skip_reasons: ["quiet_hours"] },
  ]);
  await scenario.call("update_quiet_hours_rule", { id, close_local: clock(30) });
  expect(await scenario.sends(await sent())).toMatchObject([
    { status: "skipped", skip_reasons: ["simulated"] },
  ]);
});

test("the law of calls is made stricter, never looser, and stays", async () => {
  const laws = await scenario.call("list_voice_laws", {});
  expect(laws).toHaveLength(7);
  for (const { source_note } of laws) expect(source_note).toMatch(/CFR|law|FCC/);
  const law = (kind: string) => laws.find((one: { kind: string }) => one.kind === kind).id;
  const update = (kind: string, amount: number) =>
    scenario.call("update_voice_law", { id: law(kind), amount });
  await expect(update("hours_between_calls", 1)).rejects.toThrow(/at least 24: State laws/);
  await expect(update("least_ring_seconds", 14)).rejects.toThrow(/at least 15/);
  await expect(update("most_abandoned_percent", 50)).rejects.toThrow(/at most 3/);
  await expect(update("abandoned_over_days", 1)).rejects.toThrow(/exactly 30/);
  await update("hours_between_calls", 72);
  await update("ai_disclosure", 0);
  await update("most_call_seconds", 30);
  await expect(scenario.voiceCampaign()).rejects.toThrow(/may take \d+ seconds, and a call at most 30/);
});

test("an API key makes no law of calls looser than it is: AI voices stay named", async () => {
  const { id, key } = await service.newTenant();
  const laws = (await service.get("/api/voice_laws", { "X-Api-Key": key })).body;
  const update = (kind: string, amount: number, headers: Record<string, string>) =>
    service.request(
      "PATCH",
      `/api/voice_laws/${laws.find((one: { kind: string }) => one.kind === kind).id}`,
      {
        body: { amount },
        headers,
      },
    );
  const withKey = { "X-Api-Key": key };
  expect(await update("ai_disclosure", 0, withKey)).toMatchObject({
    status: 403,
    body: { code: "forbidden" },
  });
  expect(await update("most_call_seconds", 60, withKey)).toMatchObject({ status: 200 });
  expect(await update("most_call_seconds", 300, withKey)).toMatchObject({ status: 403 });
  expect(await amountsOf(id)).toMatchObject({ ai_disclosure: 1, most_call_seconds: 60 });
});

async function amountsOf(property: string): Promise<Record<string, number>> {
  const laws: { kind: string; amount: number }[] = await service.call("list_voice_laws", {}, property);
  return Object.fromEntries(laws.map(({ kind, amount }) => [kind, amount]));
}

test("a script names all its faults when it is written, and sending names what the property lacks", async () => {
  await scenario.caller();
  const wrong = {
    ...SCRIPT,
    callback_number: "1",
    turns: [{ id: "a", say: "{{ first_name", listen: [{ keys: "9", next: "z" }] }],
  };
  const fault = await scenario.voiceCampaign({ voice_script: wrong }).catch((error: unknown) => error);
  expect(fault).toMatchObject({
    code: "invalid",
    details: [
      { field: "voice_script.callback_number" },
      { field: "voice_script.turns[0].listen[0].next" },
      { field: "voice_script.turns[0].listen[0].keys" },
      { field: "voice_script.turns[0].next" },
      { field: "voice_script.turns[0].say" },
    ],
  });
  await expect(
    scenario.call("create_template", { name: "T", channel: "voice", voice_script: wrong }),
  ).rejects.toThrow(/callback_number/);
  const agent = { callback_number: "+18005550100", instructions: "Invite {{ first_name }}." };
  const id = await scenario.voiceCampaign({ voice_script: agent });
  expect((await scenario.preflight(id)).errors).toMatchObject([
    { field: "voice_script.instructions", stops_sending: true },
  ]);
  const empty = await scenario.voiceCampaign({ voice_script: null });
  expect((await scenario.preflight(empty)).errors).toMatchObject([{ field: "voice_script" }]);
  const { id: provider_id } = await scenario.call("create_message_provider", {
    channel: "voice",
    kind: "retell",
    name: "calls",
    from_address: "+18005550100",
    credentials: { api_key: "key", agent_id: "agent" },
    allows_gaming: true,
  });
  const own = await scenario.voiceCampaign({ provider_id });
  expect((await scenario.preflight(own)).errors).toMatchObject([
    {
      field: "voice_script.callback_number",
      message: expect.stringContaining("from which the provider retell calls"),
    },
  ]);
  const nameless = await callScenario(service, { legal_name: undefined });
  await nameless.caller();
  expect((await nameless.preflight(await nameless.voiceCampaign())).errors).toMatchObject([
    { field: "legal_name" },
  ]);
});

test("a template's script is called, and a change behind an approval pauses", async () => {
  await scenario.caller();
  const template = await scenario.call("create_template", {
    name: "T",
    channel: "voice",
    voice_script: EXAMPLE_SCRIPT,
  });
  const id = await scenario.voiceCampaign({ voice_script: null, template_id: template.id });
  await scenario.call("schedule_campaign", {
    campaign_id: id,
    scheduled_at: "2036-01-31T12:00:00Z",
    segment_id: null,
  });
  await scenario.query(
    (
      sql,
    ) => sql`update templates set voice_script = jsonb_set(voice_script, '{turns,0,say}', '"Other words."')
      where property_id = ${scenario.id}`,
  );
  await scenario.comeDue(id);
  await service.idle();
  expect(await scenario.get(id)).toMatchObject({
    status: "paused",
    status_reason: expect.stringContaining('the template "T"'),
  });
});

test("a test goes to a player by the same gate, and is simulated too", async () => {
  const playerId = await scenario.caller();
  const campaignId = await scenario.voiceCampaign();
  await scenario.call("send_test_message", { campaignId, propertyId: scenario.id, playerId });
  await service.idle();
  expect(await scenario.calls()).toMatchObject([{ campaign_id: null, player_id: playerId, simulated: true }]);
});

test("a consent of the plain call is recorded, calls nobody, and is not told as never asked", async () => {
  const { id: playerId } = await scenario.call("create_player", { phone: "+17025550199" });
  const consent = { propertyId: scenario.id, playerId, channel: "voice", consentGiven: true };
  expect(await scenario.call("consent_record", consent)).toMatchObject({ success: true });
  const campaignId = await scenario.voiceCampaign();
  const told = await scenario.call("preflight_campaign", { campaignId });
  const no_consent = { refused: 0, insufficient: 1, never_asked: 0, no_address: 0 };
  expect(told).toMatchObject({ audience: 1, allowed: 0, blocked: { no_consent: 1 }, no_consent });
  await scenario.send(campaignId);
  await service.idle();
  expect((await scenario.call("campaign_stats", { campaignId })).no_consent).toEqual(no_consent);
});

test("a preview for nobody in particular goes to a made-up number, not to an email address", async () => {
  const { message } = await scenario.call("preview_campaign", { campaignId: await scenario.voiceCampaign() });
  expect(message).toMatchObject({ player_id: null, to: "+1•••••0123" });
});

test("a rehearsal plays each persona and stores nothing", async () => {
  const campaignId = await scenario.voiceCampaign();
  const played = (persona: string) =>
    scenario.call("rehearse_voice_call", { campaignId, propertyId: scenario.id, persona });
  expect(await played("says_stop")).toMatchObject({ outcome: "opted_out", simulated: true });
  expect(await played("voicemail")).toMatchObject({ outcome: "voicemail_left", answered_by: "machine" });
  expect(await played("no_answer")).toMatchObject({ outcome: "no_answer", transcript: [] });
  expect(await scenario.calls()).toEqual([]);
});

test("a transcript leaves with its player's data, is emptied by an erasure, and is hidden from masked agents", async () => {
  const playerId = await scenario.caller();
  // The persona follows from the campaign. Three of ten listen; that none of 80 does is as good as impossible.
  for (let tries = 0; tries < 80; tries += 1) {
    await scenario.query((sql) => sql`delete from voice_calls where property_id = ${scenario.id}`);
    await scenario.query(
      (sql) => sql`update campaign_sends set skip_reasons = '{expired}' where property_id = ${scenario.id}`,
    );
    await sent();
    if ((await scenario.calls())[0]?.persona === "picks_up") break;
  }
  const [call] = await scenario.calls();
  expect(call.transcript.length).toBeGreaterThan(3);
  const about = { propertyId: scenario.id, playerId };
  const exported = await scenario.call("data_export", about);
  expect(exported.voice_calls).toMatchObject([{ id: call.id, transcript: call.transcript }]);
  const masked = maskedValue({ transcript: call.transcript }) as {
    transcript: { fixed: string | null; text: string }[];
  };
  for (const { fixed, text } of masked.transcript) expect(text === "•••").toBe(fixed === null);
  await scenario.call("data_deletion", { ...about, reason: "asked" });
  await service.idle();
  expect(await scenario.calls()).toMatchObject([
    { id: call.id, player_id: null, transcript: [], outcome: call.outcome },
  ]);
});

test("a journey calls by a message node, and a simulated call is not sent", async () => {
  const playerId = await scenario.caller();
  const definition = {
    nodes: [
      { id: "in", type: "trigger", config: { on: "api" } },
      { id: "call", type: "message", config: { channel: "voice", voice_script: SCRIPT } },
      { id: "end", type: "exit", config: { reason: "completed" } },
      { id: "else", type: "exit", config: { reason: "completed" } },
    ],
    edges: [
      { from: "in", to: "call" },
      { from: "call", to: "end", label: "sent" },
      { from: "call", to: "else", label: "not_sent" },
    ],
  };
  const { id } = await scenario.call("create_journey", { name: "Calls", draft_definition: definition });
  await scenario.call("publish_journey", { journeyId: id, propertyId: scenario.id });
  await scenario.call("create_journey_enrollment", { journey_id: id, player_id: playerId });
  await service.idle();
  expect(await scenario.calls()).toMatchObject([{ player_id: playerId, simulated: true }]);
  await expect
    .poll(async () => (await scenario.call("list_journey_enrollments", {}))[0])
    .toMatchObject({ status: "completed" });
});

test.each([
  [
    "en",
    [
      "stop",
      "please stop calling me",
      "nine",
      "press the nine",
      "don't call me again",
      "no more calls please",
    ],
  ],
  ["es", ["alto", "no me llamen más", "dejen de llamarme", "nueve", "oprima el nueve"]],
  [
    "fr",
    ["arrêt", "ne m'appelez plus", "arrêtez de m'appeler", "neuf", "la touche neuf", "j'appuie sur le neuf"],
  ],
  [
    "de",
    [
      "Stopp",
      "Stopp, bitte",
      "Rufen Sie mich nicht mehr an",
      "hören Sie auf",
      "drücken neun",
      "die neun",
      "ich drücke die Neun",
    ],
  ],
  ["zh", ["停止", "请停止", "请不要再打了", "请停止给我打电话", "按九", "按九键", "我按九", "停止停止"]],
] as const)("a stop is understood in the words of %s", async (_, said) => {
  const isStop = stopReader(await keywords());
  for (const words of said) expect(isStop(words), words).toBe(true);
  for (const words of ["yes", "sí", "oui", "ja", "是的", "好", "1"]) expect(isStop(words), words).toBe(false);
});

/** As people ask for no more calls, by the language of the call. The last one repeats our own way to stop. */
const WISHES = {
  en: `Never call me again|Quit calling me|I don't want any more calls|I asked you not to call me|Don't ever call here again
    |Get me off this list|Put me on your do-not-call list|No longer want your calls|I don't want you to call me|Delete my data
    |Stop these calls|I don't want any calls|I don't want to be called|I do not wish to be contacted|Take my name off your list
    |I don't want to hear from you|Don't bother me again|No texts, no calls|Forget my number|I do not want to get calls
    |No further contact, please|Cease all calls`,
  es: `No vuelvan a llamar|No me vuelvan a llamar|Ya no me llamen|Ya no llamen|Quiero darme de baja|Sáquenme de la lista
    |Elimine mi número|Cancele|No molesten|No me moleste|Ya basta|Revoco mi consentimiento|No quiero que me llamen
    |No quiero recibir más llamadas|No quiero llamadas|No quiero sus mensajes|No llamar|No me marque|No me hablen más
    |No me contacten|Borrar mi número`,
  fr: `Arrête|N'appelez plus|Ne me rappelez plus|Ne me téléphonez plus|Ne me dérangez plus|Cessez de m'appeler|Ça suffit
    |Laissez-moi tranquille|Fichez-moi la paix|Enlevez-moi de la liste|Supprimez mon numéro|Désinscription|Plus d'appels
    |Je retire mon consentement|Je ne souhaite plus être appelé|Ne plus recevoir ces appels
    |Effacez mon numéro|Je ne veux pas être contacté|Pas d'appels|Ne m'écrivez plus|N'appelez pas|Ne m'appelez jamais`,
  de: `Halt|Schluss|Nicht mehr anrufen|Nie wieder anrufen|Rufen Sie mich nie wieder an|Ich will nicht mehr angerufen werden
    |Ich möchte keine Anrufe mehr|Bitte keine weiteren Anrufe|Löschen Sie meine Nummer|Nehmen Sie mich von der Liste
    |Ich widerrufe meine Einwilligung|Unterlassen Sie das|Hört auf|Ich wünsche keine weiteren Anrufe
    |Kein Interesse, bitte löschen|Nicht mehr kontaktieren|Ruft mich nicht an|Ich will keine SMS|Nicht stören`,
  zh: `停|拒绝|不想再接到电话|我不想接电话|别打了|別打了|不要再打來了|别烦我|拉黑|把我删除|不想再接到此类电话
    |请勿打扰|不要打擾我|别联系我|不要聯繫我|别发了|不要发短信`,
};

test.each(Object.entries(WISHES))("the wish for no more calls is understood in %s", async (_, said) => {
  const isStop = stopReader(await keywords());
  expect(said.split(/\s*\|/).filter((words) => !isStop(words))).toEqual([]);
  // Harmless answers with a word of these wishes in them.
  const others = `No, thanks|I'd like you to call me again tomorrow|Can I withdraw my winnings?|Quiero que me llamen mañana
    |Vous pouvez me rappeler|Das ist halt so|Rufen Sie mich wieder an|不要紧
    |Can I be called by my first name?|Any calls for me?|Bitte kontaktieren Sie mich|Puede llamar mañana|打扰一下|你怎么联系我`;
  expect(others.split(/\s*\|/).filter(isStop)).toEqual([]);
});

const keywords = async () =>
  scenario.query(
    (sql) =>
      sql<Keyword[]>`select text, action, match, language, 'default' as origin from sms_keyword_defaults`,
  );

test("a test needs the consent of a call, and open hours for a whole one", async () => {
  const noon = zoneAtNoon();
  const playerId = await scenario.caller({ timezone: noon.name });
  const campaignId = await scenario.voiceCampaign();
  const asked = { campaignId, propertyId: scenario.id };
  const { id } = await scenario.call("create_player", { player_id: "n", phone: "+17025550177" });
  const sendTest = (fields: object) => scenario.call("send_test_message", { ...asked, ...fields });
  await expect(sendTest({ playerId: id })).rejects.toThrow(/no_consent/);
  await expect(sendTest({ to: "+13105550100" })).rejects.toThrow(/neither/);
  const rule = await scenario.call("create_quiet_hours_rule", {
    channel: ["voice"],
    open_local: "00:00",
    close_local: noon.clock(4),
  });
  await expect(sendTest({ playerId })).rejects.toThrow(/quiet_hours/);
  await scenario.call("update_quiet_hours_rule", { id: rule.id, close_local: noon.clock(30) });
  expect(await sendTest({ playerId })).toMatchObject({ success: true });
});

/** A zone in which it is about noon, and its clock in so many minutes. */
function zoneAtNoon() {
  const ahead = 12 - new Date().getUTCHours();
  return {
    name: `Etc/GMT${ahead > 0 ? "-" : "+"}${Math.abs(ahead)}`,
    clock: (minutes: number) =>
      new Date(Date.now() + ahead * 3_600_000 + minutes * 60_000).toISOString().slice(11, 16),
  };
}
