import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { raw } from "#db/sql.ts";
import { changesSince } from "#tools/approvals/approval.ts";
import { APPROVED_COLUMNS } from "#tools/campaigns/approval/prints.ts";
import campaigns from "#tools/campaigns/campaigns.table.ts";
import { otherWords } from "#tools/campaigns/content/other-words.ts";
import { CATALOG } from "#tools/catalog.ts";
import { DEFAULT_THEME } from "#tools/themes/theme.ts";
import { workOf } from "../../support/cpu-time.ts";
import { onceOverMcp } from "../../support/operation-calls.ts";
import { newScenario, type Scenario } from "../../support/scenario.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
let scenario: Scenario;
let key: string;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());

type Fields = Record<string, unknown>;

/** A campaign to the Gold players that people have approved for a year from now, and what it is made of. */
async function approved(fields: Fields = {}) {
  scenario = await newScenario(service);
  ({ api_key: key } = await service.call("create_api_key", {
    property_id: scenario.id,
    name: "agent",
    rate_limit: 1_000_000,
  }));
  for (const name of ["ann", "bea", "cyd", "dee"]) {
    await scenario.player({ email: `${name}@example.com`, first_name: name, tier: "Gold" });
  }
  await scenario.player({ email: "eve@example.com", tier: "Silver" });
  const template = await scenario.call("create_template", {
    name: "Offer",
    subject: "Approved subject",
    html: "<p>Approved</p>",
  });
  const vips = await scenario.call("create_segment", { name: "VIPs", type: "static" });
  const gold = await scenario.call("create_segment", {
    name: "Gold",
    conditions: [{ field: "tier", operator: "eq", value: "Gold" }],
    exclude_segment_ids: [vips.id],
  });
  const id = await scenario.campaign({
    template_id: template.id,
    subject: null,
    body_html: null,
    audience: null,
    segment_id: gold.id,
    ...fields,
  });
  const input = {
    campaign_id: id,
    segment_id: gold.id,
    scheduled_at: new Date(Date.now() + 365 * 86_400_000).toISOString(),
  };
  const shown = await agent("schedule_campaign", input);
  expect(shown.isError, JSON.stringify(shown.data)).toBe(false);
  const done = await agent("schedule_campaign", { ...input, confirm_token: shown.data.confirm_token });
  expect(done.data).toMatchObject({ campaign: { status: "scheduled" } });
  return { id, template: template.id, gold: gold.id, vips: vips.id, shown: String(shown.data.message) };
}
type Approved = Awaited<ReturnType<typeof approved>>;

const agent = (name: string, input: Fields) =>
  onceOverMcp(service, CATALOG.operations.get(name)!, input, { "X-Api-Key": key });

/** The headers of a signed-in manager of the property. */
async function managerOf(propertyId: string) {
  const { id, token } = await service.signIn({ role: null });
  await service.call("grant_membership", { user_id: id, property_id: propertyId, role: "manager" });
  return { Authorization: `Bearer ${token}`, "X-Api-Key": null, "X-Property-Id": propertyId };
}

/** The time has come. */
async function fire(id: string): Promise<void> {
  await scenario.comeDue(id);
  await scenario.work();
}

test("an approved part that is gone is a change, as is a new part", () => {
  const approved = { content: { subject: { words: "the subject", hash: "a" } } };
  const present = { content: { body: { words: "the text", hash: "b" } } };
  expect(changesSince(approved, present)).toEqual(["the subject", "the text"]);
  expect(changesSince(approved, approved)).toEqual([]);
  expect(changesSince(null, present)).toEqual(["nobody has approved it"]);
});

test("each column that a caller writes is approved, or is known to reach nobody", () => {
  const approvedNames = Object.values(APPROVED_COLUMNS).flatMap((columns) => Object.keys(columns));
  const writable = Object.entries(campaigns.columns).flatMap(([name, { write }]) =>
    write === "never" ? [] : [name],
  );
  const harmless = [
    ...["name", "throttle_per_minute", "max_send_errors", "priority", "archived_at"],
    "expires_after_hours",
  ];
  expect(
    approvedNames.toSorted(),
    "Does the column change what people get, or who gets it? Then name it in APPROVED_COLUMNS, else among the harmless here.",
  ).toEqual(writable.filter((name) => !harmless.includes(name)).toSorted());
});

