import { describe, expect, test } from "vitest";
import { vendor } from "../../../support/job-runner.ts";
import { scenarioIn } from "../../../support/scenario.ts";
import type { TestService } from "../../../support/service.ts";
import { eachInOwnProperty, TEST, VARIANTS, type VariantScenario } from "./scenario.ts";

let service: TestService;
let scenario: VariantScenario;
eachInOwnProperty((own, started) => {
  scenario = own;
  service = started;
});

describe("a test is refused", () => {
  const template = async (channel = "email") =>
    (
      await scenario.call("create_template", {
        name: crypto.randomUUID(),
        channel,
        subject: "Hi",
        html: "<p>T</p>",
        text: "T",
      })
    ).id as string;

  test.each<[string, string, object, object?]>([
    ["with one variant", "ab_test.variants", { variants: VARIANTS.slice(1) }],
    ["with two variants of one id", "ab_test.variants[1].id", { variants: [VARIANTS[0], VARIANTS[0]] }],
    [
      "with a weight of nothing",
      "ab_test.variants[0].weight",
      { variants: [{ id: "a", weight: 0 }, VARIANTS[1]] },
    ],
    ["with a fallback that is none of them", "ab_test.fallback_variant_id", { fallback_variant_id: "c" }],
    ["with an id that is none", "ab_test.variants[0].id", { variants: [{ id: "__proto__" }, VARIANTS[1]] }],
    ["by a metric that is none", "ab_test.metric", { metric: "revenue" }],
    ["by conversions without a goal", "ab_test.metric", { metric: "conversion" }],
    [
      "by openings of texts",
      "ab_test.metric",
      {},
      { channel: "sms", subject: null, body_html: null, body_text: "Hi" },
    ],
    [
      "with a subject for a text",
      "ab_test.variants[0].subject",
      { metric: "conversion" },
      { channel: "sms", subject: null, body_html: null, body_text: "Hi", goal: { event: "deposit" } },
    ],
    [
      "of half the players at everyone's own hour",
      "send_in_player_timezone",
      {},
      { send_in_player_timezone: true },
    ],
    [
      "with Liquid that does not parse",
      "ab_test.variants[0].subject",
      { variants: [{ id: "a", subject: "{{ x" }, VARIANTS[1]] },
    ],
    ["with a part that is none", "ab_test.variant", { variant: "a" }],
  ])("%s", async (_, field, changes, fields = {}) => {
    await expect(scenario.campaign({ ab_test: { ...TEST, ...changes }, ...fields })).rejects.toThrow(
      `${field}:`,
    );
  });

  test("with a template that is not there, is another channel's, or has no say beside the campaign's body", async () => {
    const using = (template_id: string, fields: object = { body_html: null }) =>
      scenario.campaign({
        ab_test: { ...TEST, variants: [VARIANTS[0], { id: "b", template_id }] },
        ...fields,
      });
    await expect(using(scenario.id)).rejects.toThrow("ab_test.variants[1].template_id");
    await expect(using(await template("sms"))).rejects.toThrow("ab_test.variants[1].template_id");
    await expect(using(await template(), {})).rejects.toThrow("a body of its own");
    const made = await using(await template());
    await expect(
      scenario.call("update_campaign", { id: made, channel: "inbox", ab_test: null, template_id: null }),
    ).resolves.toMatchObject({ channel: "inbox" });
    const textual = await scenario.campaign({
      template_id: await template("inbox"),
      channel: "inbox",
      body_html: null,
    });
    await expect(scenario.call("update_campaign", { id: textual, channel: "email" })).rejects.toThrow(
      "template_id",
    );
    const other = scenarioIn(service, service.tenant.id);
    const { id: foreign } = await other.call("create_template", {
      name: crypto.randomUUID(),
      html: "<p>F</p>",
    });
    await expect(using(foreign)).rejects.toThrow("no template");
  });

  test("by what would take its ground away later", async () => {
    const id = await scenario.campaign({
      ab_test: { ...TEST, metric: "conversion" },
      goal: { event: "deposit" },
    });
    await expect(scenario.call("update_campaign", { id, goal: null })).rejects.toThrow(
      "needs the campaign's goal",
    );
    await expect(scenario.call("update_campaign", { id, send_in_player_timezone: true })).rejects.toThrow(
      "test_percent",
    );
  });
});

