import { afterAll, beforeAll, expect, test } from "vitest";
import { startService, type TestService } from "../../support/service.ts";
import { chain, type JourneyClock, journeyClock } from "./clock.ts";

let service: TestService;
let clock: JourneyClock;
beforeAll(async () => {
  service = await startService({ role: "web" });
  clock = await journeyClock(service, { tiers: ["Silver", "Gold"] });
});
afterAll(() => service?.stop());

const NOBODY = "01890000-0000-7000-8000-000000000000";
const end = { id: "end", type: "exit", config: {} };
const gold = { field: "tier", operator: "eq", value: "Gold" };
const hook = (id: string) => ({ id, type: "webhook", config: { name: id } });
let drafts = 0;

interface Problem {
  node: string | null;
  field: string;
  message: string;
}

/** The errors of a draft, each as its node and field. */
async function errorsOf(definition: object, more: object = {}): Promise<Problem[]> {
  drafts += 1;
  const { id } = await clock.scenario.call("create_journey", {
    name: `Draft ${drafts}`,
    draft_definition: definition,
    ...more,
  });
  const { errors } = await clock.scenario.call("validate_journey", {
    journeyId: id,
    propertyId: clock.scenario.id,
  });
  return errors;
}

const places = (errors: Problem[]) => errors.map(({ node, field }) => `${node ?? "journey"}: ${field}`);

test("every wrong condition is named at its branch, and so are those of the limits", async () => {
  const wrong = (field: string) => ({ field, operator: "eq", value: "x" });
  const branches = [
    { label: "a", conditions: [wrong("nope"), gold, wrong("custom.none")] },
    { label: "b", conditions: [gold], groups: [{ conditions: [{ ...gold, operator: "between" }] }] },
    { label: "c", conditions: [] },
  ];
  const errors = await errorsOf(chain([{ id: "by_tier", type: "branch", config: { branches } }, end]), {
    exit_conditions: { conditions: [gold, wrong("nope")] },
    goal: { conditions: [wrong("nor_this")] },
  });
  expect(places(errors).toSorted()).toEqual([
    "by_tier: branches[0].conditions[0].field",
    "by_tier: branches[0].conditions[2].field",
    "by_tier: branches[1].groups[0].conditions[0].value",
    "by_tier: branches[2].conditions",
    "journey: exit_conditions.conditions[1].field",
    "journey: goal.conditions[0].field",
  ]);
});

test("every value that does not fit its operator is named, also in the goal", async () => {
  const properties = [
    { property: "amount", operator: "in", value: 5 },
    { property: "amount", operator: "gt", value: [5] },
    { property: "amount", operator: "gte", value: 5 },
  ];
  const event = { name: "deposit", properties };
  const timeout = { amount: 400, unit: "days" };
  const errors = await errorsOf(
    chain([{ id: "back", type: "wait_until", config: { event, timeout } }, end]),
    { goal: { event } },
  );
  expect(places(errors)).toEqual([
    "back: timeout",
    "back: event.properties[0].value",
    "back: event.properties[1].value",
    "journey: goal.event.properties[0].value",
    "journey: goal.event.properties[1].value",
  ]);
});

test("every loop without a wait is named, and every edge to a node that is not there", async () => {
  const branch = (id: string) => ({
    id,
    type: "branch",
    config: { branches: [{ label: "again", conditions: [gold] }] },
  });
  const errors = await errorsOf(
    chain(
      [branch("first"), hook("one"), branch("second"), hook("two"), end],
      [
        { from: "first", to: "one", label: "again" },
        { from: "first", to: "second", label: "otherwise" },
        { from: "one", to: "first" },
        { from: "second", to: "two", label: "again" },
        { from: "second", to: "end", label: "otherwise" },
        { from: "two", to: "second" },
        { from: "gone", to: "nowhere" },
      ],
    ),
  );
  expect(errors.filter(({ message }) => message.startsWith("People would go round"))).toMatchObject([
    { node: "first" },
    { node: "second" },
  ]);
  expect(errors.filter(({ message }) => message.startsWith("An edge names"))).toHaveLength(2);
});

