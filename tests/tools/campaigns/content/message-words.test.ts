import { createRequire } from "node:module";
import { expect, test } from "vitest";
import { visible } from "#runtime/visible-text.ts";
import { bodyWords } from "#tools/campaigns/content/message-words.ts";
import { createTemplates } from "#transports/start/demo/templates.ts";
import { workOf } from "../../../support/cpu-time.ts";

// The package has no types.
const mjml: (source: string) => Promise<{ html: string }> = createRequire(import.meta.url)("mjml");

test("a message's words name each picture that it loads, however it is written", () => {
  const html = [
    '<p>Hello<img alt="a > b" src="https://a.example/1.png"><img/src=https://a.example/2.png></p>',
    '<td background="https://a.example/3.png" style="background: url(https://a.example/4.png)">',
    '<img srcset="https://a.example/5.png 2x" data-src="no.png">',
  ].join("");
  expect(bodyWords({ html }, "Its text").at(-1)).toBe(
    `Pictures and styles in it: ${[1, 2, 3, 4, 5].map((n) => `"https://a.example/${n}.png"`).join(", ")}.`,
  );
  expect(bodyWords({ html: `${html}<img src="https://a.example/6.png">` }, "Its text").at(-1)).toMatch(
    / and 1 more\.$/,
  );
});

test.each([
  [`<img alt="a > b" src="https://cdn.example/1.png">`, "https://cdn.example/1.png"],
  [
    `<img alt=" src='https://fine.example/1.png' " src='https://cdn.example/1.png'>`,
    "https://cdn.example/1.png",
  ],
  [`<IMG data-src=later.png SRC=https://cdn.example/1.png>`, "https://cdn.example/1.png"],
])("of %s a person sees the picture that a mail reader loads", (html, address) => {
  expect(bodyWords({ html }, "Its text").at(-1)).toMatch(
    `Pictures and styles in it: ${JSON.stringify(address)}`,
  );
});

test("broken HTML of any length is read in time", async () => {
  for (const part of ["<img ", "<img src", '<img "', "<img a='"]) {
    expect(await workOf(() => bodyWords({ html: part.repeat(60_000) }, "Its text")), part).toBeLessThan(2000);
  }
});

test.each([
  ["<p>Get \u202e15</p>"],
  ["<p>Get &#x202e;15</p>"],
  ["<p>Get &#8237;15</p>"],
  ["<p>Get <bdo dir=rtl>15</bdo></p>"],
  ['<p>Get <b style="unicode-bidi:bidi-override;direction:rtl">15</b></p>'],
  ["<style>b { UNICODE-b\\69 di: isolate-override }</style><p>Get <b>15</b></p>"],
  ["<style>@media screen { b { unicode-bidi: bidi-override } }</style><p>Get <b>15</b></p>"],
  ["<style>p { b { unicode-bidi: bidi-override } }</style><p>Get <b>15</b></p>"],
  ["<style>b { unicode-bidi: bidi-override !important; unicode-bidi: normal }</style><p>Get <b>15</b></p>"],
  ['<p>Get <b style="unicode-bidi: bidi-override; unicode-bidi: upright">15</b></p>'],
  ['<p>Get <b style="--turn: bidi-override; unicode-bidi: var(--turn)">15</b></p>'],
  ['<p>Get <svg><text direction="rtl" unicode-bidi="bidi-override">15</text></svg></p>'],
])("of %s a person reads that screens turn the letters around", (html) => {
  expect(bodyWords({ html }, "Its text").map(visible)).toEqual(['Its text: "Get [turned around:] 15"']);
});

test.each([
  ['<p dir="rtl">קבלו 15 ש"ח</p>'],
  ['<div dir="rtl" style="direction: rtl; unicode-bidi: embed">قسيمة 15</div>'],
  ["<style>bdi, p { unicode-bidi: isolate; direction: rtl }</style><p><bdi>15</bdi> قسيمة</p>"],
  ["<p>\u200f\u2067קבלו\u2069 \u206615\u2069</p>"],
  ['<p style="unicode-bidi: plaintext !important">קבלו 15</p>'],
])("%s, as in a language that is written from right to left, has no mark", (html) => {
  expect(bodyWords({ html }, "Its text").map(visible).join()).not.toContain("turned");
});

