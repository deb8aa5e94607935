import { expect, test } from "vitest";
import { LANGUAGES } from "#tools/themes/theme.ts";
import { speechOf, WORDS } from "#transports/pages/words/words.ts";

const marksIn = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(([mark]) => mark).sort();

test.each(LANGUAGES)("%s has every text, with the values that it stands for", (language) => {
  expect(Object.keys(WORDS[language]).sort()).toEqual(Object.keys(WORDS.en).sort());
  for (const [word, text] of Object.entries(WORDS[language])) {
    expect(text.trim(), word).not.toBe("");
    expect(marksIn(text), word).toEqual(marksIn(WORDS.en[word as keyof typeof WORDS.en]));
  }
});

test.each([
  [["de-CH"], "de"],
  [[null, "pt-BR, fr;q=0.9, en;q=0.8"], "fr"],
  [[null, "en;q=0.1, zh-Hans-CN"], "zh"],
  [["pt", "ja", "es"], "es"],
  [["xx", "fr;q=0"], "en"],
  [["__proto__", "constructor"], "en"],
  [[undefined, "", null], "en"],
])("of the wishes %j, %s is spoken", (wishes, language) => {
  expect(speechOf(...wishes).language).toBe(language);
});