test("a template that a variant uses keeps its content while it is sent, and is not deleted", async () => {
  await scenario.crowd(4);
  const { id: template_id } = await scenario.call("create_template", {
    name: "B",
    subject: "Hi",
    html: "<p>B</p>",
  });
  const { id: shared } = await scenario.call("create_template", {
    name: "A",
    subject: "Hi",
    html: "<p>A</p>",
  });
  const variants = [{ id: "a" }, { id: "b", template_id: template_id.toUpperCase() }];
  const id = await scenario.campaign({
    ab_test: { ...TEST, variants, test_percent: 100 },
    template_id: shared,
    subject: null,
    body_html: null,
  });
  await scenario.send(id);
  await expect(scenario.call("update_template", { id: template_id, html: "<p>C</p>" })).rejects.toThrow(
    "is sending this template",
  );
  await expect(scenario.call("delete_template", { id: template_id })).rejects.toThrow("uses this template");
  const { sender, given } = vendor();
  await scenario.work({ open: () => sender });
  const tried = await scenario.drawn(id);
  for (const { to, html } of given) expect(html).toContain(tried.get(to) === "b" ? "<p>B</p>" : "<p>A</p>");
  await scenario.call("delete_template", { id: template_id });
});

test("the preflight shows a message of each variant, and tells which lacks a variable", async () => {
  await scenario.crowd(5);
  const variants = [VARIANTS[0], { id: "b", subject: "Hi {{ player.custom.nick }}" }];
  const id = await scenario.campaign({ ab_test: { ...TEST, variants } });
  const lacking = await scenario.preflight(id);
  expect(lacking.ok).toBe(false);
  expect(lacking.errors[0]).toMatchObject({
    field: "ab_test.variants[1].subject",
    message: expect.stringContaining("player.custom.nick"),
  });
  await expect(scenario.send(id)).rejects.toThrow("ab_test.variants[1].subject");
  await scenario.call("update_campaign", { id, ab_test: TEST });
  const { ok, sample_renders } = await scenario.preflight(id);
  expect(ok).toBe(true);
  expect(sample_renders).toMatchObject([
    { variant_id: "a", subject: "Offer A" },
    { variant_id: "b", subject: "Offer B" },
  ]);
  await scenario.call("update_campaign", {
    id,
    ab_test: { ...TEST, variants: [VARIANTS[0], { id: "b", subject: "{{ player.shoe_size }}" }] },
  });
  expect((await scenario.preflight(id)).errors).toEqual([
    {
      field: "ab_test.variants[1].subject",
      message: expect.stringContaining("shoe_size"),
      stops_sending: true,
    },
  ]);
  await scenario.call("update_campaign", { id, ab_test: TEST });
  await scenario.call("update_property", { propertyId: scenario.id, tracking: "off" });
  expect((await scenario.preflight(id)).errors).toMatchObject([{ field: "ab_test.metric" }]);
});

test("a test message shows the variant that is asked for, and a copy of a campaign starts its own test", async () => {
  const playerId = await scenario.player({ email: "ana@example.com", first_name: "Ana" });
  const id = await scenario.campaign({ ab_test: { ...TEST, test_percent: 100 } });
  const about = { campaignId: id, propertyId: scenario.id, playerId };
  await expect(scenario.call("send_test_message", { ...about, variantId: "c" })).rejects.toThrow("a, b");
  const { send_id } = await scenario.call("send_test_message", { ...about, variantId: "b" });
  await scenario.call("send_test_message", about);
  const { sender, given } = vendor();
  await scenario.work({ open: () => sender });
  expect(given.map(({ subject }) => subject).sort()).toEqual(["[Test] Offer A", "[Test] Offer B"]);
  expect(await scenario.call("get_campaign_send", { id: send_id })).toMatchObject({ variant_id: "b" });
  await scenario.send(id);
  await scenario.work();
  await scenario.timePasses(id);
  await scenario.work();
  const { campaign } = await scenario.call("duplicate_campaign", { campaignId: id, propertyId: scenario.id });
  expect(campaign).toMatchObject({ status: "draft", ab_result: null, ab_ends_at: null });
});
