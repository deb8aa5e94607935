import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { CATALOG } from "#tools/catalog.ts";
import { onceOverMcp } from "../../support/operation-calls.ts";
import { newScenario, type Scenario } from "../../support/scenario.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
let scenario: Scenario;
let key: string;
let journeyId: string;
let playerIds: string[];

const message = { channel: "email", subject: "Come back", body_html: "<p>Dinner is on us.</p>" };

beforeAll(async () => {
  service = await startService({ role: "web" });
});
beforeEach(async () => {
  scenario = await newScenario(service);
  ({ api_key: key } = await service.call("create_api_key", { property_id: scenario.id, name: "agent" }));
  playerIds = [];
  for (let index = 0; index < 3; index += 1) {
    playerIds.push(
      await scenario.player({ player_id: `P${index}`, email: `p${index}@example.com` }, index > 0),
    );
  }
  const { id: segment_id } = await scenario.call("create_segment", {
    name: "Lapsed",
    type: "dynamic",
    conditions: [{ field: "email", operator: "is_set" }],
  });
  const journey = await scenario.call("create_journey", {
    name: "Win back",
    draft_definition: {
      nodes: [
        { id: "lapsed", type: "trigger", config: { on: "segment_enter", segment_id } },
        { id: "call", type: "trigger", config: { on: "api" } },
        { id: "invitation", type: "message", config: message },
        { id: "end", type: "exit" },
      ],
      edges: [
        { from: "lapsed", to: "invitation" },
        { from: "call", to: "invitation" },
        { from: "invitation", to: "end" },
      ],
    },
    goal: { event: { name: "visit" } },
  });
  journeyId = journey.id;
});
afterAll(() => service?.stop());

const ask = (name: string, fields: object) =>
  onceOverMcp(
    service,
    CATALOG.operations.get(name)!,
    { journeyId, propertyId: scenario.id, ...fields },
    { "X-Api-Key": key },
  );

async function confirmed(
  name: string,
  fields: object = {},
): Promise<{ preview: string; data: Record<string, unknown> }> {
  const { data: preview } = await ask(name, fields);
  expect(preview).toMatchObject({ confirmation_required: true });
  const { data, isError } = await ask(name, { ...fields, confirm_token: preview.confirm_token });
  expect(isError).toBe(false);
  return { preview: JSON.stringify(preview), data };
}

test("publishing is confirmed with who enters, who is left out, the messages, the cost and the people inside", async () => {
  const { preview } = await confirmed("publish_journey");
  expect(preview).toContain("A player enters who comes into its segment.");
  expect(preview).toContain("Players in the segment of lapsed now: 3.");
  expect(preview).toContain("Of these 2 could get invitation; excluded are 1 no_consent; it costs 0.");
  expect(preview).toContain('It sends the email invitation \\"Come back\\".');
  expect(preview).toContain("Nobody enters twice.");
  expect(preview).toContain('Warning: Nobody has reported the event \\"visit\\" so far.');
});

const published = () => scenario.call("publish_journey", { journeyId, propertyId: scenario.id });
const enrolled = (ids: string[]) =>
  scenario.call("enroll_players", { journeyId, propertyId: scenario.id, playerIds: ids });

test("enrolling many is confirmed with the number who enter, and a token is good for that number", async () => {
  await published();
  const { data: preview } = await ask("enroll_players", { playerIds });
  expect(JSON.stringify(preview)).toContain("3 players enter the journey");
  for (const id of playerIds) {
    const { player_id: number } = await scenario.call("get_player", { id });
    expect(preview.message).toContain(`the player "${number}"`);
  }
  await enrolled(playerIds.slice(0, 1));
  const { data: stale } = await ask("enroll_players", { playerIds, confirm_token: preview.confirm_token });
  expect(stale).not.toMatchObject({ success: true });
  const { data } = await confirmed("enroll_players", { playerIds });
  expect(data).toMatchObject({ entered: 2, ignored_inside: 1 });
});

