import { expect, test } from "vitest";
import { bodyWords } from "#tools/templates/rendering/message-words.ts";

test.each([
  [`<img alt="a > b" src="https://cdn.example/1.png">`, "https://cdn.example/1.png"],
  [
    `<img alt=" src='https://fine.example/1.png' " src='https://cdn.example/1.png'>`,
    "https://cdn.example/1.png",
  ],
  [`<IMG data-src=later.png SRC=https://cdn.example/1.png>`, "https://cdn.example/1.png"],
])("of %s a person sees the picture that a mail reader loads", (html, address) => {
  expect(bodyWords({ html }, "Its text")).toContain(`Pictures in it: ${JSON.stringify(address)}.`);
});

test("broken HTML of any length is read in time", () => {
  for (const part of ["<img ", "<img src", '<img "', "<img a='"]) {
    const begun = performance.now();
    bodyWords({ html: part.repeat(60_000) }, "Its text");
    expect(performance.now() - begun, part).toBeLessThan(2000);
  }
});
