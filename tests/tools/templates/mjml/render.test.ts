import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { htmlOf } from "#tools/templates/mjml/render.ts";
import { type Scenario, scenarioIn } from "../../../support/scenario.ts";
import { startService, type TestService } from "../../../support/service.ts";

let service: TestService;
let property: string;
let scenario: Scenario;
beforeAll(async () => {
  service = await startService();
  property = (await service.newProperty()).id;
  scenario = scenarioIn(service, property);
  for (const [first_name, tier] of [
    ["<Ana>", "Gold"],
    ["Bo", "Silver"],
  ]) {
    await scenario.player({ player_id: first_name, first_name, tier, email: `${tier}@example.com` });
  }
  await started();
  // The thread loads MJML, which takes 3 s of a free processor.
});
afterAll(() => service?.stop());

/** The thread's first start may take longer than a request has. */
async function started(): Promise<void> {
  await vi.waitFor(() => htmlOf("mjml", mail(""), property), { timeout: 50_000 });
}

const mail = (body: string) => `<mjml><mj-body>\n${body}\n</mj-body></mjml>`;
const section = (text: string) =>
  `<mj-section><mj-column><mj-text>${text}</mj-text></mj-column></mj-section>`;

describe("a campaign in MJML", () => {
  test("goes out laid out for each recipient, with counted links, the footer and its Liquid", async () => {
    const id = await scenario.campaign({
      body_html: null,
      body_mjml: mail(`${section("Hi {{ first_name }}")}
        {% if tier == "Gold" %}${section('<a href="https://casino.example/gold">To the gold table</a>')}{% endif %}`),
    });
    expect(await scenario.preflight(id)).toMatchObject({ ok: true, errors: [] });
    await scenario.send(id);
    await service.idle();
    const [gold, silver] = await scenario.mailbox();
    expect(gold!.html).toContain("Hi &lt;Ana&gt;</div>");
    expect(gold!.html).toMatch(/<a href="[^"]+\/c\/[^"]+">To the gold table<\/a>/);
    expect(gold!.html).not.toContain("casino.example/gold");
    expect(silver!.html).toContain("Hi Bo</div>");
    expect(silver!.html).not.toContain("gold table");
    for (const { html, text } of [gold!, silver!]) {
      expect(html).toContain("1 Main Street, Reno, NV 89501");
      expect(html).toMatch(/>Unsubscribe<\/a>/);
      expect(html).not.toMatch(/<mj-|\{[{%]|lq[0-9a-f]{12}n/);
      expect(html).not.toContain("fonts.googleapis.com");
      expect(text).toContain("Hi ");
    }
    const { campaign } = await scenario.call("duplicate_campaign", { campaignId: id, propertyId: property });
    const { body_mjml, body_html } = await scenario.get(id);
    expect(campaign).toMatchObject({ body_mjml, body_html });
  });

  test("names the line of a variable that no player has and that has no default", async () => {
    const id = await scenario.campaign({ body_html: null, body_mjml: mail(section("{{ player.shoe }}")) });
    const { errors } = await scenario.preflight(id);
    expect(errors).toEqual([
      { field: "body_mjml", message: expect.stringMatching(/player\.shoe.*line:2/s), stops_sending: true },
    ]);
    await expect(scenario.send(id)).rejects.toThrow("shoe");
  });

  test("has no HTML but what is made of its MJML", async () => {
    const id = await scenario.campaign({ body_html: null, body_mjml: mail(section("One")) });
    await expect(scenario.call("update_campaign", { id, body_html: "<p>x</p>" })).rejects.toThrow(
      "body_mjml",
    );
    const changed = await scenario.call("update_campaign", { id, body_mjml: mail(section("Two")) });
    expect(changed.body_html).toContain(">Two</div>");
    const without = await scenario.call("update_campaign", { id, body_mjml: null });
    expect(without).toMatchObject({ body_html: null, body_mjml: null });
  });
});

describe("a template in MJML", () => {
  test("tells its variables, and becomes one in HTML when its engine does", async () => {
    const created = await scenario.call("create_template", {
      name: "Layout",
      engine: "mjml",
      subject: "{{ player.city | default: 'you' }}",
      mjml: mail(section("{{ first_name }}")),
    });
    expect(created.variables).toEqual(["first_name", "player.city"]);
    const id = created.id;
    const changed = await scenario.call("update_template", { id, subject: "Hi" });
    expect(changed).toMatchObject({ variables: ["first_name"], html: created.html });
    await expect(scenario.call("update_template", { id, mjml: null })).rejects.toThrow("mjml");
    const plain = await scenario.call("update_template", { id, engine: "liquid", html: "<p>{{ tier }}</p>" });
    expect(plain).toMatchObject({ mjml: null, html: "<p>{{ tier }}</p>", variables: ["tier"] });
    await expect(scenario.call("create_template", { name: "x", mjml: mail("") })).rejects.toThrow(
      "engine mjml",
    );
  });

  const REFUSED: [string, string, RegExp][] = [
    ["an unknown component", "<mj-foo/>", /line 2.*mj-foo/],
    [
      "a value for a width",
      '<mj-section><mj-column width="{{ player.city }}"/></mj-section>',
      /line 2.*width/,
    ],
    ["another file", '<mj-include path="/etc/passwd" type="html"/>', /line 2.*mj-include/],
    [
      "a condition between columns",
      "<mj-section>\n{% if tier %}<mj-column/>{% endif %}</mj-section>",
      /line 3.*\{% if tier %\}/,
    ],
    ["Liquid in place of an attribute", "<mj-section {{ tier }}></mj-section>", /tier|Attribute/],
    ["Liquid that does not parse", "\n{% if tier %}", /if tier/],
    ["no MJML", "</mj-body></mjml><p>", /mjml/],
  ];
  test.each(REFUSED)("is refused with %s", async (_, body, message) => {
    const call = scenario.call("create_template", { name: "Bad", engine: "mjml", mjml: mail(body) });
    await expect(call).rejects.toMatchObject({ code: "invalid", message: expect.stringMatching(message) });
  });

  test("that takes too long is refused, while another property's is laid out", async () => {
    const styles = `<mj-style inline="inline">${"div div td{top:0}".repeat(3_000)}</mj-style>`;
    const columns = `<mj-section>${"<mj-column/>".repeat(8_000)}</mj-section>`;
    const slow = `<mjml><mj-head>${styles}</mj-head><mj-body>${columns}</mj-body></mjml>`;
    const rival = (await service.newProperty()).id;
    const outcome = expect(htmlOf("mjml", slow, property)).rejects.toThrow("takes too long");
    const other = await vi.waitFor(() => htmlOf("mjml", mail(section("Rival")), rival), { timeout: 20_000 });
    expect(other).toContain("Rival");
    await outcome;
  });
});

test("a property's templates that come at once are laid out one after another", async () => {
  const texts = ["One", "Two", "Three"];
  const pages = await Promise.all(texts.map((text) => htmlOf("mjml", mail(section(text)), property)));
  for (const [index, text] of texts.entries()) expect(pages[index]).toContain(`${text}</div>`);
});

test("a template that would keep the service busy is refused at once", async () => {
  const bombs = [
    `{{ ${"a[".repeat(150)}0${"]".repeat(150)} }}`.repeat(500),
    `{% if a${" and a".repeat(40_000)}%}x{% endif %}`,
    "{{ a[a[a[0]]] }}".repeat(4_000),
  ];
  for (const html of bombs) {
    const answer = await service.post("/api/templates", { name: randomUUID(), subject: "x", html });
    expect(answer.status).toBe(400);
  }
});