describe("a confirmation", () => {
  test("is kept with the campaign: the state, its number, and who gave it", async () => {
    const { id } = await approved();
    expect((await scenario.get(id)).approved).toMatchObject({
      by: { type: "api_key", id: expect.any(String) },
      at: expect.any(String),
      content_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      audience_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      flags: [],
      count: 4,
    });
  });

  test("names the campaign, its hour and zone, the rules that are off, the test, the holdout and the provider", async () => {
    const { shown } = await approved({
      name: "Gold weekend",
      ignore_frequency_cap: true,
      holdout_percent: 10,
      goal: { event: "deposit" },
      ab_test: {
        variants: [{ id: "a" }, { id: "b", subject: "Other" }],
        metric: "conversion",
        test_percent: 50,
      },
    });
    expect(shown).toMatch(
      /"Gold weekend" by email on \w+, \w+ \d+, 20\d\d, \d\d:\d\d \(America\/New_York\)\./,
    );
    expect(shown).toContain("OFF for it: frequency rules (ignore_frequency_cap)");
    expect(shown).toContain(
      "50 % get the variants a, b; after 240 minutes the rest get the best by conversion",
    );
    expect(shown).toContain("Held out: 10 % get nothing.");
    expect(shown).toContain("Provider: the built-in mailbox");
    expect(shown).toContain('One message of them: "Approved subject"');
  });

  test("shows the body of each variant from the HTML, and a text beside it", async () => {
    const { shown } = await approved({
      template_id: null,
      body_html:
        '<p>Dinner <a href="https://play.example/dinner">for two</a><img alt="" src="https://play.example/dish.png"></p>',
      body_text: "Dinner for one",
      ab_test: {
        variants: [
          { id: "a", subject: "Hungry?" },
          { id: "b", subject: "Thirsty?" },
        ],
        metric: "open",
      },
    });
    expect(shown).toContain('One message of them: "Hungry?"');
    expect(shown).toContain('One message of the variant b: "Thirsty?"');
    expect(shown).toMatch(/Its text: ".*Dinner for two \(https:\/\/play\.example\/dinner\)/);
    expect(shown).toContain('Its text without HTML: "Dinner for one');
    expect(shown).toContain('Pictures and styles in it: "https://play.example/dish.png".');
  });

  test("shows the offer and the button of an inbox message", async () => {
    const { shown } = await approved({
      ...{ channel: "loyaltyvip", template_id: null, subject: "Dinner", body_text: "It is on us" },
      inbox: {
        cta_label: "Book",
        cta_url: "https://play.example/dinner",
        offer: { type: "comp", value: "$100" },
      },
    });
    expect(shown).toContain('One message of them: "Dinner"');
    expect(shown).toContain('Its text: "It is on us"');
    expect(shown).toContain('"https://play.example/dinner"');
    expect(shown).toContain('"value":"$100"');
  });

  test("shows the message also where nobody may get it yet, and that others may read other words", async () => {
    const { id } = await approved();
    const nobody = [{ field: "player_id", operator: "eq", value: "nobody" }];
    const draft = await scenario.campaign({
      ...{ audience: null, conditions: nobody, subject: "Hello {{ first_name }}" },
      body_html: '{% if tier == "Gold" %}<p>Dinner</p>{% else %}<p>Lunch</p>{% endif %}',
    });
    const { data } = await agent("send_campaign", { campaignId: draft });
    expect(data.message).toContain('One message of them: "Hello ');
    expect(data.message).toMatch(/Its text: ".*Lunch/);
    expect(data.message).toContain("It has conditions ({% if %}): other players may read other words.");
    const changed = await agent("update_campaign", { id, preheader: "Soon" });
    expect(changed.data.message).not.toContain("conditions");
    for (const hidden of [
      '{%\n if tier == "Gold" %}a{% endif %}',
      "{% liquid\n if tier\n echo tier\n endif %}",
    ]) {
      const { data: asked } = await agent("update_campaign", { id, preheader: hidden });
      expect(asked.message, hidden).toContain("It has conditions");
    }
  });

  test.each([
    ["{{ player.tier | replace: 'Silver', 'Bring $500' }}", "Bring $500"],
    [
      '{{ "now" | date: "%Y" | replace: "2525", "Bring a \\"friend\\" along" }}',
      'Bring a \\"friend\\" along',
    ],
    ["{{ 'it\\\\' | append: 'evil' | slice: 0, 2 }}", "evil"],
    [
      '{% assign words = "Bring it all" %}{{ first_name | truncate: 0, words | slice: 0, 0 }}',
      "Bring it all",
    ],
  ])("shows the words that a tag has for others: %s", async (tag, words) => {
    const { id } = await approved();
    const { data } = await agent("update_campaign", { id, body_html: `<p>Don't wait.</p>${tag}` });
    expect(data.message).toMatch(/Words in its tags, which other players or another day may show: ".+"\.\n/);
    expect(data.message).toContain(JSON.stringify(words));
    expect(data.message).not.toContain("It has conditions");
  });

  test.each([
    ['{% if tier == "Iron" %}<p>Bring $500, {{ first_name }}.</p>{% endif %}', '"Bring $500, ….", "Iron"'],
    ["{% unless tier %}a{% elsif tier == 'Iron' %}<b>Bring</b> it all{% endunless %}", '"Bring it all"'],
    [
      '{% case tier %}{% when "Iron" %}{% for one in player.tags %}Bring it all{% endfor %}{% endcase %}',
      '"Bring it all"',
    ],
    [
      '{% if tier == "Iron" %}<a href="https://evil.example/x">Pay</a>{% endif %}',
      '"Pay (https://evil.example/x)"',
    ],
    [
      '<a href="{% if tier == "Iron" %}https://evil.example{% else %}https://play.example{% endif %}">Go</a>',
      '"https://evil.example"',
    ],
    [
      '{% if tier == "Iron" %}<img src="https://evil.example/x.png">{% endif %}',
      '"https://evil.example/x.png"',
    ],
    ['{% if tier == "Iron" %}{% raw %}Bring {{ it }}{% endraw %}{% endif %}', '"Bring {{ it }}"'],
    ["{% if tier == 'Iron' %}q{% endif %}{% if tier == 'Iron' %}z{% endif %}", '"q", "z", "Iron"'],
    [
      "{% if tier == 'Iron' %}{% # endif %}{% comment %}{% endif %}{% endcomment %}Bring all{% endif %}",
      '"Bring all',
    ],
    [
      "{% comment %}{% endif %}{% endcomment %}{% if tier == 'Iron' %}Bring it all{% endif %}",
      '"Bring it all"',
    ],
    ["{% capture words %}Bring it all{% endcapture %}{{ tier | replace: 'Iron', words }}", '"Bring it all"'],
    ["{% if tier == 'Iron' %}<!-- {{ '-->' | raw }}Bring it all{% endif %}", '"Bring it all"'],
    ["{% if tier == 'Iron' %}<style>{{ '</style>' | raw }}Bring it all{% endif %}", '"Bring it all"'],
    [`{% if tier == 'Iron' %}<b class="{{ '">' | raw }}Bring it all{% endif %}`, '"Bring it all"'],
    [
      `{% if tier == "Iron" %}<p title="{% if tier %}{% endif %}<!--">Bring it all</p>{% endif %}`,
      '"Bring it all"',
    ],
    [
      `{% if tier == "Iron" %}<p title="{% if tier %}{% endif %}<b class='">Bring it all' "></p>{% endif %}`,
      '"Bring it all',
    ],
    ["{% if tier == 'Iron' %}<!--[if mso]>Bring it all<![endif]-->{% endif %}", '"Bring it all"'],
    [
      '{% if tier == "Iron" %}<style>p::after { content: "Bring it all" }</style>{% endif %}',
      '"Bring it all"',
    ],
    [
      '{% if tier == "Iron" %}<a href="https://evil.example/" {% else %}<a href="https://play.example/" {% endif %}>Go</a>',
      '"https://evil.example/"',
    ],
    ['{% if tier == "Iron" %}<img alt="Bring it all" {% else %}<img {% endif %}>', '"Bring it all"'],
    ["{% if tier == 'Iron' %}Call {{ 18005551234 }}{% endif %}", '"18005551234"'],
    ["{% if tier == 'Iron' %}{{ 'B' }}{{ 'r' }}{{ 'q' }}{% endif %}", '"B", "r", "q"'],
    [`{% raw %}{{ " {% endraw %}{% if tier == 'Iron' %}{{ "Bring it all" }}{% endif %}`, '"Bring it all"'],
    ["Do not bring it. {% if tier == 'Iron' %}<p>Do</p><p>bring it</p>{% endif %}", '"Do\\n\\nbring it"'],
    ["Do not bring it. {% if tier == 'Iron' %}Do {% # x %}bring it{% endif %}", '"Do bring it"'],
    [
      "You will not lose it. {% if tier == 'Iron' %}You will {{ '' }}lose it{% endif %}",
      '"You will …lose it"',
    ],
    [
      "You will not lose it. {% if tier == 'Iron' %}You will {{ tier | slice: 0, 0 }} lose it{% endif %}",
      '"You will … lose it"',
    ],
    [
      '<a href="https://play.example/">Go</a> not today. {% if tier == "Iron" %}<a href="https://play.example/">Go</a> today{% endif %}',
      'today"',
    ],
  ])("shows the words that a condition keeps for others: %s", async (block, words) => {
    const { id } = await approved();
    const { data } = await agent("update_campaign", { id, body_html: `<p>Don't wait.</p>${block}` });
    const [said] = /Words in its tags, which other players or another day may show: .*/.exec(
      String(data.message),
    )!;
    expect(said).toContain(words);
  });

  test("shows a condition's words of a text, and none that the shown message has", async () => {
    const { id } = await approved();
    const body_text = "{% if tier == 'Iron' %}Bring <all> of it{% else %}Lunch is on us{% endif %}";
    const { data } = await agent("update_campaign", { id, template_id: null, subject: "Hi", body_text });
    expect(data.message).toContain('another day may show: "Bring <all> of it", "Iron".');
  });

  test("repeats no words of a common mail with a greeting by condition", async () => {
    const { id } = await approved();
    const body_html = `<html><head><style>.a { color: red; font-family: "Arial" }</style></head><body>
      {% if first_name %}<p>Dear {{ first_name }},</p>{% else %}<p>Dear,</p>{% endif %}
      <!--[if mso]><table><tr><td><![endif]--><table style="font-family:'Arial'"><tr><td class="a">
      Don't miss &quot;dinner&quot; (5 &amp; 6)&nbsp;pm.</td></tr></table><!--[if mso]></td></tr></table><![endif]-->
      <!-- The end --><a href="https://play.example/?a=1&amp;b=2" style="color:red">Play</a> now<br>or <b>later</b>.
      <img src="https://play.example/x.png" alt="A table"></body></html>`;
    const { data } = await agent("update_campaign", { id, body_html });
    expect(data.message).toContain("It has conditions");
    expect(data.message).not.toContain("another day may show");
  });

  test("says that a long mail is not searched for all words", async () => {
    const { id } = await approved();
    const body_html = `{% if tier %}${"<p>Lunch</p>".repeat(9_000)}{% endif %}`;
    const { data } = await agent("update_campaign", { id, body_html });
    expect(data.message).toContain(
      "It is too long to be searched for all words that other players may read.",
    );
  });

  test("gives up the search of a hostile text before it holds up others, and says so", async () => {
    const seen = "a b ".repeat(20_000);
    const parts = Array.from({ length: 190 }, () => "a\n\nb").join("{{ tier }}");
    const source = { html: `{% if tier %}${parts}{% endif %}`, text: null, script: null };
    let said: string[] = [];
    const spent = await workOf(() => {
      said = otherWords([source], { words: [seen], values: ["Gold"] });
    });
    expect(said.at(-1)).toBe("It is too long to be searched for all words that other players may read.");
    expect(spent).toBeLessThan(600);
  });

  test("shows a category of the inbox with half a tag as it is written", async () => {
    const { id } = await approved();
    const { data, isError } = await agent("update_campaign", { id, inbox: { category: "{% News" } });
    expect(isError, JSON.stringify(data)).toBe(false);
    expect(data.message).toContain("{% News");
  });

  test("says that captured words may be shown to others", async () => {
    const { id } = await approved();
    const body_html =
      "{% capture words %}Bring it all{% endcapture %}<p>{{ tier | replace: 'Silver', words }}</p>";
    const { data } = await agent("update_campaign", { id, body_html });
    expect(data.message).toContain("It has conditions");
  });

  test("does not repeat words that the shown message has, nor forms of dates", async () => {
    const { id } = await approved();
    const body_html =
      "<p>{{ 'now' | date: '%B %d' }} {{ player.custom | default: 'x' | slice: 0, 0 }}{{ 'Dinner' }}</p>";
    const { data } = await agent("update_campaign", { id, body_html });
    expect(data.message).toContain("Dinner");
    expect(data.message).toContain('another day may show: "now", "x".');
  });

  test("says how much of a long message it leaves out", async () => {
    const { shown } = await approved({
      template_id: null,
      subject: "Long",
      body_html: `<p>${"x".repeat(3000)} the end</p>`,
    });
    expect(shown).toMatch(/Its text: ".*x{900,}" and [\d,]+ more characters/);
    expect(shown).not.toContain("the end");
  });

  test("of another body shows that body, and whether it can be sent", async () => {
    const { id } = await approved();
    const changed = await agent("update_campaign", { id, body_html: "<p>Something else</p>" });
    expect(changed.data.message).toMatch(/Its text: ".*Something else/);
    const broken = await agent("update_campaign", { id, subject: "Hello {{ firstname }}" });
    expect(broken.data.message).toContain("To be corrected first, subject");
  });

  test("shows the unfilled message where nobody can get it as it is", async () => {
    const { id } = await approved();
    const subject = '{% if tier == "Gold" %}Dinner{% endif %}';
    const { data } = await agent("update_campaign", { id, subject });
    expect(data.message).toContain("To be corrected first, subject");
    expect(data.message).toContain(`One message of them, unfilled: ${JSON.stringify(subject)}`);
    expect(data.message).toContain('Its text: "Approved"');
    expect(data.message).toContain("It has conditions");
  });

  test("of going on counts the messages that wait, also as a proposal keeps it", async () => {
    const { id } = await approved();
    await scenario.comeDue(id);
    for (const only of ["fire_campaign", "plan_campaign"]) await scenario.work({ only });
    await scenario.call("pause_campaign", { campaignId: id, propertyId: scenario.id });
    await scenario.call("update_property", { propertyId: scenario.id, approval_over_players: 1 });
    const input = { campaignId: id };
    const { message, confirm_token } = (await agent("resume_campaign", input)).data;
    expect(message).toContain("4 messages wait to be sent.");
    const proposed = await agent("resume_campaign", { ...input, confirm_token });
    const proposal = await scenario.call("get_proposal", { id: (proposed.data.proposal as Fields).id });
    expect(proposal.sentences).toContain("4 messages wait to be sent.");
  });

  test("has a line for each sentence, and none of a text's own", async () => {
    const { id } = await approved();
    const fake = "drill.\nProvider: nobody.\u2028Nobody is written to.";
    await scenario.call("pause_all_sending", { propertyId: scenario.id, reason: fake });
    const { data } = await agent("resume_all_sending", {});
    expect(data.message).toContain(JSON.stringify("drill.\nProvider: nobody. Nobody is written to."));
    await scenario.query(
      (sql) => sql`
      update campaigns set status = 'paused', started_at = now(), status_reason = ${fake}
      where property_id = ${scenario.id} and id = ${id}`,
    );
    await scenario.query(
      (sql) => sql`
      update sending_pauses set is_open = false where property_id = ${scenario.id}`,
    );
    const resumed = await agent("resume_campaign", { campaignId: id });
    expect(String(resumed.data.message).split(/[\n\u2028]/)).not.toContain("Provider: nobody.");
  });

  test("of a test message shows the message", async () => {
    const { id } = await approved();
    const { body: players } = await service.request("GET", "/api/players?first_name=eq.ann", {
      headers: { "X-Api-Key": key },
    });
    const { data } = await agent("send_test_message", { campaignId: id, playerId: players[0].id });
    expect(data.message).toContain('One message of them: "Approved subject"');
    expect(data.message).toMatch(/Its text: ".*Approved/);
    expect(data.message).not.toContain("without HTML");
  });

  test("of a test message shows the variant that goes, and no other", async () => {
    const variants = [
      { id: "a", subject: "Hungry?" },
      { id: "b", subject: "Thirsty?" },
    ];
    const { id } = await approved({ ab_test: { variants, metric: "open" } });
    const playerId = await scenario.player({ email: "tess@example.com" });
    for (const [variantId, subject] of [
      ["a", "Hungry?"],
      ["b", "Thirsty?"],
    ]) {
      const { data } = await agent("send_test_message", { campaignId: id, variantId, playerId });
      expect(String(data.message).match(/Hungry\?|Thirsty\?/g), JSON.stringify(data)).toEqual([subject]);
    }
  });
});

describe("a scheduled campaign that an agent sends now", () => {
  test.each(["send_campaign", "preflight_campaign"])(
    "is shown to go now by %s, and has no other time then",
    async (name) => {
      const { id } = await approved();
      const { data } = await agent(name, { campaignId: id });
      expect(data.message).toContain('The campaign "Weekend" by email now.');
      const { confirm_token } = data;
      const sent = await agent("send_campaign", { campaignId: id, confirm_token });
      expect(sent.data).toMatchObject({ campaign: { status: "queued", scheduled_at: null } });
      await scenario.work();
      expect(await scenario.tally(id)).toEqual({ sent: 4 });
    },
  );

  test("is shown to go now after it was held at its time", async () => {
    const { id } = await approved();
    await sqlOf(null, "update campaigns set tags = '{x}'", id);
    await fire(id);
    const { data } = await agent("resume_campaign", { campaignId: id });
    expect(data.message).toContain('The campaign "Weekend" by email now.');
  });
});

describe("the audience of a question that is confirmed", () => {
  const asked = async (joining: number) => {
    const made = await approved();
    const input = { campaignId: made.id };
    const { confirm_token } = (await agent("send_campaign", input)).data;
    for (let index = 0; index < joining; index += 1) {
      await scenario.player({ email: `new${index}@example.com`, tier: "Gold" });
    }
    return { ...made, ...(await agent("send_campaign", { ...input, confirm_token })) };
  };

  test("may have grown by as much as the property allows, and the number that was shown is approved", async () => {
    const { id, data } = await asked(1);
    expect(data).toMatchObject({ success: true });
    expect((await scenario.get(id)).approved.count).toBe(4);
    await scenario.work();
    expect(await scenario.tally(id)).toEqual({ sent: 5 });
  });

  test("is asked about again where it has grown further", async () => {
    const { data } = await asked(2);
    expect(data).toMatchObject({ confirmation_required: true });
    expect(data.message).toContain("It would reach 6 of 6 players.");
  });
});

describe("a check whose fingerprint is given", () => {
  const check = async () => {
    const made = await approved();
    await scenario.call("unschedule_campaign", { campaignId: made.id, propertyId: scenario.id });
    const { fingerprint } = await scenario.preflight(made.id);
    const scheduled_at = new Date(Date.now() + 86_400_000).toISOString();
    const input = { campaign_id: made.id, segment_id: made.gold, scheduled_at, fingerprint };
    return { ...made, fingerprint, schedule: () => scenario.call("schedule_campaign", input) };
  };
  const join = (name: string) => scenario.player({ email: `${name}@example.com`, tier: "Gold" });

  test("stands while the audience grows by no more than the property allows, and its number is approved", async () => {
    const { id, schedule } = await check();
    await join("new1");
    await schedule();
    expect((await scenario.get(id)).approved.count).toBe(4);
    await join("new2");
    await fire(id);
    expect((await scenario.get(id)).status_reason).toContain("grown from 4 to 6 players");
  });

  test("is refused for an audience that has grown further", async () => {
    const { id, schedule } = await check();
    await join("new1");
    await join("new2");
    await expect(schedule()).rejects.toThrow("an audience which has grown from 4 to 6 players since");
    expect(await scenario.get(id)).toMatchObject({ status: "draft" });
  });

  test("is refused with another number than its own, which would raise the approved one", async () => {
    const { id, fingerprint } = await check();
    const [hash] = fingerprint.split("-");
    for (const number of ["1000000", "NaN", "4.5", "-4", ""]) {
      const input = { campaignId: id, fingerprint: `${hash}-${number}` };
      const { isError, data } = await agent("send_campaign", input);
      expect([isError, data.code], number).toEqual([true, "conflict"]);
    }
  });

  test("counts the players of now against the property's limit, and asks about them", async () => {
    const { id, fingerprint } = await check();
    await scenario.call("update_property", { propertyId: scenario.id, approval_over_players: 4 });
    await join("new1");
    const input = { campaignId: id, fingerprint };
    const shown = await agent("send_campaign", input);
    expect(shown.data.message).toContain("It reaches up to 5 players.");
  });

  test("that is older than a person's question approves no more than the question has shown", async () => {
    const { id, fingerprint } = await check();
    const players = (await scenario.call("list_players", {})) as { id: string; tier: string }[];
    await scenario.call("update_player", {
      id: players.find(({ tier }) => tier === "Gold")!.id,
      tier: "Silver",
    });
    const input = { campaignId: id, fingerprint };
    const { confirm_token } = (await agent("send_campaign", input)).data;
    await agent("send_campaign", { ...input, confirm_token });
    expect((await scenario.get(id)).approved.count).toBe(3);
  });

  test("is refused for a campaign that would fail at its hour", async () => {
    const { id, schedule } = await check();
    await scenario.call("update_campaign", { id, template_id: null });
    const { fingerprint } = await scenario.preflight(id);
    await expect(schedule()).rejects.toThrow("has changed since");
    const scheduled_at = new Date(Date.now() + 86_400_000).toISOString();
    const input = { campaign_id: id, segment_id: null, scheduled_at };
    await expect(scenario.call("schedule_campaign", { ...input, fingerprint })).rejects.toThrow("subject");
    expect((await scenario.call("schedule_campaign", input)).warnings).toContainEqual(
      expect.stringContaining("subject"),
    );
  });
});

describe("an approved campaign goes out", () => {
  test("as it was approved", async () => {
    const { id } = await approved();
    await fire(id);
    expect(await scenario.tally(id)).toEqual({ sent: 4 });
  });

  test("with an audience that has grown by no more than the property allows", async () => {
    const { id } = await approved();
    await scenario.player({ email: "new@example.com", tier: "Gold" });
    await fire(id);
    expect(await scenario.tally(id)).toEqual({ sent: 5 });
  });

  test("with each player whom a person has let an agent add, beside the growth", async () => {
    const { id, vips } = await approved();
    const fay = await scenario.player({ email: "fay@example.com", tier: "Gold" });
    const member = { segment_id: vips, player_id: fay };
    const { id: listed } = await scenario.call("create_segment_member", member);
    const gus = await scenario.player({ email: "gus@example.com", tier: "Silver" });
    for (const [name, input] of [
      ["delete_segment_member", { id: listed }],
      ["update_player", { id: gus, tier: "Gold" }],
    ] as const) {
      const { confirm_token } = (await agent(name, input)).data;
      expect((await agent(name, { ...input, confirm_token })).isError, name).toBe(false);
    }
    expect((await scenario.get(id)).approved.count).toBe(6);
    await scenario.player({ email: "new@example.com", tier: "Gold" });
    await fire(id);
    expect(await scenario.tally(id)).toEqual({ sent: 7 });
  });

  test("with the changes that a program has made over REST since, which approves them", async () => {
    const { id, template, gold } = await approved();
    await scenario.call("update_template", { id: template, subject: "By a program" });
    await scenario.call("update_campaign", { id, preheader: "By a program" });
    await scenario.call("update_segment", {
      id: gold,
      conditions: [{ field: "tier", operator: "in", value: ["Gold", "Silver"] }],
    });
    expect((await scenario.get(id)).approved).toMatchObject({ by: { type: "system" }, count: null });
    await fire(id);
    expect(await scenario.tally(id)).toEqual({ sent: 5 });
  });
});

const OTHER_PROVIDER = {
  ...{ channel: "email", kind: "mailbox", name: "Other", from_address: "other@example.com" },
  allows_gaming: true,
};

/** Everything by which a call changes what the approved campaign sends, to whom, when or how. */
const CHANGES: [string, (made: Approved) => [string, Fields]][] = [
  ["another subject", ({ id }) => ["update_campaign", { id, subject: "Nobody approved this" }]],
  ["another body", ({ id }) => ["update_campaign", { id, body_html: "<p>Nobody approved this</p>" }]],
  ["another sender", ({ id }) => ["update_campaign", { id, from_email: "evil@example.com" }]],
  ["everybody", ({ id }) => ["update_campaign", { id, audience: "all", segment_id: null }]],
  ["no exclusions", ({ gold }) => ["update_segment", { id: gold, exclude_segment_ids: [] }]],
  [
    "wider rules",
    ({ gold }) => ["update_segment", { id: gold, conditions: [{ field: "email", operator: "is_set" }] }],
  ],
  [
    "a segment of another kind",
    ({ vips }) => [
      "update_segment",
      { id: vips, type: "dynamic", conditions: [{ field: "tier", operator: "eq", value: "None" }] },
    ],
  ],
  [
    "another text in the template",
    ({ template }) => ["update_template", { id: template, html: "<p>Evil</p>" }],
  ],
  [
    "another subject in the template",
    ({ template }) => ["update_template", { id: template, subject: "Evil" }],
  ],
  ["no frequency rules", ({ id }) => ["update_campaign", { id, ignore_frequency_cap: true }]],
  ["no holdout", ({ id }) => ["update_campaign", { id, holdout_percent: 90 }]],
  ["other tags", ({ id }) => ["update_campaign", { id, tags: ["uncapped"] }]],
  [
    "variants",
    ({ id }) => [
      "update_campaign",
      {
        id,
        goal: { event: "deposit" },
        ab_test: { variants: [{ id: "a", subject: "Evil" }, { id: "b" }], metric: "conversion" },
      },
    ],
  ],
  ["another provider", () => ["create_message_provider", { ...OTHER_PROVIDER, is_default: true }]],
  ["a provider where there was none", () => ["create_message_provider", OTHER_PROVIDER]],
  ["links with other parameters", ({ id }) => ["update_campaign", { id, utm: { source: "evil" } }]],
  [
    "another time",
    ({ id, gold }) => [
      "schedule_campaign",
      { campaign_id: id, segment_id: gold, scheduled_at: new Date(Date.now() + 86_400_000).toISOString() },
    ],
  ],
  ["sending at once", ({ id }) => ["send_campaign", { campaignId: id }]],
];

describe("an agent that changes what was approved", () => {
  test.each(CHANGES)(
    "is asked first, and approves the new state by the confirmation: %s",
    async (_, change) => {
      const made = await approved();
      const before = await scenario.get(made.id);
      const [name, input] = change(made);
      const asked = await agent(name, input);
      expect(asked.data, JSON.stringify(asked.data)).toMatchObject({ confirmation_required: true });
      expect(asked.data).not.toHaveProperty("success");
      const isPlain = !["schedule_campaign", "send_campaign"].includes(name);
      if (isPlain) {
        expect(asked.data.message).toMatch(
          /This changes what (1 person|\d+ people) \(\d+ in the audience\) gets? on /,
        );
      }
      expect(await scenario.get(made.id)).toEqual(before);
      const done = await agent(name, { ...input, confirm_token: asked.data.confirm_token });
      expect(done.isError, JSON.stringify(done.data)).toBe(false);
      expect(done.data).not.toHaveProperty("confirmation_required");
      const { approved: now } = await scenario.get(made.id);
      expect(now).not.toEqual(before.approved);
      await fire(made.id);
      expect((await scenario.get(made.id)).status).not.toBe("paused");
    },
  );

  test("is asked first about another look of the mails, in the name of a manager", async () => {
    const made = await approved();
    const manager = await managerOf(scenario.id);
    const operation = CATALOG.operations.get("set_property_theme")!;
    const asked = await onceOverMcp(service, operation, { name: "Evil" }, manager);
    expect(asked.data.message).toMatch(
      /This changes what (1 person|\d+ people) \(\d+ in the audience\) gets? on /,
    );
    expect(asked.data.message).toContain("the look of the property's mails");
    const { confirm_token } = asked.data;
    const done = await onceOverMcp(service, operation, { name: "Evil", confirm_token }, manager);
    expect(done.isError, JSON.stringify(done.data)).toBe(false);
    await fire(made.id);
    expect(await scenario.tally(made.id)).toEqual({ sent: 4 });
  });

  test("is told what waits for another footer, in the name of a manager", async () => {
    await approved();
    const operation = CATALOG.operations.get("update_property")!;
    const input = { propertyId: scenario.id, legal_name: "Evil" };
    const asked = await onceOverMcp(service, operation, input, await managerOf(scenario.id));
    expect(asked.data.message).toContain("pause when they fire");
  });

  test("is not asked about what reaches nobody in another way", async () => {
    const { id, gold } = await approved();
    for (const [name, input] of [
      ["update_campaign", { id, name: "Renamed" }],
      ["update_segment", { id: gold, name: "Renamed", description: "By an agent" }],
    ] as const) {
      const done = await agent(name, input);
      expect(done.data, name).toMatchObject({ id: input.id, name: "Renamed" });
    }
  });

  test("may take a campaign back to draft, and it goes to nobody", async () => {
    const { id } = await approved();
    const done = await agent("update_campaign", { id, scheduled_at: null });
    expect(done.data).toMatchObject({ status: "draft" });
    expect(await scenario.get(id)).toMatchObject({ status: "draft", approved: null });
  });
});

describe("a difference from the approval when the time comes", () => {
  test.each([
    ["content", (made: Approved) => sqlOf(made, "update templates set subject = 'Evil'", made.template)],
    [
      "audience",
      (made: Approved) => sqlOf(made, "update segments set exclude_segment_ids = '{}'", made.gold),
    ],
    [
      "provider",
      async (made: Approved) => {
        const { id } = await scenario.call("create_message_provider", OTHER_PROVIDER);
        // Its creation has approved it.
        await sqlOf(made, "update message_providers set from_address = 'evil@example.com'", id);
      },
    ],
    ["flag", (made: Approved) => sqlOf(made, "update campaigns set is_transactional = true", made.id)],
  ])("pauses the campaign, by each way to change its %s", async (_, change) => {
    const made = await approved();
    const endpoint = await scenario.call("create_webhook_endpoint", {
      url: "https://example.com/hook",
      events: ["campaign.paused"],
    });
    await change(made);
    await fire(made.id);
    expect(await scenario.get(made.id)).toMatchObject({
      status: "paused",
      status_reason: expect.stringMatching(/^changed since it was approved: /),
      started_at: null,
    });
    expect(await scenario.sends(made.id)).toEqual([]);
    const told = await scenario.query(
      (sql) => sql<{ type: string }[]>`select type from outbox where property_id = ${scenario.id}`,
    );
    expect(told).toMatchObject([{ type: "campaign.paused" }]);
    expect(endpoint.events).toEqual(["campaign.paused"]);
  });

  test("pauses it when the property's clock, by which the players' hour goes, is another one", async () => {
    const { id } = await approved({ send_in_player_timezone: true });
    await scenario.call("update_property", { propertyId: scenario.id, timezone: "America/Los_Angeles" });
    await fire(id);
    expect(await scenario.get(id)).toMatchObject({
      status: "paused",
      status_reason: "changed since it was approved: the property's clock, by which its hour goes",
    });
  });

  test.each([
    ["from_email", "evil@example.com", "the property's default sender"],
    ["from_name", "Somebody else", "the property's default sender"],
    ["responsible_gaming_footer", "Play all night", "the property's names and footer"],
    ["legal_name", "Another casino", "the property's names and footer"],
    ["privacy_policy_url", "https://evil.example", "the property's names and footer"],
  ])("pauses it when the property has another %s", async (setting, value, said) => {
    const { id } = await approved();
    await scenario.call("update_property", { propertyId: scenario.id, [setting]: value });
    await fire(id);
    expect(await scenario.get(id)).toMatchObject({
      status: "paused",
      status_reason: `changed since it was approved: ${said}`,
    });
  });

  test("does not pause it for a sender that it does not use, nor for a setting that no message shows", async () => {
    const { id } = await approved({ from_email: "club@example.com", from_name: "The club" });
    const settings = { from_email: "other@example.com", from_name: "Other", help_text: "Call us" };
    await scenario.call("update_property", { propertyId: scenario.id, ...settings });
    await fire(id);
    expect(await scenario.tally(id)).toEqual({ sent: 4 });
  });

  test("does not pause it for another look that a program has given the property, which approves that", async () => {
    const { id } = await approved();
    const { approved: before } = await scenario.get(id);
    await scenario.call("set_property_theme", { name: "Other casino" });
    expect((await scenario.get(id)).approved.content_hash).not.toBe(before.content_hash);
    await fire(id);
    expect(await scenario.tally(id)).toEqual({ sent: 4 });
  });

  test("pauses it when the look was changed behind the service's back", async () => {
    const made = await approved();
    await scenario.query(
      (sql) => sql`insert into property_theme (property_id, name, light, dark)
        values (${scenario.id}, 'Evil', ${DEFAULT_THEME.light as never}::jsonb, ${DEFAULT_THEME.dark as never}::jsonb) returning 1`,
    );
    await fire(made.id);
    expect((await scenario.get(made.id)).status_reason).toBe(
      "changed since it was approved: the look of the property's mails",
    );
  });

  test("pauses it when the audience has grown further than the property allows, and says so", async () => {
    const { id } = await approved();
    await scenario.player({ email: "new1@example.com", tier: "Gold" });
    await scenario.player({ email: "new2@example.com", tier: "Gold" });
    await fire(id);
    expect(await scenario.get(id)).toMatchObject({
      status: "paused",
      status_reason: "changed since it was approved: the audience, which has grown from 4 to 6 players",
    });
  });

  test("waits for somebody who resumes it, which approves what there is", async () => {
    const { id } = await approved();
    await scenario.player({ email: "new1@example.com", tier: "Gold" });
    await scenario.player({ email: "new2@example.com", tier: "Gold" });
    await fire(id);
    const shown = await agent("resume_campaign", { campaignId: id });
    expect(shown.data.message).toContain("It would reach 6 of 6 players.");
    const { confirm_token } = shown.data;
    await agent("resume_campaign", { campaignId: id, confirm_token });
    await scenario.work();
    expect(await scenario.tally(id)).toEqual({ sent: 6 });
  });
});

async function sqlOf(_: unknown, statement: string, id: string): Promise<void> {
  await scenario.query((sql) => sql`${raw(statement)} where property_id = ${scenario.id} and id = ${id}`);
}

test("a campaign that an agent has sent at once is compared once more before its audience is planned", async () => {
  const { id, template } = await approved();
  const shown = await agent("send_campaign", { campaignId: id });
  await agent("send_campaign", { campaignId: id, confirm_token: shown.data.confirm_token });
  await sqlOf(null, "update templates set html = '<p>Evil</p>'", template);
  await scenario.work();
  expect(await scenario.get(id)).toMatchObject({ status: "paused" });
  expect(await scenario.sends(id)).toEqual([]);
});

test("a provider that fails, and another one that takes over, change nothing that was approved", async () => {
  const { id } = await approved();
  const first = await scenario.call("create_message_provider", { ...OTHER_PROVIDER, is_default: true });
  await scenario.call("create_message_provider", { ...OTHER_PROVIDER, name: "Second" });
  await sqlOf(null, "update message_providers set health = 'refused'", first.id);
  await fire(id);
  expect(await scenario.tally(id)).toEqual({ sent: 4 });
});

describe("an agent that tries everything", () => {
  test("gets nothing to anybody but what was approved", async () => {
    const made = await approved();
    const before = await scenario.get(made.id);
    for (const [, change] of CHANGES) {
      const [name, input] = change(made);
      // Once without a token, and once with one that was given for something else.
      const { data } = await agent(name, input);
      const elsewhere = await agent("update_campaign", {
        id: made.id,
        tags: ["other"],
        confirm_token: data.confirm_token,
      });
      expect(elsewhere, name).toMatchObject({ isError: true, data: { code: "invalid" } });
    }
    expect(await scenario.get(made.id)).toEqual(before);
    await fire(made.id);
    const mails = await scenario.sends(made.id);
    expect(mails.map(({ status }) => status)).toEqual(["sent", "sent", "sent", "sent"]);
  });

  test("is asked about a list that a campaign was approved with, by each way to change it", async () => {
    const made = await approved();
    const eve = await scenario.player({ email: "late@example.com", tier: "Gold" });
    const member = { segment_id: made.vips, player_id: eve };
    const words =
      /changes the list "VIPs", and with it who gets the campaign "Weekend"\. It was approved for 4 players/;
    const added = await agent("create_segment_member", member);
    expect(added.data).toMatchObject({ confirmation_required: true, message: expect.stringMatching(words) });
    const rows = [{ player_id: "X-1", email: "x1@example.com" }];
    const { player_id } = await scenario.call("get_player", { id: eve });
    const over = await agent("create_import_job", { rows: [{ player_id, tier: "Silver" }] });
    expect(over.data.message).toContain(
      'The values may bring other players into what was approved and waits: "Weekend".',
    );
    const imported = await agent("create_import_job", { rows, segment_id: made.vips });
    expect(imported.data).toMatchObject({
      confirmation_required: true,
      message: expect.stringMatching(words),
    });
    expect(await scenario.call("list_segment_members", {})).toEqual([]);
    const { id } = await scenario.call("create_segment_member", member);
    const removed = await agent("delete_segment_member", { id });
    expect(removed.data).toMatchObject({
      confirmation_required: true,
      message: expect.stringMatching(words),
    });
  });

  test("is asked before it puts a player among those who get what was approved, by any data", async () => {
    await approved();
    const words = (name: string) =>
      new RegExp(
        `This adds the player ".+", "${name}" to those who get the campaign "Weekend", which is scheduled. It was approved without them, for 4 players`,
      );
    const fay = await scenario.player({ email: "fay@example.com", first_name: "fay", tier: "Silver" });
    const risen = await agent("update_player", { id: fay, tier: "Gold" });
    expect(risen.data).toMatchObject({ confirmation_required: true });
    expect(risen.data.message).toMatch(words("fay"));
    expect((await scenario.call("get_player", { id: fay })).tier).toBe("Silver");
    // A player without a consent gets nothing: the consent is what adds them.
    const gus = await agent("create_player", { first_name: "gus", email: "gus@example.com", tier: "Gold" });
    expect(gus.data).not.toHaveProperty("confirmation_required");
    const evidence = { consentSource: "desk", consentText: "I agree to offers", consentVersion: "1" };
    const consent = { playerId: gus.data.id, channel: "email", consentGiven: true, ...evidence };
    const agreed = await agent("consent_record", consent);
    expect(agreed.data.message).toMatch(words("gus"));
    const { confirm_token } = risen.data;
    const done = await agent("update_player", { id: fay, tier: "Gold", confirm_token });
    expect(done.data).toMatchObject({ tier: "Gold" });
    // Those who are among them stay, and those who leave get nothing.
    for (const change of [{ adt: 500 }, { tier: "Silver" }]) {
      const { data } = await agent("update_player", { id: fay, ...change });
      expect(data).not.toHaveProperty("confirmation_required");
    }
    // A program's data are growth.
    expect((await scenario.call("update_player", { id: fay, tier: "Gold" })).tier).toBe("Gold");
  });

  test("is asked once about a new player without a number, and makes them by the confirmation", async () => {
    await approved();
    await scenario.call("update_property", { propertyId: scenario.id, email_consent_mode: "opt_out" });
    const input = { first_name: "gil", email: "gil@example.com", tier: "Gold" };
    const { data } = await agent("create_player", input);
    expect(data.message).toContain('This adds the new player, "gil" to those who get the campaign "Weekend"');
    const done = await agent("create_player", { ...input, confirm_token: data.confirm_token });
    expect(done.data).toMatchObject({ first_name: "gil" });
  });

  test("is asked about each campaign that a player joins, by any channel, and a merge asks too", async () => {
    await approved();
    for (const [tier, channel] of [
      ["Silver", "email"],
      ["Bronze", "inbox"],
    ]) {
      const id = await scenario.campaign({
        name: `For ${tier}`,
        channel,
        audience: null,
        conditions: [{ field: "tier", operator: "in", value: [tier, "Platinum"] }],
      });
      const scheduled_at = new Date(Date.now() + 365 * 86_400_000).toISOString();
      await scenario.call("schedule_campaign", { campaign_id: id, segment_id: null, scheduled_at });
    }
    const fay = await scenario.player({ email: "fay@example.com", first_name: "fay", tier: "Silver" });
    const joined = async (fields: Fields) => {
      const { data } = await agent("update_player", { id: fay, ...fields });
      return [...String(data.message ?? "").matchAll(/get the campaign "([^"]+)"/g)].map(([, name]) => name);
    };
    expect(await joined({ adt: 5 })).toEqual([]);
    expect(await joined({ tier: "Bronze" })).toEqual(["For Bronze"]);
    expect((await joined({ tier: "Platinum" })).toSorted()).toEqual(["For Bronze"]);
    expect(await joined({ tier: "Gold" })).toEqual(["Weekend"]);
    const twin = await scenario.call("create_player", { tier: "Gold", first_name: "fay" });
    const { data } = await agent("merge_players", { playerId: twin.id, duplicateId: fay });
    expect(data.message).toMatch(/adds the player ".+" to those who get the campaign "Weekend"/);
  });

  test("approves as many players as before by a merge that puts one record in the place of another", async () => {
    const { id } = await approved();
    const [ann] = await scenario.call("list_players", { filters: { "first_name.eq": "ann" } });
    const kept = await scenario.call("create_player", { first_name: "ann", last_name: "Kept" });
    const merging = { playerId: kept.id, duplicateId: ann.id };
    const { data } = await agent("merge_players", merging);
    expect(data.message).toMatch(/adds the player ".+" to those who get the campaign "Weekend"/);
    const done = await agent("merge_players", { ...merging, confirm_token: data.confirm_token });
    expect(done.data).toMatchObject({ success: true });
    expect((await scenario.get(id)).approved.count).toBe(4);
  });

  test("approves no player by a confirmation that does not name them: one who gets nothing is growth", async () => {
    const { id } = await approved();
    const held = await scenario.call("create_player", {
      first_name: "hal",
      tier: "Silver",
      status: "vip_hold",
    });
    const change = { id: held.id, status: "active", tier: "Gold" };
    const { data } = await agent("update_player", change);
    expect(data.message).toContain("This lifts a bar");
    expect(data.message).not.toContain("Weekend");
    const done = await agent("update_player", { ...change, confirm_token: data.confirm_token });
    expect(done.data).toMatchObject({ tier: "Gold" });
    expect((await scenario.get(id)).approved.count).toBe(4);
  });

  test("is not asked about a player, named by a number, who would get the message anyhow", async () => {
    const { id } = await approved();
    const player = await scenario.player({ player_id: "N-1", email: "n1@example.com", tier: "Gold" });
    const event = { player_id: "N-1", name: "visit" };
    const { data } = await agent("create_player_event", event);
    expect(data).toMatchObject({ player_id: player, name: "visit" });
    expect((await scenario.get(id)).approved.count).toBe(4);
  });

  test("is asked again where a list has other players since the question, and as many", async () => {
    const { id, gold, vips } = await approved();
    await scenario.call("unschedule_campaign", { campaignId: id, propertyId: scenario.id });
    const [one, other] = ["in", "out"].map((name) => ({ email: `${name}@example.com`, tier: "Gold" }));
    const member = { segment_id: vips, player_id: await scenario.player(one!) };
    const { id: listed } = await scenario.call("create_segment_member", member);
    const player_id = await scenario.player(other!);
    const scheduled_at = new Date(Date.now() + 86_400_000).toISOString();
    const input = { campaign_id: id, segment_id: gold, scheduled_at };
    const { confirm_token } = (await agent("schedule_campaign", input)).data;
    await agent("delete_segment_member", { id: listed });
    await agent("create_segment_member", { segment_id: vips, player_id });
    const again = await agent("schedule_campaign", { ...input, confirm_token });
    expect(again.data).toMatchObject({ confirmation_required: true });
    expect(again.data.message).toContain("It has changed since that preview.");
  });

  test("is asked about a segment that stands behind the campaign's own", async () => {
    const made = await approved();
    const inner = await scenario.call("create_segment", {
      name: "Inner",
      conditions: [{ field: "tier", operator: "eq", value: "Gold" }],
    });
    await scenario.call("update_segment", {
      id: made.gold,
      conditions: [{ field: `segment.${inner.id}`, operator: "in_segment" }],
    });
    const conditions = [{ field: "email", operator: "is_set" }];
    const asked = await agent("update_segment", { id: inner.id, conditions });
    expect(asked.data).toMatchObject({ confirmation_required: true });
    expect(asked.data.message).toContain('the rules of the segment "Inner"');
  });

  test("is asked about the flags of a campaign that is sending already", async () => {
    const made = await approved();
    const sending = await scenario.planned(1, { name: "Under way" });
    expect((await scenario.get(sending)).status).toBe("sending");
    const asked = await agent("update_campaign", { id: sending, tags: ["uncapped"] });
    expect(asked.data).toMatchObject({ confirmation_required: true });
    expect(asked.data.message).toContain("those who have not got it yet");
    expect((await agent("update_campaign", { id: made.id, priority: 5 })).data).toMatchObject({
      priority: 5,
    });
  });

  test("tests no other content than it was asked about", async () => {
    await approved();
    const { email } = await service.signIn();
    await service.call("grant_membership", {
      property_id: scenario.id,
      user_id: (await service.call("list_users", {})).users.find((one: Fields) => one.email === email).id,
      role: "manager",
    });
    const campaignId = await scenario.campaign();
    const input = { campaignId, to: email };
    const { confirm_token } = (await agent("send_test_message", input)).data;
    const sent = await agent("send_test_message", { ...input, confirm_token });
    expect(sent.data, JSON.stringify(sent.data)).toMatchObject({ success: true });
    expect((await agent("update_campaign", { id: campaignId, subject: "Evil" })).data).toMatchObject({
      subject: "Evil",
    });
    await scenario.work();
    const test = await scenario.call("get_campaign_send", { id: sent.data.send_id as string });
    expect(test).toMatchObject({ status: "failed", error_code: "content_changed" });
  });
});