test.each([
  ["display: none !important; display: block"],
  ["display: none; display: inline-nothing"],
  ["opacity: 0 !important; opacity: 1"],
])("%s hides, though another value follows that does not count", (style) => {
  expect(bodyWords({ html: `<p>Get 15</p><p style="${style}">Now</p>` }, "Its text").join()).toContain(
    HIDDEN,
  );
});

test("a style that turns the words behind it around is named with the words that styles add", () => {
  const html = '<style>p::before { content: "\\202e" }</style><p>Get 15</p>';
  expect(bodyWords({ html }, "Its text").map(visible)).toContain(
    'Words that its styles add: "[turned around:] "',
  );
});

const HIDDEN = "Words in it that its styles hide, on some screens or on all";

test.each([
  ['<p style="display:none">no</p>'],
  ['<p style="color:red;DISPLAY : none !important">no</p>'],
  ['<p style="d\\69splay:none">no</p>'],
  ['<div style="font-size:0"><b>no</b></div>'],
  ['<p style="font-size:1px">no</p>'],
  ['<p style="color:#fff">no</p>'],
  ['<td bgcolor="black"><font color="#000">no</font></td>'],
  ['<p style="background:#c00"><span style="color: rgb(204, 0, 0)">no</span></p>'],
  ['<p style="opacity:0">no</p>'],
  ['<p style="color:#fff0">no</p>'],
  ['<p style="color:rgba(0, 0, 0, 0)">no</p>'],
  ['<p style="background:transparent;color:#fff">no</p>'],
  ['<p style="font:0/0 a">no</p>'],
  ['<div style="font-size:0"><b style="font-size:120%">no</b></div>'],
  ['<p style="max-height:0;overflow:hidden">no</p>'],
  ['<p style="position:absolute;left:-9999px">no</p>'],
  ['<p style="text-indent:-999px">no</p>'],
  ["<p hidden>no</p>"],
  ['<p style="display:none">no'],
  ['<style>.x{display:none}</style><p class="y x">no</p>'],
  ['<style>@media (max-width: 9px) { td > .x, b { display: none } }</style><p class="x">no</p>'],
  ["<style>#x:not(.y){color:white}</style><p id=x>no</p>"],
  ["<style>p{display:none</style><p>no</p>"],
  ['<p style="}display:none">no</p>'],
])("words that %s hides stand apart from those that people see", (html) => {
  const [seen, hidden] = bodyWords({ html: `<p>Yes</p>${html}` }, "Its text");
  const isUnreadable = html.startsWith("<style>p{");
  if (!isUnreadable) expect(seen).toBe('Its text: "Yes"');
  expect(isUnreadable ? seen : hidden).toMatch(isUnreadable ? /Yes.*no/s : `${HIDDEN}: "no"`);
});

test("hidden words push none of those that people see out of the confirmation", () => {
  const html = `<p>Hello</p><div style="display:none">${"filler ".repeat(1000)}</div><p>Bet it all</p>`;
  expect(bodyWords({ html }, "Its text")[0]).toMatch(/^Its text: "Hello.*Bet it all"$/);
});

test.each([
  ['<table bgcolor="#cc0000"><td style="color:#fff">Play</td></table>'],
  ['<style>.b{background:#123;color:#fff} a:hover{color:#fff}</style><a class="b">Play</a>'],
  ['<div style="color:#fff"><p style="background-color:#000">Play</p></div>'],
  ['<p style="font-size:20px;opacity:0.9;margin-left:-4px;height:0;color:{{ tier }}">Play</p>'],
  ["<style>@media (prefers-color-scheme:dark){p{color:#fff}}</style><p>Play</p>"],
  ["<style>[data-ogsc] p{color:#fff}</style><p>Play</p>"],
  ['<td style="font-size:0px"><div style="font:italic 16px/1.5 Arial">Play</div></td>'],
  ["<!--[if mso]><xml><o:PixelsPerInch>96</o:PixelsPerInch></xml><![endif]--><p>Play</p>"],
  ['<p style="color:rgb(0, 0, 0);background:hsl(0, 0%, 100%)">Play</p>'],
  ['<p style="color:var(--a);background:var(--b)">Play</p>'],
  ['<p style="color:inherit;background:inherit;opacity:inherit">Play</p>'],
  ['<h1 style="letter-spacing:-1px;font:1em/1.5 Arial;font-size:0.9em">Play</h1>'],
])("of %s every word is seen", (html) => {
  expect(bodyWords({ html }, "Its text")).toEqual(['Its text: "Play"']);
});

