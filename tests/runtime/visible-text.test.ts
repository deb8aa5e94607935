import { describe, expect, test } from "vitest";
import { oneLine, quoted, visible, visibleJson } from "#runtime/visible-text.ts";

const LOOK_ALIKE = "d\u0435mo-casino.example";
const SHOWN = `${LOOK_ALIKE} [xn--dmo-casino-ksi.example]`;

describe("a host with letters that look like others is shown with its true name", () => {
  test.each([
    ["a link", "Play at https://", "/now"],
    ["a link with a user", "Play at https://demo-casino.example@", "/now"],
    ["a link without a scheme", "Play at www.", ""],
    ["an address of mail", "Write to offers@", " now"],
  ])("in %s", (_, before, behind) => {
    const text = `${before}${LOOK_ALIKE}${behind}`;
    const shown = `${before}${SHOWN}${behind}`;
    expect(visible(text)).toBe(shown);
    expect(visible(shown)).toBe(shown);
    expect(oneLine(shown)).toBe(shown);
    expect(quoted(text, 200)).toBe(JSON.stringify(shown));
  });

  test("and other texts stay as they are", () => {
    for (const text of ["Zoë.Müller", "Join us. Über alles", "https://a.example/ä?q=é", "5 € @ bar"]) {
      expect(visible(text)).toBe(text);
    }
    expect(visibleJson(`"https://${LOOK_ALIKE}"`)).toBe(`"https://${LOOK_ALIKE}"`);
  });
});
