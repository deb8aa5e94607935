import { describe, expect, test } from "vitest";
import { otherWords } from "#tools/campaigns/content/other-words.ts";
import { workOf } from "../../../support/cpu-time.ts";
import { openApprovals } from "./scenario.ts";

const { casino, agent, another } = openApprovals();

type Standing = ReturnType<typeof another>;
let made: Standing | undefined;
/** One for all tests that only ask about it. */
const standing = () => {
  made ??= another();
  return made;
};

describe("a confirmation", () => {
  test("shows the body of each variant from the HTML, and a text beside it", async () => {
    const { shown } = await another({
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

  test("shows whom a mail comes from and where replies go, also of a change", async () => {
    const { shown, id } = await another({ from_name: "Security Team", reply_to: "help@other.example" });
    expect(shown).toMatch(/It comes from "Security Team <[^>]+>"\. Replies go to "help@other\.example"\./);
    const { data } = await agent("update_campaign", { id, from_name: "Bank" });
    expect(data.message).toMatch(/It comes from "Bank <[^>]+>"\./);
  });

  test("shows the whole address behind a long name, and a long address of replies", async () => {
    const reply_to = `help@${"a".repeat(60)}.${"b".repeat(60)}.other.example`;
    const { shown } = await another({
      from_name: "Security Team ".repeat(14),
      from_email: "x@other.example",
      reply_to,
    });
    expect(shown).toMatch(/It comes from "(?:Security Team )+ *<x@other\.example>"/);
    expect(shown).toContain(`Replies go to "${reply_to}".`);
  });

  test("shows the offer and the button of an inbox message", async () => {
    const { shown } = await another({
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
    const { id } = await standing();
    const nobody = [{ field: "player_id", operator: "eq", value: "nobody" }];
    const draft = await casino.scenario.campaign({
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
    const { id } = await standing();
    const { data } = await agent("update_campaign", { id, body_html: `<p>Don't wait.</p>${tag}` });
    expect(data.message).toMatch(/Words in its tags, which other players or another day may show: ".+"\.\n/);
    expect(data.message).toContain(JSON.stringify(words));
    expect(data.message).not.toContain("It has conditions");
  });

  test.each<[string, string, string?]>([
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
      "Go (https://play.example)",
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
      "Go (https://play.example/)",
    ],
    ['{% if tier == "Iron" %}<img alt="Bring it all" {% else %}<img {% endif %}>', '"Bring it all"'],
    ["{% if tier == 'Iron' %}Call {{ 18005551234 }}{% endif %}", '"18005551234"'],
    ["{% if tier == 'Iron' %}{{ 'B' }}{{ 'r' }}{{ 'q' }}{% endif %}", '"B", "r", "q"'],
    [
      `{% raw %}{{ " {% endraw %}{% if tier == 'Iron' %}{{ "Bring it all" }}{% endif %}`,
      '"Bring it all"',
      '{{ "',
    ],
    [
      "Do not bring it. {% if tier == 'Iron' %}<p>Do</p><p>bring it</p>{% endif %}",
      '"Do\\n\\nbring it"',
      "Do not bring it.",
    ],
    [
      "Do not bring it. {% if tier == 'Iron' %}Do {% # x %}bring it{% endif %}",
      '"Do bring it"',
      "Do not bring it.",
    ],
    [
      "You will not lose it. {% if tier == 'Iron' %}You will {{ '' }}lose it{% endif %}",
      '"You will …lose it"',
      "You will not lose it.",
    ],
    [
      "You will not lose it. {% if tier == 'Iron' %}You will {{ tier | slice: 0, 0 }} lose it{% endif %}",
      '"You will … lose it"',
      "You will not lose it.",
    ],
    [
      '<a href="https://play.example/">Go</a> not today. {% if tier == "Iron" %}<a href="https://play.example/">Go</a> today{% endif %}',
      'today"',
      "Go (https://play.example/) not today.",
    ],
  ])("shows the words that a condition keeps for others: %s", (block, words, shown = "") => {
    const source = { html: `<p>Don't wait.</p>${block}`, text: null, script: null };
    const [said] = otherWords([source], { words: ["Don't wait.", shown], values: ["Gold"] });
    expect(said).toContain("Words in its tags, which other players or another day may show: ");
    expect(said).toContain(words);
  });

  test.each([
    ['{% if tier == "Iron" %}<p>Bring $500, {{ first_name }}.</p>{% endif %}', '"Bring $500, ….", "Iron"'],
    [
      '<a href="{% if tier == "Iron" %}https://evil.example{% else %}https://play.example{% endif %}">Go</a>',
      '"https://evil.example"',
    ],
    ["Do not bring it. {% if tier == 'Iron' %}<p>Do</p><p>bring it</p>{% endif %}", '"Do\\n\\nbring it"'],
  ])("shows those words to who is asked: %s", async (block, words) => {
    const { id } = await standing();
    const { data } = await agent("update_campaign", { id, body_html: `<p>Don't wait.</p>${block}` });
    const [said] = /Words in its tags, which other players or another day may show: .*/.exec(
      String(data.message),
    )!;
    expect(said).toContain(words);
  });

  test("takes no letter of a link's token for a word that is shown", () => {
    const source = { html: "{% if tier %}q{% endif %}{% if tier %}z{% endif %}", text: null, script: null };
    const words = ["Unsubscribe (https://casino.example/p/u/Ab-q_9-z)"];
    expect(otherWords([source], { words, values: ["Gold"] })[0]).toContain('"q", "z"');
  });

  test("shows a condition's words of a text, and none that the shown message has", async () => {
    const { id } = await standing();
    const body_text = "{% if tier == 'Iron' %}Bring <all> of it{% else %}Lunch is on us{% endif %}";
    const { data } = await agent("update_campaign", { id, template_id: null, subject: "Hi", body_text });
    expect(data.message).toContain('another day may show: "Bring <all> of it", "Iron".');
  });

  test("repeats no words of a common mail with a greeting by condition", async () => {
    const { id } = await standing();
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

  test.each([
    "You are {{ tier | upcase }} now.",
    'Choose <a href="{{ preferences_url }}">here</a> or read <a href="{{ inbox_url }}">all messages</a> there.',
    "Your messages are at {{ inbox_url }} now.",
  ])("repeats no words behind a condition that each player reads so: %s", async (words) => {
    const { id } = await standing();
    const body_html = `{% if first_name %}<p>Dear {{ first_name }},</p>{% else %}<p>Dear,</p>{% endif %}<p>${words}</p>`;
    const { data } = await agent("update_campaign", { id, body_html });
    expect(data.message).toContain("It has conditions");
    expect(data.message).not.toContain("another day may show");
  });

  test("says that a long mail is not searched for all words", async () => {
    const { id } = await standing();
    const body_html = `{% if tier %}${`<p>${"Lunch ".repeat(50)}</p>`.repeat(350)}{% endif %}`;
    const { data } = await agent("update_campaign", { id, body_html });
    expect(data.message).toContain(
      "It is too long to be searched for all words that other players may read.",
    );
  });

  test.each([
    ["its default", "Dear friend, come in", '<p>Dear {{ player.tier | default: "friend" }}, come in</p>', []],
    [
      "another value",
      "Dear Gold, come in",
      "<p>Dear {{ tier | default: 'friend' }}, come in</p>",
      ["friend"],
    ],
    ["both", "Ana, our friend, come in", "{{ first_name }}, our {{ tier | default: 'friend' }}, come in", []],
    [
      "other words",
      "Dear foe, come in",
      '<p>Dear {{ tier | default: "friend" }}, come in</p>',
      ["Dear …, come in", "friend"],
    ],
    [
      "the default of a value that is cut",
      "It will not come",
      "It will {{ tier | default: 'not' | slice: 0, 0 }} come",
      ["It will … come"],
    ],
    [
      "the default of another value",
      "It will not come, not",
      "It will {{ tier }} come, {{ tier | default: 'not' }}",
      ["It will … come, …"],
    ],
    [
      "the default of no value",
      "It will not come",
      "It will come{{ tier | default: 'not' }}",
      ["It will come…"],
    ],
  ])("takes a value with a default behind a condition for shown where it has %s", (_, shown, html, words) => {
    const source = { html: `{% if tier %}{% endif %}${html}`, text: null, script: null };
    const told = otherWords([source], { words: [shown], values: ["Gold", "Ana"] });
    const named = told.find((one) => one.startsWith("Words in its tags"));
    expect(named === undefined ? [] : [...named.matchAll(/"([^"]*)"/g)].map(([, text]) => text)).toEqual(
      words,
    );
  });

  test("takes words on two lines for none that a printed value parts in the shown message", () => {
    const text = "{% if tier %}Win\n500 today{% endif %}Win {{ first_name }} 500 today";
    const [named] = otherWords([{ html: null, text, script: null }], {
      words: ["Win Ana 500 today"],
      values: ["Ana"],
    });
    expect(named).toContain('"Win\\n500 today"');
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
    const { id } = await standing();
    const { data, isError } = await agent("update_campaign", { id, inbox: { category: "{% News" } });
    expect(isError, JSON.stringify(data)).toBe(false);
    expect(data.message).toContain("{% News");
  });

  test("says that captured words may be shown to others", async () => {
    const { id } = await standing();
    const body_html =
      "{% capture words %}Bring it all{% endcapture %}<p>{{ tier | replace: 'Silver', words }}</p>";
    const { data } = await agent("update_campaign", { id, body_html });
    expect(data.message).toContain("It has conditions");
  });

  test("does not repeat words that the shown message has, nor forms of dates", async () => {
    const { id } = await standing();
    const body_html =
      "<p>{{ 'now' | date: '%B %d' }} {{ player.custom | default: 'x' | slice: 0, 0 }}{{ 'Dinner' }}</p>";
    const { data } = await agent("update_campaign", { id, body_html });
    expect(data.message).toContain("Dinner");
    expect(data.message).toContain('another day may show: "now", "x".');
  });

  test("says how much of a long message it leaves out", async () => {
    const { shown } = await another({
      template_id: null,
      subject: "Long",
      body_html: `<p>${"x".repeat(3000)} the end</p>`,
    });
    expect(shown).toMatch(/Its text: ".*x{900,}" and [\d,]+ more characters/);
    expect(shown).not.toContain("the end");
  });

  test("of another body shows that body, and whether it can be sent", async () => {
    const { id } = await standing();
    const changed = await agent("update_campaign", { id, body_html: "<p>Something else</p>" });
    expect(changed.data.message).toMatch(/Its text: ".*Something else/);
    const broken = await agent("update_campaign", { id, subject: "Hello {{ firstname }}" });
    expect(broken.data.message).toContain("To be corrected first, subject");
  });

  test("shows the unfilled message where nobody can get it as it is", async () => {
    const { id } = await standing();
    const subject = '{% if tier == "Gold" %}Dinner{% endif %}';
    const { data } = await agent("update_campaign", { id, subject });
    expect(data.message).toContain("To be corrected first, subject");
    expect(data.message).toContain(`One message of them, unfilled: ${JSON.stringify(subject)}`);
    expect(data.message).toContain('Its text: "Approved"');
    expect(data.message).toContain("It has conditions");
  });
});