test("every record that is missing, and every value that the property does not have", async () => {
  const errors = await errorsOf(
    chain([
      { id: "list", type: "add_to_segment", config: { segment_id: NOBODY } },
      { id: "play", type: "grant_game_play", config: { game_id: NOBODY } },
      { id: "change", type: "update_player", config: { tier: "Tin", custom: { a: 1, b: 2 } } },
      { id: "stay", type: "delay", config: { by: "until_field", field: "custom.stay" } },
      { id: "mail", type: "message", config: { channel: "email", template_id: NOBODY } },
      end,
    ]),
  );
  expect(places(errors)).toEqual([
    "list: segment_id",
    "play: game_id",
    "change: tier",
    "change: custom.a",
    "change: custom.b",
    "stay: field",
    "mail: template_id",
  ]);
});

test("an event that nobody has reported so far is a warning, with the names that are like it", async () => {
  const { scenario } = clock;
  const player_id = await scenario.player({ player_id: "ana", email: "ana@example.com" });
  await scenario.call("create_player_event", { player_id, name: "visit" });
  const wait = (name: string) => ({
    id: name,
    type: "wait_until",
    config: { event: { name }, timeout: { amount: 1, unit: "days" } },
  });
  const { id } = await scenario.call("create_journey", {
    name: "Misspelt",
    draft_definition: chain([wait("visit"), wait("vist"), end]),
    goal: { event: { name: "deposit" } },
  });
  const { warnings } = await scenario.call("validate_journey", {
    journeyId: id,
    propertyId: scenario.id,
  });
  expect(warnings).toEqual([
    {
      node: "vist",
      field: "event.name",
      message: 'Nobody has reported the event "vist" so far; did you mean visit? Reported are visit.',
    },
    {
      node: null,
      field: "goal.event.name",
      message: 'Nobody has reported the event "deposit" so far. Reported are visit.',
    },
  ]);
});

test("a schedule has five fields: nobody enters each second", async () => {
  const segment = await clock.scenario.call("create_segment", {
    ...{ name: "Gold", type: "dynamic", conditions: [gold] },
  });
  const at = (cron: string) => ({
    nodes: [{ id: "in", type: "trigger", config: { on: "schedule", cron, segment_id: segment.id } }, end],
    edges: [{ from: "in", to: "end" }],
  });
  expect(places(await errorsOf(at("* * * * * *")))).toEqual(["in: cron"]);
  expect(await errorsOf(at("0 10 * * MON"))).toEqual([]);
});

test("a definition that cannot be read is refused by the ids of its nodes, with the types that there are", async () => {
  const refused = clock.scenario.call("create_journey", {
    name: "Unreadable",
    draft_definition: chain([
      { id: "text", type: "sms", config: {} },
      { id: "rest", type: "delay", config: { by: "duration", duration: { amount: 0, unit: "days" } } },
      { id: "back", type: "wait_until", config: { event: { name: "a 'visit'" } } },
    ]),
  });
  const { details } = await refused.then(
    () => ({ details: [] }),
    (error: { details: Problem[] }) => error,
  );
  expect(details.map(({ message }) => message)).toEqual([
    expect.stringMatching(/^must be one of trigger, message, delay, .* \(of "text"\)$/),
    'must be at least 1 (of "rest")',
    expect.stringMatching(/^must be 1 to 60 letters.* \(of "back"\)$/),
    'is required (of "back")',
  ]);
});

test("the refusal of a definition that cannot be read names the faults of its graph and of its other nodes too", async () => {
  const refused = (draft_definition: object) =>
    clock.scenario.call("create_journey", { name: "Unreadable", draft_definition }).then(
      () => [],
      ({ details }: { details: Problem[] }) => details.map(({ field, message }) => `${field}: ${message}`),
    );
  const split = {
    splits: [
      { label: "a", percent: 40 },
      { label: "b", percent: 40 },
    ],
  };
  const nodes = [
    { id: "in", type: "trigger", config: { on: "api" } },
    { id: "wait", type: "delay", config: { by: "duration", duration: { amount: 0, unit: "days" } } },
    { id: "halves", type: "random_split", config: split },
    hook("lost"),
    end,
  ];
  const edges = [
    { from: "in", to: "wait" },
    { from: "wait", to: "halves", label: "yes" },
    { from: "halves", to: "nowhere", label: "c" },
    { from: "halves", to: "wait" },
    { from: "end", to: "in" },
  ];
  expect(await refused({ nodes, edges })).toEqual([
    'draft_definition.nodes[1].config.duration.amount: must be at least 1 (of "wait")',
    'draft_definition.nodes[0]: An edge leads into this trigger. Lead it to the node behind it. (of "in")',
    "draft_definition.edges[2]: An edge names the node nowhere, which is not there. Add the node, or correct the edge.",
    'draft_definition.nodes[1]: yes is no way out of this node. Its ways out are next. (of "wait")',
    'draft_definition.nodes[2]: c is no way out of this node. Its ways out are a, b. (of "halves")',
    'draft_definition.nodes[4]: The journey ends here. Remove the edge that leads away. (of "end")',
    'draft_definition.nodes[3]: No trigger leads here. Add an edge to the node, or remove it. (of "lost")',
    'draft_definition.nodes[4]: No trigger leads here. Add an edge to the node, or remove it. (of "end")',
    'draft_definition.nodes[2].config.splits: splits add up to 80 percent; they must add up to 100. (of "halves")',
  ]);
  // An edge that cannot be read may lead anywhere: nobody is said to be lost.
  expect(await refused({ nodes: [nodes[0], end], edges: [{ from: "in" }] })).toEqual([
    "draft_definition.edges[0].to: is required",
  ]);
  expect(await refused({ nodes: nodes.map((node) => ({ ...node, config: 1 })), edges: {} })).toHaveLength(6);
});

