import fc from "fast-check";
import { Liquid } from "liquidjs";
import { describe, expect, test } from "vitest";
import { markLinks } from "#tools/tracking/marks.ts";
import { withUtm } from "#tools/tracking/utm.ts";
import { workOf } from "../../support/cpu-time.ts";

/** The HTML as it goes out, each address in brackets with its link's number, the pixel as a star. */
function marked(html: string, variables: object = {}): string {
  const marks = markLinks(html);
  const rendered = new Liquid({ outputEscape: "escape" }).parseAndRenderSync(marks.source, variables);
  return marks.replace(rendered, (number, value) => `[${number} ${value}]`, "*");
}

describe("the addresses of links", () => {
  test.each([
    ['<a href="https://x.example/a">', '<a href="[0 https://x.example/a]">*'],
    ["<A class=b HREF='https://x.example'>", "<A class=b HREF='[0 https://x.example]'>*"],
    ["<a href=https://x.example/a?b=c>go</a>", "<a href=[0 https://x.example/a?b=c]>go</a>*"],
    ['<a title="a > b" href="http://x.example">', '<a title="a > b" href="[0 http://x.example]">*'],
    ['<area href="https://x.example">', '<area href="[0 https://x.example]">*'],
    ['<v:roundrect href="https://x.example">', '<v:roundrect href="[0 https://x.example]">*'],
    [
      '<!--[if mso]><a href="https://x.example">A</a><![endif]-->',
      '<!--[if mso]><a href="[0 https://x.example]">A</a><![endif]-->*',
    ],
    [
      '<body><a href="https://x.example">A</a></body></html>',
      '<body><a href="[0 https://x.example]">A</a>*</body></html>',
    ],
    [
      '<a href="https://x.example">A</a><a href="https://x.example">B</a>',
      '<a href="[0 https://x.example]">A</a><a href="[0 https://x.example]">B</a>*',
    ],
  ])("in %s are found", (html, expected) => {
    expect(marked(html)).toBe(expected);
  });

  test.each([
    '<a href="mailto:a@b.example">',
    '<a href="tel:+17755550100">',
    '<a href="#top">',
    '<a href="/relative">',
    '<a data-href="https://x.example">',
    '<img src="https://x.example/a.png">',
    '<link href="https://x.example/a.css">',
    '<!-- <a href="https://x.example"> -->',
    '<style>a[href="https://x.example"]{}</style>',
    "a < b and https://x.example",
    '<a href="https://[bad">',
    '<a href="{{ unsubscribe_url }}">',
    '<a href="{{preferences_url}}">',
  ])("in %s are none", (html) => {
    const known = { unsubscribe_url: "https://u.example", preferences_url: "https://p.example" };
    expect(marked(html, known)).not.toContain("[0");
  });

  test("may be made by Liquid, with all quotes and brackets in it", () => {
    const html = '<a href="https://x.example/{{ name | default: "a>b" | url_encode }}">{{ name }}</a>';
    expect(marked(html, { name: "A na" })).toBe('<a href="[0 https://x.example/A+na]">A na</a>*');
    expect(marked(html)).toContain("[0 https://x.example/a%3Eb]");
  });

  test("may be chosen by a condition around the attribute, and come in loops", () => {
    const chosen =
      '<a {% if vip %}href="https://x.example/vip"{% else %}href="https://x.example"{% endif %}>A</a>';
    expect(marked(chosen, { vip: true })).toBe('<a href="[0 https://x.example/vip]">A</a>*');
    expect(marked(chosen)).toBe('<a href="[1 https://x.example]">A</a>*');
    const loop = '{% for one in list %}<a href="https://x.example/{{ one }}">{% endfor %}';
    expect(marked(loop, { list: [1, 2] })).toBe(
      '<a href="[0 https://x.example/1]"><a href="[0 https://x.example/2]">*',
    );
  });

  test("that a condition cuts in two stay as they are, and no mark is left", () => {
    const html =
      '<a href="{% if vip %}https://x.example/vip">A</a>{% else %}https://x.example">B</a>{% endif %}';
    expect(marked(html)).toBe('<a href="https://x.example">B</a>*');
  });

  test("cannot be put in by what a player is called", () => {
    const marks = markLinks('<p>{{ name }}</p><a href="https://x.example">A</a>');
    const name = "\uE000000000000000:0\uE001https://evil.example\uE000000000000000/\uE001";
    const rendered = new Liquid().parseAndRenderSync(marks.source, { name });
    expect(marks.replace(rendered, () => "TRACKED", "")).toBe(`<p>${name}</p><a href="TRACKED">A</a>`);
  });

  test("leave any HTML as it was once the marks are out again", () => {
    const piece = fc.constantFrom(
      "<a ",
      "href=",
      '"',
      "'",
      "https://x.example",
      ">",
      "</a>",
      "<!--",
      "-->",
      "{{ x }}",
      "<style>",
      " ",
      "/",
      "=",
      "<",
      "text",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        const html = pieces.join("");
        const { source, clean } = markLinks(html);
        expect(clean(source)).toBe(html);
      }),
      { numRuns: 500 },
    );
  });

  test("are found in time in proportion to the length", async () => {
    for (const hostile of ["<", "<a ", '<a href="', "<!--", "<style>", "{{ x }}", "<a href='x' "]) {
      const work = await workOf(() => markLinks(hostile.repeat(100_000)));
      expect(work, hostile).toBeLessThan(2_000);
    }
  });
});

test.each([
  ["https://x.example", "https://x.example?utm_source=mail&utm_term=a%20b"],
  ["https://x.example/?", "https://x.example/?utm_source=mail&utm_term=a%20b"],
  ["https://x.example/?a=b#c?d", "https://x.example/?a=b&utm_source=mail&utm_term=a%20b#c?d"],
  ["https://x.example/?utm_source=own", "https://x.example/?utm_source=own&utm_term=a%20b"],
])("%s gets the campaign's parameters, and keeps its own", (url, expected) => {
  expect(withUtm(url, { source: "mail", term: "a b" })).toBe(expected);
  expect(withUtm(url, null)).toBe(url);
});
