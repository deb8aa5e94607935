import { expect, test } from "vitest";
import { plainText } from "#tools/templates/rendering/plain-text.ts";
import { workOf } from "../../../support/cpu-time.ts";

test.each([
  ["a comparison is no tag", "1 < 2 and 3 > 2", "1 < 2 and 3 > 2"],
  [
    "a link that shows its own address",
    '<a href="https://a.example">https://a.example</a>',
    "https://a.example",
  ],
  ["a mail link that shows its address", '<a href="mailto:a@b.example">a@b.example</a>', "a@b.example"],
  ["a link within the page", "<a href=#top>Top</a>", "Top"],
  ["a link that is never closed", '<a href="https://a.example">Go', "Go"],
  [
    "entities in every spelling",
    "&lt;&#60;&#x3c;&Ntilde;&hellip;&nope;&#0;&#xd800;",
    "<<<Ñ…&nope;\ufffd\ufffd",
  ],
  ["spaces and line breaks", " a\n  b&nbsp; c<br/>d <p> e", "a b c\nd\n\ne"],
  [
    "a table row",
    "<table><tr><td>Slots</td><td>5</td></tr><tr><td>Poker</td><td>6</td></tr></table>",
    "Slots 5\n\nPoker 6",
  ],
  ["a style that never ends", "a<style>p { color: red }", "a"],
  ["capitals that grow when lowered", "İİİ<STYLE>x</Style>y", "İİİy"],
])("%s", (_name, html, text) => {
  expect(plainText(html)).toBe(text);
});

test.each([
  "<style".repeat(80_000),
  `<style>${"</style".repeat(70_000)}`,
  "<!--".repeat(120_000),
  "<a href=x>x</a>".repeat(33_000),
  "<".repeat(490_000),
  "&#32;".repeat(100_000),
  "<div>".repeat(90_000),
])("html of 500 KB that is broken on purpose takes no longer for it", async (html) => {
  expect(await workOf(() => plainText(html))).toBeLessThan(2_000);
});