test("enrolling is asked about again where other players are to enter, and as many, or another version of the journey", async () => {
  await published();
  const { id: segmentId } = await scenario.call("create_segment", { name: "Invited", type: "static" });
  const [one, other] = [
    (await scenario.call("create_player", {})).id,
    (await scenario.call("create_player", {})).id,
  ];
  const member = { segment_id: segmentId, player_id: one };
  const { id } = await scenario.call("create_segment_member", member);
  const invited = async (more: object = {}) => (await ask("enroll_players", { segmentId, ...more })).data;
  const first = await invited();
  await scenario.call("delete_segment_member", { id });
  await scenario.call("create_segment_member", { ...member, player_id: other });
  const second = await invited({ confirm_token: first.confirm_token });
  expect(second).toMatchObject({ confirmation_required: true });
  const single = async (more: object = {}) => {
    const input = { journey_id: journeyId, player_id: one, ...more };
    return (await ask("create_journey_enrollment", { journeyId: undefined, ...input })).data;
  };
  const alone = await single();
  const { player_id: number } = await scenario.call("get_player", { id: one });
  expect(alone.message).toContain(`This lets the player "${number}" into the journey "`);
  await published();
  const third = await invited({ confirm_token: second.confirm_token });
  expect(third).toMatchObject({ confirmation_required: true });
  expect(await single({ confirm_token: alone.confirm_token })).toMatchObject({ confirmation_required: true });
  expect(await invited({ confirm_token: third.confirm_token })).toMatchObject({ entered: 1 });
});

test("publishing another draft is confirmed with what becomes of the people inside", async () => {
  await published();
  await enrolled(playerIds);
  const { preview, data } = await confirmed("publish_journey", { onPublish: "exit_old" });
  expect(preview).toContain("3 players inside leave the journey.");
  expect(data).toMatchObject({ version: 2, inside: { finish: 0, move: 0, exit: 3 } });
});

test("a client that reads the text alone learns the figures, and why a player has left", async () => {
  await published();
  await enrolled(playerIds);
  await scenario.call("publish_journey", { journeyId, propertyId: scenario.id, onPublish: "exit_old" });
  const told = async (name: string, fields: object) => {
    const params = { name, arguments: { journeyId, propertyId: scenario.id, ...fields } };
    const { body } = await service.request("POST", "/api/mcp", {
      body: { jsonrpc: "2.0", id: 1, method: "tools/call", params },
      headers: { Accept: "application/json, text/event-stream", "X-Api-Key": key },
    });
    return String(body.result.content[0].text);
  };
  expect(await told("journey_report", {})).toContain(
    "3 have entered, 0 are inside, 0 have reached the goal; left: workflow_changed 3.",
  );
  const explained = await told("explain_enrollment", { playerId: playerIds[0] });
  expect(explained).toContain("stood at a node that the new version has not");
  expect(explained).toContain("The way so far: call");
});

test("resuming is confirmed with the people who go on; pausing is done at once", async () => {
  await published();
  const { data: paused } = await ask("pause_journey", {});
  expect(paused).toMatchObject({ success: true });
  const { preview } = await confirmed("resume_journey");
  expect(preview).toContain('The journey \\"Win back\\" goes on now.');
});

test("another rule of the segment by which players enter is confirmed", async () => {
  await published();
  const {
    body: [segment],
  } = await service.request("GET", "/api/segments?name.eq=Lapsed", { headers: { "X-Api-Key": key } });
  const change = { id: segment.id, conditions: [{ field: "phone", operator: "is_set" }] };
  const { data: preview } = await onceOverMcp(service, CATALOG.operations.get("update_segment")!, change, {
    "X-Api-Key": key,
  });
  expect(JSON.stringify(preview)).toContain(
    'This changes who enters the journey \\"Win back\\" from now on.',
  );
});

