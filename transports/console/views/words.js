// @ts-check
import { made, partOf } from "./html.js";

// The words of the console hold sentences as functions. On their way to an agent's window they are texts with marks.

/** Words as JSON. A sentence takes its parts as they come, so each stands where its mark does.
 * @param {unknown} words @returns {unknown} */
export function packed(words) {
  if (typeof words === "function") {
    const said = words(...Array.from({ length: words.length }, (_, at) => `{${at}}`));
    return { sentence: String(said), isHtml: typeof said !== "string" };
  }
  if (typeof words !== "object" || words === null) return words;
  if (Array.isArray(words)) return words.map(packed);
  return Object.fromEntries(Object.entries(words).map(([name, word]) => [name, packed(word)]));
}

/** The words again, of their JSON. @param {unknown} words @returns {unknown} */
export function unpacked(words) {
  if (typeof words !== "object" || words === null) return words;
  if (Array.isArray(words)) return words.map(unpacked);
  if ("sentence" in words && "isHtml" in words)
    return sentenceOf(String(words.sentence), words.isHtml === true);
  return Object.fromEntries(Object.entries(words).map(([name, word]) => [name, unpacked(word)]));
}

/** @param {string} sentence @param {boolean} isHtml */
function sentenceOf(sentence, isHtml) {
  const pieces = sentence.split(/\{(\d)\}/);
  const partAs = isHtml ? partOf : String;
  /** @param {...unknown} parts */
  return (...parts) => {
    const said = pieces.map((piece, at) => (at % 2 === 1 ? partAs(parts[Number(piece)]) : piece)).join("");
    return isHtml ? made(said) : said;
  };
}
