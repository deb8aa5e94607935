import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Fault } from "#runtime/faults.ts";
import { withFooter } from "#tools/templates/rendering/email-document.ts";
import {
  compileEmail,
  type EmailTemplate,
  listUnsubscribeHeaders,
  playerVariables,
} from "#tools/templates/rendering/email-template.ts";
import { workOf } from "../../../support/cpu-time.ts";

const property = {
  name: "Lucky Star",
  legal_name: "Lucky Star Gaming LLC",
  postal_address: "1 Main Street\nReno, NV 89501",
  responsible_gaming_footer: "Gambling problem? Call 1-800-522-4700.",
  privacy_policy_url: null,
};
const links = {
  unsubscribe_url: "https://casino.example/u?t=1&c=2",
  preferences_url: "https://casino.example/preferences?t=1&c=2",
};
const ana = { player_id: "P-1", first_name: "Ana", email: "ana@example.com", tier: "Gold", custom: {} };

function render(template: Partial<EmailTemplate>, player: Record<string, unknown> = ana) {
  const email = compileEmail({ subject: "Hello", ...template });
  return email.render(playerVariables(player, property, links));
}

/** The fault that `work` ends with. */
function faultOf(work: () => unknown): Fault {
  try {
    work();
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

describe("variables", () => {
  test("a template reads the player, its custom fields and the property", () => {
    const text =
      "{{ first_name }} {{ player.tier }} {{ player.custom.game }} {{ property.name }} {{ unsubscribe_url }}";
    const player = { ...ana, custom: { game: "slots" } };
    expect(render({ text }, player).text).toBe(`Ana Gold slots Lucky Star ${links.unsubscribe_url}`);
  });

  test.each([null, undefined, ""])("a first name of %j takes the default", (first_name) => {
    const text = 'Hi {{ first_name | default: "friend" }}, {{ player.first_name | default: "you" }}';
    expect(render({ text }, { ...ana, first_name }).text).toBe("Hi friend, you");
  });

  test.each([
    "{{ last_name }}",
    "{{ player.last_name }}",
    "{{ player.custom.game }}",
    "{% assign name = last_name %}{{ name }}",
    "{% for name in last_name %}{% endfor %}",
  ])("%s without a value or a default is an error, not a blank", (text) => {
    const player = { ...ana, last_name: null };
    expect(faultOf(() => render({ text }, player)).code).toBe("invalid");
  });

  test("a condition may ask for what is not there", () => {
    const text = "{% if player.custom.vip %}VIP{% else %}Hi{% endif %}";
    expect(render({ text }).text).toBe("Hi");
  });

  test("one player's missing name leaves the next player's email alone", () => {
    const email = compileEmail({ subject: "Hi {{ first_name }}", text: "Hi" });
    const variables = (first_name: string | null) => playerVariables({ ...ana, first_name }, property, links);
    expect(() => email.render(variables(null))).toThrow("first_name");
    expect(email.render(variables("Bo")).subject).toBe("Hi Bo");
  });

  test("preflight learns every variable of every field", () => {
    const { variables } = compileEmail({
      subject: "{{ first_name }}",
      preheader: "{{ tier }}",
      html: '<p>{{ player.custom["fav game"] | default: "x" }}{% if property.name %}{% endif %}</p>',
      text: "{% assign own = 1 %}{{ own }}{{ unsubscribe_url }}",
    });
    expect(variables).toEqual([
      "first_name",
      "player.custom['fav game']",
      "property.name",
      "tier",
      "unsubscribe_url",
    ]);
  });

  test("times are written the same wherever the server stands", () => {
    const player = { ...ana, created_at: new Date("2026-01-02T23:30:00Z") };
    const text = '{{ player.created_at }} {{ player.created_at | date: "%Y-%m-%d %H:%M" }}';
    expect(render({ text }, player).text).toBe("2026-01-02T23:30:00.000Z 2026-01-02 23:30");
  });
});

describe("the email", () => {
  test("values are escaped in html and only there", () => {
    const player = { ...ana, first_name: `<b>"A" & 'B'` };
    const { subject, html, text } = render(
      { subject: "{{ first_name }}", html: "<p>{{ first_name }}</p>", text: "{{ first_name }}" },
      player,
    );
    expect(html).toBe("<p>&lt;b&gt;&#34;A&#34; &amp; &#39;B&#39;</p>");
    expect(subject).toBe(player.first_name);
    expect(text).toBe(player.first_name);
  });

  test("echo and cycle escape too", () => {
    const html = "{% echo first_name %}{% cycle first_name %}{% liquid echo first_name %}";
    expect(render({ html }, { ...ana, first_name: "<" }).html).toBe("&lt;&lt;&lt;");
  });

  test("a subject is one line", () => {
    const player = { ...ana, first_name: "Ana\r\nBcc: rival@example.com" };
    const { subject } = render({ subject: " Hi\n {{ first_name }} ", text: "x" }, player);
    expect(subject).toBe("Hi Ana Bcc: rival@example.com");
  });

  test("an email with nothing in its subject is refused", () => {
    expect(() => render({ subject: "{% if tier == 'x' %}Hi{% endif %} ", text: "x" })).toThrow("subject");
  });

  test("the preheader hides at the start of the body and stays out of the text", () => {
    const html = "<html><body class=x><p>Hello</p></body></html>";
    const email = render({ html, preheader: "For {{ first_name }}" });
    expect(email.html).toMatch(/<body class=x><span style="display:none[^"]*">For Ana<\/span><p>Hello/);
    expect(email.text).toBe("Hello");
  });

  test("without a text, the text is made from the html", () => {
    const html = `<html><head><title>x</title><style>p { color: red }</style></head><body><!-- note -->
      <h1>Hola&nbsp;{{ first_name }} &eacute;&#127920;</h1>
      <p>Play <a href="https://casino.example/?a=1&amp;b=2">the <b>game</b></a> at 5 &lt; 6.<br>Now</p>
      <ul><li>One</li><li>Two</li></ul>
      <a href="https://casino.example/i"><img src="i.png" alt="Map"></a><script>1</script></body></html>`;
    expect(render({ html }, { ...ana, first_name: "<i>" }).text).toBe(
      [
        "Hola <i> é🎰",
        "Play the game (https://casino.example/?a=1&b=2) at 5 < 6.\nNow",
        "- One\n\n- Two",
        "Map (https://casino.example/i)",
      ].join("\n\n"),
    );
  });

  test("no player's name adds a tag to the html or a line to the subject", () => {
    const email = compileEmail({
      subject: "For {{ first_name }}",
      preheader: "Dear {{ first_name }}",
      html: '<body><p title="{{ first_name }}">{{ first_name }} {{ player.custom.note }}</p></body>',
    });
    const tags = (first_name: string, note: string) => {
      const variables = playerVariables({ ...ana, first_name, custom: { note } }, property, links);
      const { html = "", subject } = email.render(variables);
      return { tags: html.replace(/[^<>"]/g, ""), lines: subject.split(/[\r\n\0\u2028\u2029]/).length };
    };
    const plain = tags("Ana", "x");
    const unit = fc.constantFrom(
      "<",
      ">",
      "&",
      '"',
      "'",
      "\r",
      "\n",
      "\0",
      "\u202e",
      "\u2028",
      "{{",
      "}}",
      "{%",
    );
    const name = fc.oneof(fc.string({ unit: "grapheme", minLength: 1 }), fc.string({ unit, minLength: 1 }));
    fc.assert(
      fc.property(name, name, (first, note) => {
        expect(tags(first, note)).toEqual(plain);
      }),
      { numRuns: 2000, seed: 7 },
    );
  });
});

describe("a template that is refused", () => {
  test("says the field, the line and what is wrong there", () => {
    const fault = faultOf(() => compileEmail({ subject: "Hi", html: "<p>\n\n{% if tier %}\n</p>" }));
    expect(fault.code).toBe("invalid");
    expect(fault.details).toEqual([
      { field: "html", message: expect.stringMatching(/\{% if tier %\} not closed, line:3/) },
    ]);
  });

  test.each(["include 'x'", "render '/etc/passwd'", "layout 'x'", "block x"])("reads no file: %s", (tag) => {
    expect(() => compileEmail({ subject: "Hi", text: `{% ${tag} %}` })).toThrow("not found");
  });

  test("names an unknown filter", () => {
    expect(() => compileEmail({ subject: "{{ 'x' | shout }}", text: "x" })).toThrow(
      "undefined filter: shout",
    );
  });

  test.each(["constructor", "player.constructor.name", "player.__proto__", "player.toString"])(
    "reaches no prototype by %s",
    (path) => {
      expect(() => render({ text: `{{ ${path} }}` })).toThrow("undefined variable");
    },
  );

  test("says of a bare name where the field stands, and of a path that a player lacks nothing", () => {
    const hint =
      /write {{ player\.player_id }}: bare names are first_name, last_name, email, tier, unsubscribe_url/;
    expect(() => render({ text: "{{ player_id }}" })).toThrow(hint);
    expect(() => render({ text: "{{ offer }}" })).toThrow("write {{ player.… }}");
    for (const known of ["first_name", "player.custom.none"]) {
      expect(() => compileEmail({ subject: "Hi", text: `{{ ${known} }}` }).render({ player: {} })).toThrow(
        /^text: undefined variable: [\w.]+, line:1, col:\d+$/,
      );
    }
  });

  test("needs a body", () => {
    expect(() => compileEmail({ subject: "Hi", html: " ", text: null })).toThrow("html");
  });

  const doubling = "{% capture a %}{{ a }}{{ a }}{% endcapture %}".repeat(60);
  test.each([
    [
      "an endless loop",
      "{% assign l = (1..400000) %}{% for i in l %}{% for j in l %}{% endfor %}{% endfor %}",
    ],
    ["a huge range", "{% for i in (1..1000000000) %}x{% endfor %}"],
    ["10 MB of output", `{% for i in (1..100000) %}${"y".repeat(100)}{% endfor %}`],
    ["a doubled capture", `{% assign a = "xxxx" %}${doubling}{{ a | url_encode }}`],
    ["a doubled string", `{% assign a = "xxxx" %}${"{% assign a = a | append: a %}".repeat(60)}`],
    ["a padded date", '{{ "now" | date: "%999999999Y" }}'],
    ["deep nesting", `${"{% if 1 %}".repeat(2400)}${"{% endif %}".repeat(2400)}`],
    ["deep brackets", `{{ a${"[a".repeat(100_000)}${"]".repeat(100_000)} }}`],
    ["a million tags", "{{1}}".repeat(99_999)],
    ["a megabyte", "x".repeat(1_000_000)],
    ["an expression for each item", `{{ (1..900000) | where_exp: "i", "i == 1" }}`],
  ])("%s ends soon, with a fault", async (_name, text) => {
    const work = await workOf(() => expect(faultOf(() => render({ text })).code).toBe("invalid"));
    expect(work).toBeLessThan(3_000);
  });
});

describe("the footer", () => {
  test("says who sends, from where, and how to stop", () => {
    const { html = "", text } = render(
      withFooter({ subject: "Hi", html: "<body><p>Hi</p></body>", text: "Hi" }, property),
    );
    expect(html).toMatch(/Lucky Star Gaming LLC<br>1 Main Street<br \/>\nReno, NV 89501<\/p>/);
    expect(html).toContain(
      '<a href="https://casino.example/u?t=1&amp;c=2" style="color:inherit">Unsubscribe</a>',
    );
    expect(html).toContain("Call 1-800-522-4700.");
    expect(html.trimEnd()).toMatch(/<\/div>\s*<\/body>$/);
    expect(text).toBe(
      "Hi\n\n--\nLucky Star Gaming LLC\n1 Main Street\nReno, NV 89501\n\n" +
        "Gambling problem? Call 1-800-522-4700.\n\nUnsubscribe: https://casino.example/u?t=1&c=2\n" +
        "Preferences: https://casino.example/preferences?t=1&c=2\n",
    );
  });

  test("a body with its own link gets the address and the gaming words, and no second link", () => {
    const own = { subject: "Hi", html: '<a href="{{ unsubscribe_url }}">Stop</a>', text: "Hi" };
    const footed = withFooter(own, property);
    expect(render(footed).html).toContain("Lucky Star Gaming LLC<br>1 Main Street");
    expect(render(footed).html).toContain("Call 1-800-522-4700.");
    expect(footed.html?.match(/unsubscribe_url/g)).toHaveLength(1);
    expect(footed.text).toContain("{{ unsubscribe_url }}");
    expect(withFooter(footed, property)).toEqual(footed);
  });

  test.each([
    "{{ unsubscribe_url }} {{ property.postal_address }} {{ property.responsible_gaming_footer }}",
    "{{ unsubscribe_url }} 1 Main Street<br>Reno, NV  89501 <p>Gambling problem?\nCall 1-800-522-4700.</p>",
  ])("a body that says it all stays as it is: %s", (html) => {
    expect(withFooter({ subject: "Hi", html }, property).html).toBe(html);
  });

  test("gaming words are required only of a property that has them", () => {
    const bare = { ...property, responsible_gaming_footer: null };
    const html = "{{ unsubscribe_url }} {{ property.postal_address }}";
    expect(withFooter({ subject: "Hi", html }, bare).html).toBe(html);
  });

  test("a link in the text of a comment does not count", () => {
    const footed = withFooter(
      { subject: "Hi", html: "{% comment %}{{ unsubscribe_url }}{% endcomment %}" },
      property,
    );
    expect(render(footed).html).toContain(">Unsubscribe</a>");
  });

  test("a text made from the html has the footer of the html", () => {
    const { text } = render(withFooter({ subject: "Hi", html: "<p>Hi</p>" }, property));
    expect(text).toContain("Unsubscribe (https://casino.example/u?t=1&c=2)");
  });

  test("a footer without a postal address is an error", () => {
    const email = compileEmail(withFooter({ subject: "Hi", text: "Hi" }, property));
    const variables = playerVariables(ana, { ...property, postal_address: null }, links);
    expect(() => email.render(variables)).toThrow("property.postal_address");
  });

  test("mail clients get their own unsubscribe button", () => {
    expect(listUnsubscribeHeaders("https://a.example/u")).toEqual({
      "List-Unsubscribe": "<https://a.example/u>",
      "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
    });
    expect(listUnsubscribeHeaders("https://a.example/u", "stop@a.example")).toMatchObject({
      "List-Unsubscribe": "<https://a.example/u>, <mailto:stop@a.example>",
    });
  });
});
