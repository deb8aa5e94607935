// @ts-check
// A view is the same file on a page of the console and in an agent's window, so it makes its HTML without a library.
// Its HTML is marked as hono's `html` marks its own: each takes the other's as a part.

/** @typedef {import("hono/utils/html").HtmlEscapedString} Html */

/** @type {Readonly<Record<string, string>>} */
const SIGNS = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** A value as it stands in HTML. @param {unknown} value @returns {string} */
export function partOf(value) {
  if (value === null || value === undefined || typeof value === "boolean") return "";
  if (Array.isArray(value)) return value.map(partOf).join("");
  const isMade = typeof value === "object" && "isEscaped" in value && value.isEscaped === true;
  return isMade ? String(value) : String(value).replace(/[&<>"']/g, (sign) => SIGNS[sign] ?? sign);
}

/** Text that is HTML already. @param {string} text @returns {Html} */
export function made(text) {
  const marked = Object(text);
  marked.isEscaped = true;
  return marked;
}

/** HTML in which every value is escaped. @param {TemplateStringsArray} strings @param {...unknown} values */
export function html(strings, ...values) {
  return made(strings.map((text, at) => text + partOf(values[at])).join(""));
}