test("another rule of a segment behind the one by which players enter is confirmed too", async () => {
  const segment = (name: string, field: string, operator: string) =>
    scenario.call("create_segment", { name, conditions: [{ field, operator }] });
  const inner = await segment("Inner", "tier", "is_set");
  const outer = await segment("Outer", `segment.${inner.id}`, "in_segment");
  const nodes = [
    { id: "in", type: "trigger", config: { on: "segment_enter", segment_id: outer.id } },
    { id: "mail", type: "message", config: message },
    { id: "end", type: "exit", config: { reason: "done" } },
  ];
  const edges = [
    { from: "in", to: "mail" },
    { from: "mail", to: "end" },
  ];
  const { id } = await scenario.call("create_journey", {
    name: "Behind",
    draft_definition: { nodes, edges },
  });
  await scenario.call("publish_journey", { journeyId: id, propertyId: scenario.id });
  const change = { id: inner.id, conditions: [{ field: "email", operator: "is_set" }] };
  const { data } = await onceOverMcp(service, CATALOG.operations.get("update_segment")!, change, {
    "X-Api-Key": key,
  });
  expect(data).toMatchObject({ confirmation_required: true });
  expect(data.message).toContain('This changes who enters the journey "Behind" from now on.');
});

test("many players who come onto a list behind the segment by which players enter are confirmed", async () => {
  const list = await scenario.call("create_segment", { name: "Hosted", type: "static" });
  const outer = await scenario.call("create_segment", {
    name: "By the list",
    conditions: [{ field: `segment.${list.id}`, operator: "in_segment" }],
  });
  const nodes = [
    { id: "in", type: "trigger", config: { on: "segment_enter", segment_id: outer.id } },
    { id: "mail", type: "message", config: message },
  ];
  const { id } = await scenario.call("create_journey", {
    name: "Welcome",
    draft_definition: { nodes, edges: [{ from: "in", to: "mail" }] },
  });
  await scenario.call("publish_journey", { journeyId: id, propertyId: scenario.id });
  const add = CATALOG.operations.get("add_segment_members")!;
  const input = { segmentId: list.id, playerIds };
  const { data } = await onceOverMcp(service, add, input, { "X-Api-Key": key });
  expect(data).toMatchObject({ confirmation_required: true });
  expect(data.message).toMatch(/enter or go on in the journey "Welcome", which may write to them all/);
  const { confirm_token } = data;
  const { data: done } = await onceOverMcp(service, add, { ...input, confirm_token }, { "X-Api-Key": key });
  expect(done).toMatchObject({ success: true, added: playerIds.length });
  // Nobody comes onto the list by it.
  const again = await onceOverMcp(service, add, input, { "X-Api-Key": key });
  expect(again.data).toMatchObject({ success: true, added: 0, already_members: playerIds.length });
});

test("a player who leaves a list, alone or with others, and so enters a journey, is named before it is confirmed", async () => {
  const list = await scenario.call("create_segment", { name: "Hosted", type: "static" });
  const outer = await scenario.call("create_segment", {
    name: "Off the list",
    conditions: [{ field: `segment.${list.id}`, operator: "not_in_segment" }],
  });
  const nodes = [
    { id: "in", type: "trigger", config: { on: "segment_enter", segment_id: outer.id } },
    { id: "mail", type: "message", config: message },
  ];
  const draft_definition = { nodes, edges: [{ from: "in", to: "mail" }] };
  const [first] = playerIds;
  const entry = await scenario.call("create_segment_member", { segment_id: list.id, player_id: first });
  const { id } = await scenario.call("create_journey", { name: "Without a host", draft_definition });
  await scenario.call("publish_journey", { journeyId: id, propertyId: scenario.id });
  for (const [name, input] of [
    ["delete_segment_member", { id: entry.id }],
    ["remove_segment_members", { segmentId: list.id, playerIds: [first] }],
  ] as const) {
    const operation = CATALOG.operations.get(name)!;
    const { data } = await onceOverMcp(service, operation, input, { "X-Api-Key": key });
    expect(data.message, name).toContain(
      'By it the player "P0" enters or goes on in the journey "Without a host", which may write to them.',
    );
  }
});

