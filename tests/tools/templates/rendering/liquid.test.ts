import { expect, test } from "vitest";
import { compileParts } from "#tools/inbox/parts.ts";
import { parseField } from "#tools/templates/rendering/liquid.ts";

const player = {
  first_name: "Ana & Bob",
  tier: "Gold+",
  custom: { next: "https://spa.example/a?b=c", host: "spa.example/b?c=d" },
};
const variables = { player, first_name: player.first_name, inbox_url: "https://casino.example/inbox/t" };
const rendered = (source: string, kind: "html" | "text" = "text") =>
  parseField("text", source, kind).render(variables);

test.each([
  ["https://x.example/?name={{ first_name }}", "https://x.example/?name=Ana%20%26%20Bob"],
  [
    "https://x.example/?a=1&n={{first_name}}&t={{ player.tier }}#b",
    "https://x.example/?a=1&n=Ana%20%26%20Bob&t=Gold%2B#b",
  ],
  ["{{ inbox_url }}?n={{- first_name -}}", "https://casino.example/inbox/t?n=Ana%20%26%20Bob"],
  ['https://x.example/?n={{ player.nick | default: "you & me" }}', "https://x.example/?n=you%20%26%20me"],
  [
    "https://x.example/?n={% if first_name %}{{ first_name }}{% endif %}",
    "https://x.example/?n=Ana%20%26%20Bob",
  ],
  ["HTTPS://X.example/?n={{ first_name }}", "HTTPS://X.example/?n=Ana%20%26%20Bob"],
  [
    "https://x.example/?n={{ first_name }}-{{ first_name }}",
    "https://x.example/?n=Ana%20%26%20Bob-Ana%20%26%20Bob",
  ],
  [
    "{% assign n = first_name | upcase %}https://x.example/?n={{ n }}",
    "https://x.example/?n=ANA%20%26%20BOB",
  ],
  [
    "{% capture n %}{{ first_name }}{% endcapture %}https://x.example/?n={{ n }}",
    "https://x.example/?n=Ana%20%26%20Bob",
  ],
  ["https://x.example/?t=YQ=={{ first_name }}", "https://x.example/?t=YQ==Ana%20%26%20Bob"],
  [
    "n=https://x.example/{{ player.custom.next }}?n={{ player.custom.next }}",
    "n=https://x.example/https://spa.example/a%3Fb=c?n=https%3A%2F%2Fspa.example%2Fa%3Fb%3Dc",
  ],
  ["https://x.example/{{ first_name }}/a", "https://x.example/Ana%20&%20Bob/a"],
  ["sms:yes/{{ first_name }}", "sms:yes/Ana & Bob"],
  ["https://{{ player.custom.host }}/{{ first_name }}", "https://spa.example/b?c=d/Ana%20&%20Bob"],
  ["https://x.example/?n={% echo first_name %}", "https://x.example/?n=Ana%20%26%20Bob"],
  [
    "https://x.example/?n={%- liquid\n assign a = 1\n echo first_name\n echo a -%}",
    "https://x.example/?n=Ana%20%26%20Bob1",
  ],
  ["https://x.example/?n={% liquid echo first_name %}", "https://x.example/?n=Ana%20%26%20Bob"],
  ["https://x.example/?n={% echo first_name | url_encode %}", "https://x.example/?n=Ana+%26+Bob"],
  [
    "{% liquid assign n = first_name | url_encode %}https://x.example/?n={{ n }}",
    "https://x.example/?n=Ana+%26+Bob",
  ],
  [
    "https://x.example/?n={% liquid\r\n assign n = first_name | url_encode\r\n echo first_name\r\n echo n\r\n%}",
    "https://x.example/?n=Ana%20%26%20BobAna+%26+Bob",
  ],
  [
    "https://x.example/{{ '50% off' }}/{{ first_name | url_encode }}",
    "https://x.example/50%25%20off/Ana+%26+Bob",
  ],
  ["{% echo inbox_url %}?n={{ first_name }}", "https://casino.example/inbox/t?n=Ana%20%26%20Bob"],
  [
    "mailto:host@x.example?subject={{ first_name }}&body={{ player.tier }}",
    "mailto:host@x.example?subject=Ana%20%26%20Bob&body=Gold%2B",
  ],
  ["sms:+17025550100?&body={{ first_name }}", "sms:+17025550100?&body=Ana%20%26%20Bob"],
  ["Mail to: a=b {{ first_name }}", "Mail to: a=b Ana & Bob"],
  // Encoded by its author, meant as it is, or no value of a query.
  ["https://x.example/?n={{ first_name | url_encode }}", "https://x.example/?n=Ana+%26+Bob"],
  ["https://x.example/?n={{ first_name | raw }}", "https://x.example/?n=Ana & Bob"],
  [
    "{% assign n = first_name | url_encode %}https://x.example/?n={{ n }}",
    "https://x.example/?n=Ana+%26+Bob",
  ],
  [
    "{% assign n = first_name | url_encode %}{% assign m = n | downcase %}https://x.example/?n={{ m }}",
    "https://x.example/?n=ana+%26+bob",
  ],
  [
    "{% capture q %}n={{ first_name | url_encode }}{% endcapture %}https://x.example/?q=1{{ q }}",
    "https://x.example/?q=1n=Ana+%26+Bob",
  ],
  [
    "{% capture l %}https://x.example/?n={{ first_name }}{% endcapture %}{{ first_name }} {{ l }}",
    "Ana & Bob https://x.example/?n=Ana%20%26%20Bob",
  ],
  ["{% raw %}https://x.example/?n={{ first_name }}{% endraw %}", "https://x.example/?n={{ first_name }}"],
  ["{{ player.custom.next }}", "https://spa.example/a?b=c"],
  [
    "Ready? {{ first_name }}: https://x.example/?a=b {{ first_name }}",
    "Ready? Ana & Bob: https://x.example/?a=b Ana & Bob",
  ],
  ["a=b {{ first_name }}", "a=b Ana & Bob"],
])("the text %s is rendered as %s", (source, text) => {
  expect(rendered(source)).toBe(text);
});

