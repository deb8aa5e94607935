import { expect, test } from "vitest";
import { bodyWords } from "#tools/campaigns/content/message-words.ts";

test("a message's words name each picture that it loads, however it is written", () => {
  const html = [
    '<p>Hello<img alt="a > b" src="https://a.example/1.png"><img/src=https://a.example/2.png></p>',
    '<td background="https://a.example/3.png" style="background: url(https://a.example/4.png)">',
    '<img srcset="https://a.example/5.png 2x" data-src="no.png">',
  ].join("");
  expect(bodyWords({ html }, "Its text").at(-1)).toBe(
    `Pictures and styles in it: ${[1, 2, 3, 5, 4].map((n) => `"https://a.example/${n}.png"`).join(", ")}.`,
  );
  expect(bodyWords({ html: `${html}<img src="https://a.example/6.png">` }, "Its text").at(-1)).toMatch(
    / and 1 more\.$/,
  );
});