test("a simulation asks nothing: it changes nothing", async () => {
  const { data } = await ask("simulate_journey", { playerIds, days: 2 });
  expect(data).toMatchObject({
    entered: 3,
    not_sent: [{ node: "invitation", reason: "no_consent", messages: 1 }],
  });
});

test("publishing shows the words of a message that come from a template, and of a text", async () => {
  const template = await scenario.call("create_template", {
    ...{ name: "Comeback", channel: "email", subject: "Words of the template", html: "<p>Hi</p>" },
  });
  const nodes = [
    { id: "in", type: "trigger", config: { on: "api" } },
    { id: "mail", type: "message", config: { channel: "email", template_id: template.id } },
    { id: "text", type: "message", config: { channel: "sms", body_text: "Words of the text" } },
    { id: "end", type: "exit", config: { reason: "done" } },
  ];
  const edges = [
    { from: "in", to: "mail" },
    { from: "mail", to: "text" },
    { from: "text", to: "end" },
  ];
  const { id } = await scenario.call("create_journey", { name: "Words", draft_definition: { nodes, edges } });
  const { data } = await ask("publish_journey", { journeyId: id });
  expect(data.message).toContain(
    'It sends the email mail "Words of the template", the sms text "Words of the text".',
  );
  expect(data.message).toContain('The text of mail: "Hi"');
});

test("publishing shows words that the HTML hides until its tags are filled, and repeats no others", async () => {
  const publishing = async (body_html: string) => {
    const nodes = [
      { id: "in", type: "trigger", config: { on: "api" } },
      { id: "mail", type: "message", config: { channel: "email", subject: "Hi", body_html } },
    ];
    const draft_definition = { nodes, edges: [{ from: "in", to: "mail" }] };
    const { id } = await scenario.call("create_journey", { name: randomUUID(), draft_definition });
    return String((await ask("publish_journey", { journeyId: id })).data.message);
  };
  for (const hidden of [
    "{% comment %}<!--{% endcomment %}Bring it all{% comment %}-->{% endcomment %}",
    "<!-- {{ '--' | append: '>' | raw }}Bring it all",
  ]) {
    expect(await publishing(`<p>Hello</p>${hidden}`), hidden).toMatch(/another day may show: .*Bring it all/);
  }
  const common = `<p>Dear {{ first_name | default: "friend" }},</p><p>${"Dinner is on us. ".repeat(200)}</p>
    {% if tier == "Gold" %}<p>A gift for you, {{ first_name }}!</p>{% endif %}<a href="https://play.example/">Play</a>`;
  expect(await publishing(common)).not.toContain("another day may show");
});

test("publishing shows all that a journey does beside its messages, and the campaigns whose list it changes", async () => {
  const { id: segment_id } = await scenario.call("create_segment", { name: "Guests", type: "static" });
  const member = { segment_id, player_id: playerIds[1] };
  await scenario.call("create_segment_member", member);
  const campaign = await scenario.campaign({ name: "Gala", segment_id, audience: null });
  const scheduled_at = new Date(Date.now() + 86_400_000).toISOString();
  await scenario.call("schedule_campaign", { campaign_id: campaign, segment_id, scheduled_at });
  const game = await scenario.call("create_game", { name: "Spring wheel", type: "spin_wheel" });
  const prize = { game_id: game.id, label: "Dinner", kind: "comp", weight: 1, slice_index: 0 };
  await scenario.call("create_game_prize", prize);
  await scenario.call("activate_game", { gameId: game.id, propertyId: scenario.id });
  await scenario.call("create_custom_field", { key: "vip", label: "VIP", type: "boolean" });
  const nodes = [
    { id: "in", type: "trigger", config: { on: "api" } },
    { id: "raise", type: "update_player", config: { add_tags: ["gala"], custom: { vip: true } } },
    { id: "list", type: "add_to_segment", config: { segment_id } },
    { id: "spin", type: "grant_game_play", config: { game_id: game.id } },
    { id: "tell", type: "webhook", config: { name: "gala\nIt is harmless." } },
    { id: "end", type: "exit", config: { reason: "done" } },
  ];
  const edges = nodes.slice(1).map(({ id }, index) => ({ from: nodes[index]!.id, to: id }));
  const { id } = await scenario.call("create_journey", { name: "Quiet", draft_definition: { nodes, edges } });
  const { data } = await ask("publish_journey", { journeyId: id });
  for (const sentence of [
    "It sends no message.",
    'raise changes the player: custom {"vip":true}, add_tags ["gala"].',
    'list puts the player on the list "Guests".',
    'spin gives the player a ticket for the game "Spring wheel".',
    'tell tells the property\'s endpoints of the player, as "gala\\nIt is harmless.".',
    'This changes the list "Guests", and with it who gets the campaign "Gala".',
  ]) {
    expect(data.message).toContain(sentence);
  }
});