const TRICKS: [html: string][] = [
  ['<img alt="><!--"><p>Seen</p>'],
  ['<img alt="><style"><p>Seen</p>'],
  ["<head><p>Seen</p></head>"],
  ["<!-- x --!><p>Seen</p><!-- -->"],
  ['<!--[if mso]><img alt="><style"><p>Seen</p><![endif]-->'],
  ["<textarea><!--</textarea><p>Seen</p>"],
  ["<![CDATA[<p>Seen</p>]]>"],
  ["<svg><title><p>Seen</p></title></svg>"],
  ['<input type="submit" value="Seen">'],
  ['<style>p::after{content:attr(title)}</style><p title="Seen">x</p>'],
];

test.each(TRICKS)("no word is left out by the way in which %s is written", (html) => {
  const words = bodyWords({ html: `<p>Hello</p>${html}` }, "Its text").join("\n");
  expect(words).toMatch(html.includes("attr(") ? /Words that its styles add: "attr\(title\)"/ : /Seen/);
});

test("a text is shown unless the HTML shows its words too", () => {
  const text = "Another offer";
  expect(bodyWords({ html: `<p title="> ${text}">Hello</p>`, text }, "Its text")).toContain(
    `Its text without HTML: "${text}"`,
  );
  expect(bodyWords({ html: `<ul><li>${text}<li>x</ul>`, text }, "Its text")).toHaveLength(1);
});

test("words that are hidden without any beside them are no preview line", () => {
  expect(bodyWords({ html: "<p hidden>no</p>" }, "Its text")).toEqual([`${HIDDEN}: "no"`]);
});

test("of the demo's templates every word but the preview line is seen", async () => {
  const sources: string[] = [];
  await createTemplates(async (_, input) => {
    sources.push((input as { mjml: string }).mjml);
    return {};
  });
  for (const source of sources) {
    const words = bodyWords({ html: (await mjml(source)).html }, "Its text");
    expect(words.map((one) => one.replace(/: ".*/s, ""))).toEqual([
      "Its text",
      `${HIDDEN}, before all others: its preview line`,
      "Pictures and styles in it",
    ]);
  }
  expect(sources).toHaveLength(3);
});

test("a preview line, Outlook's words and those of styles are shown as such", () => {
  const html = [
    '<html><head><title>T</title><style>p::after{content:"later"}</style></head>',
    '<body><span style="display:none">Soon&zwnj;&nbsp;</span><p>Hi</p>',
    "<!--[if mso]><p>Old</p><![endif]--></body></html>",
  ].join("");
  expect(bodyWords({ html }, "Its text")).toEqual([
    'Its text: "Hi"',
    `${HIDDEN}, before all others: its preview line: "Soon"`,
    'Words in it for Outlook alone: "Old"',
    'Words that its styles add: "later"',
  ]);
  expect(bodyWords({ preheader: "Soon", text: "Hi" }, "Its text")[0]).toMatch(/^Its preview line.*"Soon"$/);
});

test.each([
  ["<p style='display:none'>"],
  ["<div hidden>x</div><i>"],
  ["<style>.a.b"],
  ["<style>.a{color:red} "],
  ['<b class="a b c" style="a:b;{{">'],
  ["<b>"],
  ["<p>x<b>y</p>"],
])("hostile styles of any length, such as %s, are read in time", async (part) => {
  expect(
    await workOf(() => bodyWords({ html: part.repeat(250_000 / part.length) }, "Its text")),
  ).toBeLessThan(2000);
});

test("long values and selectors, such as nobody writes, are read in time", async () => {
  const long = [
    `<p style="transform:${"scale".repeat(19_000)}">x</p>`.repeat(10),
    `<p style="color:rgba(1,${" ".repeat(90_000)}x)">x</p>`,
    `<style>${"a:before,".repeat(5_000)}b:before{${"a:b;".repeat(11_000)}}</style>`,
  ];
  for (const html of long) {
    expect(await workOf(() => bodyWords({ html }, "Its text")), html.slice(0, 20)).toBeLessThan(2000);
  }
});

test("different styles without end, such as nobody writes, are read in time", async () => {
  const some = Array.from(
    { length: 4_000 },
    (_, at) => `<b style="a${at}:{{">x</b><style>.a${at} .b{display:none}</style>`,
  );
  expect(await workOf(() => bodyWords({ html: some.join("") }, "Its text"))).toBeLessThan(2000);
});