test("a message without a subject is named together with its broken texts", async () => {
  const mail = (subject?: string) => ({
    id: "mail",
    type: "message",
    config: { channel: "email", ...(subject && { subject }), body_html: "<p>Dear {{ player.nope }} {{</p>" },
  });
  const notice = { ...mail(), config: { channel: "inbox", body_text: "Dear {{ player.nope }}" } };
  expect(places(await errorsOf(chain([mail(), end])))).toEqual(["mail: subject", "mail: body_html"]);
  expect(places(await errorsOf(chain([notice, end])))).toEqual(["mail: subject", "mail: body_text"]);
  expect(places(await errorsOf(chain([mail("{{ player.nor_this"), end])))).toEqual([
    "mail: subject",
    "mail: body_html",
  ]);
});

test("a message's broken text is named together with every unknown variable beside it", async () => {
  const node = (config: object) => ({ id: "mail", type: "message", config });
  const faults = async (config: object) => {
    const errors = await errorsOf(chain([node(config), end]));
    return errors.map(({ message }: { message: string }) => message.replace(/[,;] (line|write).*/s, ""));
  };
  const unknown = (field: string, name: string) => `${field}: undefined variable: ${name}`;
  expect(
    await faults({
      channel: "email",
      subject: "Hi {{ nickname }} from {{ property.planet }}",
      body_html: '<p>Dear {{ player.nope }} {{</p><a href="http://example.com">x</a>',
      body_text:
        '{{ player.nor_this }}, {{ player.custom.any | default: "x" }}, {{ player.nor_this }}, {{ also }}',
    }),
  ).toEqual([
    expect.stringMatching(/^body_html: output .* not closed/),
    unknown("subject", "nickname"),
    unknown("subject", "property.planet"),
    unknown("body_text", "player.nor_this"),
    unknown("body_text", "also"),
    expect.stringContaining("body_html: a link is not https"),
  ]);
  expect(await faults({ channel: "sms", body_text: "{{ one }} {{ two }}" })).toEqual([
    unknown("body_text", "one"),
    unknown("body_text", "two"),
  ]);
  expect(
    await faults({
      channel: "inbox",
      subject: "{{ one",
      body_text: "{{ two }}",
      inbox: { cta_label: "{{ three }}", cta_url: "https://example.com/{{ four }}" },
    }),
  ).toEqual([
    expect.stringMatching(/^subject: output .* not closed/),
    unknown("body_text", "two"),
    unknown("inbox.cta_label", "three"),
    unknown("inbox.cta_url", "four"),
  ]);
});

test("a recipe refuses the name of an event that no event can have", async () => {
  const { scenario } = clock;
  for (const settings of [
    { recipe: "welcome", event: "5 visits" },
    { recipe: "win_back", segment_id: NOBODY, visit: "🎰" },
    { recipe: "visit_thanks", event: "visit " },
    { recipe: "big_loss_check_in", event: "loss\n" },
  ]) {
    const field = "visit" in settings ? "visit" : "event";
    await expect(
      scenario.call("create_journey_from_recipe", { propertyId: scenario.id, settings }),
    ).rejects.toMatchObject({ code: "invalid", details: [{ field: `settings.${field}` }] });
  }
});