test("publishing names the sender of a message and the address of its replies", async () => {
  const config = { ...message, from_name: "Security Team", reply_to: "help@other.example" };
  const nodes = [
    { id: "in", type: "trigger", config: { on: "api" } },
    { id: "mail", type: "message", config },
  ];
  const draft_definition = { nodes, edges: [{ from: "in", to: "mail" }] };
  const { id } = await scenario.call("create_journey", { name: "Sender", draft_definition });
  expect((await ask("publish_journey", { journeyId: id })).data.message).toContain(
    'The sender of mail: from_name "Security Team", reply_to "help@other.example".',
  );
});

test("publishing says that a yearly date is passed once where nobody enters twice", async () => {
  const nodes = [
    { id: "day", type: "trigger", config: { on: "date_field", field: "birth_date" } },
    { id: "mail", type: "message", config: message },
  ];
  const draft_definition = { nodes, edges: [{ from: "day", to: "mail" }] };
  const { id } = await scenario.call("create_journey", { name: "Birthday", draft_definition });
  const said = "A player enters by birth_date, at 09:00.";
  expect((await ask("publish_journey", { journeyId: id })).data.message).toContain(said);
  const warned = await scenario.call("validate_journey", { journeyId: id, propertyId: scenario.id });
  expect(warned.warnings).toContainEqual({
    node: "day",
    field: "reentry",
    message: expect.stringContaining("only the first year"),
  });
  await scenario.call("update_journey", { id, reentry: { mode: "after_exit" } });
  const { data } = await ask("publish_journey", { journeyId: id });
  expect(data.message).toContain("A player enters each year by birth_date, at 09:00.");
  expect(data.message).not.toContain("only the first year");
  for (const [offset_days, day] of [
    [-3, "3 days before"],
    [1, "1 day after"],
  ] as const) {
    const config = { on: "date_field", field: "birth_date", offset_days };
    const moved = { nodes: [{ ...nodes[0], config }, nodes[1]], edges: draft_definition.edges };
    await scenario.call("update_journey", { id, draft_definition: moved });
    const { data: shown } = await ask("publish_journey", { journeyId: id });
    expect(shown.message).toContain(`A player enters each year ${day} birth_date, at 09:00.`);
  }
});

test("publishing says how much of a long text it leaves out", async () => {
  const config = { channel: "sms", body_text: `${"x".repeat(1100)} the end` };
  const nodes = [
    { id: "in", type: "trigger", config: { on: "api" } },
    { id: "text", type: "message", config },
    { id: "end", type: "exit", config: { reason: "done" } },
  ];
  const edges = [
    { from: "in", to: "text" },
    { from: "text", to: "end" },
  ];
  const { id } = await scenario.call("create_journey", { name: "Long", draft_definition: { nodes, edges } });
  const { data } = await ask("publish_journey", { journeyId: id });
  expect(data.message).toMatch(/The text of text: "x{1000}" and 108 more characters/);
});
