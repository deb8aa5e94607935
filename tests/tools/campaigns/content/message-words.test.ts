import { expect, test } from "vitest";
import { bodyWords } from "#tools/campaigns/content/message-words.ts";

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

test("broken HTML of any length is read in time", () => {
  for (const part of ["<img ", "<img src", '<img "', "<img a='"]) {
    const begun = performance.now();
    bodyWords({ html: part.repeat(60_000) }, "Its text");
    expect(performance.now() - begun, part).toBeLessThan(2000);
  }
});