test("in HTML the value of a link's query is encoded, and other text is escaped", () => {
  const source = '<a href="https://x.example/?a=1&amp;n={{ first_name }}">{{ first_name }}</a>';
  expect(rendered(source, "html")).toBe(
    '<a href="https://x.example/?a=1&amp;n=Ana%20%26%20Bob">Ana &amp; Bob</a>',
  );
});

test("a missing value in a query is an error as anywhere, and its variable is known", () => {
  const field = parseField("text", "https://x.example/?n={{ player.nick }}", "text");
  expect(field.variables).toEqual(["player.nick"]);
  expect(() => field.render(variables)).toThrow("player.nick");
});

test.each([
  ['{% assign k = "first_name" %}{{ [k] }}', ["[…]"]],
  ['{{ ["first_name"] }}{{ player["tier"] }}', ["first_name", "player.tier"]],
])("the variables of %s are known, or said to be computed", (source, names) => {
  expect(parseField("text", source, "text").variables).toEqual(names);
});

test("the button of an inbox message leads to an encoded address", () => {
  const parts = compileParts(
    { cta_label: "Go", cta_url: "https://x.example/?name={{first_name}}" },
    "http://c",
  );
  expect(parts.render(variables).cta_url).toBe("https://x.example/?name=Ana%20%26%20Bob");
});

test("a source of open tags and addresses is read in time", () => {
  const source = "https://a.example/?b={{ ".repeat(4_900) + "x".repeat(300_000);
  const startedAt = process.cpuUsage();
  expect(() => parseField("text", source, "text")).toThrow();
  expect(process.cpuUsage(startedAt).user).toBeLessThan(4_000_000);
});
